"""Exports of other annotation tools, read by the wizard's readers.

Everything that Concord can use is imported; what is no single answer is reported.
"""

from __future__ import annotations

import datetime
import functools
import json
from pathlib import Path
from typing import Any

import pytest

from projects.models import GoldAnswer, Item, Project, Rater
from ratings.imports import command
from ratings.models import Assignment, Rating, Revision
from tests.ratings.imports.wizard_client import (
    WizardClient,
    get_labels,
    get_page_text,
    snapshot_import_tables,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def import_content(tmp_path: Path, lead: Any) -> Any:
    """Return a function that imports a file's content into a new project and returns the result."""

    def import_new_project(content: Any, name: str = "file", **options: Any) -> command.FileResult:
        if isinstance(content, list):
            content = "".join(json.dumps(record) + "\n" for record in content)
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        command_options = command.ImportOptions(project_name="Loaded", **options)
        with path.open("rb") as file:
            return command.import_file(file, path, project=None, by=lead, options=command_options)

    return import_new_project


def get_labels_by_question(project: Project) -> dict[str, dict[tuple[str, str], str]]:
    """Return question key -> (item key, rater key) -> label."""
    return {question.key: get_labels(question) for question in project.questions.all()}


def get_bodies(project: Project) -> dict[str, Any]:
    return dict(Item.objects.filter(project=project).values_list("key", "body"))


utc_time = functools.partial(datetime.datetime, tzinfo=datetime.UTC)


# --- Label Studio


def build_choice(label: Any, name: str = "sentiment", kind: str = "choices") -> dict[str, Any]:
    value = {"selected": label} if kind == "pairwise" else {kind: label}
    return {"from_name": name, "to_name": "text", "type": kind, "value": value}


def build_annotation(user: Any, *result: Any, **fields: Any) -> dict[str, Any]:
    return {
        "completed_by": user,
        "result": list(result),
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": "2026-03-01T10:00:00.000000Z",
        "updated_at": "2026-03-01T11:00:00.000000Z",
        "lead_time": 7.5,
    } | fields


ANN_USER = {"id": 1, "email": "ann@example.org", "first_name": "Ann", "last_name": "Lee"}
BOX_RESULT = {
    "from_name": "box",
    "type": "rectanglelabels",
    "value": {"x": 1, "y": 2, "width": 3, "height": 4, "rectanglelabels": ["Car"]},
}
SPAN_RESULT = {
    "from_name": "ner",
    "type": "labels",
    "value": {"start": 0, "end": 3, "labels": ["PER"]},
}
TASKS = [
    {
        "id": 1,
        "data": {"text": "Good", "image": "/data/upload/3/0a1b2c3d-cat.png"},
        "meta": {"source": "web"},
        "annotations": [
            build_annotation(
                ANN_USER,
                build_choice(["Positive"]),
                build_choice(4, "stars", "rating"),
                build_choice([["Animals", "Cats"]], "topic", "taxonomy"),
                build_choice("left", "better", "pairwise"),
                ground_truth=True,
            ),
            build_annotation(
                2, build_choice(["Positive", "Negative"]), build_choice(3, "stars", "rating")
            ),
            build_annotation(
                3, BOX_RESULT, SPAN_RESULT, {"type": "relation", "from_id": "a", "to_id": "b"}
            ),
        ],
        "predictions": [
            {
                "model_version": "bert-2",
                "result": [build_choice(["Negative"])],
                "created_at": "2026-02-01T00:00:00Z",
            }
        ],
    },
    {
        "id": 2,
        "data": {"text": "Bad"},
        "annotations": [
            build_annotation(ANN_USER, was_cancelled=True),
            build_annotation(
                2,
                build_choice(["Negative"]),
                build_choice([["Plants", "Trees"]], "topic", "taxonomy"),
            ),
            build_annotation(3, build_choice("right", "better", "pairwise")),
        ],
        "predictions": [],
    },
]


def test_label_studio(import_content: Any) -> None:
    result = import_content(json.dumps(TASKS))
    assert (result.source, result.stored, result.problems) == ("label_studio", True, [])
    project = result.project
    assert get_labels_by_question(project) == {
        "sentiment": {
            ("1", "ann@example.org"): "Positive",
            ("1", "bert-2"): "Negative",
            ("2", "2"): "Negative",
        },
        "stars": {("1", "ann@example.org"): "4", ("1", "2"): "3"},
        "topic": {("1", "ann@example.org"): "Cats", ("2", "2"): "Trees"},
        "better": {("1", "ann@example.org"): "left", ("2", "3"): "right"},
    }
    assert result.skipped_records == {"several_labels": 1, "boxes": 1, "spans": 1, "relations": 1}
    assert get_bodies(project) == {"1": {"text": "Good", "image": "cat.png"}, "2": {"text": "Bad"}}
    assert Item.objects.get(key="1").attributes == {"source": "web"}
    rater_kinds = dict(Rater.objects.values_list("key", "kind"))
    assert (rater_kinds["bert-2"], rater_kinds["ann@example.org"]) == ("model", "human")
    assert Rater.objects.get(key="ann@example.org").name == "Ann Lee"
    rating = Rating.objects.get(question__key="stars", rater__key="ann@example.org")
    assert (rating.rated_at, rating.seconds) == (utc_time(2026, 3, 1, 10), 7.5)
    gold = GoldAnswer.objects.filter(question__key="sentiment").get()
    assert gold.item.key == "1"
    skipped = Assignment.objects.get(state="skipped")
    assert (skipped.item.key, skipped.rater.key) == ("2", "ann@example.org")


def test_label_studio_history_is_imported(import_content: Any) -> None:
    def build_state(label: str, hour: int, by: int = 1) -> dict[str, Any]:
        at = f"2026-03-01T{hour}:00:00Z"
        return {"created_by": by, "created_at": at, "result": [build_choice([label])]}

    history = [
        build_state("Bad", 12),
        build_state("Good", 11),
        build_state("Bad", 10),
        build_state("Good", 13, by=9),
    ]
    task = {"id": 1, "data": {"text": "x"}}
    task["annotations"] = [build_annotation(ANN_USER, build_choice(["Bad"]), history=history)]
    result = import_content([task])
    assert get_labels_by_question(result.project)["sentiment"] == {("1", "ann@example.org"): "Bad"}
    labels = dict(result.project.questions.get().categories.values_list("code", "label"))
    revisions = [
        (labels[code], at.hour) for code, at in Revision.objects.values_list("code", "rated_at")
    ]
    assert revisions == [("Bad", 10), ("Good", 11), ("Bad", 12)]


def test_label_studio_before_2021(import_content: Any) -> None:
    aggregated = {
        "aggregated_completed_by": [103],
        "result": [[build_choice(["Evil"])]],
        "ground_truth": False,
    }
    result = import_content(json.dumps([{"id": 5, "completions": [aggregated]}]))
    assert get_labels_by_question(result.project) == {"sentiment": {("5", "103"): "Evil"}}


MIN_RECORD = {
    "text": "Good",
    "id": 1,
    "sentiment": "Positive",
    "stars": 4,
    "aspects": {"choices": ["a", "b"]},
    "annotator": 7,
    "annotation_id": 3,
    "created_at": "2026-03-01T10:00:00Z",
    "updated_at": "2026-03-01T10:00:00Z",
    "lead_time": 2.5,
}


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_label_studio_min_and_csv(import_content: Any, kind: str) -> None:
    rows = [MIN_RECORD, {**MIN_RECORD, "sentiment": "Negative", "stars": 2, "annotator": 8}]
    content = json.dumps(rows)
    if kind == "csv":
        lines = [",".join(MIN_RECORD)]
        for row in rows:
            cells = {**row, "aspects": '"{""choices"": [""a"", ""b""]}"'}
            lines.append(",".join(map(str, cells.values())))
        content = "\n".join(lines)
    result = import_content(content)
    assert result.source == "label_studio"
    assert get_labels_by_question(result.project) == {
        "sentiment": {("1", "7"): "Positive", ("1", "8"): "Negative"},
        "stars": {("1", "7"): "4", ("1", "8"): "2"},
    }
    assert result.skipped_records == {"several_labels": 2}
    assert get_bodies(result.project) == {"1": {"text": "Good"}}
    assert Rating.objects.earliest("id").seconds == 2.5


# --- Prodigy


def test_prodigy_binary(import_content: Any) -> None:
    base = {"text": "You fool", "_task_hash": 1, "label": "INSULT", "spans": []}
    result = import_content(
        [
            {**base, "_input_hash": 11, "answer": "accept", "_annotator_id": "db-ann"},
            {**base, "_input_hash": 11, "answer": "reject", "_session_id": "db-ben"},
            {**base, "_input_hash": -12, "text": "Hi", "answer": "ignore", "_session_id": "db-ben"},
        ]
    )
    assert result.source == "prodigy"
    assert get_labels_by_question(result.project) == {
        "INSULT": {("11", "db-ann"): "accept", ("11", "db-ben"): "reject"}
    }
    assert get_bodies(result.project) == {"11": {"text": "You fool"}, "-12": {"text": "Hi"}}
    assert Assignment.objects.get().rater.key == "db-ben"


def test_prodigy_choice_and_spans(import_content: Any) -> None:
    options = [{"id": "POS", "text": "positive"}, {"id": "NEG", "text": "negative"}]
    base = {"text": "Fine", "_input_hash": 1, "_task_hash": 1, "_annotator_id": "ann"}
    choice = {**base, "options": options, "answer": "accept", "_timestamp": 1772359200}
    result = import_content(
        [
            {**choice, "accept": ["POS"]},
            {**choice, "accept": ["POS", "NEG"], "_input_hash": 2, "text": "Both"},
            {**base, "_input_hash": 3, "text": "Ann", "answer": "accept", "spans": [{"start": 0}]},
        ]
    )
    assert get_labels_by_question(result.project) == {"choice": {("1", "ann"): "POS"}}
    labels = [category.label for category in result.project.questions.get().active_categories()]
    assert labels == ["NEG", "POS"]
    assert result.skipped_records == {"several_labels": 1, "spans": 1}
    assert Rating.objects.get().rated_at == utc_time(2026, 3, 1, 10)
    assert Item.objects.count() == 3


# --- doccano, Argilla, Potato


def test_doccano(import_content: Any) -> None:
    result = import_content(
        [
            {"id": 1, "text": "Good", "label": ["positive"], "meta": {"page": 3}},
            {"id": 2, "text": "Bad", "label": ["negative"]},
            {"id": 3, "text": "Both", "label": ["positive", "negative"]},
            {"id": 4, "text": "None", "label": []},
            {"id": 5, "text": "Spans", "label": [[0, 2, "ORG"]]},
            {"id": 6, "label": ["positive"]},
        ],
        name="admin.jsonl",
    )
    assert result.source == "doccano"
    assert get_labels_by_question(result.project) == {
        "label": {("1", "admin"): "positive", ("2", "admin"): "negative"}
    }
    assert result.skipped_records == {
        "several_labels": 1,
        "no_label": 1,
        "spans": 1,
        "no_content": 1,
    }
    assert Item.objects.get(key="1").attributes == {"page": 3}
    assert Item.objects.count() == 5


def test_doccano_csv_and_users(import_content: Any) -> None:
    csv_result = import_content(
        "id,data,label\n1,Good,positive\n2,Bad,negative\n3,Both,a#b\n", name="ben.csv"
    )
    assert csv_result.source == "doccano"
    assert get_labels_by_question(csv_result.project)["label"] == {
        ("1", "ben"): "positive",
        ("2", "ben"): "negative",
    }
    assert csv_result.skipped_records == {"several_labels": 1}
    old_result = import_content(
        [
            {
                "id": 1,
                "text": "x",
                "annotations": [{"label": 2, "user": 7}, {"label": 3, "user": 8}],
            },
            {"id": 2, "text": "y", "annotations": [{"label": 2, "user": 7, "start_offset": 0}]},
        ]
    )
    assert get_labels_by_question(old_result.project)["label"] == {("1", "7"): "2", ("1", "8"): "3"}
    assert old_result.skipped_records == {"spans": 1}


ARGILLA_RECORD = {
    "id": "a",
    "fields": {"text": "Good"},
    "metadata": {"lang": "en"},
    "suggestions": {"tone": {"value": "kind", "score": 0.9, "agent": "gpt-x"}},
    "responses": {
        "tone": [
            {"value": "kind", "user_id": "u1"},
            {"value": "rude", "user_id": "u2", "status": "submitted"},
            {"value": "rude", "user_id": "u3", "status": "draft"},
            {"value": "rude", "user_id": "u4", "status": "discarded"},
        ],
        "many": [{"value": ["a", "b"], "user_id": "u1"}],
    },
}


def test_argilla(import_content: Any) -> None:
    result = import_content(json.dumps([ARGILLA_RECORD]))
    assert result.source == "argilla"
    expected = {("a", "u1"): "kind", ("a", "u2"): "rude", ("a", "gpt-x"): "kind"}
    assert get_labels_by_question(result.project) == {"tone": expected}
    assert result.skipped_records == {"draft": 1, "several_labels": 1}
    assert Rater.objects.get(key="gpt-x").kind == "model"
    assert Assignment.objects.get().rater.key == "u4"
    item = Item.objects.get()
    assert (item.body, item.attributes) == ({"text": "Good"}, {"lang": "en"})


def test_argilla_flattened_and_version_1(import_content: Any) -> None:
    flat_record = {
        "id": "a",
        "status": "pending",
        "text": "Good one",
        "model": "llama-7b",
        "length": 4,
        "tone.responses": ["kind", "rude"],
        "tone.responses.users": ["u1", "u2"],
        "tone.responses.status": ["submitted", "submitted"],
        "tone.suggestion": "kind",
        "tone.suggestion.agent": "gpt-x",
    }
    expected = {("a", "u1"): "kind", ("a", "u2"): "rude", ("a", "gpt-x"): "kind"}
    result = import_content(json.dumps([flat_record]))
    assert get_labels_by_question(result.project) == {"tone": expected}
    item = Item.objects.get()
    # the model's name would unblind raters
    assert (item.body, item.attributes) == (
        {"text": "Good one"},
        {"model": "llama-7b", "length": 4},
    )
    version_1_record = {
        "external_id": "a",
        "fields": {"text": "Good"},
        "responses": [
            {"user_id": "u1", "status": "submitted", "values": {"tone": {"value": "kind"}}},
            {"user_id": "u2", "status": "submitted", "values": {"tone": {"value": "rude"}}},
        ],
        "suggestions": [{"question_name": "tone", "value": "kind", "agent": "gpt-x"}],
    }
    assert get_labels_by_question(import_content([version_1_record]).project) == {"tone": expected}


def test_potato(import_content: Any) -> None:
    jsonl_result = import_content(
        [
            {
                "id": "1",
                "displayed_text": "Good",
                "label_annotations": {"tone": {"kind": "true"}, "force": {"scale_4": 4}},
            },
            {
                "id": "2",
                "displayed_text": "Bad",
                "label_annotations": {
                    "tone": {"rude": True, "kind": False},
                    "force": {"scale_1": 1},
                    "note": {"text_box": "well"},
                },
                "span_annotations": {"x": [1]},
            },
        ],
        name="ann.jsonl",
    )
    assert jsonl_result.source == "potato"
    assert get_labels_by_question(jsonl_result.project) == {
        "tone": {("1", "ann"): "kind", ("2", "ann"): "rude"},
        "force": {("1", "ann"): "4", ("2", "ann"): "1"},
    }
    assert jsonl_result.skipped_records == {"spans": 1, "free_text": 1}
    table_result = import_content(
        "user\tinstance_id\tdisplayed_text\ttone:::kind\ttone:::rude\n"
        "ann\t1\tGood\ttrue\t\nben\t1\tGood\t\ttrue\nben\t2\tBad\ttrue\ttrue\n"
    )
    assert get_labels_by_question(table_result.project) == {
        "tone": {("1", "ann"): "kind", ("1", "ben"): "rude"}
    }
    assert table_result.skipped_records == {"several_labels": 1}


# --- Zooniverse, INCEpTION, CVAT


def test_zooniverse(import_content: Any) -> None:
    def quote_cell(value: Any) -> str:
        return '"' + json.dumps(value).replace('"', '""') + '"'

    names = "classification_id,user_name,user_id,workflow_id,created_at,gold_standard,metadata,annotations,subject_data,subject_ids"
    metadata = {"started_at": "2026-03-01T10:00:00Z", "finished_at": "2026-03-01T10:00:20Z"}
    subject = {"7": {"retired": None, "site": "A1", "url": "https://example.org/s7.jpg"}}

    def build_row(user: str, value: Any, gold: str = "") -> str:
        tasks = [{"task": "T0", "task_label": "**Is it** a cat?", "value": value}]
        return ",".join(
            [
                "1",
                user,
                "",
                "10",
                "2026-03-01 10:00:21 UTC",
                gold,
                quote_cell(metadata),
                quote_cell(tasks),
                quote_cell(subject),
                "7",
            ]
        )

    rows = [build_row("ann", "Yes"), build_row("ben", "No", "true"), build_row("cat", ["a", "b"])]
    rows += [build_row("dan", [{"x": 1, "y": 2, "tool": 0}]), build_row("eve", None)]
    result = import_content("\n".join([names, *rows]))
    assert result.source == "zooniverse"
    assert get_labels_by_question(result.project) == {
        "w10.T0": {("7", "ann"): "Yes", ("7", "ben"): "No"}
    }
    assert result.project.questions.get().text == "Is it a cat?"
    assert result.skipped_records == {"several_labels": 1, "boxes": 1, "no_label": 1}
    item = Item.objects.get()
    assert (item.body["image"], item.attributes) == ("https://example.org/s7.jpg", {"site": "A1"})
    rating = Rating.objects.get(rater__key="ann")
    assert (rating.rated_at, rating.seconds) == (utc_time(2026, 3, 1, 10, 0, 21), 20)
    assert GoldAnswer.objects.count() == 1


def test_inception(import_content: Any) -> None:
    def build_document(title: str, user: str, label: str) -> dict[str, Any]:
        return {
            "%TYPES": {},
            "%FEATURE_STRUCTURES": [
                {"%ID": 1, "%TYPE": "uima.cas.Sofa", "sofaString": f"Text of {title}"},
                {
                    "%ID": 2,
                    "%TYPE": "de.tudarmstadt.ukp.dkpro.core.api.metadata.type.DocumentMetaData",
                    "documentTitle": title,
                    "documentId": user,
                },
                {"%ID": 3, "%TYPE": "webanno.custom.Sentiment", "@sofa": 1, "value": label},
                {"%ID": 4, "%TYPE": "custom.Span", "begin": 0, "end": 3, "value": "PER"},
            ],
            "%VIEWS": {},
        }

    result = import_content(
        [build_document("a.txt", "ann", "good"), build_document("a.txt", "ben", "bad")]
    )
    assert result.source == "inception"
    expected = {("a.txt", "ann"): "good", ("a.txt", "ben"): "bad"}
    assert get_labels_by_question(result.project) == {"Sentiment.value": expected}
    assert result.skipped_records == {"spans": 2}
    assert get_bodies(result.project) == {"a.txt": {"text": "Text of a.txt"}}


CVAT_XML = b"""<?xml version="1.0" encoding="utf-8"?>
<annotations><version>1.1</version>
<meta><task><labels><label><name>cat</name><type>tag</type></label>
<label><name>dog</name><type>tag</type></label></labels>
<assignee><username>ann</username></assignee></task></meta>
<image id="0" name="a.png" width="1" height="1">
<tag label="cat" source="manual"><attribute name="age">old</attribute></tag></image>
<image id="1" name="b.png" width="1" height="1">
<tag label="dog" source="manual"></tag><tag label="cat" source="auto"></tag>
<box label="cat" xtl="0" ytl="0" xbr="1" ybr="1"/></image>
<image id="2" name="c.png" width="1" height="1">
<tag label="dog" source="manual"/><tag label="cat" source="manual"/></image>
</annotations>"""


def test_cvat(import_content: Any) -> None:
    result = import_content(
        CVAT_XML.replace(b"</image>\n</ann", b'</image>\n<image id="3" name="d.png"/></ann')
    )
    assert result.source == "cvat"
    labels = get_labels_by_question(result.project)
    assert labels["tag"] == {
        ("a.png", "ann"): "cat",
        ("b.png", "ann"): "dog",
        ("b.png", "auto"): "cat",
    }
    assert labels["cat.age"] == {("a.png", "ann"): "old"}
    assert result.skipped_records == {"boxes": 1, "several_labels": 1, "no_label": 1}
    assert Rater.objects.get(key="auto").kind == "model"
    assert get_bodies(result.project)["a.png"] == {"image": "a.png"}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (CVAT_XML[:-200], "Invalid XML"),
        (
            CVAT_XML.replace(b"<annotations>", b'<!DOCTYPE a [<!ENTITY x "y">]><annotations>'),
            "entities",
        ),
    ],
)
def test_invalid_cvat_changes_nothing(import_content: Any, content: bytes, complaint: str) -> None:
    tables_before = snapshot_import_tables()
    result = import_content(content)
    assert not result.stored and complaint in result.problems[0]["message"]
    assert snapshot_import_tables() == tables_before


