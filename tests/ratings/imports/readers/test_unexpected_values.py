"""Records whose parts have types that no tool writes.

A reader reports or skips what it cannot use and raises nothing.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers import SOURCES
from ratings.imports.records import GoldRecord, ItemRecord, RaterRecord, RatingRecord
from tests.ratings.imports.readers.tools.test_tool_exports import ARGILLA_RECORD, MIN_RECORD, TASKS

ODD_VALUES: list[Any] = [
    None,
    True,
    5,
    -1.5,
    "",
    "x",
    [],
    {},
    [1],
    ["x", "y"],
    [[]],
    [{}],
    {"a": 1},
    [None],
]
RECORDS: dict[str, list[dict[str, Any]]] = {
    "label_studio": [*TASKS, MIN_RECORD],
    "prodigy": [
        {
            "text": "x",
            "_input_hash": 1,
            "_task_hash": 1,
            "label": "L",
            "answer": "accept",
            "meta": {"a": 1},
            "_timestamp": 1.5,
            "_annotator_id": "ann",
        },
        {
            "text": "x",
            "_input_hash": 1,
            "options": [{"id": "a"}],
            "accept": ["a"],
            "answer": "accept",
        },
    ],
    "argilla": [
        ARGILLA_RECORD,
        {
            "id": "a",
            "text": "x y",
            "t.responses": ["k"],
            "t.responses.users": ["u"],
            "t.responses.status": ["submitted"],
            "t.suggestion": "k",
            "t.suggestion.agent": "m",
        },
        {
            "fields": {"text": "x"},
            "responses": [{"user_id": "u", "values": {"t": {"value": "k"}}, "status": "submitted"}],
            "suggestions": [{"question_name": "t", "value": "k", "agent": "m"}],
        },
    ],
    "potato": [
        {"id": "1", "displayed_text": "x", "label_annotations": {"s": {"a": "true"}}},
        {"user": "u", "instance_id": "1", "s:::a": "true", "span_annotations": {}},
    ],
    "inception": [
        {
            "%FEATURE_STRUCTURES": [
                {"%TYPE": "uima.cas.Sofa", "sofaString": "x"},
                {"%TYPE": "a.DocumentMetaData", "documentTitle": "d", "documentId": "u"},
                {"%TYPE": "custom.S", "value": "good"},
            ]
        }
    ],
    "judge": [
        {"item": "a", "model": "m", "prompt_version": "v", "label": "x", "score": 1, "text": "t"},
        {"id": "a", "judge": "m", "verdict": "x", "reasoning": "r", "created_at": 5, "body": {}},
    ],
    "doccano": [
        {"id": 1, "text": "x", "label": ["a"], "meta": {"p": 1}, "entities": [[0, 1, "A"]]},
        {"id": 1, "text": "x", "annotations": [{"label": 1, "user": 2}]},
    ],
    "concord": [
        {"item": "a", "rater": "r", "question": "q", "label": "x", "rated_at": "t", "comment": "c"},
        {"key": "a", "body": {"text": "x"}, "attributes": {"n": 1}, "gold": {"q": ["A"]}},
    ],
}


def iter_paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths to all nested values."""
    entries: Any = []
    if isinstance(value, dict):
        entries = value.items()
    elif isinstance(value, list):
        entries = enumerate(value)
    for name, part in entries:
        yield (*path, name)
        yield from iter_paths(part, (*path, name))


def iter_odd_records(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for path in iter_paths(record):
        for odd_value in ODD_VALUES:
            changed: Any = copy.deepcopy(record)
            parent = changed
            for name in path[:-1]:
                parent = parent[name]
            parent[path[-1]] = odd_value
            yield changed


@pytest.mark.parametrize("name", RECORDS)
def test_readers_raise_nothing(name: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(
        "".join(
            json.dumps(odd_record) + "\n"
            for record in RECORDS[name]
            for odd_record in iter_odd_records(record)
        )
    )
    mapping = ImportMapping(source=name, encoding="utf-8-sig", default_rater="r")
    records = list(SOURCES[name].open_reader(path, mapping).iter_records())
    assert not [record for record in records if getattr(record, "fatal", False)]
    for record in records:
        if isinstance(record, ItemRecord):
            assert isinstance(record.key, str)
            assert isinstance(record.body, dict | None)
            assert isinstance(record.attributes, dict | None)
        elif isinstance(record, RatingRecord):
            texts = (record.item, record.rater, record.question)
            assert all(isinstance(text, str) for text in texts)
            assert isinstance(record.label, str | None)
            assert isinstance(record.comment, str | None)
        elif isinstance(record, GoldRecord | RaterRecord):
            assert isinstance(record[1], str)


@pytest.mark.parametrize("column", ["metadata", "annotations", "subject_data", "created_at"])
def test_odd_cells_of_zooniverse(tmp_path: Path, column: str) -> None:
    names = ["classification_id", "user_name", "workflow_id", "created_at", "metadata"]
    names += ["annotations", "subject_data", "subject_ids"]
    cells = {
        "created_at": "2026-03-01 10:00:21 UTC",
        "metadata": '{"started_at": "2026-03-01T10:00:00Z"}',
        "annotations": '[{"task": "T0", "value": "Yes"}]',
        "subject_data": '{"7": {"a": 1}}',
    }
    rows = []
    for odd_cell in [
        *map(json.dumps, ODD_VALUES),
        '[{"task": 1}]',
        '[{"value": {}}]',
        "{",
        "[" * 5000,
    ]:
        row = cells | {column: odd_cell}
        rows.append(["1", "ann", "2", *(row[name] for name in names[3:7]), "7"])
    lines = [
        ",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in [names, *rows]
    ]
    path = tmp_path / "file"
    path.write_text("\n".join(lines))
    mapping = ImportMapping(source="zooniverse", encoding="utf-8-sig")
    records = list(SOURCES["zooniverse"].open_reader(path, mapping).iter_records())
    assert not [record for record in records if getattr(record, "fatal", False)]
