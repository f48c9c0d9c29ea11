"""Random exports of each tool: every answer is a rating, or is reported as left out.

The answers are single labels, several labels at once, and nothing.
"""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratings.imports.decoding.sample import read_sample
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers import SOURCES, TABLE_SOURCES, detect_source
from ratings.imports.readers.rejected_files import RejectedSource
from ratings.imports.records import RatingRecord, ReaderProblem, SkippedRecord

LABELS = ["calm", "angry", "sad"]
METADATA = "de.tudarmstadt.ukp.dkpro.core.api.metadata.type"  # of INCEpTION


class Answer(NamedTuple):
    """The answer of a rater about an item: one label, several, or an empty list."""

    item: str
    rater: str
    labels: tuple[str, ...]


@st.composite
def answer_lists(draw: Any) -> list[Answer]:
    """Return the answers of two to four raters about one to five items, in random order."""
    items = [f"item{number}" for number in range(draw(st.integers(1, 5)))]
    raters = [f"person{number}" for number in range(draw(st.integers(2, 4)))]
    label_lists = st.lists(st.sampled_from(LABELS), unique=True, max_size=2).map(tuple)
    answers = [Answer(item, rater, draw(label_lists)) for item in items for rater in raters]
    # The first answer is a single one, so that every file has one.
    answers[0] = answers[0]._replace(labels=(LABELS[0],))
    return answers


def write_csv(rows: Sequence[Sequence[Any]], delimiter: str = ",") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue()