# --- answers of an LLM judge, and Concord's own exports


def test_llm_judge(import_content: Any) -> None:
    base = {"item": "a", "text": "Good", "model": "gpt-x", "created_at": "2026-03-01T10:00:00Z"}
    result = import_content(
        [
            {**base, "prompt_version": "v1", "label": "good", "reasoning": "It is."},
            {**base, "prompt_version": "v2", "label": "bad", "score": 0.3},
            {**base, "model": "other", "label": None, "score": None},
        ]
    )
    assert result.source == "judge"
    expected = {("a", "gpt-x@v1"): "good", ("a", "gpt-x@v2"): "bad"}
    assert get_labels_by_question(result.project) == {"label": expected}
    assert result.skipped_records == {"number": 1, "no_label": 1}
    columns = ("key", "kind", "model", "prompt_version")
    assert set(Rater.objects.values_list(*columns)) == {
        ("gpt-x@v1", "model", "gpt-x", "v1"),
        ("gpt-x@v2", "model", "gpt-x", "v2"),
    }
    rating = Rating.objects.get(rater__key="gpt-x@v1")
    assert (rating.comment, rating.rated_at) == ("It is.", utc_time(2026, 3, 1, 10))
    scores = import_content([{"id": 1, "model": "m", "score": n % 3} for n in range(1)])
    assert get_labels_by_question(scores.project) == {"label": {("1", "m"): "0"}}


