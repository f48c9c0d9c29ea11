"""Files of other tools through the wizard's own readers: what must come through does, and what is
no single answer is named."""

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
from tests.ratings.imports.wizard_client import Wizard, said, words, world

pytestmark = pytest.mark.django_db


@pytest.fixture
def load(tmp_path: Path, lead: Any) -> Any:
    """Import a file's content into a new project; the result."""

    def load(content: Any, name: str = "file", **wishes: Any) -> command.FileResult:
        if isinstance(content, list):
            content = "".join(json.dumps(one) + "\n" for one in content)
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        wanted = command.ImportOptions(project_name="Loaded", **wishes)
        return command.import_file(path, project=None, by=lead, options=wanted)

    return load


def answers(project: Project) -> dict[str, dict[tuple[str, str], str]]:
    """question -> (item, rater) -> label."""
    return {question.key: said(question) for question in project.questions.all()}


def bodies(project: Project) -> dict[str, Any]:
    return dict(Item.objects.filter(project=project).values_list("key", "body"))


moment = functools.partial(datetime.datetime, tzinfo=datetime.UTC)


# --- Label Studio


def choice(label: Any, name: str = "sentiment", kind: str = "choices") -> dict[str, Any]:
    value = {"selected": label} if kind == "pairwise" else {kind: label}
    return {"from_name": name, "to_name": "text", "type": kind, "value": value}


def annotation(by: Any, *result: Any, **more: Any) -> dict[str, Any]:
    return {
        "completed_by": by,
        "result": list(result),
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": "2026-03-01T10:00:00.000000Z",
        "updated_at": "2026-03-01T11:00:00.000000Z",
        "lead_time": 7.5,
    } | more


ANN = {"id": 1, "email": "ann@example.org", "first_name": "Ann", "last_name": "Lee"}
BOX = {
    "from_name": "box",
    "type": "rectanglelabels",
    "value": {"x": 1, "y": 2, "width": 3, "height": 4, "rectanglelabels": ["Car"]},
}
SPAN = {"from_name": "ner", "type": "labels", "value": {"start": 0, "end": 3, "labels": ["PER"]}}
TASKS = [
    {
        "id": 1,
        "data": {"text": "Good", "image": "/data/upload/3/0a1b2c3d-cat.png"},
        "meta": {"source": "web"},
        "annotations": [
            annotation(
                ANN,
                choice(["Positive"]),
                choice(4, "stars", "rating"),
                choice([["Animals", "Cats"]], "topic", "taxonomy"),
                choice("left", "better", "pairwise"),
                ground_truth=True,
            ),
            annotation(2, choice(["Positive", "Negative"]), choice(3, "stars", "rating")),
            annotation(3, BOX, SPAN, {"type": "relation", "from_id": "a", "to_id": "b"}),
        ],
        "predictions": [
            {
                "model_version": "bert-2",
                "result": [choice(["Negative"])],
                "created_at": "2026-02-01T00:00:00Z",
            }
        ],
    },
    {
        "id": 2,
        "data": {"text": "Bad"},
        "annotations": [
            annotation(ANN, was_cancelled=True),
            annotation(2, choice(["Negative"]), choice([["Plants", "Trees"]], "topic", "taxonomy")),
            annotation(3, choice("right", "better", "pairwise")),
        ],
        "predictions": [],
    },
]


def test_label_studio(load: Any) -> None:
    result = load(json.dumps(TASKS))
    assert (result.source, result.stored, result.problems) == ("label_studio", True, [])
    project = result.project
    assert answers(project) == {
        "sentiment": {
            ("1", "ann@example.org"): "Positive",
            ("1", "bert-2"): "Negative",
            ("2", "2"): "Negative",
        },
        "stars": {("1", "ann@example.org"): "4", ("1", "2"): "3"},
        "topic": {("1", "ann@example.org"): "Cats", ("2", "2"): "Trees"},
        "better": {("1", "ann@example.org"): "left", ("2", "3"): "right"},
    }
    assert result.left_out == {"several_labels": 1, "boxes": 1, "spans": 1, "relations": 1}
    assert bodies(project) == {"1": {"text": "Good", "image": "cat.png"}, "2": {"text": "Bad"}}
    assert Item.objects.get(key="1").attributes == {"source": "web"}
    kinds = dict(Rater.objects.values_list("key", "kind"))
    assert (kinds["bert-2"], kinds["ann@example.org"]) == ("model", "human")
    assert Rater.objects.get(key="ann@example.org").name == "Ann Lee"
    rating = Rating.objects.get(question__key="stars", rater__key="ann@example.org")
    assert (rating.rated_at, rating.seconds) == (moment(2026, 3, 1, 10), 7.5)
    gold = GoldAnswer.objects.filter(question__key="sentiment").get()
    assert gold.item.key == "1"
    skip = Assignment.objects.get(state="skipped")
    assert (skip.item.key, skip.rater.key) == ("2", "ann@example.org")


