"""Sentences of a dashboard hold: each where it is true, and not where it is false but tempting.

The cases without a true sentence come with the texts that must not be on the page.
"""

from __future__ import annotations

import datetime
import io
import json
import random
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from metrics.agreement import report
from metrics.jobs.question_updates import sweep_questions
from projects.models import Question, Rater
from quality import tasks
from tests import cast
from tests.metrics.views.dashboard.conftest import FIRST

pytestmark = pytest.mark.django_db

REFERENCE = Path(__file__).parents[2] / "results" / "reference"
CASES = sorted(path.stem for path in REFERENCE.glob("page_*.json"))


def get_page(client: Any, question: Question) -> str:
    """Return the overview and the statistics as one text."""
    sweep_questions()
    tasks.sweep_alerts()
    tasks.sweep_raters()
    address = f"/projects/{question.project_id}/"
    return "".join(client.get(f"{address}{page}").text for page in ("", "statistics/"))


@pytest.mark.parametrize("name", CASES)
def test_page_has_no_false_sentence(
    name: str, make_project: Any, client: Any, admin: Any, api_for: Any
) -> None:
    case = json.loads((REFERENCE / f"{name}.json").read_text(encoding="utf-8"))
    project = make_project(name, labels=tuple(case["categories"]), scale=case["scale"])
    question = project.questions.get()
    cast.rate_many(
        question,
        (
            (item, rater, label, datetime.datetime.fromisoformat(rated_at))
            for item, rater, label, rated_at in case["rows"]
        ),
    )
    html = get_page(client, question)
    assert [text for text in case["never"] if text in html] == []
    address = f"/api/v1/projects/{project.pk}/agreement/"
    coefficients = api_for(admin).get(address).json()["coefficients"]
    for coefficient, expected in case["expected"].items():
        if coefficient in coefficients:
            assert coefficients[coefficient]["value"] == pytest.approx(expected, abs=1e-6)


def test_a_rater_below_the_others_is_named(
    make_question: Any, rate_items: Any, client: Any
) -> None:
    question = make_question(("no", "yes", "maybe"))
    rng = random.Random(1)
    rows = []
    for _number in range(80):
        truth = rng.choice(("no", "yes", "maybe"))
        rows.append([truth if rng.random() < p else "no" for p in (0.9, 0.9, 0.9, 0.4)])
    rate_items(question, rows)
    html = get_page(client, question)
    assert "agrees less than the others" in html
    insight = html.split("agrees less than the others.")[0][-200:]
    assert ">d</a>" in insight
    assert ">a</a>" not in insight
    assert ">Check d</a>" in html  # the overview says the same, and so do the rater's pages
    address = f"/projects/{question.project_id}/raters/"
    reason = "agrees less than the others"
    assert reason in client.get(address).text
    assert reason[1:] in client.get(f"{address}d/").text
    assert "grees less" not in client.get(f"{address}a/").text


@pytest.mark.parametrize("recognized", [0.1, 0.8])
def test_who_misses_a_rare_category_is_to_check(
    recognized: float, make_question: Any, rate_items: Any, client: Any
) -> None:
    """Such a rater agrees as often as the others, but not beyond chance; others are not named.

    The insight and the list of raters name the same raters.
    """
    question = make_question(("no", "yes"))
    rng = random.Random(3)
    rows: list[list[str | None]] = []
    for _number in range(300):
        is_rare = rng.random() < 0.15
        chances = [0.8 if is_rare else 0.06] * 3 + [recognized if is_rare else 0.03]
        rows.append(["yes" if rng.random() < chance else "no" for chance in chances])
    rate_items(question, rows)
    html = get_page(client, question)
    address = f"/projects/{question.project_id}/raters/"
    listed = client.get(f"{address}?show=low_agreement").context["rows"]
    is_low = recognized < 0.5
    assert [row.listed.key for row in listed] == (["d"] if is_low else [])
    assert (">d</a> agrees less than the others." in html) == is_low
    page = client.get(f"{address}d/").text
    assert ("Agrees less than the others" in page) == is_low
    assert "reason unclear" not in page or not is_low


def test_nobody_is_named_among_raters_who_err_alike(
    make_question: Any, rate_items: Any, client: Any
) -> None:
    """Everybody errs on hard items; who rates more of them errs more often, and is no worse."""
    question = make_question(("no", "yes", "maybe"))
    rng = random.Random(2)
    rows: list[list[str | None]] = []
    for number in range(200):
        is_hard = number % 2 == 0
        truth = rng.choice(("no", "yes", "maybe"))
        answers: list[str | None] = [
            truth if rng.random() < (0.55 if is_hard else 0.97) else rng.choice(("no", "yes"))
            for _rater in range(5)
        ]
        if not is_hard:
            answers[4] = None  # the last rater has hard items only
        rows.append(answers)
    rate_items(question, rows)
    html = get_page(client, question)
    assert ">Check " not in html
    assert "than the others do with each other" not in html