def write_lines(records: Sequence[Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def list_rows(answers: Sequence[Answer]) -> list[tuple[str, str, Any]]:
    """Return (item, rater, label, JSON list of labels or empty text) of each answer."""
    return [
        (a.item, a.rater, json.dumps(a.labels) if len(a.labels) > 1 else "".join(a.labels))
        for a in answers
    ]


def group_by_item(answers: Sequence[Answer]) -> dict[str, list[Answer]]:
    groups: dict[str, list[Answer]] = {}
    for answer in answers:
        groups.setdefault(answer.item, []).append(answer)
    return groups


def write_survey(answers: Sequence[Answer], names: Callable[[str], str], *first: str) -> list[Any]:
    """Return the rows of a survey: a column for each item and a row for each respondent."""
    items = list(group_by_item(answers))
    labels = {(a.item, a.rater): "\n".join(a.labels) for a in answers}
    raters = list(dict.fromkeys(answer.rater for answer in answers))
    rows: list[Any] = [[*first, *(names(item) for item in items)]]
    return rows + [[rater, *(labels[item, rater] for item in items)] for rater in raters]


def write_concord(answers: Sequence[Answer]) -> str:
    return write_lines(
        [
            {"item": a.item, "rater": a.rater, "question": "tone", "rated_at": None,
             "label": "|".join(a.labels) or None}
            for a in answers
        ]
    )  # fmt: skip


def write_label_studio(answers: Sequence[Answer]) -> str:
    tasks = []
    for number, (item, group) in enumerate(group_by_item(answers).items()):
        annotations = [
            {"id": 10 * number + place, "completed_by": {"email": a.rater}, "result": [
                {"from_name": "tone", "to_name": "text", "type": "choices",
                 "value": {"choices": list(a.labels)}}] if a.labels else []}
            for place, a in enumerate(group)
        ]  # fmt: skip
        tasks.append({"id": number, "data": {"text": item}, "annotations": annotations})
    return json.dumps(tasks)


def write_prodigy(answers: Sequence[Answer]) -> str:
    return write_lines(
        [
            {"text": a.item, "_input_hash": a.item, "_annotator_id": a.rater, "answer": "accept",
             "options": [{"id": label} for label in LABELS], "accept": list(a.labels)}
            for a in answers
        ]
    )  # fmt: skip


def write_argilla(answers: Sequence[Answer]) -> str:
    return json.dumps(
        [
            {"id": item, "fields": {"text": item}, "suggestions": {}, "responses": {"tone": [
                {"user_id": a.rater, "value": list(a.labels)} for a in group]}}
            for item, group in group_by_item(answers).items()
        ]
    )  # fmt: skip


def write_potato(answers: Sequence[Answer]) -> str:
    rows: list[Any] = [["user", "instance_id", "displayed_text", *(f"tone:::{x}" for x in LABELS)]]
    for a in answers:
        rows.append([a.rater, a.item, a.item, *("1" if x in a.labels else "" for x in LABELS)])
    return write_csv(rows)


def write_zooniverse(answers: Sequence[Answer]) -> str:
    rows: list[Any] = [
        ["classification_id", "user_name", "workflow_id", "annotations", "subject_ids"]
    ]
    for number, a in enumerate(answers):
        tasks = [{"task": "T0", "value": list(a.labels)}]
        rows.append([number, a.rater, 1, json.dumps(tasks), a.item])
    return write_csv(rows)


def write_mturk(answers: Sequence[Answer]) -> str:
    rows: list[Any] = [["HITId", "AssignmentId", "WorkerId", "Answer.taskAnswers"]]
    for number, a in enumerate(answers):
        rows.append([a.item, number, a.rater, json.dumps([{"tone": list(a.labels)}])])
    return write_csv(rows)


def write_toloka(answers: Sequence[Answer]) -> str:
    singles = [a for a in answers if len(a.labels) < 2]  # a cell of its table holds one answer
    rows = list_rows(singles)
    return write_csv([["INPUT:text", "ASSIGNMENT:worker_id", "OUTPUT:tone"], *rows], "\t")


def write_appen(answers: Sequence[Answer]) -> str:
    rows = [(a.item, a.rater, "\n".join(a.labels), "") for a in answers]
    return write_csv([["_unit_id", "_worker_id", "tone", "tone_gold"], *rows])


def write_labelbox(answers: Sequence[Answer]) -> str:
    def write_label(a: Answer) -> dict[str, Any]:
        choices = [{"name": label} for label in a.labels]
        tone = {"name": "tone", "checklist_answers": choices}
        return {
            "label_details": {"created_by": a.rater},
            "annotations": {"classifications": [tone]},
        }

    return write_lines(
        [
            {"data_row": {"id": item, "row_data": item},
             "projects": {"p": {"labels": [write_label(a) for a in group]}}}
            for item, group in group_by_item(answers).items()
        ]
    )  # fmt: skip


def write_ground_truth(answers: Sequence[Answer]) -> str:
    return write_lines(
        [
            {"humanLoopName": item, "inputContent": {"text": item}, "humanAnswers": [
                {"workerId": a.rater, "answerContent": {"tone": {"labels": list(a.labels)}}}
                for a in group]}
            for item, group in group_by_item(answers).items()
        ]
    )  # fmt: skip


def write_langfuse(answers: Sequence[Answer]) -> str:
    return json.dumps(
        [
            {"traceId": a.item, "name": "tone", "authorUserId": a.rater, "source": "ANNOTATION",
             "value": list(a.labels)}
            for a in answers
        ]
    )  # fmt: skip


def write_langsmith(answers: Sequence[Answer]) -> str:
    return json.dumps(
        [
            {"run_id": a.item, "key": "tone", "value": list(a.labels),
             "feedback_source": {"type": "app", "user_id": a.rater}}
            for a in answers
        ]
    )  # fmt: skip


def write_qualtrics(answers: Sequence[Answer]) -> str:
    rows = write_survey(answers, lambda item: f"Q1_{item[-1]}", "ResponseId")
    rows = [[row[0], "100", "True", *row[1:]] for row in rows]
    rows[0][1:3] = ["Progress", "Finished"]
    for row in rows[1:]:
        row[0] = f"R_{row[0]}"
    return write_csv(rows)


def write_via(answers: Sequence[Answer]) -> str:
    rows: list[Any] = [
        ["filename", "file_attributes", "region_count", "region_id", "region_shape_attributes"]
    ]
    for a in answers:
        attributes = {"tone": dict.fromkeys(a.labels, True)}
        rows.append([a.item, json.dumps(attributes), 0, 0, "{}"])
    return write_csv(rows)


def write_rayyan(answers: Sequence[Answer]) -> str:
    rows: list[Any] = [["key", "title", "notes"]]
    for item, group in group_by_item(answers).items():
        decisions = ", ".join(f'"{a.rater}"=>"{a.labels[0]}"' for a in group if len(a.labels) == 1)
        rows.append([item, item, f"RAYYAN-INCLUSION: {{{decisions}}}"])
    return write_csv(rows)


def write_lewidi(answers: Sequence[Answer]) -> str:
    return json.dumps(
        {
            item: {"text": item, "annotators": ",".join(a.rater for a in group),
                   "annotations": {a.rater: list(a.labels) for a in group}}
            for item, group in group_by_item(answers).items()
        }
    )  # fmt: skip


def write_label_lists(answers: Sequence[Answer]) -> str:
    return write_lines(
        [
            {"id": item, "annotators": [a.rater for a in group],
             "labels": [list(a.labels) for a in group]}
            for item, group in group_by_item(answers).items()
        ]
    )  # fmt: skip


def write_inspect(answers: Sequence[Answer]) -> str:
    samples = [
        {"id": item, "epoch": 1, "input": item, "scores": {
            a.rater: {"value": list(a.labels)} for a in group}}
        for item, group in group_by_item(answers).items()
    ]  # fmt: skip
    return json.dumps({"status": "success", "eval": {"task": "t"}, "samples": samples})


def write_braintrust(answers: Sequence[Answer]) -> str:
    return write_lines(
        [
            {"id": item, "input": item, "scores": {a.rater: list(a.labels) for a in group}}
            for item, group in group_by_item(answers).items()
        ]
    )


def write_judge(answers: Sequence[Answer]) -> str:
    return write_lines(
        [{"item_id": a.item, "model": a.rater, "label": list(a.labels)} for a in answers]
    )


def write_doccano(answers: Sequence[Answer]) -> str:
    return write_lines(
        [
            {"id": item, "text": item, "annotations": [
                {"user": a.rater, "label": label} for a in group for label in a.labels]}
            for item, group in group_by_item(answers).items()
        ]
    )  # fmt: skip


def write_inception(answers: Sequence[Answer]) -> str:
    return write_lines(
        [
            {"%FEATURE_STRUCTURES": [
                {"%TYPE": f"{METADATA}.DocumentMetaData", "documentTitle": a.item, "documentId": a.rater},
                *({"%TYPE": "custom.Tone", "tone": label} for label in a.labels)]}
            for a in answers
        ]
    )  # fmt: skip


def write_cvat(answers: Sequence[Answer]) -> str:
    images = "".join(
        f'<image id="{number}" name="{a.item}-{a.rater}">'
        + "".join(f'<tag label="{label}" source="manual"></tag>' for label in a.labels)
        + "</image>"
        for number, a in enumerate(answers)
    )
    meta = "<meta><job><assignee>all</assignee></job></meta>"
    return f'<?xml version="1.0"?>\n<annotations>{meta}{images}</annotations>'


def write_phoenix(answers: Sequence[Answer]) -> str:
    return write_lines(
        [
            {"span_id": a.item, "name": "tone", "annotator_kind": "HUMAN", "user_id": a.rater,
             "result": {"label": list(a.labels)}}
            for a in answers
        ]
    )  # fmt: skip


def write_lm_eval(answers: Sequence[Answer]) -> str:
    return write_lines(
        [
            {"doc_id": a.item, "doc": {"text": a.item}, "target": "x", "resps": [],
             "filtered_resps": [], "filter": a.rater, "tone": list(a.labels)}
            for a in answers
        ]
    )  # fmt: skip


WRITERS: dict[str, Callable[[Sequence[Answer]], str]] = {
    name.removeprefix("write_"): writer
    for name, writer in list(globals().items())
    if name.startswith("write_") and name not in ("write_csv", "write_lines", "write_survey")
}
# These are rejected, because they have no answers.
WITHOUT_ANSWERS = {name for name, source in SOURCES.items() if isinstance(source, RejectedSource)}
# Their graders only say whether an output passed (see test_evaluation_logs).
PASS_OR_FAIL = {"promptfoo", "openai_evals", "deepeval"}
# These write a single answer alone; the other answers are not in the file.
SINGLE_ONLY = {"toloka", "rayyan"}
# One label of several in a file of this program is a label.
EXACT = {"concord"}
# The raters are known otherwise than by their names: by places, a file or a prefix.
OTHER_RATERS = {"cvat", "qualtrics", "via"}


def test_every_reader_has_a_writer() -> None:
    others = {*TABLE_SOURCES, *WITHOUT_ANSWERS, *PASS_OR_FAIL}
    assert WRITERS.keys() == SOURCES.keys() - others


@pytest.mark.parametrize("name", WRITERS)
@settings(max_examples=25, deadline=None)
@given(answers=answer_lists())
def test_every_answer_is_read_or_reported(name: str, answers: list[Answer]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "export"
        path.write_text(WRITERS[name](answers))
        encoding = "utf-8-sig"
        assert detect_source(read_sample(path, encoding=encoding)) == name
        mapping = ImportMapping(source=name, encoding=encoding, default_rater="file")
        records = list(SOURCES[name].open_reader(path, mapping).iter_records())
    assert not any(isinstance(record, ReaderProblem) for record in records)
    ratings = [record for record in records if isinstance(record, RatingRecord) and record.label]
    read = Counter((record.rater, str(record.label)) for record in ratings)
    written = Counter((a.rater, a.labels[0]) for a in answers if len(a.labels) == 1)
    if name in EXACT:
        written += Counter((a.rater, "|".join(a.labels)) for a in answers if len(a.labels) == 2)
    if name in OTHER_RATERS:
        read = Counter(("", label) for _rater, label in read.elements())
        written = Counter(("", label) for _rater, label in written.elements())
    assert read == written
    # What holds several labels is reported, each time.
    n_several = sum(len(a.labels) > 1 for a in answers) if name not in SINGLE_ONLY | EXACT else 0
    skipped = [record for record in records if isinstance(record, SkippedRecord)]
    reasons = {"no_label", "draft"} if n_several else set()
    assert sum(record.reason not in reasons for record in skipped) >= n_several