def test_own_export_can_be_imported_again(
    import_content: Any, project: Project, question: Any, lead: Any, client_for: Any, rate: Any
) -> None:
    for item, rater, label in [("b", "ann", "minor"), ("a", "ben", "major"), ("a", "ann", "none")]:
        rate(question, item, rater, label)
    Rating.objects.filter(item__key="b").update(comment='Quite "so"\n,yes')
    client = client_for(lead)

    def export_project(source: Project) -> bytes:
        Rating.objects.update(changed_at=datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC))
        response = client.get(f"/projects/{source.pk}/data/export.jsonl")
        return b"".join(response.streaming_content)

    first_export = export_project(project)
    result = import_content(first_export)
    assert (result.source, result.stored, result.problems) == ("concord", True, [])
    assert sorted(export_project(result.project).splitlines()) == sorted(first_export.splitlines())
    assert export_project(import_content(export_project(result.project)).project) == export_project(
        result.project
    )


def test_items_exported_by_the_api_can_be_imported(import_content: Any) -> None:
    items = [
        {
            "key": "a",
            "body": {"text": "x", "turns": []},
            "attributes": {"n": 1},
            "gold": {"q": "A"},
        },
        {"key": "b", "body": {"text": "y"}, "gold": {"q": ["A", "B"]}},
    ]
    result = import_content(items)
    assert result.source == "concord"
    assert get_bodies(result.project) == {"a": items[0]["body"], "b": items[1]["body"]}
    assert result.counts["gold"] == 3
    assert GoldAnswer.objects.count() == 2