def test_label_studio_history_is_kept(load: Any) -> None:
    def state(label: str, hour: int, by: int = 1) -> dict[str, Any]:
        at = f"2026-03-01T{hour}:00:00Z"
        return {"created_by": by, "created_at": at, "result": [choice([label])]}

    history = [state("Bad", 12), state("Good", 11), state("Bad", 10), state("Good", 13, by=9)]
    task = {"id": 1, "data": {"text": "x"}}
    task["annotations"] = [annotation(ANN, choice(["Bad"]), history=history)]
    result = load([task])
    assert answers(result.project)["sentiment"] == {("1", "ann@example.org"): "Bad"}
    labels = dict(result.project.questions.get().categories.values_list("code", "label"))
    found = [
        (labels[code], at.hour) for code, at in Revision.objects.values_list("code", "rated_at")
    ]
    assert found == [("Bad", 10), ("Good", 11), ("Bad", 12)]


def test_label_studio_before_2021(load: Any) -> None:
    aggregated = {
        "aggregated_completed_by": [103],
        "result": [[choice(["Evil"])]],
        "ground_truth": False,
    }
    result = load(json.dumps([{"id": 5, "completions": [aggregated]}]))
    assert answers(result.project) == {"sentiment": {("5", "103"): "Evil"}}


MIN = {
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
def test_label_studio_min_and_csv(load: Any, kind: str) -> None:
    rows = [MIN, {**MIN, "sentiment": "Negative", "stars": 2, "annotator": 8}]
    content = json.dumps(rows)
    if kind == "csv":
        lines = [",".join(MIN)]
        for row in rows:
            cells = {**row, "aspects": '"{""choices"": [""a"", ""b""]}"'}
            lines.append(",".join(map(str, cells.values())))
        content = "\n".join(lines)
    result = load(content)
    assert result.source == "label_studio"
    assert answers(result.project) == {
        "sentiment": {("1", "7"): "Positive", ("1", "8"): "Negative"},
        "stars": {("1", "7"): "4", ("1", "8"): "2"},
    }
    assert result.left_out == {"several_labels": 2}
    assert bodies(result.project) == {"1": {"text": "Good"}}
    assert Rating.objects.earliest("id").seconds == 2.5


# --- Prodigy


def test_prodigy_binary(load: Any) -> None:
    base = {"text": "You fool", "_task_hash": 1, "label": "INSULT", "spans": []}
    result = load(
        [
            {**base, "_input_hash": 11, "answer": "accept", "_annotator_id": "db-ann"},
            {**base, "_input_hash": 11, "answer": "reject", "_session_id": "db-ben"},
            {**base, "_input_hash": -12, "text": "Hi", "answer": "ignore", "_session_id": "db-ben"},
        ]
    )
    assert result.source == "prodigy"
    assert answers(result.project) == {
        "INSULT": {("11", "db-ann"): "accept", ("11", "db-ben"): "reject"}
    }
    assert bodies(result.project) == {"11": {"text": "You fool"}, "-12": {"text": "Hi"}}
    assert Assignment.objects.get().rater.key == "db-ben"


def test_prodigy_choice_and_spans(load: Any) -> None:
    options = [{"id": "POS", "text": "positive"}, {"id": "NEG", "text": "negative"}]
    base = {"text": "Fine", "_input_hash": 1, "_task_hash": 1, "_annotator_id": "ann"}
    choice = {**base, "options": options, "answer": "accept", "_timestamp": 1772359200}
    result = load(
        [
            {**choice, "accept": ["POS"]},
            {**choice, "accept": ["POS", "NEG"], "_input_hash": 2, "text": "Both"},
            {**base, "_input_hash": 3, "text": "Ann", "answer": "accept", "spans": [{"start": 0}]},
        ]
    )
    assert answers(result.project) == {"choice": {("1", "ann"): "POS"}}
    labels = [one.label for one in result.project.questions.get().active_categories()]
    assert labels == ["NEG", "POS"]
    assert result.left_out == {"several_labels": 1, "spans": 1}
    assert Rating.objects.get().rated_at == moment(2026, 3, 1, 10)
    assert Item.objects.count() == 3


# --- doccano, Argilla, Potato


def test_doccano(load: Any) -> None:
    result = load(
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
    assert answers(result.project) == {
        "label": {("1", "admin"): "positive", ("2", "admin"): "negative"}
    }
    assert result.left_out == {"several_labels": 1, "no_label": 1, "spans": 1, "no_content": 1}
    assert Item.objects.get(key="1").attributes == {"page": 3}
    assert Item.objects.count() == 5


def test_doccano_csv_and_users(load: Any) -> None:
    csv = load("id,data,label\n1,Good,positive\n2,Bad,negative\n3,Both,a#b\n", name="ben.csv")
    assert csv.source == "doccano"
    assert answers(csv.project)["label"] == {("1", "ben"): "positive", ("2", "ben"): "negative"}
    assert csv.left_out == {"several_labels": 1}
    old = load(
        [
            {
                "id": 1,
                "text": "x",
                "annotations": [{"label": 2, "user": 7}, {"label": 3, "user": 8}],
            },
            {"id": 2, "text": "y", "annotations": [{"label": 2, "user": 7, "start_offset": 0}]},
        ]
    )
    assert answers(old.project)["label"] == {("1", "7"): "2", ("1", "8"): "3"}
    assert old.left_out == {"spans": 1}


ARGILLA = {
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


def test_argilla(load: Any) -> None:
    result = load(json.dumps([ARGILLA]))
    assert result.source == "argilla"
    expected = {("a", "u1"): "kind", ("a", "u2"): "rude", ("a", "gpt-x"): "kind"}
    assert answers(result.project) == {"tone": expected}
    assert result.left_out == {"draft": 1, "several_labels": 1}
    assert Rater.objects.get(key="gpt-x").kind == "model"
    assert Assignment.objects.get().rater.key == "u4"
    item = Item.objects.get()
    assert (item.body, item.attributes) == ({"text": "Good"}, {"lang": "en"})


def test_argilla_flattened_and_version_1(load: Any) -> None:
    flat = {
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
    result = load(json.dumps([flat]))
    assert answers(result.project) == {"tone": expected}
    item = Item.objects.get()
    # the model's name would unblind
    assert (item.body, item.attributes) == (
        {"text": "Good one"},
        {"model": "llama-7b", "length": 4},
    )
    first = {
        "external_id": "a",
        "fields": {"text": "Good"},
        "responses": [
            {"user_id": "u1", "status": "submitted", "values": {"tone": {"value": "kind"}}},
            {"user_id": "u2", "status": "submitted", "values": {"tone": {"value": "rude"}}},
        ],
        "suggestions": [{"question_name": "tone", "value": "kind", "agent": "gpt-x"}],
    }
    assert answers(load([first]).project) == {"tone": expected}


def test_potato(load: Any) -> None:
    lines = load(
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
    assert lines.source == "potato"
    assert answers(lines.project) == {
        "tone": {("1", "ann"): "kind", ("2", "ann"): "rude"},
        "force": {("1", "ann"): "4", ("2", "ann"): "1"},
    }
    assert lines.left_out == {"spans": 1, "free_text": 1}
    table = load(
        "user\tinstance_id\tdisplayed_text\ttone:::kind\ttone:::rude\n"
        "ann\t1\tGood\ttrue\t\nben\t1\tGood\t\ttrue\nben\t2\tBad\ttrue\ttrue\n"
    )
    assert answers(table.project) == {"tone": {("1", "ann"): "kind", ("1", "ben"): "rude"}}
    assert table.left_out == {"several_labels": 1}


# --- Zooniverse, INCEpTION, CVAT


def test_zooniverse(load: Any) -> None:
    def cell(value: Any) -> str:
        return '"' + json.dumps(value).replace('"', '""') + '"'

    names = "classification_id,user_name,user_id,workflow_id,created_at,gold_standard,metadata,annotations,subject_data,subject_ids"
    metadata = {"started_at": "2026-03-01T10:00:00Z", "finished_at": "2026-03-01T10:00:20Z"}
    subject = {"7": {"retired": None, "site": "A1", "url": "https://example.org/s7.jpg"}}

    def row(user: str, value: Any, gold: str = "") -> str:
        tasks = [{"task": "T0", "task_label": "**Is it** a cat?", "value": value}]
        return ",".join(
            [
                "1",
                user,
                "",
                "10",
                "2026-03-01 10:00:21 UTC",
                gold,
                cell(metadata),
                cell(tasks),
                cell(subject),
                "7",
            ]
        )

    rows = [row("ann", "Yes"), row("ben", "No", "true"), row("cat", ["a", "b"])]
    rows += [row("dan", [{"x": 1, "y": 2, "tool": 0}]), row("eve", None)]
    result = load("\n".join([names, *rows]))
    assert result.source == "zooniverse"
    assert answers(result.project) == {"w10.T0": {("7", "ann"): "Yes", ("7", "ben"): "No"}}
    assert result.project.questions.get().text == "Is it a cat?"
    assert result.left_out == {"several_labels": 1, "boxes": 1, "no_label": 1}
    item = Item.objects.get()
    assert (item.body["image"], item.attributes) == ("https://example.org/s7.jpg", {"site": "A1"})
    rating = Rating.objects.get(rater__key="ann")
    assert (rating.rated_at, rating.seconds) == (moment(2026, 3, 1, 10, 0, 21), 20)
    assert GoldAnswer.objects.count() == 1


def test_inception(load: Any) -> None:
    def document(title: str, user: str, label: str) -> dict[str, Any]:
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

    result = load([document("a.txt", "ann", "good"), document("a.txt", "ben", "bad")])
    assert result.source == "inception"
    expected = {("a.txt", "ann"): "good", ("a.txt", "ben"): "bad"}
    assert answers(result.project) == {"Sentiment.value": expected}
    assert result.left_out == {"spans": 2}
    assert bodies(result.project) == {"a.txt": {"text": "Text of a.txt"}}


CVAT = b"""<?xml version="1.0" encoding="utf-8"?>
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


def test_cvat(load: Any) -> None:
    result = load(CVAT.replace(b"</image>\n</ann", b'</image>\n<image id="3" name="d.png"/></ann'))
    assert result.source == "cvat"
    found = answers(result.project)
    assert found["tag"] == {
        ("a.png", "ann"): "cat",
        ("b.png", "ann"): "dog",
        ("b.png", "auto"): "cat",
    }
    assert found["cat.age"] == {("a.png", "ann"): "old"}
    assert result.left_out == {"boxes": 1, "several_labels": 1, "no_label": 1}
    assert Rater.objects.get(key="auto").kind == "model"
    assert bodies(result.project)["a.png"] == {"image": "a.png"}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (CVAT[:-200], "not valid XML"),
        (
            CVAT.replace(b"<annotations>", b'<!DOCTYPE a [<!ENTITY x "y">]><annotations>'),
            "entities",
        ),
    ],
)
def test_bad_cvat(load: Any, content: bytes, complaint: str) -> None:
    before = world()
    result = load(content)
    assert not result.stored and complaint in result.problems[0]["message"]
    assert world() == before


# --- a judge's answers, and Concord's own


def test_judge(load: Any) -> None:
    base = {"item": "a", "text": "Good", "model": "gpt-x", "created_at": "2026-03-01T10:00:00Z"}
    result = load(
        [
            {**base, "prompt_version": "v1", "label": "good", "reasoning": "It is."},
            {**base, "prompt_version": "v2", "label": "bad", "score": 0.3},
            {**base, "model": "other", "label": None, "score": None},
        ]
    )
    assert result.source == "judge"
    expected = {("a", "gpt-x@v1"): "good", ("a", "gpt-x@v2"): "bad"}
    assert answers(result.project) == {"label": expected}
    assert result.left_out == {"number": 1, "no_label": 1}
    columns = ("key", "kind", "model", "prompt_version")
    assert set(Rater.objects.values_list(*columns)) == {
        ("gpt-x@v1", "model", "gpt-x", "v1"),
        ("gpt-x@v2", "model", "gpt-x", "v2"),
    }
    rating = Rating.objects.get(rater__key="gpt-x@v1")
    assert (rating.comment, rating.rated_at) == ("It is.", moment(2026, 3, 1, 10))
    scores = load([{"id": 1, "model": "m", "score": n % 3} for n in range(1)])
    assert answers(scores.project) == {"label": {("1", "m"): "0"}}


def test_concords_own_export_comes_back(
    load: Any, project: Project, question: Any, lead: Any, client_for: Any, rate: Any
) -> None:
    for item, rater, label in [("b", "ann", "minor"), ("a", "ben", "major"), ("a", "ann", "none")]:
        rate(question, item, rater, label)
    Rating.objects.filter(item__key="b").update(comment='Quite "so"\n,yes')
    client = client_for(lead)

    def export(of: Project) -> bytes:
        response = client.get(f"/projects/{of.pk}/data/export.jsonl")
        return b"".join(response.streaming_content)

    first = export(project)
    result = load(first)
    assert (result.source, result.stored, result.problems) == ("concord", True, [])
    assert sorted(export(result.project).splitlines()) == sorted(first.splitlines())
    assert export(load(export(result.project)).project) == export(result.project)


def test_items_of_the_api_come_back(load: Any) -> None:
    items = [
        {
            "key": "a",
            "body": {"text": "x", "turns": []},
            "attributes": {"n": 1},
            "gold": {"q": "A"},
        },
        {"key": "b", "body": {"text": "y"}, "gold": {"q": ["A", "B"]}},
    ]
    result = load(items)
    assert result.source == "concord"
    assert bodies(result.project) == {"a": items[0]["body"], "b": items[1]["body"]}
    assert result.counts["gold"] == 3
    assert GoldAnswer.objects.count() == 2


# --- all of them


def test_nothing_usable_is_refused_with_the_reason(load: Any) -> None:
    before = world()
    result = load([{"fields": {}, "responses": {}}, {"fields": {}, "responses": {}}])
    assert not result.stored
    assert "Nothing in the file can be imported" in result.problems[0]["message"]
    assert "records without content or key (2)" in result.problems[0]["message"]
    assert world() == before


def test_same_file_twice_changes_nothing(load: Any, tmp_path: Path, lead: Any) -> None:
    result = load(json.dumps(TASKS))
    before = world(), list(GoldAnswer.objects.values_list()), list(Assignment.objects.values_list())
    again = command.import_file(
        tmp_path / "file", project=result.project, by=lead, options=command.ImportOptions()
    )
    assert again.stored
    after = world(), list(GoldAnswer.objects.values_list()), list(Assignment.objects.values_list())
    assert after == before


def test_free_texts_of_a_tool_are_left_out(load: Any) -> None:
    rows = [{"id": n, "text": f"t{n}", "label": [f"answer {n}"]} for n in range(60)]
    result = load(rows)
    assert result.stored
    assert result.left_out == {"free_text": 60}
    assert Item.objects.count() == 60 and not result.project.questions.exists()


BAD = {
    "cut off": (json.dumps(TASKS)[:-40], "is cut off"),
    "a wrong time": (
        json.dumps(TASKS).replace("2026-03-01T10", "2999-03-01T10", 1),
        "lies in the future",
    ),
    "a long key": ([{"id": "x" * 300, "text": "y", "label": ["z"]}], "300 characters; 255"),
    "half of a character": ('{"id": 1, "text": "\\ud800", "label": ["a"]}', "half of a character"),
    "a bomb": ('{"id": 1, "label": [' + "[" * 90_000, "nested too deeply"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_change_nothing(load: Any, case: str) -> None:
    content, complaint = BAD[case]
    before = world()
    result = load(content)
    assert not result.stored
    assert complaint in result.problems[0]["message"]
    assert result.problems[0]["line"] == 1
    assert world() == before


def test_a_tools_file_in_the_wizard(lead: Any, client_for: Any) -> None:
    wizard = Wizard(client_for(lead))
    wizard.upload(json.dumps(TASKS).encode(), "tasks.json")
    page = words(wizard.page())
    assert "Label Studio" in page and "there are no columns to choose" in page
    bad = wizard.choose(project_name="", one_rater="x\ny")
    assert bad.status_code == 400
    wizard.choose()
    assert wizard.work().state == "checked"
    page = words(wizard.page())
    assert "Scale of sentiment" in page and "boxes, shapes and marks" in page
    wizard.start()
    assert wizard.work().state == "done"
    project = Project.objects.get(name="tasks")
    assert len(answers(project)["sentiment"]) == 3
    assert "boxes, shapes and marks" in words(wizard.page())


def test_the_kind_of_file_can_be_chosen(lead: Any, client_for: Any) -> None:
    wizard = Wizard(client_for(lead))
    wizard.upload(b'[{"id": 1, "text": "x", "label": ["a"]}]')
    assert wizard.run.mapping["source"] == "doccano"
    wizard.client.post(wizard.address, {"do": "read", "source": "json", "encoding": "utf-8-sig"})
    assert wizard.run.mapping["source"] == "json"
    assert wizard.page().context["form"]["label"].value() == 2
