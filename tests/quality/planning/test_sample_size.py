"""How much is to be rated: by page and command, the numbers of the reference case."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from metrics.jobs.question_updates import update_question
from metrics.models import Reading
from projects.models import Question, Rater

pytestmark = pytest.mark.django_db


@pytest.fixture
def known(answered: Question) -> Question:
    """Kappa has an error of 0.05 on 100 items, as in the reference case sample_size."""
    reading = Reading.objects.get(question=answered, span="all")
    for value in reading.coefficients.values():
        value.update(se=0.05, n_items=100)
    reading.save()
    return answered


def told(*arguments: str, capsys: Any) -> list[dict[str, Any]]:
    call_command("plan", *arguments, "--json")
    return json.loads(capsys.readouterr().out)


def test_more_items_of_a_project(known: Question, capsys: Any) -> None:
    (row,) = told(str(known.project_id), capsys=capsys)
    assert (row["question"], row["items"], row["more"]) == (known.key, 387, 287)


@pytest.mark.parametrize(
    ("kappa", "prevalence", "half_width", "items"),
    [("0.7", "0.3", "0.1", 236), ("0.4", "0.5", "0.05", 1291)],
)
def test_a_study(kappa: str, prevalence: str, half_width: str, items: int, capsys: Any) -> None:
    given = ["--kappa", kappa, "--prevalence", prevalence, "--half-width", half_width]
    (row,) = told(*given, "--cost", "0.5", capsys=capsys)
    assert row == {"items": items, "ratings": 2 * items, "cost": items}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Give the id of a project"),
        (["999"], "no such question"),
        (["--kappa", "2", "--prevalence", "0.3"], "must lie in"),
        (["--kappa", "0.5", "--prevalence", "0.3,0.3"], "add up to 1"),
        (["--kappa", "0.5", "--prevalence", "x"], "could not convert"),
        (["--kappa", "0.5", "--prevalence", "0.3", "--half-width", "0"], "half-width"),
    ],
)
def test_what_cannot_be_planned(arguments: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        call_command("plan", *arguments)


def test_the_page(known: Question, client_for: Callable[[User], Client], viewer: User) -> None:
    page = f"/projects/{known.project_id}/plan/"
    client = client_for(viewer)
    answer = client.get(page)
    assert [(w.half_width, w.more) for w in answer.context["outlook"].widths][1] == (0.05, 287)
    study = client.get(f"{page}?kappa=0.7&prevalence=0.3&half_width=0.1&cost=2")
    assert study.context["study"].items == 236
    assert "944" in study.text
    wrong = client.get(f"{page}?kappa=7&prevalence=0.3&half_width=0.1")
    assert wrong.status_code == 400
    assert wrong.context["study"] is None


def test_the_number_is_the_one_that_is_read_first(
    question: Question, rate: Any, client_for: Callable[[User], Client], viewer: User
) -> None:
    """With a model kept apart and the question's own weights left at none: people's, by rank."""
    labels = ["none", "minor", "major", "critical"]
    bot = Rater.objects.create(project=question.project, key="bot", kind=Rater.Kind.MODEL)
    for number in range(60):
        said = labels[number % 4]
        for key in ("ann", "bea", "cleo"):
            near = key == "bea" and number % 5 == 0
            rate(question, f"i{number}", key, labels[(number + near) % 4])
        rate(question, f"i{number}", bot.key, "none" if number % 2 else said)
    Question.objects.filter(pk=question.pk).update(weights="none")
    update_question(question.pk)
    client, base = client_for(viewer), f"/projects/{question.project_id}/"
    first = client.get(base).context["headline"]
    outlook = client.get(f"{base}plan/").context["outlook"]
    shown = Reading.objects.get(question=question, span="all").headline
    assert (outlook.name, shown["of"]) == (shown["name"], "people")
    assert [outlook.value[part] for part in ("value", "low", "high")] == [
        first[part] for part in ("value", "low", "high")
    ]


def test_of_two_raters_it_is_their_kappa(
    question: Question, rate: Any, client_for: Callable[[User], Client], viewer: User
) -> None:
    """And of few items the page says that their error is rough."""
    labels = ["none", "minor", "major", "critical"]
    client, base = client_for(viewer), f"/projects/{question.project_id}/"
    rough = "fewer than 30 items"
    for number in range(40):
        rate(question, f"i{number}", "ann", labels[number % 4])
        rate(question, f"i{number}", "bea", labels[(number + (number % 5 == 0)) % 4])
        if number == 20:
            update_question(question.pk)
            assert rough in client.get(f"{base}plan/").content.decode()
    update_question(question.pk)
    first = client.get(base).context["headline"]
    page = client.get(f"{base}plan/")
    outlook = page.context["outlook"]
    assert outlook.name == "cohen_kappa_quadratic"
    assert (outlook.value["value"], outlook.value["low"]) == (first["value"], first["low"])
    half = 1.96 * first["se"]  # of 40 items; four times as many halve it
    assert outlook.widths[1].items == pytest.approx(40 * (half / 0.05) ** 2, rel=0.01)
    assert rough not in page.content.decode()


def test_the_page_before_anything_is_known(
    project: Any, client_for: Callable[[User], Client], viewer: User
) -> None:
    answer = client_for(viewer).get(f"/projects/{project.pk}/plan/")
    assert answer.status_code == 200
    assert "Nothing is known of the error yet" in answer.text
