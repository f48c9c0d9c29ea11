"""Published data sets through the wizard. They are never part of the project; without their folder
this is skipped."""

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
from ratings.models import Apart, Rating, Revision
from tests.ratings.imports.wizard_client import Wizard, said

pytestmark = pytest.mark.timeout(600)  # up to 92,721 ratings each; a machine may be busy


@pytest.fixture
def wizard(lead: Any, client_for: Any) -> Wizard:
    return Wizard(client_for(lead))


def read(path: Path) -> list[dict[str, str]]:
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    return list(csv.DictReader(io.StringIO(text.decode())))


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
def test_real_file_becomes_a_project(
    shared_data: Path, wizard: Wizard, name: str, order: list[str], scale: str
) -> None:
    path = shared_data / name
    wanted = read(path)
    last = {(row["item"], row["rater"]): row["label"] for row in wanted}
    assert wizard.upload(path.read_bytes(), name).status_code == 302
    wizard.choose()
    run = wizard.work()
    assert run.state == "checked", run.problems[:3]
    form = wizard.page().context["form"]
    assert form["categories"].value().split("\n") == order
    assert form["scale"].value() == scale
    assert run.summary["repeats"] == len(wanted) - len(last)
    wizard.start()
    run = wizard.work()

    assert run.state == "done"
    project = Project.objects.get()
    assert project.name == name.removesuffix(".gz").removesuffix(".csv")
    assert said(project.questions.get()) == last
    assert Item.objects.count() == len({item for item, _ in last})
    assert Rater.objects.count() == len({rater for _, rater in last})
    assert Revision.objects.count() == len(wanted)


def test_real_times_are_kept(shared_data: Path, wizard: Wizard) -> None:
    path = shared_data / "sxs_mqm_zhen.csv"
    wizard.all(path.read_bytes())
    times = {
        (item, rater): moment.isoformat().replace("+00:00", "Z")
        for item, rater, moment in Rating.objects.values_list("item__key", "rater__key", "rated_at")
    }
    assert times == {(row["item"], row["rater"]): row["timestamp"] for row in read(path)}


def test_first_of_the_repeats_can_stand_and_the_second_be_kept(
    shared_data: Path, wizard: Wizard
) -> None:
    wanted = read(shared_data / "gal_adult2.csv")[:20_000]
    first: dict[tuple[str, str], str] = {}
    second: dict[tuple[str, str], str] = {}
    for row in wanted:
        pair = row["item"], row["rater"]
        kept = second if pair in first else first
        kept.setdefault(pair, row["label"])
    text = "\n".join(["item,rater,label", *(",".join(row.values()) for row in wanted)])
    run = wizard.check(text.encode())
    assert run.summary["repeats"] == len(wanted) - len(first) > 0
    wizard.start(stands="repeat")
    wizard.work()
    question = Project.objects.get().questions.get()
    assert said(question) == first
    labels: dict[Any, str] = dict(question.categories.values_list("code", "label"))
    rows = Apart.objects.values_list("item__key", "rater__key", "first", "code")
    told = {(item, rater): (labels[one], labels[two]) for item, rater, one, two in rows}
    assert told == {pair: (first[pair], label) for pair, label in second.items()}
    assert tasks.sweep_gold() == 1
    state = RepeatState.objects.get()
    assert (state.n, state.same) == (
        len(second),
        sum(first[pair] == second[pair] for pair in second),
    )
    assert state.kappa["value"] is not None