def build_period(rng: random.Random, error: float, size: int = 60) -> list[list[str | None]]:
    rows: list[list[str | None]] = []
    for _number in range(size):
        truth = rng.choice(("no", "yes"))
        other = "yes" if truth == "no" else "no"
        rows.append([truth if rng.random() > error else other for _rater in range(3)])
    return rows


@pytest.mark.parametrize("errors", [(0.02, 0.3), (0.3, 0.02)])
def test_a_clear_change_is_described(
    errors: tuple[float, float], make_question: Any, rate_items: Any, client: Any
) -> None:
    question, rng = make_question(("no", "yes")), random.Random(3)
    rate_items(question, build_period(rng, errors[0]), prefix="early")
    later = FIRST + datetime.timedelta(weeks=1)
    rate_items(question, build_period(rng, errors[1]), start=later, prefix="late")
    html = get_page(client, question)
    assert "Fleiss’ kappa went from" in html
    assert "This may be chance." not in html
    page = client.get(f"/projects/{question.project_id}/change/").content.decode()
    assert page  # computed on request


@pytest.mark.parametrize("category", ["weights", "no order", "two categories"])
def test_weights_are_compared_where_they_have_a_meaning(
    category: str, make_question: Any, rate_items: Any, client: Any
) -> None:
    labels: tuple[str, ...] = ("low", "middle", "high", "top")
    if category == "two categories":
        labels = labels[:2]
    question = make_question(labels, "nominal" if category == "no order" else "ordinal")
    rng = random.Random(4)
    rows: list[list[str | None]] = []
    for _number in range(150):
        truth = rng.randrange(len(labels))
        near = max(0, min(len(labels) - 1, truth + rng.choice((-1, 1))))
        rows.append([labels[truth if rng.random() < 0.7 else near] for _rater in range(3)])
    rate_items(question, rows)
    html = get_page(client, question)
    has_sentence = "Weights matter" in html
    has_sentence |= "Weights hardly matter" in html
    assert has_sentence == (category == "weights")


def test_categories_are_confused_beyond_their_frequencies(
    make_question: Any, rate_items: Any, client: Any
) -> None:
    """Two of four equally frequent categories are swapped: true. Two frequent ones: tempting."""
    question, rng = make_question(("a", "b", "c", "d")), random.Random(5)
    rows: list[list[str | None]] = []
    for _number in range(200):
        truth = rng.choice("abcd")
        swap = {"a": "b", "b": "a"}.get(truth, truth)
        rows.append([truth if rng.random() < 0.7 else swap for _rater in range(3)])
    rate_items(question, rows)
    html = get_page(client, question)
    assert "Clarify a vs. b" in html
    assert "disagreements" in html
    assert "category frequencies alone would give" in html


def test_frequent_categories_are_not_confused_by_chance(
    make_question: Any, rate_items: Any, client: Any
) -> None:
    question, rng = make_question(("a", "b", "c", "d")), random.Random(6)
    rows: list[list[str | None]] = []
    for _number in range(200):
        truth = rng.choices("abcd", (45, 45, 5, 5))[0]
        rows.append(
            [
                truth if rng.random() < 0.7 else rng.choices("abcd", (45, 45, 5, 5))[0]
                for _rater in range(3)
            ]
        )
    rate_items(question, rows)
    html = get_page(client, question)
    assert "Clarify " not in html


def test_few_items_of_a_rare_category_get_no_word(
    make_question: Any, rate_items: Any, client: Any
) -> None:
    question = make_question(("no", "yes"))
    rate_items(question, [["no", "no"]] * 39 + [["yes", "yes"]])
    html = get_page(client, question)
    assert "With only 40 items, the interval is wide." in html
    assert "Only 1 of 40 items has an answer other than “no”" in html
    assert 'class="band ' not in html.split('id="headline"')[1].split("</section>")[0]
    assert ">not enough data yet<" in html.split('id="headline"')[1].split("</section>")[0]


def test_a_category_that_is_met_often_gets_the_word(
    make_question: Any, rate_items: Any, client: Any
) -> None:
    question = make_question(("no", "yes"))
    rate_items(question, [["no", "no"]] * 60 + [["yes", "yes"]] * 60)
    assert "almost perfect" in get_page(client, question)


def test_the_page_leads_with_definitions_that_differ(
    make_question: Any, rate_items: Any, client: Any
) -> None:
    """Rare items have more ratings, so that chance by rating and by item differ."""
    question, rng = make_question(("no", "yes")), random.Random(7)
    rows: list[list[str | None]] = []
    for number in range(120):
        size = 8 if number < 30 else 2
        share = 0.5 if number < 30 else 0.03
        rows.append(["yes" if rng.random() < share else "no" for _rater in range(size)])
    rate_items(question, rows)
    html = get_page(client, question)
    assert "depends on how chance is counted: " in html
    assert 'class="band ' not in html.split('id="headline"')[1].split("</section>")[0]
    assert ">no label<" in html.split('id="headline"')[1].split("</section>")[0]


