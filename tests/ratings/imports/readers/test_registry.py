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
from ratings.imports.decoding.sample import FileSample, read_sample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers import SOURCES, FileReader, detect_source, list_extensions
from ratings.imports.records import ItemRecord, RatingRecord, ReaderProblem, Record
from tests.ratings.imports.wizard_client import Wizard, said

FIELDS = ["task", "by", "choice"]
TOLD = [
    {"task": "i1", "by": "ann", "choice": "none"},
    {"task": "i1", "by": "bea", "choice": "minor"},
    {"task": "i2", "by": "ann", "choice": "none"},
]


class Lists:
    name = "lists of a tool"
    endings = (".lists",)
    encodings = False
    delimiters = False

    def recognises(self, sample: FileSample) -> bool:
        return sample.has_fields(*FIELDS)

    def look(self, path: Path, chosen: ImportMapping) -> None:
        return None

    def guess(self, look: Any, *, labels: set[str]) -> Any:
        raise AssertionError("there are no columns to guess")

    def reader(self, path: Path, chosen: ImportMapping) -> FileReader:
        return ListReader(path)


class ListReader:
    columns = {"item": "task", "rater": "by", "label": "choice"}

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bytes_read = 0

    def records(self) -> Iterator[Record]:
        for number, one in enumerate(json.loads(self.path.read_bytes()), start=1):
            yield ItemRecord(number, one["task"], {"text": one["task"].upper()})
            yield RatingRecord(number, one["task"], one["by"], "severity", one["choice"])

    def trouble(self, labels: Any, *, usable: bool) -> ReaderProblem | None:
        return None


@pytest.fixture
def lists() -> Iterator[None]:
    before = dict(SOURCES)
    SOURCES.clear()
    SOURCES.update({"lists": Lists(), **before})
    yield
    SOURCES.clear()
    SOURCES.update(before)


@pytest.fixture
def wizard(project: Project, lead: User, client: Client) -> Wizard:
    client.force_login(lead)
    return Wizard(client, project)


def test_csv_comes_last_and_takes_every_text(tmp_path: Path) -> None:
    assert list(SOURCES)[-1] == "csv"
    path = tmp_path / "named.json"  # names say nothing
    path.write_bytes(b"item,rater,label\n")
    assert detect_source(read_sample(path, encoding="utf-8")) == "csv"


def test_a_source_tells_its_own_endings_and_choices(lists: Any, wizard: Wizard) -> None:
    assert ".lists" in list_extensions()
    assert ".lists" in wizard.client.get(wizard.entrance).content.decode()
    wizard.upload(json.dumps(TOLD).encode())
    page = wizard.page()
    assert "lists of a tool" in page.content.decode()
    assert set(page.context["reading"].fields) == {"source"}


def test_a_file_is_read_by_the_source_that_recognises_it(lists: Any, wizard: Wizard) -> None:
    run = wizard.all(json.dumps(TOLD).encode())
    assert (run.state, run.mapping["source"]) == ("done", "lists")
    expected = {("i1", "ann"): "none", ("i1", "bea"): "minor", ("i2", "ann"): "none"}
    assert run.question and run.project
    assert said(run.question) == expected
    assert dict(run.project.items.values_list("key", "body")) == {
        "i1": {"text": "I1"},
        "i2": {"text": "I2"},
    }


def test_its_problems_are_named_by_its_own_fields(lists: Any, wizard: Wizard) -> None:
    run = wizard.check(json.dumps([*TOLD, {"task": "i3", "by": "", "choice": "none"}]).encode())
    (problem,) = run.problems
    assert run.state == "refused"
    assert (problem["kind"], problem["line"], problem["column"]) == ("key_empty", 4, "by")
