"""A file source is one module and one line in SOURCES.

Here it is a tool whose files are lists of JSON.
"""

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
from tests.ratings.imports.wizard_client import WizardClient, get_labels

FIELD_NAMES = ["task", "by", "choice"]
TOOL_RECORDS = [
    {"task": "i1", "by": "ann", "choice": "none"},
    {"task": "i1", "by": "bea", "choice": "minor"},
    {"task": "i2", "by": "ann", "choice": "none"},
]


class ListSource:
    name = "lists of a tool"
    extensions = (".lists",)
    has_encoding = False
    has_delimiter = False

    def can_read(self, sample: FileSample) -> bool:
        return sample.has_fields(*FIELD_NAMES)

    def read_head(self, path: Path, mapping: ImportMapping) -> None:
        return None

    def guess_columns(self, head: Any, *, labels: set[str]) -> Any:
        raise AssertionError("there are no columns to guess")

    def open_reader(self, path: Path, mapping: ImportMapping) -> FileReader:
        return ListReader(path)


class ListReader:
    columns = {"item": "task", "rater": "by", "label": "choice"}

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bytes_read = 0

    def iter_records(self) -> Iterator[Record]:
        for number, row in enumerate(json.loads(self.path.read_bytes()), start=1):
            yield ItemRecord(number, row["task"], {"text": row["task"].upper()})
            yield RatingRecord(number, row["task"], row["by"], "severity", row["choice"])

    def find_final_problem(self, labels: Any, *, is_usable: bool) -> ReaderProblem | None:
        return None


@pytest.fixture
def list_source() -> Iterator[None]:
    before = dict(SOURCES)
    SOURCES.clear()
    SOURCES.update({"lists": ListSource(), **before})
    yield
    SOURCES.clear()
    SOURCES.update(before)


@pytest.fixture
def wizard(project: Project, lead: User, client: Client) -> WizardClient:
    client.force_login(lead)
    return WizardClient(client, project)


def test_csv_is_the_last_source_and_accepts_every_text(tmp_path: Path) -> None:
    assert list(SOURCES)[-1] == "csv"
    path = tmp_path / "named.json"  # the name is ignored
    path.write_bytes(b"item,rater,label\n")
    assert detect_source(read_sample(path, encoding="utf-8")) == "csv"


def test_source_has_its_own_extensions_and_options(list_source: Any, wizard: WizardClient) -> None:
    assert ".lists" in list_extensions()
    assert ".lists" in wizard.client.get(wizard.upload_url).content.decode()
    wizard.upload(json.dumps(TOOL_RECORDS).encode())
    page = wizard.get_page()
    assert "lists of a tool" in page.content.decode()
    assert set(page.context["reading"].fields) == {"source"}


def test_a_file_is_read_by_the_source_that_recognises_it(
    list_source: Any, wizard: WizardClient
) -> None:
    run = wizard.import_file(json.dumps(TOOL_RECORDS).encode())
    assert (run.state, run.mapping["source"]) == ("done", "lists")
    expected = {("i1", "ann"): "none", ("i1", "bea"): "minor", ("i2", "ann"): "none"}
    assert run.question and run.project
    assert get_labels(run.question) == expected
    assert dict(run.project.items.values_list("key", "body")) == {
        "i1": {"text": "I1"},
        "i2": {"text": "I2"},
    }


def test_problems_of_a_source_use_its_field_names(list_source: Any, wizard: WizardClient) -> None:
    run = wizard.upload_and_validate(
        json.dumps([*TOOL_RECORDS, {"task": "i3", "by": "", "choice": "none"}]).encode()
    )
    (problem,) = run.problems
    assert run.state == "invalid"
    assert (problem["kind"], problem["line"], problem["column"]) == ("key_empty", 4, "by")
