"""Final labels as files and by command, and the card that goes with them."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from projects.models import Item, Question
from quality.consensus import recompute
from quality.labels import data_card, files, selectors
from quality.models import Consensus, ItemLabel
from quality.review import decisions
from tests.cast import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def made_once(answered_once: Cast) -> Cast:
    return answered_once


@pytest.fixture
def labelled(answered: Question, lead: User) -> Question:
    """One of the sixty items is decided."""
    recompute.recompute_question(answered.pk)
    decisions.create_decision(question=answered, item=Item.objects.get(key="i00"), code=3, by=lead)
    return answered


def made(question: Question, kind: str) -> bytes:
    words = selectors.LabelNames.for_question(question, Consensus.objects.get(question=question))
    return b"".join(files.FORMATS[kind].stream(selectors.get_labels(question), words))


def test_csv_and_json_lines_say_the_same(labelled: Question) -> None:
    table = list(csv.DictReader(io.StringIO(made(labelled, "csv").decode())))
    lines = [json.loads(line) for line in made(labelled, "jsonl").decode().splitlines()]
    assert len(table) == len(lines) == 60
    for row, line in zip(table, lines, strict=True):
        assert row["item"] == line["item"]
        assert row["label"] == line["label"]
        assert float(row["confidence"]) == line["confidence"]
        shares = {label: float(row[f"p {label}"]) for label in line["distribution"]}
        assert shares == line["distribution"]
        assert row["split"] == line["split"] == selectors.get_split(line["item"])
    decided = next(line for line in lines if line["item"] == "i00")
    assert (decided["label"], decided["source"], decided["decided_by"]) == (
        "critical",
        "decision",
        "lead",
    )


def test_parquet_says_the_same(labelled: Question) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet is an extra")
    rows = parquet.read_table(io.BytesIO(made(labelled, "parquet"))).to_pylist()
    lines = [json.loads(line) for line in made(labelled, "jsonl").decode().splitlines()]
    for row, line in zip(rows, lines, strict=True):
        assert row["label"] == line["label"]
        assert row["confidence"] == line["confidence"]
        assert row["p major"] == line["distribution"]["major"]


def test_other_tools_get_tasks_with_their_content(labelled: Question) -> None:
    ItemLabel.objects.filter(item__key="i01").update(code=None, reason="tied")
    lines = [json.loads(line) for line in made(labelled, "jsonl").decode().splitlines()]
    tasks = json.loads(made(labelled, "label_studio"))
    records = json.loads(made(labelled, "argilla"))
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
    assert json.loads(made(labelled, "label_studio")) == []


def test_a_split_stays_whatever_else_comes() -> None:
    parts = [selectors.get_split(f"item {number}") for number in range(10_000)]
    assert parts.count("train") == pytest.approx(8_000, abs=150)
    assert parts.count("dev") == pytest.approx(1_000, abs=100)
    assert [selectors.get_split(key) for key in ("item 0", "item 1")] == ["test", "train"]


def test_the_card_says_what_the_labels_rest_on(labelled: Question) -> None:
    said = data_card.build_data_card(labelled)
    assert "60 items: 59 by consensus, 1 by decision" in said
    assert "4 people, 0 models" in said
    assert "fleiss_kappa: 0." in said
    first = data_card.compute_digest(labelled, Consensus.objects.get())
    assert first in said
    ItemLabel.objects.filter(item__key="i01").update(code=None)
    assert data_card.compute_digest(labelled, Consensus.objects.get()) != first


def test_the_command_prints_labels_as_they_are_now(
    answered: Question, capfdbinary: pytest.CaptureFixture[Any]
) -> None:
    call_command("labels", str(answered.project_id), "--format", "jsonl", "--at-least", "0.9")
    lines = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert 0 < len(lines) < 60
    assert min(line["confidence"] for line in lines) >= 0.9


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["999"], "no project 999"),
        (["{project}", "--question", "no"], "one of: severity"),
        (["{project}", "--at-least", "2"], "between 0 and 1"),
    ],
)
def test_what_the_command_cannot_do(answered: Question, arguments: list[str], said: str) -> None:
    given = [argument.format(project=answered.project_id) for argument in arguments]
    with pytest.raises(CommandError, match=said):
        call_command("labels", *given)
