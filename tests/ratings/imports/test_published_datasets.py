"""Published data sets, imported through the wizard.

They are never part of the repository; without their folder these tests are skipped.
"""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from typing import Any

import pytest

from projects.models import Item, Project, Rater
from quality import tasks
from quality.models import RepeatState
from ratings.models import CheckAnswer, Rating, Revision
from tests.ratings.imports.wizard_client import WizardClient, get_labels
from tests.tools.full_run import choose_number

pytestmark = pytest.mark.timeout(600)  # up to 92,721 ratings each; a machine may be busy


@pytest.fixture
def wizard(lead: Any, client_for: Any) -> WizardClient:
    return WizardClient(client_for(lead))


def read_text(path: Path) -> str:
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode()


def read_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize(
    ("name", "order", "scale"),
    [
        ("sxs_mqm_zhen.csv", ["none", "minor", "major"], "ordinal"),
        ("gal_adult2.csv", ["G", "P", "R", "X"], "ordinal"),
        (
            "nlu_validation.csv.gz",
            ["option1", "option2", "option3", "option4", "option5"],
            "nominal",
        ),
        ("ukpconvarg1.csv.gz", ["a1", "a2", "equal"], "nominal"),
    ],
)
def test_published_file_becomes_a_project(
    shared_data: Path, wizard: WizardClient, name: str, order: list[str], scale: str
) -> None:
    lines = read_text(shared_data / name).splitlines(keepends=True)  # no cell has a line break
    text = "".join(lines[: choose_number(10_000, full=len(lines))])
    rows = read_rows(text)
    last_labels = {(row["item"], row["rater"]): row["label"] for row in rows}
    content = text.encode()
    content = gzip.compress(content) if name.endswith(".gz") else content
    assert wizard.upload(content, name).status_code == 302
    wizard.choose_columns()
    run = wizard.run_worker()
    assert run.state == "checked", run.problems[:3]
    form = wizard.get_page().context["form"]
    assert form["categories"].value().split("\n") == order
    assert form["scale"].value() == scale
    assert run.summary["repeats"] == len(rows) - len(last_labels)
    wizard.start_import()
    run = wizard.run_worker()

    assert run.state == "done"
    project = Project.objects.get()
    assert project.name == name.removesuffix(".gz").removesuffix(".csv")
    assert get_labels(project.questions.get()) == last_labels
    assert Item.objects.count() == len({item for item, _ in last_labels})
    assert Rater.objects.count() == len({rater for _, rater in last_labels})
    assert Revision.objects.count() == len(rows)


def test_published_times_are_stored(shared_data: Path, wizard: WizardClient) -> None:
    path = shared_data / "sxs_mqm_zhen.csv"
    wizard.import_file(path.read_bytes())
    times = {
        (item, rater): rated_at.isoformat().replace("+00:00", "Z")
        for item, rater, rated_at in Rating.objects.values_list(
            "item__key", "rater__key", "rated_at"
        )
    }
    assert times == {
        (row["item"], row["rater"]): row["timestamp"] for row in read_rows(read_text(path))
    }


def test_first_rating_can_be_current_and_the_second_a_repeat(
    shared_data: Path, wizard: WizardClient
) -> None:
    file_rows = read_rows(read_text(shared_data / "gal_adult2.csv"))[:10_000]
    first_labels: dict[tuple[str, str], str] = {}
    second_labels: dict[tuple[str, str], str] = {}
    for row in file_rows:
        pair = row["item"], row["rater"]
        labels_of_turn = second_labels if pair in first_labels else first_labels
        labels_of_turn.setdefault(pair, row["label"])
    text = "\n".join(["item,rater,label", *(",".join(row.values()) for row in file_rows)])
    run = wizard.upload_and_validate(text.encode())
    assert run.summary["repeats"] == len(file_rows) - len(first_labels) > 0
    wizard.start_import(duplicate_policy="repeat")
    wizard.run_worker()
    question = Project.objects.get().questions.get()
    assert get_labels(question) == first_labels
    labels: dict[Any, str] = dict(question.categories.values_list("code", "label"))
    rows = CheckAnswer.objects.values_list("item__key", "rater__key", "rated_code", "code")
    stored_labels = {
        (item, rater): (labels[first_code], labels[second_code])
        for item, rater, first_code, second_code in rows
    }
    assert stored_labels == {
        pair: (first_labels[pair], label) for pair, label in second_labels.items()
    }
    assert tasks.sweep_gold_and_repeats() == 1
    state = RepeatState.objects.get()
    assert (state.n, state.same) == (
        len(second_labels),
        sum(first_labels[pair] == second_labels[pair] for pair in second_labels),
    )
    assert state.kappa["value"] is not None
