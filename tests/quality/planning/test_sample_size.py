"""Test the sample size by page and command against the numbers of the reference case."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from metrics.agreement.estimate import t_quantile
from metrics.jobs.question_updates import update_question
from metrics.models import Result
from metrics.results.refresh import refresh_deferred_results
from metrics.views.common.display_names import get_undefined_reason
from projects.models import Item, Project, Question, Rater

pytestmark = pytest.mark.django_db


@pytest.fixture
def question_with_error(rated_question: Question) -> Question:
    """Question whose kappa has an error of 0.05 on 100 items, as in the reference case sample_size."""
    reading = Result.objects.get(question=rated_question, period_unit="all")
    for value in reading.coefficients.values():
        margin = 0.05 * float(t_quantile(99))
        value.update(
            se=0.05, n_items=100, low=value["value"] - margin, high=value["value"] + margin
        )
    reading.save()
    return rated_question


def run_plan_command(*arguments: str, capsys: Any) -> list[dict[str, Any]]:
    call_command("plan", *arguments, "--json")
    return json.loads(capsys.readouterr().out)


def test_plan_command_gives_more_items_of_a_project(
    question_with_error: Question, capsys: Any
) -> None:
    """387 items in all are expected to suffice; with assurance some more."""
    (row,) = run_plan_command(str(question_with_error.project_id), capsys=capsys)
    assert row["question"] == question_with_error.key
    assert 387 <= row["items"] < 3 * 387
    assert row["more"] == row["items"] - 100


@pytest.mark.parametrize(
    ("kappa", "prevalence", "half_width", "items"),
    # 236 and 1,291 without assurance (Bloch & Kraemer 1989).
    [("0.7", "0.3", "0.1", 289), ("0.4", "0.5", "0.05", 1331)],
)
def test_plan_command_gives_items_of_a_new_study(
    kappa: str, prevalence: str, half_width: str, items: int, capsys: Any
) -> None:
    arguments = ["--kappa", kappa, "--prevalence", prevalence, "--half-width", half_width]
    (row,) = run_plan_command(*arguments, "--cost", "0.5", capsys=capsys)
    assert row == {"items": items, "ratings": 2 * items, "cost": items}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Give the id of a project"),
        (["999"], "no such question"),
        (["--kappa", "2", "--prevalence", "0.3"], "must lie in"),
        (["--kappa", "0.5", "--prevalence", "0.3,0.3"], "add up to 1"),
        (["--kappa", "0.5", "--prevalence", "x"], "could not convert"),
        (["--kappa", "0.5", "--prevalence", "0.3", "--half-width", "0"], "half-width"),
    ],
)
def test_invalid_plan_arguments_raise_errors(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        call_command("plan", *arguments)


def test_plan_page_shows_widths_and_study(
    question_with_error: Question, client_for: Callable[[User], Client], viewer: User
) -> None:
    page = f"/projects/{question_with_error.project_id}/plan/"
    client = client_for(viewer)
    response = client.get(page)
    width_row = response.context["outlook"].widths[1]
    assert width_row.half_width == 0.05
    assert 287 <= width_row.more < 3 * 387 - 100
    study = client.get(f"{page}?kappa=0.7&prevalence=0.3&half_width=0.1&cost=0.33")
    assert "Cost: 190.74." in study.text, "the same as that of the command"
    study = client.get(f"{page}?kappa=0.7&prevalence=0.3&half_width=0.1&cost=2")
    assert study.context["study"].items == 289  # 236 without assurance
    assert "Cost: 1,156." in study.text
    assert "9 of 10 studies" in study.text
    invalid = client.get(f"{page}?kappa=7&prevalence=0.3&half_width=0.1")
    assert invalid.status_code == 400
    assert invalid.context["study"] is None
    impossible = client.get(f"{page}?kappa=-0.9&prevalence=0.1&half_width=0.1")
    assert impossible.status_code == 400
    assert "Two raters can’t reach this kappa" in impossible.text


def test_plan_uses_the_headline_coefficient(
    question: Question, rate: Any, client_for: Callable[[User], Client], viewer: User
) -> None:
    """With models separate and the question's weights at none: the people's coefficient, by rank."""
    labels = ["none", "minor", "major", "critical"]
    bot = Rater.objects.create(project=question.project, key="bot", kind=Rater.Kind.MODEL)
    for number in range(60):
        label = labels[number % 4]
        for key in ("ann", "bea", "cleo"):
            differs = key == "bea" and number % 5 == 0
            rate(question, f"i{number}", key, labels[(number + differs) % 4])
        rate(question, f"i{number}", bot.key, "none" if number % 2 else label)
    Question.objects.filter(pk=question.pk).update(weights="none")
    update_question(question.pk)
    client, base = client_for(viewer), f"/projects/{question.project_id}/"
    headline = client.get(base).context["headline"]
    outlook = client.get(f"{base}plan/").context["outlook"]
    stored_headline = Result.objects.get(question=question, period_unit="all").headline
    assert (outlook.name, stored_headline["population"]) == (stored_headline["name"], "people")
    assert [outlook.value[field] for field in ("value", "low", "high")] == [
        headline[field] for field in ("value", "low", "high")
    ]


def test_plan_of_two_raters_uses_cohens_kappa(
    question: Question, rate: Any, client_for: Callable[[User], Client], viewer: User, capsys: Any
) -> None:
    """With few items the page says that their error is rough."""
    labels = ["none", "minor", "major", "critical"]
    client, base = client_for(viewer), f"/projects/{question.project_id}/"
    notice = "Rough: few items"
    for number in range(40):
        rate(question, f"i{number}", "ann", labels[number % 4])
        rate(question, f"i{number}", "bea", labels[(number + (number % 5 == 0)) % 4])
        if number == 20:
            update_question(question.pk)
            assert notice in client.get(f"{base}plan/").content.decode()
    update_question(question.pk)
    headline = client.get(base).context["headline"]
    page = client.get(f"{base}plan/")
    outlook = page.context["outlook"]
    assert outlook.name == "cohen_kappa_quadratic"
    assert (outlook.value["value"], outlook.value["low"]) == (headline["value"], headline["low"])
    half_width = (headline["high"] - headline["low"]) / 2  # four times as many items halve it
    expected_items = 40 * (half_width / 0.05) ** 2
    assert outlook.widths[1].expected == pytest.approx(expected_items, rel=0.05)
    # With assurance far more: the weighted error of 40 items rests on a few large differences. The
    # page gives both numbers, and says that the items are too few to plan from.
    assert 1.5 * expected_items < outlook.widths[1].items < 6 * expected_items
    assert "times as large: rate about" in page.content.decode()
    assert 40 < outlook.pilot_items < outlook.widths[1].items
    call_command("plan", str(question.project_id), "--json")
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["expected"], row["rate_first"]) == (
        outlook.widths[1].expected,
        outlook.pilot_items,
    )
    assert notice not in page.content.decode()


def test_plan_of_ratings_that_all_agree_says_what_the_interval_shown_needs(
    question: Question, rate: Any, client_for: Callable[[User], Client], viewer: User
) -> None:
    """The standard error is 0, but nothing is known to ±0.02 after 40 items."""
    for number in range(40):
        for key in ("ann", "bea"):
            rate(question, f"i{number}", key, "minor" if number % 2 else "major")
    update_question(question.pk)
    page = client_for(viewer).get(f"/projects/{question.project_id}/plan/")
    outlook = page.context["outlook"]
    assert (outlook.value["value"], outlook.value["se"]) == (1.0, 0.0)
    half_width = (outlook.value["high"] - outlook.value["low"]) / 2
    assert half_width > 0.05
    for width in outlook.widths:
        assert (width.more == 0) is (half_width <= width.half_width)
        assert width.items >= width.expected >= 0.9 * 40 * (half_width / width.half_width) ** 2
    assert page.context["overlaps"].plans[0].half_width_now >= half_width * 0.9
    assert "few items or disagreements" in page.text
    assert page.text.count("Reached") == sum(width.more == 0 for width in outlook.widths)


def test_plan_page_says_why_there_is_no_estimate(
    question: Question, rate: Any, client_for: Callable[[User], Client], viewer: User
) -> None:
    """Items with two ratings are not missing: all ratings are in one category."""
    for number in range(40):
        for key in ("ann", "bea"):
            rate(question, f"i{number}", key, "minor")
    update_question(question.pk)
    page = client_for(viewer).get(f"/projects/{question.project_id}/plan/")
    assert "a few items need two ratings" not in page.text
    assert page.text.count("No estimate: ") == 2
    assert str(get_undefined_reason("single_category")) in page.text


def test_plan_page_without_data(
    project: Any, client_for: Callable[[User], Client], viewer: User
) -> None:
    response = client_for(viewer).get(f"/projects/{project.pk}/plan/")
    assert response.status_code == 200
    assert "No estimate yet:" in response.text


def test_plan_of_items_in_clusters(
    question: Question,
    rate: Any,
    client_for: Callable[[User], Client],
    viewer: User,
    capsys: Any,
) -> None:
    """Documents in which nobody agrees: more items are needed than of independent ones."""
    Question.objects.filter(pk=question.pk).update(scale="nominal")
    labels = ["none", "minor", "major", "critical"]
    for number in range(120):
        document = number // 10
        Item.objects.create(
            project=question.project, key=f"i{number}", attributes={"document": document}
        )
        rate(question, f"i{number}", "ann", labels[number % 4])
        rate(question, f"i{number}", "bea", labels[(number + (document % 3 == 0)) % 4])
    update_question(question.pk)
    arguments = (str(question.project_id), "--half-width", "0.1")
    (before,) = run_plan_command(*arguments, capsys=capsys)
    Project.objects.update(cluster_attribute="document")
    refresh_deferred_results()
    (after,) = run_plan_command(*arguments, capsys=capsys)
    assert (before["coefficient"], after["cluster"]) == ("cohen_kappa", "document")
    assert after["design_effect"] > 5
    assert after["items"] > 4 * before["items"]
    page = client_for(viewer).get(f"/projects/{question.project_id}/plan/")
    assert "For clusters by “document” of current size (design effect" in page.text
    assert page.context["overlaps"].plans[0].items == pytest.approx(
        page.context["outlook"].widths[1].items, rel=0.1
    )
