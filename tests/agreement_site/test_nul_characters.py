"""Tests that a NUL in any input causes no server error: PostgreSQL accepts none."""

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

from projects.models import Item
from projects.services import tokens

NUL = "a%00b"
# Query parameters of pages and of the API: those that name something by a text, and all others.
TEXT_PARAMETERS = ("question", "rater", "a", "group", "item", "item.topic", "search", "q")
OTHER_PARAMETERS = (
    "after", "b", "before", "coefficient", "cursor", "from", "kind", "known", "label", "next", "o", "p",
    "page", "page_size", "period", "places", "ratings", "showing", "since", "sort", "span", "to", "version",
    "weights",
)  # fmt: skip
# Some thousand requests: on SQLite the tests of forms, cookies and headers show as much.
POSTGRESQL_ONLY = pytest.mark.postgresql_only("SQLite takes a NUL")
ROUTE_PARAMETER = re.compile(r"<(?:(\w+):)?(\w+)>")


def iter_routes(patterns: Any = None, prefix: str = "") -> Iterator[str]:
    """Yield the routes of pages, API and admin as they are declared."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        if not isinstance(pattern.pattern, RoutePattern):
            continue
        route = f"{prefix}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            yield from iter_routes(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            yield route


def iter_addresses(route: str, project_id: int) -> Iterator[str]:
    """Yield the address with valid parts, then one with a NUL for each text parameter."""
    valid_parts = {
        "project_id": str(project_id),
        "key": "severity",
        "rater_key": "ann",
        "form": "json",
        "file_format": "json",
    }
    valid_parts |= {"item_key": "i1"}
    names = [name for kind, name in ROUTE_PARAMETER.findall(route) if kind != "int"]
    for nul_name in ("", *names):
        yield "/" + ROUTE_PARAMETER.sub(
            functools.partial(get_part, {**valid_parts, nul_name: NUL}), route
        )


def get_part(parts: dict[str, str], match: re.Match[str]) -> str:
    """Return the value of a matched route parameter."""
    return parts.get(match[2], "1")


def list_field_names() -> set[str]:
    """Return the names of all fields of all forms."""
    names = {"action", "do", "role", "paused", "language", "add_row", "showing", "guidelines"}
    pending = [forms.Form]
    while pending:
        form = pending.pop()
        names.update(form.base_fields)
        pending.extend(form.__subclasses__())
    return names


@pytest.fixture
def client(project: Any, admin: Any) -> Client:
    """Return the administrator's browser, which does not raise server errors."""
    Item.objects.create(project=project, key="severity", body={})
    client = Client(raise_request_exception=False)
    client.force_login(admin)
    return client


ROUTES = sorted(set(iter_routes()))
ADMIN_ROUTES = [route for route in ROUTES if route.startswith("admin/")]
SITE_ROUTES = [route for route in ROUTES if not route.startswith("admin/")]


def test_routes_include_pages_api_and_admin() -> None:
    for route in ("", "api/v1/schema/", "projects/<int:project_id>/items/<path:key>/"):
        assert route in SITE_ROUTES
    assert "admin/projects/item/<path:object_id>/change/" in ADMIN_ROUTES


@POSTGRESQL_ONLY
@pytest.mark.parametrize("part", range(2))
def test_nul_in_path_or_query_is_no_server_error(part: int, client: Client, project: Any) -> None:
    full_query = "&".join(f"{name}={NUL}" for name in (*TEXT_PARAMETERS, *OTHER_PARAMETERS, "%00"))
    for route in SITE_ROUTES[part::2]:
        for address in iter_addresses(route, project.pk):
            assert client.get(address).status_code < 500, address
            assert client.get(f"{address}?{full_query}").status_code < 500, address
        if not route.startswith("api/"):
            continue  # pages read a query from which all NULs have been removed
        valid_address = next(iter_addresses(route, project.pk))
        for name in TEXT_PARAMETERS:
            assert client.get(f"{valid_address}?{name}={NUL}").status_code < 500, (
                valid_address,
                name,
            )


@POSTGRESQL_ONLY
def test_nul_in_the_admin_is_no_server_error(client: Client, project: Any) -> None:
    for route in ADMIN_ROUTES:
        *_valid, address = iter_addresses(route, project.pk)
        assert client.get(f"{address}?q={NUL}").status_code < 500, address


def test_nul_in_a_form_is_no_server_error(client: Client, project: Any, admin: Any) -> None:
    form_data = dict.fromkeys(list_field_names(), "a\x00b")
    for route in SITE_ROUTES:
        if route == "example/":  # it has no fields, and creating the example takes a while
            continue
        for address in iter_addresses(route, project.pk):
            assert client.post(address, form_data).status_code < 500, address
        if route == "sign-out/":
            client.force_login(admin)


def test_nul_in_a_cookie_or_header_is_no_server_error(client: Client, admin: Any) -> None:
    cookies = "; ".join(
        f'{name}="\\000aaaaaaaaaaaaaaa"'
        for name in ("sessionid", "csrftoken", "django_language", "messages")
    )
    stranger = Client(raise_request_exception=False)
    assert stranger.get("/", headers={"Cookie": cookies}).status_code == 302
    bearer = f"Bearer {tokens.create_token(user=admin)}\x00"
    assert stranger.get("/api/v1/projects/", headers={"Authorization": bearer}).status_code == 401
    assert client.get("/", headers={"X-Request-ID": "a\x00b"}).status_code == 200


def test_export_of_a_question_with_a_nul_is_not_found(client: Client, project: Any) -> None:
    address = f"/projects/{project.pk}/data/export.csv"
    assert client.get(f"{address}?question=%00").status_code == 404
