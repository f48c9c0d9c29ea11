"""An adjudicator may decide, and for the rest sees and does what a viewer does: on every page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import NoReverseMatch, URLPattern, URLResolver, get_resolver, reverse

from projects.models import Item, Member, Question, Rater
from quality.consensus import recompute

pytestmark = pytest.mark.django_db

DECIDES = ("adjudicate", "appeal")  # what the names of their routes begin with
ONLY_LEADS = {"adjudicate_gold", "adjudicate_example"}


def pages(patterns: Any = None, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Name and path of every page of a project."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from pages(pattern.url_patterns, path)
        elif isinstance(pattern, URLPattern) and path.startswith("projects/<int:project_id>/"):
            assert pattern.name, f"{path} needs a name"
            yield pattern.name, path


PAGES = dict(pages())


def path_of(name: str, known: dict[str, Any]) -> str:
    path = PAGES[name]
    wanted = {key: known[key] for key in known if f":{key}>" in path}
    return reverse(name, kwargs=wanted)


@pytest.fixture
def known(answered: Question) -> dict[str, Any]:
    """What the routes want to be told: there is one of each, or the number 1."""
    recompute.recompute_question(answered.pk)
    item, rater = Item.objects.all()[0], Rater.objects.all()[0]
    words = {"form": "json", "kind": "csv", "name": "trend", "period": "week", "what": "items"}
    numbers = dict.fromkeys(
        ("alarm_id", "appeal_id", "act_id", "import_id", "report_id", "user_id", "token_id"), 1
    )
    keys = {"rater_key": rater.key, "item_key": item.key, "other_key": "ben"}
    ids = {"project_id": answered.project_id, "item_id": item.pk, "rater_id": rater.pk}
    return words | numbers | keys | ids


def test_pages_answer_an_adjudicator_as_a_viewer_but_where_they_decide(
    answered: Question,
    known: dict[str, Any],
    client_for: Callable[[User], Client],
    viewer: User,
    make_user: Callable[..., User],
) -> None:
    ada = make_user("ada")
    Member.objects.create(project=answered.project, user=ada, role=Member.Role.ADJUDICATOR)
    clients = client_for(ada), client_for(viewer)
    differ, walked = set(), 0
    for name in PAGES:
        try:
            path = path_of(name, known)
        except NoReverseMatch:
            continue
        walked += 1
        for method in ("get", "post"):
            mine, viewers = (getattr(one, method)(path).status_code for one in clients)
            if mine != viewers:
                differ.add(name)
                assert viewers == 403, (name, method, mine)
    assert walked > 0.8 * len(PAGES), set(PAGES)
    assert differ == {name for name in PAGES if name.startswith(DECIDES)} - ONLY_LEADS