# --- every tool


def test_file_without_usable_records_is_refused_with_the_reason(import_content: Any) -> None:
    before = snapshot_import_tables()
    result = import_content([{"fields": {}, "responses": {}}, {"fields": {}, "responses": {}}])
    assert not result.stored
    assert "The file has nothing to import" in result.problems[0]["message"]
    assert "incomplete records (2)" in result.problems[0]["message"]
    assert snapshot_import_tables() == before


def test_same_file_twice_changes_nothing(import_content: Any, tmp_path: Path, lead: Any) -> None:
    result = import_content(json.dumps(TASKS))
    before = (
        snapshot_import_tables(),
        list(GoldAnswer.objects.values_list()),
        list(Assignment.objects.values_list()),
    )
    path = tmp_path / "file"
    with path.open("rb") as file:
        second_result = command.import_file(
            file, path, project=result.project, by=lead, options=command.ImportOptions()
        )
    assert second_result.stored
    after = (
        snapshot_import_tables(),
        list(GoldAnswer.objects.values_list()),
        list(Assignment.objects.values_list()),
    )
    assert after == before


def test_free_texts_of_a_tool_are_skipped(import_content: Any) -> None:
    rows = [{"id": n, "text": f"t{n}", "label": [f"answer {n}"]} for n in range(60)]
    result = import_content(rows)
    assert result.stored
    assert result.skipped_records == {"free_text": 60}
    assert Item.objects.count() == 60 and not result.project.questions.exists()


