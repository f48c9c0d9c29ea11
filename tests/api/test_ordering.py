"""Test the parameter ``ordering`` of lists, and cursors of ordered pages."""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import timezone

from projects.models import Member, Project, Question, Rater
from quality.consensus import recomputation
from quality.models import Alert, ItemLabel

Address = Callable[..., str]
DAY = datetime.timedelta(days=1)


@pytest.fixture
def iter_rows(api: Any) -> Callable[[str], Iterator[dict[str, Any]]]:
    """``iter_rows(path)`` yields the results of all pages."""

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


def test_labels_are_ordered_by_certainty_and_time(
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


@pytest.mark.parametrize("value", ["NaN", "1e400", '"x"', "[1]", "{}"])
def test_number_of_a_cursor_is_checked(
    value: str, api: Any, address: Address, question: Question
) -> None:
    cursor = base64.urlsafe_b64encode(f"[{value},1]".encode()).decode().rstrip("=")
    response = api.get(address(f"labels/?ordering=confidence&cursor={cursor}"))
    assert response.status_code == 400
    assert "cursor" in response.json()["error"]["fields"]
