"""Test the parameter ``ordering`` of lists, and cursors of ordered pages."""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import timezone

from metrics.filtered import item_ranking
from projects.models import Category, Item, Member, Project, Question, Rater
from quality.consensus import recomputation
from quality.models import Alert, ItemLabel
from ratings.items import item_search
from ratings.models import Rating

Address = Callable[..., str]
DAY = datetime.timedelta(days=1)


@pytest.fixture
def iter_rows(api: Any) -> Callable[[str], Iterator[dict[str, Any]]]:
    """Return ``iter_rows(path)``, which yields the results of all pages."""

    def read(path: str | None) -> Iterator[dict[str, Any]]:
        while path:
            response = api.get(path)
            assert response.status_code == 200, response.content
            yield from response.json()["results"]
            path = response.json()["next"]

    return read


@pytest.mark.parametrize("page_size", [1, 2, 3, 200])
def test_raters_are_ordered_over_pages(
    page_size: int, address: Address, project: Project, iter_rows: Any
) -> None:
    names = {"zoe": "Ann", "b": "", "é": "Ann", "B": "Ben"}
    for key, name in names.items():
        Rater.objects.create(project=project, key=key, name=name)
    path = address(f"raters/?page_size={page_size}&ordering=")
    rows = list(iter_rows(path + "name"))
    assert [row["name"] for row in rows] == sorted(row["name"] for row in rows)
    keys = [row["key"] for row in rows]
    assert keys == [row["key"] for row in iter_rows(path + "-name")][::-1]
    assert len(keys) == len(set(keys)) == project.raters.count()
    assert {row["key"] for row in iter_rows(path + "key&name=Ann")} == {"ann", "zoe", "é"}


def test_labels_are_ordered_by_confidence_and_time(
    address: Address, question: Question, rate: Any, iter_rows: Any
) -> None:
    for item, labels in {"i1": "aab", "i2": "aaa", "i3": "abc", "i4": "bbb"}.items():
        for rater, label in zip(("ann", "ben", "cleo"), labels, strict=True):
            rate(question, item, rater, {"a": "none", "b": "minor", "c": "major"}[label])
    recomputation.recompute_question(question.pk)
    now = timezone.now()
    for days, item in enumerate(("i3", "i1", "i4", "i2")):
        ItemLabel.objects.filter(item__key=item).update(computed_at=now - days * DAY)

    def list_items(ordering: str) -> list[str]:
        path = address(f"labels/?page_size=2&ordering={ordering}")
        return [row["item"] for row in iter_rows(path)]

    uncertain_first = list_items("confidence")
    assert uncertain_first[:2] == ["i3", "i1"]
    assert uncertain_first == list_items("-confidence")[::-1]
    assert list_items("-as_of") == ["i3", "i1", "i4", "i2"]
    assert list_items("as_of&label=minor") == ["i4"]


def test_alerts_and_projects_are_ordered(
    address: Address,
    project: Project,
    question: Question,
    make_alert: Any,
    make_project: Any,
    lead: Any,
    iter_rows: Any,
) -> None:
    ann, now = project.raters.get(), timezone.now()
    alerts = [make_alert(question, ann), make_alert(question, ann, kind="rater_apart")]
    Alert.objects.filter(pk=alerts[1].pk).update(created_at=now - DAY)
    newest_first = list(iter_rows(address("alerts/?ordering=-raised_at&page_size=1")))
    assert [row["id"] for row in newest_first] == [alerts[0].pk, alerts[1].pk]
    only = list(iter_rows(address("alerts/?kind=rater_apart")))
    assert [row["id"] for row in only] == [alerts[1].pk]
    Member.objects.create(project=make_project("A first name"), user=lead, role="lead")
    names = [row["name"] for row in iter_rows("/api/v1/projects/?ordering=name&page_size=1")]
    assert names == sorted(names)
    assert len(names) == 2


@pytest.fixture
def rated_items(question: Question, rate: Any, utc: Any) -> Question:
    """Return a question with items i1 (1 rating), i2 (3, equal), i3 (3, close), i4 (2, apart).

    A fifth item has no ratings.
    """
    answers = {"i1": ["none"], "i2": ["none"] * 3, "i3": ["none", "none", "minor"]}
    answers["i4"] = ["none", "major"]
    for day, (item, labels) in enumerate(answers.items(), start=1):
        for rater, label in zip(("ann", "ben", "cleo"), labels, strict=False):
            rate(question, item, rater, label, rated_at=utc(2026, 3, 10 - day, 9))
    Item.objects.create(project=question.project, key="i5")
    for days, pk in enumerate(Item.objects.order_by("key").values_list("pk", flat=True)):
        moment = utc(2026, 3, 1) - days * DAY
        Item.objects.filter(pk=pk).update(created_at=moment, changed_at=moment)
        Rating.objects.filter(item=pk).update(changed_at=moment)
    return question