INVALID_FILES = {
    "cut off": (json.dumps(TASKS)[:-40], "ends"),
    "a wrong time": (
        json.dumps(TASKS).replace("2026-03-01T10", "2999-03-01T10", 1),
        "is in the future",
    ),
    "a long key": (
        [{"id": "x" * 300, "text": "y", "label": ["z"]}],
        "300 characters (limit: 255)",
    ),
    "half of a character": (
        '{"id": 1, "text": "\\ud800", "label": ["a"]}',
        "contains half a character",
    ),
    "a bomb": ('{"id": 1, "label": [' + "[" * 90_000, "exceeds 100 levels"),
}


@pytest.mark.parametrize("case", INVALID_FILES)
def test_invalid_files_change_nothing(import_content: Any, case: str) -> None:
    content, complaint = INVALID_FILES[case]
    before = snapshot_import_tables()
    result = import_content(content)
    assert not result.stored
    assert complaint in result.problems[0]["message"]
    assert result.problems[0]["line"] == 1
    assert snapshot_import_tables() == before


def test_file_of_a_tool_in_the_wizard(lead: Any, client_for: Any) -> None:
    wizard = WizardClient(client_for(lead))
    wizard.upload(json.dumps(TASKS).encode(), "tasks.json")
    page = get_page_text(wizard.get_page())
    assert "Label Studio" in page and "defines items, raters, questions and labels" in page
    response = wizard.choose_columns(project_name="", default_rater="x\ny")
    assert response.status_code == 400
    wizard.choose_columns()
    assert wizard.run_worker().state == "checked"
    page = get_page_text(wizard.get_page())
    assert "Scale of sentiment" in page and "labels of parts" in page
    wizard.start_import()
    assert wizard.run_worker().state == "done"
    project = Project.objects.get(name="tasks")
    assert len(get_labels_by_question(project)["sentiment"]) == 3
    assert "labels of parts" in get_page_text(wizard.get_page())


def test_file_format_can_be_chosen(lead: Any, client_for: Any) -> None:
    wizard = WizardClient(client_for(lead))
    wizard.upload(b'[{"id": 1, "text": "x", "label": ["a"]}]')
    assert wizard.run.mapping["source"] == "doccano"
    wizard.client.post(
        wizard.run_url, {"action": "read", "source": "json", "encoding": "utf-8-sig"}
    )
    assert wizard.run.mapping["source"] == "json"
    assert wizard.get_page().context["form"]["label"].value() == 2
