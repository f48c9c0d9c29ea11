"""Real exports of other tools, imported by the command line.

They are never part of the repository; without their folder these tests are skipped.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from projects.models import Item, Project
from ratings.models import Rating
from tests.ratings.imports.wizard_client import snapshot_import_tables

pytestmark = pytest.mark.django_db

ARGILLA_COUNTS = {"items": 40, "raters": 3, "ratings": 120}
# file -> imported counts and skipped counts, or part of the error message
EXPECTED: dict[str, Any] = {
    "argilla/argilla2_record_to_dict_pandalm40.json": (ARGILLA_COUNTS, {}),
    "argilla/argilla2_to_json_pandalm40.json": (ARGILLA_COUNTS, {}),
    "argilla/argilla2_to_list_flatten_pandalm40.json": (ARGILLA_COUNTS, {}),
    "doccano/*bounding_box__example.jsonl": "Line 13: Invalid JSON",
    "doccano/*image_captioning__example.jsonl": ({"items": 3, "ratings": 3}, {}),
    "doccano/*image_classification__example.jsonl": ({"items": 3, "ratings": 3}, {}),
    "doccano/*intent_detection__example.jsonl": ({"items": 2, "ratings": 2}, {"spans": 2}),
    "doccano/*examples__relation_extraction__example.jsonl": (
        {"items": 1, "ratings": 0},
        {"spans": 1, "relations": 1},
    ),
    "doccano/*segmentation__example.jsonl": "Line 9: Invalid JSON",
    "doccano/*examples__sequence_labeling__example.jsonl": ({"items": 3}, {"spans": 3}),
    "doccano/*sequence_to_sequence__example.csv": ({"items": 3, "ratings": 3}, {}),
    "doccano/*sequence_to_sequence__example.json": ({"items": 3, "ratings": 3}, {}),
    "doccano/*sequence_to_sequence__example.jsonl": ({"items": 3, "ratings": 3}, {}),
    "doccano/*speech_to_text__example.jsonl": ({"items": 3, "ratings": 3}, {}),
    "doccano/*examples__text_classification__example.csv": ({"items": 3, "ratings": 3}, {}),
    "doccano/*examples__text_classification__example.json": ({"items": 3, "ratings": 3}, {}),
    "doccano/*examples__text_classification__example.jsonl": ({"items": 3, "ratings": 3}, {}),
    "doccano/*example.utf16.csv": ({"items": 3, "ratings": 3}, {}),
    "doccano/*intent__example.jsonl": (
        {"items": 4, "ratings": 2},
        {"spans": 2, "no_label": 1, "no_content": 1},
    ),
    "doccano/*data__relation_extraction__example.jsonl": (
        {"items": 1},
        {"spans": 1, "relations": 1},
    ),
    "doccano/*seq2seq__example.csv": (
        {"items": 2, "ratings": 1},
        {"no_content": 1, "no_label": 1},
    ),
    "doccano/*seq2seq__example.json": (
        {"items": 2, "ratings": 1},
        {"no_content": 2, "no_label": 1},
    ),
    "doccano/*seq2seq__example.jsonl": (
        {"items": 2, "ratings": 1},
        {"no_content": 2, "no_label": 1},
    ),
    "doccano/*sequence_labeling__example.conll": "CoNLL",
    "doccano/*data__sequence_labeling__example.jsonl": (
        {"items": 2, "ratings": 0},
        {"spans": 1, "no_label": 1, "no_content": 1},
    ),
    "doccano/*example_overlapping.jsonl": ({"items": 1}, {"spans": 1}),
    "doccano/*labeling.invalid.conll": "Choose a label column",
    "doccano/*labeling.trailing.conll": "CoNLL",
    "doccano/*data__text_classification__example.csv": (
        {"items": 2, "ratings": 1},
        {"no_label": 1, "no_content": 1},
    ),
    "doccano/*example.invalid.2.csv": "The header row has 2 cells, this row 3",
    "doccano/*data__text_classification__example.json": (
        {"items": 3, "ratings": 1},
        {"several_labels": 1, "no_label": 1, "no_content": 1},
    ),
    "doccano/*data__text_classification__example.jsonl": (
        {"items": 3, "ratings": 1},
        {"several_labels": 1, "no_label": 1},
    ),
    "doccano/*out_of_order_columns.csv": (
        {"items": 2, "ratings": 1},
        {"no_label": 1, "no_content": 1},
    ),
    "label_studio/LICENSE.sdk": "Only one column",
    "label_studio/evalme_3annotators_bbox.json": ({"items": 5, "ratings": 0}, {"boxes": 20}),
    "label_studio/evalme_old_completions_format.json": (
        {"items": 2, "raters": 1, "ratings": 1},
        {"several_labels": 1},
    ),
    "label_studio/sdk_test_export_csv_csv_test.json": ({"items": 2}, {"boxes": 4, "review": 2}),
    "label_studio/sdk_test_export_csv_csv_test2.json": ({"items": 1}, {"free_text": 1}),
    "label_studio/sdk_test_export_csv_csv_test_history.json": (
        {"items": 1, "raters": 1, "ratings": 1},
        {},
    ),
    "label_studio/sdk_test_export_json_min_data.json": ({"items": 1}, {"boxes": 1}),
    "prodigy/*ner_first60.jsonl": ({"items": 60, "ratings": 0}, {"spans": 60}),
    "prodigy/*textcat_first60.jsonl": ({"items": 60, "ratings": 40, "skips": 20}, {}),
    "zooniverse/cat-project-classifications_trimmed.csv": (
        {"items": 12, "ratings": 0},
        {"boxes": 12},
    ),
    "zooniverse/cls_export.csv": ({"items": 7, "raters": 1, "ratings": 10}, {}),
}


@pytest.fixture(scope="module")
def exports(shared_data: Path) -> Path:
    folder = shared_data.parent / "exports"
    if not folder.is_dir():
        pytest.skip("no exports of other tools beside the real data sets")
    return folder


def import_with_scale(path: Path, owner: str) -> tuple[int, dict[str, Any]]:
    output = io.StringIO()
    try:
        call_command("import_file", str(path), name="X", owner=owner, json=True, stdout=output)
    except SystemExit as exit_error:
        return int(str(exit_error.code)), json.loads(output.getvalue())
    return 0, json.loads(output.getvalue())


def test_every_export_has_an_expectation(exports: Path) -> None:
    files = {path for path in exports.glob("*/*") if path.is_file()}
    expected_files = {path for pattern in EXPECTED for path in exports.glob(pattern)}
    assert files == expected_files


@pytest.mark.parametrize("pattern", EXPECTED)
def test_real_export_is_imported_or_refused(exports: Path, lead: Any, pattern: str) -> None:
    (path,) = exports.glob(pattern)
    before = snapshot_import_tables()
    status, report = import_with_scale(path, lead.username)
    if isinstance(EXPECTED[pattern], str):
        assert status == 1
        assert EXPECTED[pattern] in report["problems"][0]["message"]
        assert snapshot_import_tables() == before
        return
    counts, left_out = EXPECTED[pattern]
    assert (status, report["problems"]) == (0, [])
    assert {name: report[name] for name in counts} == counts
    assert report["left_out"] == left_out
    project = Project.objects.get()
    assert Item.objects.filter(project=project).count() == report["items"]
    assert Rating.objects.current().filter(item__project=project).count() == report["ratings"]
