"""A NUL at any door is answered, never a failure of the server: PostgreSQL takes none."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django import forms
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RoutePattern

from projects import authentication
from projects.models import Item

NUL = "a%00b"
# What the query of a page or of the API may name by a text, and everything else that is asked for.
TEXTS = ("question", "rater", "a", "group", "item", "item.topic", "search", "q")
OTHERS = (
    "after", "b", "before", "coefficient", "cursor", "from", "kind", "known", "label", "next", "o", "p",
    "page", "page_size", "period", "places", "ratings", "showing", "since", "sort", "span", "to", "version",
    "weights",
)  # fmt: skip
# A walk of some thousand requests: on SQLite forms, cookies and headers show as much.
TAKES_ONE = pytest.mark.postgresql_only("SQLite takes a NUL")
PART = re.compile(r"<(?:(\w+):)?(\w+)>")


def routes(patterns: Any = None, prefix: str = "") -> Iterator[str]:
    """The routes of the whole site, pages, API and admin, as they are declared."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        if not isinstance(pattern.pattern, RoutePattern):
            continue
        route = f"{prefix}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            yield route


def addresses(route: str, project_id: int) -> Iterator[str]:
    """The address with good parts, and once more for each part of text with a NUL in it."""
    good = {"project_id": str(project_id), "key": "severity", "rater_key": "ann", "form": "json"}
    good |= {"item_key": "i1"}
    names = [name for kind, name in PART.findall(route) if kind != "int"]
    for bad in ("", *names):
        yield "/" + PART.sub(functools.partial(part_of, {**good, bad: NUL}), route)


def part_of(parts: dict[str, str], found: re.Match[str]) -> str:
    return parts.get(found[2], "1")


def field_names() -> set[str]:
    """The names of all fields of all forms."""
    names = {"do", "role", "paused", "language", "add_row", "showing", "guidelines"}
    waiting = [forms.Form]
    while waiting:
        form = waiting.pop()
        names.update(form.base_fields)
        waiting.extend(form.__subclasses__())
    return names


@pytest.fixture
def client(project: Any, admin: Any) -> Client:
    Item.objects.create(project=project, key="severity", body={})
    client = Client(raise_request_exception=False)
    client.force_login(admin)
    return client


ROUTES = sorted(set(routes()))
ADMIN = [route for route in ROUTES if route.startswith("admin/")]
SITE = [route for route in ROUTES if not route.startswith("admin/")]


def test_the_walk_meets_pages_api_and_admin() -> None:
    for known in ("", "api/v1/schema/", "projects/<int:project_id>/items/<path:key>/"):
        assert known in SITE
    assert "admin/projects/item/<path:object_id>/change/" in ADMIN


@TAKES_ONE
@pytest.mark.parametrize("part", range(2))
def test_a_nul_in_the_path_or_the_query_is_answered(
    part: int, client: Client, project: Any
) -> None:
    every = "&".join(f"{name}={NUL}" for name in (*TEXTS, *OTHERS, "%00"))
    for route in SITE[part::2]:
        for address in addresses(route, project.pk):
            assert client.get(address).status_code < 500, address
            assert client.get(f"{address}?{every}").status_code < 500, address
        if not route.startswith("api/"):
            continue  # a page reads a query in which there is no NUL any more, whatever its name
        good = next(addresses(route, project.pk))
        for name in TEXTS:
            assert client.get(f"{good}?{name}={NUL}").status_code < 500, (good, name)


@TAKES_ONE
def test_a_nul_in_the_admin_is_answered(client: Client, project: Any) -> None:
    for route in ADMIN:
        *_good, address = addresses(route, project.pk)
        assert client.get(f"{address}?q={NUL}").status_code < 500, address


def test_a_nul_in_a_form_is_answered(client: Client, project: Any, admin: Any) -> None:
    typed = dict.fromkeys(field_names(), "a\x00b")
    for route in SITE:
        if route == "example/":  # it asks for nothing, and what it makes takes a while
            continue
        for address in addresses(route, project.pk):
            assert client.post(address, typed).status_code < 500, address
        if route == "sign-out/":
            client.force_login(admin)


def test_a_nul_in_a_cookie_or_a_header_is_answered(client: Client, admin: Any) -> None:
    cookies = "; ".join(
        f'{name}="\\000aaaaaaaaaaaaaaa"'
        for name in ("sessionid", "csrftoken", "django_language", "messages")
    )
    stranger = Client(raise_request_exception=False)
    assert stranger.get("/", headers={"Cookie": cookies}).status_code == 302
    bearer = f"Bearer {authentication.create_token(user=admin)}\x00"
    assert stranger.get("/api/v1/projects/", headers={"Authorization": bearer}).status_code == 401
    assert client.get("/", headers={"X-Request-ID": "a\x00b"}).status_code == 200


def test_an_export_of_a_question_with_a_nul_is_not_found(client: Client, project: Any) -> None:
    address = f"/projects/{project.pk}/data/export.csv"
    assert client.get(f"{address}?question=%00").status_code == 404
