"""Test that no call of an annotator tells hidden gold and repeats from ordinary items."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Any

import pytest
import time_machine
from django.core.cache import cache
from django.db import transaction
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from projects.models import Item, Project, Question, Rater
from projects.services.gold import set_gold_answer
from ratings.models import Assignment, CheckAnswer, Rating
from tests.ratings.annotation.test_rate import get_rate_url, submit

pytestmark = pytest.mark.django_db

KINDS = ("", "gold", "repeat")
SHEET = {"X-Annotation": "sheet"}
NOW = datetime.datetime(2026, 5, 4, 9, 30, tzinfo=datetime.UTC)

# What varies between any two items: keys, texts and row ids, and what is drawn anew by each request
_VARYING = re.compile(
    r'csrfmiddlewaretoken" value="[^"]*"|nonce-?="?[\w+/=-]+|"(?:next|cursor)": "[^"]*"'
)

Call = Callable[["Caller", Item], Any]


class Caller:
    """An annotator with a session and a token."""

    def __init__(self, pages: Client, api: APIClient, project: Project, question: Question) -> None:
        self.pages, self.api, self.project, self.question = pages, api, project, question

    def rate(self, item: Item, label: str | None, **fields: str) -> Any:
        row = {"item": item.key, "label": label, **fields}
        return self.api.post(f"/api/v1/projects/{self.project.pk}/ratings/", row, format="json")

    def answer_next(self, item: Item, **data: Any) -> Any:
        data |= {"item": item.key}
        return self.api.post(f"/api/v1/projects/{self.project.pk}/next/", data, format="json")

    def submit(self, item: Item, code: int, **data: Any) -> Any:
        return submit(self.pages, self.project, item, self.question, code, **data)

    def open_page(self, item: Item) -> Any:
        return self.pages.get(get_rate_url(self.project, item))

    def skip(self, item: Item) -> Any:
        return self.pages.post(get_rate_url(self.project, item, "skip/"), {"reason": "unclear"})

    def undo(self, item: Item) -> Any:
        return self.pages.post(get_rate_url(self.project, tail="undo/"), {}, headers=SHEET)

    def read(self) -> list[Any]:
        """Return the responses to all that an annotator may read of own answers."""
        base = f"/api/v1/projects/{self.project.pk}"
        return [
            self.api.get(f"{base}/ratings/?withdrawn=true"),
            self.api.get(f"{base}/ratings/history/?item=it&rater=ann"),
            self.pages.get(f"/projects/{self.project.pk}/my-ratings/"),
            self.pages.get(f"/projects/{self.project.pk}/my-ratings/?show=changed"),
            self.pages.get(f"/projects/{self.project.pk}/my-ratings/?show=comment"),
            self.pages.get(f"/projects/{self.project.pk}/my-ratings/?show=skipped"),
            self.pages.get(f"/projects/{self.project.pk}/my-ratings/?show=flagged"),
            self.api.get(f"{base}/next/"),
            self.pages.get(get_rate_url(self.project), headers=SHEET),
        ]


CALLS: dict[str, Call] = {
    "rate": lambda caller, item: caller.rate(item, "minor"),
    "rate other": lambda caller, item: caller.rate(item, "major"),
    "rate with comment": lambda caller, item: caller.rate(item, "major", comment="hm"),
    "withdraw": lambda caller, item: caller.rate(item, None),
    "unknown label": lambda caller, item: caller.rate(item, "odd"),
    "next": lambda caller, item: caller.api.get(f"/api/v1/projects/{caller.project.pk}/next/"),
    "answer": lambda caller, item: caller.answer_next(item, answers={"severity": "minor"}),
    "answer flagged": lambda caller, item: caller.answer_next(
        item, answers={"severity": "none"}, comment="odd", flagged=True
    ),
    "answer nothing": lambda caller, item: caller.answer_next(item, answers={}),
    "skip by API": lambda caller, item: caller.answer_next(item, skip="unclear"),
    "page": lambda caller, item: caller.open_page(item),
    "submit": lambda caller, item: caller.submit(item, 1),
    "submit other": lambda caller, item: caller.submit(item, 2, comment="so", flagged="on"),
    "submit from an old page": lambda caller, item: caller.submit(item, 3, answer_version="0"),
    "skip": lambda caller, item: caller.skip(item),
    "undo": lambda caller, item: caller.undo(item),
}
SEQUENCES = [
    ("rate", "rate", "rate other", "rate with comment", "withdraw", "withdraw", "rate", "page"),
    ("rate", "next", "rate other", "withdraw", "next", "rate", "submit other", "undo", "submit"),
    ("answer", "answer", "answer flagged", "rate", "rate with comment", "withdraw", "answer"),
    ("submit", "rate other", "submit", "submit other", "page", "rate", "undo", "page", "rate"),
    ("skip", "rate", "page", "submit", "rate other", "skip"),
    ("skip by API", "rate", "page", "undo", "rate", "next", "rate other"),
    ("rate", "skip", "rate other", "page", "undo", "page", "withdraw", "answer"),
    ("withdraw", "unknown label", "answer nothing", "rate", "submit from an old page", "submit"),
    ("submit", "submit from an old page", "withdraw", "page", "submit", "undo", "undo", "rate"),
    ("expire", "rate", "page", "submit", "rate other"),
    ("rate", "expire", "rate other", "page", "withdraw", "submit"),
    ("skip", "others rate", "submit", "undo", "answer", "page"),
    ("skip", "others rate", "undo", "page", "rate"),
    ("expire", "others rate", "answer", "submit", "page"),
    ("skip", "another rates", "submit", "page"),
]


# Raters who take the slots that the rater has left: all of them, or one of several.
OTHERS = {"others rate": ("ben", "eve"), "another rates": ("ben",)}
ITEM_ID = 987_654  # of the item in each run, so that addresses are equal


@pytest.fixture
def caller(
    project: Project, question: Question, annotator: Any, client_for: Any, api_for: Any
) -> Caller:
    return Caller(client_for(annotator), api_for(annotator), project, question)


def _create_item(project: Project, question: Question, kind: str, rate: Any) -> Item:
    """Create the rater's open item of a kind; a repeat was rated ten days ago."""
    with time_machine.travel(NOW - datetime.timedelta(days=10), tick=False):
        item = Item.objects.create(pk=ITEM_ID, project=project, key="it", body={"text": "same"})
        if kind == "repeat":
            rate(question, "it", "ann", "critical")
        elif kind == "gold":
            set_gold_answer(item=item, question=question, answer=[0], by=None)
    Assignment.objects.create(
        item=item,
        rater=Rater.objects.get(key="ann"),
        kind=kind,
        leased_until=timezone.now() + datetime.timedelta(hours=1),
    )
    return item