def test_statistics_that_agree_tell_the_same_story(
    make_question: Any, rate_items: Any, client: Any
) -> None:
    question, rng = make_question(("no", "yes")), random.Random(8)
    rate_items(question, build_period(rng, 0.06, 200))
    assert "The statistics agree." in get_page(client, question)


def test_statistics_without_a_value_do_not_agree(
    make_question: Any, rate_items: Any, client: Any
) -> None:
    """Of ratings in one category AC1 is 1, and kappa and alpha are undefined."""
    question = make_question(("no", "yes"))
    rate_items(question, [["no", "no"]] * 40)
    sweep_questions()
    page = client.get(f"/projects/{question.project_id}/statistics/?coefficient=gwet_ac1").text
    assert "No insights." in page
    assert "The statistics agree" not in page
    assert "The statistics differ" not in page


def test_percentages_state_their_comparisons(
    make_question: Any, rate_items: Any, client: Any
) -> None:
    question, rng = make_question(("no", "yes")), random.Random(9)
    rows: list[list[str | None]] = []
    for _number in range(200):
        rows.append(["yes" if rng.random() < 0.06 else "no" for _rater in range(3)])
    rate_items(question, rows)
    assert "of 600 comparisons" in get_page(client, question)


def test_findings_are_those_of_people(
    make_question: Any, rate_items: Any, rate: Any, client: Any
) -> None:
    """A model that agrees with nobody is named in no sentence."""
    question, rng = make_question(("no", "yes")), random.Random(10)
    Rater.objects.create(project=question.project, key="gpt", kind="model")
    rate_items(question, build_period(rng, 0.05, 80))
    for number in range(80):
        rate(question, f"i{number}", "gpt", rng.choice(("no", "yes")))
    html = get_page(client, question)
    assert ">Check " not in html


@pytest.mark.parametrize("n_raters", [2, 3])
def test_weighted_headline_has_its_value_without_weights_beside_it(
    n_raters: int, make_question: Any, rate_items: Any, client: Any, admin: Any, api_for: Any
) -> None:
    """On overview, statistics and report, in the API and in the file, with names that differ.

    The overview leaves the interval to the statistics.
    """
    labels = ("none", "minor", "major")
    question = make_question(labels, "ordinal")
    rng = random.Random(3)
    rows = [[labels[min(2, n % 3 + rng.randrange(2))] for _ in range(n_raters)] for n in range(40)]
    rate_items(question, rows)
    page = unescape(get_page(client, question))
    name = "Cohen’s kappa" if n_raters == 2 else "Fleiss’ kappa"
    values = report([[labels.index(label) for label in row] for row in rows], 3)
    value = values["cohen_kappa" if n_raters == 2 else "fleiss_kappa"]
    sentence = f"{name} without weights: {value:.2f} ["
    assert page.count(sentence) == page.count(f"{name} without weights: {value:.2f}.") == 1
    assert f"{name}, quadratic weights" in page
    assert page.count("Confirm weights") == 1
    address = f"/api/v1/projects/{question.project_id}/agreement/"
    headline = api_for(admin).get(address).json()["headline"]
    assert headline["unweighted"]["value"] == pytest.approx(value)
    assert headline["value"] > headline["unweighted"]["value"] + 0.05
    text = io.StringIO()
    call_command("report", str(question.project_id), stdout=text)
    assert text.getvalue().count(sentence) == 2  # the result, and the methods paragraph
    csv_text = client.get(f"/projects/{question.project_id}/charts/statistics.csv").text
    name = "cohen_kappa" if n_raters == 2 else "fleiss_kappa"
    assert f"\n{name}," in csv_text


def test_weights_that_change_nothing_are_not_mentioned(
    make_question: Any, rate_items: Any, client: Any
) -> None:
    question = make_question(("no", "yes"), "ordinal")
    rate_items(question, [["no", "yes", "no"] if n % 4 else ["yes"] * 3 for n in range(40)])
    page = get_page(client, question)
    assert "without weights" not in page
    assert "Confirm weights" not in page


@pytest.mark.parametrize("is_pooled", [True, False])
def test_groups_say_whether_the_headline_pools_them(
    is_pooled: bool, make_question: Any, rate_items: Any, client: Any
) -> None:
    question, rng = make_question(("no", "yes")), random.Random(12)
    Rater.objects.create(project=question.project, key="c", kind="model")
    Question.objects.filter(pk=question.pk).update(headline_pooled=is_pooled)
    rate_items(question, build_period(rng, 0.05, 80))
    html = get_page(client, question)
    assert ("Headline: people and models pooled." in html) == is_pooled
    assert ("Headline: people only." in html) != is_pooled
