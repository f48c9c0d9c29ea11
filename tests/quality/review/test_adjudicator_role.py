"""Test that an adjudicator may decide and otherwise has the access of a viewer on every page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import NoReverseMatch, URLPattern, URLResolver, get_resolver, reverse

from projects.models import Item, Member, Question, Rater
from quality.consensus import recomputation

pytestmark = pytest.mark.django_db

DECISION_ROUTE_PREFIXES = ("review", "appeal")  # prefixes of the route names
LEAD_ONLY_ROUTES = {"review_gold", "review_example"}


def iter_pages(patterns: Any = None, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield name and path of every page of a project."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from iter_pages(pattern.url_patterns, path)
        elif isinstance(pattern, URLPattern) and path.startswith("projects/<int:project_id>/"):
            assert pattern.name, f"{path} needs a name"
            yield pattern.name, path


PAGES = dict(iter_pages())


def build_path(name: str, url_kwargs: dict[str, Any]) -> str:
    path = PAGES[name]
    route_kwargs = {key: url_kwargs[key] for key in url_kwargs if f":{key}>" in path}
    return reverse(name, kwargs=route_kwargs)


@pytest.fixture
def url_kwargs(rated_question: Question) -> dict[str, Any]:
    """Values for the kwargs of all routes: an object of each kind, or the number 1."""
    recomputation.recompute_question(rated_question.pk)
    item, rater = Item.objects.all()[0], Rater.objects.all()[0]
    texts = {
        "form": "json",
        "file_format": "json",
        "kind": "csv",
        "name": "trend",
        "period": "week",
        "what": "items",
    }
    numbers = dict.fromkeys(
        (
            "alert_id",
            "appeal_id",
            "approval_id",
            "intervention_id",
            "import_id",
            "report_id",
            "user_id",
            "token_id",
            "webhook_id",
            "connection_id",
        ),
        1,
    )
    keys = {"rater_key": rater.key, "item_key": item.key, "other_key": "ben"}
    ids = {"project_id": rated_question.project_id, "item_id": item.pk, "rater_id": rater.pk}
    return texts | numbers | keys | ids


def test_adjudicator_has_viewer_access_except_for_decisions(
    rated_question: Question,
    url_kwargs: dict[str, Any],
    client_for: Callable[[User], Client],
    viewer: User,
    make_user: Callable[..., User],
) -> None:
    ada = make_user("ada")
    Member.objects.create(project=rated_question.project, user=ada, role=Member.Role.ADJUDICATOR)
    clients = client_for(ada), client_for(viewer)
    differing, n_checked = set(), 0
    for name in PAGES:
        try:
            path = build_path(name, url_kwargs)
        except NoReverseMatch:
            continue
        n_checked += 1
        for method in ("get", "post"):
            own_status, viewer_status = (
                getattr(client, method)(path).status_code for client in clients
            )
            if own_status != viewer_status:
                differing.add(name)
                assert viewer_status == 403, (name, method, own_status)
    assert n_checked > 0.8 * len(PAGES), set(PAGES)
    assert (
        differing
        == {name for name in PAGES if name.startswith(DECISION_ROUTE_PREFIXES)} - LEAD_ONLY_ROUTES
    )
