"""Test final labels as files and by command, and the data card."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from projects.models import Item, Question
from quality.consensus import recomputation
from quality.labels import data_card, files, selectors
from quality.models import Consensus, ItemLabel
from quality.review import decisions
from tests.cast import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def module_cast(rated_cast: Cast) -> Cast:
    return rated_cast


@pytest.fixture
def labelled_question(rated_question: Question, lead: User) -> Question:
    """Question of sixty items, one of which is decided."""
    recomputation.recompute_question(rated_question.pk)
    decisions.create_decision(
        question=rated_question, item=Item.objects.get(key="i00"), code=3, by=lead, reason="see 3.1"
    )
    return rated_question


def render_file(question: Question, kind: str) -> bytes:
    texts = selectors.LabelNames.for_question(question, Consensus.objects.get(question=question))
    labels = selectors.get_labels(question)
    return b"".join(files.build_labels_document(question.project, texts, kind, labels).iter_file())


def test_csv_has_no_rounding_errors(labelled_question: Question) -> None:
    labels = ItemLabel.objects.filter(question=labelled_question, source="consensus")
    labels.update(distribution=[6.9e-18, 0.25, 0.75, 0.0], mean=-6.9e-18)
    text = render_file(labelled_question, "csv").decode()
    assert ",0.25,0.75," in text
    assert "e-18" not in text


def test_csv_and_json_lines_have_the_same_content(labelled_question: Question) -> None:
    table = list(csv.DictReader(io.StringIO(render_file(labelled_question, "csv").decode())))
    lines = [
        json.loads(line) for line in render_file(labelled_question, "jsonl").decode().splitlines()
    ]
    assert len(table) == len(lines) == 60
    for row, line in zip(table, lines, strict=True):
        assert row["item"] == line["item"]
        assert row["label"] == line["label"]
        assert float(row["confidence"]) == line["confidence"]
        shares = {label: float(row[f"p {label}"]) for label in line["distribution"]}
        assert shares == line["distribution"]
        assert row["split"] == line["split"] == selectors.get_data_split(line["item"])
    decided_line = next(line for line in lines if line["item"] == "i00")
    fields = ("label", "source", "decided_by", "reason")
    assert [decided_line[field] for field in fields] == ["critical", "decision", "lead", "see 3.1"]
    assert {line["reason"] for line in lines if line["item"] != "i00"} == {None}


@pytest.mark.parametrize(("scale", "has_mean"), [("nominal", False), ("interval", True)])
def test_only_numbers_have_a_mean(labelled_question: Question, scale: str, has_mean: bool) -> None:
    """Categories without an order may have values, too: codes of an imported file."""
    for category in labelled_question.categories.all():
        category.value = category.code + 1
        category.save()
    Question.objects.filter(pk=labelled_question.pk).update(scale=scale)
    labelled_question.refresh_from_db()
    recomputation.recompute_question(labelled_question.pk, at_once=True)
    lines = render_file(labelled_question, "jsonl").decode().splitlines()
    means = [json.loads(line)["mean"] for line in lines]
    assert {mean is not None for mean in means} == {has_mean}


def test_parquet_has_the_same_content(labelled_question: Question) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet is an extra")
    rows = parquet.read_table(io.BytesIO(render_file(labelled_question, "parquet"))).to_pylist()
    lines = [
        json.loads(line) for line in render_file(labelled_question, "jsonl").decode().splitlines()
    ]
    for row, line in zip(rows, lines, strict=True):
        assert row["label"] == line["label"]
        assert row["confidence"] == line["confidence"]
        assert row["p major"] == line["distribution"]["major"]


def test_other_tools_get_tasks_with_their_content(labelled_question: Question) -> None:
    ItemLabel.objects.filter(item__key="i01").update(code=None, reason="tied")
    lines = [
        json.loads(line) for line in render_file(labelled_question, "jsonl").decode().splitlines()
    ]
    tasks = json.loads(render_file(labelled_question, "label_studio"))
    records = json.loads(render_file(labelled_question, "argilla"))
    assert len(lines) == len(tasks) == len(records) == 60
    for line, task, record in zip(lines, tasks, records, strict=True):
        number = int(line["item"][1:])
        assert task["data"] == {"item": line["item"], "text": f"text {number}"}
        assert record["fields"] == task["data"]
        if line["label"] is None:
            assert task["annotations"] == []
            assert record["suggestions"] == {}
            continue
        (annotation,) = task["annotations"]
        assert annotation["result"][0]["value"] == {"choices": [line["label"]]}
        assert annotation["ground_truth"] is (line["source"] == "decision")
        assert record["suggestions"]["severity"]["value"] == line["label"]
    ItemLabel.objects.all().delete()
    assert json.loads(render_file(labelled_question, "label_studio")) == []


def test_split_of_an_item_depends_only_on_its_key() -> None:
    splits = [selectors.get_data_split(f"item {number}") for number in range(10_000)]
    assert splits.count("train") == pytest.approx(8_000, abs=150)
    assert splits.count("dev") == pytest.approx(1_000, abs=100)
    assert [selectors.get_data_split(key) for key in ("item 0", "item 1")] == ["test", "train"]


def test_card_states_sources_raters_and_agreement(labelled_question: Question) -> None:
    text = data_card.build_data_card(labelled_question)
    assert (
        "60 items: 59 computed from the ratings (`consensus`), 1 decided in review (`decision`)"
        in text
    )
    assert "4 people, 0 models" in text
    assert "* Fleiss’ kappa: 0." in text
    digest_before = data_card.compute_digest(labelled_question, Consensus.objects.get())
    assert digest_before in text
    ItemLabel.objects.filter(item__key="i01").update(code=None)
    assert data_card.compute_digest(labelled_question, Consensus.objects.get()) != digest_before


def test_command_prints_current_labels(
    rated_question: Question, capfdbinary: pytest.CaptureFixture[Any]
) -> None:
    call_command("labels", str(rated_question.project_id), "--format", "jsonl", "--at-least", "0.9")
    output = capfdbinary.readouterr()
    lines = [json.loads(line) for line in output.out.splitlines()]
    assert 0 < len(lines) < 60
    assert min(line["confidence"] for line in lines) >= 0.9
    assert b"Without gold answers for 30 items" in output.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["999"], "no project 999"),
        (["{project}", "--question", "no"], "one of: severity"),
        (["{project}", "--at-least", "2"], "between 0 and 1"),
    ],
)
def test_invalid_command_arguments_raise_errors(
    rated_question: Question, arguments: list[str], message: str
) -> None:
    formatted_arguments = [
        argument.format(project=rated_question.project_id) for argument in arguments
    ]
    with pytest.raises(CommandError, match=message):
        call_command("labels", *formatted_arguments)