@pytest.mark.parametrize("page_size", [1, 2, 200])
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("-disagreement", ["i4", "i3", "i2", "i1"]),
        ("-ratings", ["i3", "i2", "i4", "i1"]),
        ("-rated_at", ["i1", "i2", "i3", "i4"]),
        ("key", ["i1", "i2", "i3", "i4", "i5"]),
        ("-key&min_ratings=2", ["i4", "i3", "i2"]),
        ("changed_at", ["i5", "i4", "i3", "i2", "i1"]),
        ("-created_at&search=i2", ["i2"]),
        ("-disagreement&min_ratings=3", ["i3", "i2"]),
    ],
)
def test_items_are_ordered_over_pages(
    page_size: int,
    query: str,
    expected: list[str],
    address: Address,
    rated_items: Question,
    iter_rows: Any,
) -> None:
    path = address(f"items/?page_size={page_size}&ordering={query}")
    assert [row["key"] for row in iter_rows(path)] == expected


def test_an_order_scans_a_bounded_number_of_items(
    address: Address, rated_items: Question, iter_rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_search, "MAX_ITEMS_SCANNED", 2)
    path = address("items/?ordering=key&min_ratings=3")
    assert [row["key"] for row in iter_rows(path)] == ["i2", "i3"]


def test_items_are_ordered_by_a_worker_if_there_are_many_ratings(
    api: Any, address: Address, rated_items: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_ranking, "MAX_SORTED_RATINGS", 3)
    response = api.get(address("items/?ordering=-disagreement"))
    assert (response.status_code, response.json()) == (202, {"computed_at": None})
    assert response["Retry-After"] == "1"


@pytest.mark.parametrize("page_size", [1, 2, 3, 200])
def test_ratings_are_ordered_by_time_over_pages(
    page_size: int,
    address: Address,
    rated_items: Question,
    iter_rows: Any,
    rate: Any,
) -> None:
    tone = Question.objects.create(project=rated_items.project, key="tone", text="Tone?")
    Category.objects.create(question=tone, code=0, label="kind", position=0)
    rate(tone, "i5", "ann", "kind")
    path = address(f"ratings/?page_size={page_size}&ordering=")
    newest_first = list(iter_rows(path + "-rated_at"))
    assert [row["item"] for row in newest_first] == [
        "i5",
        "i1",
        *["i2"] * 3,
        *["i3"] * 3,
        "i4",
        "i4",
    ]
    assert newest_first == list(iter_rows(path + "rated_at"))[::-1]
    changed = [row["item"] for row in iter_rows(path + "changed_at&rater=ben")]
    assert changed == ["i4", "i3", "i2"]


def encode(*parts: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("ordering=group", "ordering"),
        ("ordering=--name", "ordering"),
        ("ordering=-", "ordering"),
        ("ordering=name,key", "ordering"),
        (f"ordering=name&cursor={encode(1)}", "cursor"),
        (f"ordering=name&cursor={encode('a')}", "cursor"),
        (f"ordering=name&cursor={encode('a', 'b')}", "cursor"),
        (f"ordering=name&cursor={encode('a', 2**70)}", "cursor"),
        (f"ordering=name&cursor={encode(chr(0), 1)}", "cursor"),
        (f"ordering=name&cursor={encode(chr(0xD800), 1)}", "cursor"),
        (f"ordering=name&cursor={encode(None, 1)}", "cursor"),
        (f"cursor={encode('a', 1)}", "cursor"),
        (f"cursor={encode(True)}", "cursor"),
        ("cursor=!!", "cursor"),
    ],
)
def test_invalid_order_and_cursor_are_named(
    query: str, field: str, api: Any, address: Address, refused: Any
) -> None:
    assert field in refused(api.get, address(f"raters/?{query}"))["fields"]


@pytest.mark.parametrize(
    ("path", "field", "allowed"),
    [
        ("items/?ordering=body", "ordering", "changed_at"),
        ("items/?ordering=disagreement", "ordering", "-disagreement"),
        ("items/?question=severity", "question", "-disagreement"),
        ("items/?ordering=-ratings&question=nosuch", "question", "severity"),
        (f"items/?ordering=-ratings&cursor={encode('x')}", "cursor", "next"),
        ("ratings/?ordering=label", "ordering", "-rated_at"),
        (f"ratings/?ordering=rated_at&cursor={encode(1, 2, 3)}", "cursor", "next"),
        (f"ratings/?ordering=rated_at&cursor={encode(2**61, 1, 1, 1)}", "cursor", "next"),
    ],
)
def test_unknown_order_lists_what_is_allowed(
    path: str, field: str, allowed: str, api: Any, address: Address, refused: Any
) -> None:
    assert allowed in refused(api.get, address(path))["fields"][field]


@pytest.mark.parametrize("value", ["NaN", "1e400", '"x"', "[1]", "{}"])
def test_number_of_a_cursor_is_checked(
    value: str, api: Any, address: Address, question: Question
) -> None:
    cursor = base64.urlsafe_b64encode(f"[{value},1]".encode()).decode().rstrip("=")
    response = api.get(address(f"labels/?ordering=confidence&cursor={cursor}"))
    assert response.status_code == 400
    assert "cursor" in response.json()["error"]["fields"]