def _describe(response: Any) -> tuple[int, str, str]:
    """Return the response's status, address and text, without what each request draws anew."""
    text = _VARYING.sub("", response.content.decode())
    return response.status_code, response.headers.get("Location", ""), text


def _list_responses(
    caller: Caller, kind: str, names: tuple[str, ...], rate: Any
) -> list[tuple[str, Any]]:
    """Return what the rater sees of each call, and of all pages in the end, for an item of a kind."""
    responses: list[tuple[str, Any]] = []
    cache.clear()
    with time_machine.travel(NOW, tick=False) as clock, transaction.atomic():
        item = _create_item(caller.project, caller.question, kind, rate)
        ratings = list(Rating.objects.values_list("pk", "item"))
        for name in names:
            clock.shift(60)
            if name == "expire":
                Assignment.objects.filter(item=item).update(
                    state="expired", closed_at=timezone.now()
                )
                continue
            if name in OTHERS:
                for key in OTHERS[name]:
                    rate(caller.question, item.key, key, "minor")
                continue
            responses.append((name, _describe(CALLS[name](caller, item))))
        for response in caller.read():
            responses.append((response.wsgi_request.get_full_path(), _describe(response)))
        if kind:
            own_ratings = Rating.objects.exclude(rater__key__in=OTHERS["others rate"])
            assert list(own_ratings.values_list("pk", "item")) == ratings
            assert Assignment.objects.get(item=item).kind == kind
        transaction.set_rollback(True)
    return responses


@pytest.mark.parametrize(
    "corrections",
    [
        True,
        pytest.param(False, marks=pytest.mark.sqlite_only("a refused correction stores nothing")),
    ],
)
@pytest.mark.parametrize("names", SEQUENCES, ids=" ".join)
def test_no_call_tells_a_check_from_an_ordinary_item(
    caller: Caller, names: tuple[str, ...], corrections: bool, rate: Any
) -> None:
    Project.objects.update(allows_corrections=corrections, overlap=len(OTHERS["others rate"]))
    responses = {kind: _list_responses(caller, kind, names, rate) for kind in KINDS}

    def select_answers(kind: str) -> list[tuple[str, Any]]:
        return [
            (name, (status, location, text if text.startswith("{") else ""))
            for name, (status, location, text) in responses[kind]
        ]

    # Pages show how many items are left. That number counts the slots that a rater holds, which a
    # check does not, so it may differ once the rater has lost the item.
    if not {"expire", "others rate"} & set(names):
        for gold, ordinary in zip(responses["gold"], responses[""], strict=True):
            assert gold == ordinary
    assert select_answers("gold") == select_answers("")
    # Figures on pages count the first rating of a repeated item, too.
    assert select_answers("repeat") == select_answers("")
    assert {status for _name, (status, _location, _text) in responses[""]} <= {
        *(200, 204, 302, 400, 403, 404, 409)
    }


def test_mixed_rows_are_stored_by_what_their_items_are(
    caller: Caller, project: Project, question: Question, rate: Any
) -> None:
    gold = _create_item(project, question, "gold", rate)
    other = Item.objects.create(project=project, key="other", body={"text": "x"})
    until = timezone.now() + datetime.timedelta(hours=1)
    rater = Rater.objects.get(key="ann")
    Assignment.objects.create(item=other, rater=rater, leased_until=until)
    rows = [{"item": key, "label": "minor"} for key in ("it", "other")]
    address = f"/api/v1/projects/{project.pk}/ratings/"
    assert caller.api.post(address, rows, format="json").json()["created"] == 2
    assert caller.api.post(address, rows, format="json").json()["unchanged"] == 2
    rows[0]["label"] = rows[1]["label"] = "major"
    assert caller.api.post(address, rows, format="json").json()["changed"] == 2
    assert Rating.objects.get().item == other
    assert CheckAnswer.objects.get(is_current=True).item == gold
    assert caller.api.post(address, [*rows, {"item": "odd"}], format="json").status_code == 400
    assert CheckAnswer.objects.count() == 2


def test_answers_of_a_passed_exam_are_final_for_the_api(
    caller: Caller, project: Project, question: Question, rate: Any
) -> None:
    item = _create_item(project, question, "exam", rate)
    assert caller.rate(item, "minor").status_code == 403
    Assignment.objects.update(state="done", closed_at=timezone.now())
    response = caller.rate(item, "minor")
    assert response.status_code == 403
    assert "Exam answers" in response.text
    assert not Rating.objects.exists() and not CheckAnswer.objects.exists()
