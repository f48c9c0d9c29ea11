"""A source is one module and its line in SOURCES: here a tool whose files are lists of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from projects.models import Project
from ratings.importing.columns import Guess, Look
from ratings.importing.judging import Judge, Row
from ratings.importing.mapping import Mapping
from ratings.importing.sources import SOURCES, Reader, Source, source_of
from tests.ratings.importing.import_wizard import Wizard, said

FIELDS = ["task", "by", "choice"]
TOLD = [
    {"task": "i1", "by": "ann", "choice": "none"},
    {"task": "i1", "by": "bea", "choice": "minor"},
    {"task": "i2", "by": "ann", "choice": "none"},
]


class Lists:
    def recognises(self, head: bytes) -> bool:
        return head.startswith(b"[{")

    def look(self, path: Path, mapping: Mapping) -> Look:
        told = json.loads(path.read_bytes())
        rows = [(number, list(one.values())) for number, one in enumerate(told, start=1)]
        return Look(",", FIELDS, rows)

    def guess(self, look: Look, *, labels: set[str]) -> Guess:
        return Guess("long", {"item": 0, "rater": 1, "label": 2})

    def reader(self, path: Path, mapping: Mapping) -> Reader:
        return ListReader(path)


class ListReader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.bytes_read = 0

    def rows(self, judge: Judge) -> Iterator[Row]:
        items, raters = judge.items("task"), judge.raters("by")
        for number, one in enumerate(json.loads(self.path.read_bytes()), start=1):
            item = items.number(one["task"], number)
            rater = raters.number(one["by"], number)
            label = judge.labels.number(one["choice"], number, "choice")
            if item is not None and rater is not None and label is not None:
                yield item, rater, number, label, None, None


@pytest.fixture
def lists(monkeypatch: pytest.MonkeyPatch) -> Source:
    source = Lists()
    csv = SOURCES["csv"]
    monkeypatch.delitem(SOURCES, "csv")
    monkeypatch.setitem(SOURCES, "lists", source)
    monkeypatch.setitem(SOURCES, "csv", csv)
    return source


@pytest.fixture
def wizard(project: Project, lead: User, client: Client) -> Wizard:
    client.force_login(lead)
    return Wizard(client, project)


def test_csv_comes_last_and_takes_every_text() -> None:
    assert list(SOURCES)[-1] == "csv"
    assert source_of(b"item,rater,label\n") == "csv"


def test_a_file_is_read_by_the_source_that_recognises_it(lists: Any, wizard: Wizard) -> None:
    run = wizard.all(json.dumps(TOLD).encode())
    assert (run.state, run.mapping["source"]) == ("done", "lists")
    expected = {("i1", "ann"): "none", ("i1", "bea"): "minor", ("i2", "ann"): "none"}
    assert said(run.question) == expected


def test_its_problems_are_named_by_its_own_fields(lists: Any, wizard: Wizard) -> None:
    run = wizard.check(json.dumps([*TOLD, {"task": "i3", "by": "", "choice": "none"}]).encode())
    (problem,) = run.problems
    assert run.state == "refused"
    assert (problem["kind"], problem["line"], problem["column"]) == ("key_empty", 4, "by")
