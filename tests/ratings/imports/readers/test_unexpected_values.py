"""Records whose parts are of other kinds than a tool writes: a reader names or leaves out what it
cannot use, and raises nothing."""

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
from tests.ratings.imports.readers.tools.test_tool_exports import ARGILLA, MIN, TASKS

ODD: list[Any] = [
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
    "label_studio": [*TASKS, MIN],
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
        ARGILLA,
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


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to everything inside."""
    inner: Any = []
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    for name, part in inner:
        yield (*path, name)
        yield from places(part, (*path, name))


def odd_ones(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for path in places(record):
        for odd in ODD:
            changed: Any = copy.deepcopy(record)
            at = changed
            for name in path[:-1]:
                at = at[name]
            at[path[-1]] = odd
            yield changed


@pytest.mark.parametrize("name", RECORDS)
def test_nothing_is_raised(name: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(
        "".join(json.dumps(odd) + "\n" for one in RECORDS[name] for odd in odd_ones(one))
    )
    chosen = ImportMapping(source=name, encoding="utf-8-sig", one_rater="r")
    found = list(SOURCES[name].open_reader(path, chosen).iter_records())
    assert not [one for one in found if getattr(one, "fatal", False)]
    for one in found:
        if isinstance(one, ItemRecord):
            assert isinstance(one.key, str)
            assert isinstance(one.body, dict | None)
            assert isinstance(one.attributes, dict | None)
        elif isinstance(one, RatingRecord):
            texts = (one.item, one.rater, one.question)
            assert all(isinstance(text, str) for text in texts)
            assert isinstance(one.label, str | None)
            assert isinstance(one.comment, str | None)
        elif isinstance(one, GoldRecord | RaterRecord):
            assert isinstance(one[1], str)


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
    for odd in [*map(json.dumps, ODD), '[{"task": 1}]', '[{"value": {}}]', "{", "[" * 5000]:
        row = cells | {column: odd}
        rows.append(["1", "ann", "2", *(row[name] for name in names[3:7]), "7"])
    lines = [
        ",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in [names, *rows]
    ]
    path = tmp_path / "file"
    path.write_text("\n".join(lines))
    chosen = ImportMapping(source="zooniverse", encoding="utf-8-sig")
    found = list(SOURCES["zooniverse"].open_reader(path, chosen).iter_records())
    assert not [one for one in found if getattr(one, "fatal", False)]
