"""Statements on raters and advice hold where they are true, and not where they only seem so."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from typing import Any

import pytest

from metrics.change_attribution import ATTRIBUTION_JOB
from metrics.filtered.filtered_jobs import FILTERED_RESULT_JOB
from metrics.question_scale import QuestionScale
from metrics.results.findings import Findings
from metrics.views.common.insights import build_sentences
from projects.models import Project, Question
from tests.metrics.views.dashboard.conftest import FIRST
from tests.metrics.views.dashboard.test_earned_sentences import build_period, get_page

pytestmark = pytest.mark.django_db

Rows = list[list[str | None]]
GRADES = ("1", "2", "3", "4", "5")
SAME_ITEMS = "agrees less than the others"


def rate_in_groups(
    rng: random.Random, groups: list[tuple[int, ...]], n_raters: int, n_items: int = 360
) -> Rows:
    """Return rows of items, each rated by one of the groups in turn; the first rater is harsh."""
    rows: Rows = []
    for number in range(n_items):
        truth = rng.choice((2, 3, 4))
        row: list[str | None] = [None] * n_raters
        for rater in groups[number % len(groups)]:
            grade = truth + (rater == 0) + (rng.choice((-1, 0, 1)) if rng.random() < 0.3 else 0)
            row[rater] = str(min(5, max(1, grade)))
        rows.append(row)
    return rows


@pytest.mark.parametrize(
    ("groups", "is_known"),
    [
        # Of two who share items with nobody else, the data do not show which one is harsh.
        ([(0, 1), (2, 3), (4, 5)], False),
        # The last rater shares items with the harsh one alone; the others show which one it is.
        ([(0, 5), (0, 1), (1, 2), (2, 3), (3, 4), (0, 4)], True),
    ],
    ids=["three teams of two", "beside the harsh rater alone"],
)
def test_harsh_and_lenient_raters_are_those_who_differ_themselves(
    groups: list[tuple[int, ...]],
    is_known: bool,
    make_question: Any,
    rate_items: Any,
    client: Any,
    api_for: Any,
    admin: Any,
) -> None:
    question = make_question(GRADES, "ordinal")
    rate_items(question, rate_in_groups(random.Random(5), groups, 6))
    html = get_page(client, question)
    named = {key for key in "abcdef" if f">Check {key}</a>" in html}
    assert named == ({"a"} if is_known else set())
    assert ">Check a, " not in html
    status = api_for(admin).get(f"/api/v1/projects/{question.project_id}/raters/status/").json()
    assert {row["rater"] for row in status["results"] if row["status"] != "ok"} == named
    pages = {key: client.get(f"/projects/{question.project_id}/raters/{key}/").text for key in "af"}
    assert ("higher than the others" in pages["a"]) == is_known
    assert "lower than the others" not in pages["f"]


def test_who_rates_the_hard_items_is_no_worse(
    make_question: Any, rate_items: Any, client: Any
) -> None:
    """The last rater's kappa is far below the others', who err as often on the hard items."""
    question, rng = make_question(("no", "yes")), random.Random(5)
    rows: Rows = []
    for number in range(400):
        is_hard, truth = number % 4 == 0, rng.choice(("no", "yes"))
        row: list[str | None] = [None] * 6
        raters = [4, *rng.sample(range(4), 2)] if is_hard else rng.sample((0, 1, 2, 3, 5), 3)
        for rater in raters:
            other = "no" if truth == "yes" else "yes"
            row[rater] = other if rng.random() < (0.3 if is_hard else 0.02) else truth
        rows.append(row)
    rate_items(question, rows)
    html = get_page(client, question)
    assert ">Check " not in html
    raters = client.get(f"/projects/{question.project_id}/raters/")
    assert {str(row.status) for row in raters.context["rows"]} == {"OK"}
    assert not any(row.reasons for row in raters.context["rows"])
    own_page = client.get(f"/projects/{question.project_id}/raters/e/").text
    assert "team median" in own_page
    assert SAME_ITEMS[1:] not in own_page


def test_two_raters_are_enough_data(make_question: Any, rate_items: Any, client: Any) -> None:
    question = make_question(("no", "yes"))
    rate_items(question, [row[:2] for row in build_period(random.Random(1), 0.05, 100)])
    get_page(client, question)
    page = client.get(f"/projects/{question.project_id}/raters/a/").text
    assert "A comparison needs three raters." in page
    assert "Not enough data yet" not in page


def test_answers_in_one_category_are_no_lack_of_ratings(
    make_question: Any, rate_items: Any, client: Any
) -> None:
    question = make_question(("no", "yes"))
    rate_items(question, [["no"] * 3] * 100)
    html = get_page(client, question)
    assert "all ratings are in one category" in html
    assert "No item has two ratings yet." not in html
    raters = client.get(f"/projects/{question.project_id}/raters/")
    reasons = {reason for row in raters.context["rows"] for reason in row.reasons}
    assert reasons == {"all ratings are in one category"}


def test_first_ratings_need_a_second_one(make_question: Any, rate_items: Any, client: Any) -> None:
    question = make_question(("no", "yes"))
    rate_items(question, [["no"], ["yes"]])
    assert "No item has two ratings yet." in get_page(client, question)


def test_the_last_two_weeks_are_described_alike(
    make_question: Any, rate_items: Any, client: Any
) -> None:
    """A fall beyond chance in one look is not denied by the page that searches all weeks."""
    question, rng = make_question(("no", "yes")), random.Random(5)
    for week in range(12):
        start = FIRST + datetime.timedelta(weeks=week)
        rows = build_period(rng, 0.18 if week == 11 else 0.06, 40)
        rate_items(question, rows, start=start, prefix=f"w{week}-")
    assert "Fleiss’ kappa went from" in get_page(client, question)
    address = f"/projects/{question.project_id}/change/"
    client.get(address)
    ATTRIBUTION_JOB.sweep()
    page = client.get(address).text
    assert "Agreement went from" in page
    assert "None of the last" not in page


@pytest.mark.parametrize(
    ("error", "target", "label", "reason"),
    [
        (0.01, None, "Export labels", "No open tasks."),
        (0.4, None, "Discuss disputed items", "low agreement beyond chance"),
        (0.4, 0.8, "Discuss disputed items", "agreement is below the target"),
    ],
)
def test_labels_are_ready_only_where_raters_agree(
    error: float,
    target: float | None,
    label: str,
    reason: str,
    make_question: Any,
    rate_items: Any,
    client_for: Any,
    viewer: Any,
    admin: Any,
) -> None:
    """A viewer is shown no uncertain items, which does not make the labels good."""
    question = make_question(("no", "yes"))
    rate_items(question, build_period(random.Random(2), error, 300))
    html = get_page(client_for(admin), question)
    labels = {text for text in ("Export labels", "Discuss disputed items") if text in html}
    assert labels <= {label}
    question.project.members.update_or_create(user=viewer, defaults={"role": "viewer"})
    Project.objects.update(target_agreement=target)
    overview = client_for(viewer).get(f"/projects/{question.project_id}/").text
    assert label in overview
    all_reasons = "No open tasks.", "low agreement beyond chance", "agreement is below the target"
    assert [text for text in all_reasons if text in overview] == [reason]


@pytest.mark.parametrize(
    "rows", [[["no"] * 3] * 60 + [["yes"] * 3] * 2, [["no"] * 2, ["yes"] * 2] * 2]
)
def test_full_agreement_of_too_little_gets_no_word_on_any_page(
    rows: Rows, make_question: Any, rate_items: Any, client: Any
) -> None:
    question: Question = make_question(("no", "yes"))
    rate_items(question, rows)
    pages = [get_page(client, question)]
    base = f"/projects/{question.project_id}/"
    client.get(f"{base}coefficients/")
    FILTERED_RESULT_JOB.sweep()
    for page in ("coefficients/", "raters/a/", "pairs/?a=a&b=b"):
        pages.append(client.get(f"{base}{page}").text)
    for number, page in enumerate(pages):
        assert "almost perfect" not in page, number
        assert "with 95% probability" not in page, number


def test_full_agreement_of_enough_gets_the_word_on_every_page(
    make_question: Any, rate_items: Any, client: Any
) -> None:
    question: Question = make_question(("no", "yes"))
    rate_items(question, [["no"] * 2, ["yes"] * 2] * 60)
    get_page(client, question)
    base = f"/projects/{question.project_id}/"
    client.get(f"{base}coefficients/")
    FILTERED_RESULT_JOB.sweep()
    for page in ("", "statistics/", "coefficients/", "pairs/?a=a&b=b"):
        assert "almost perfect" in client.get(f"{base}{page}").text, page


@pytest.mark.parametrize(
    ("low", "high", "beginning"),
    [
        (0.45, 0.75, "Weights matter"),
        (0.59, 0.62, ""),  # two bands, and nearly the same value
        (0.65, 0.68, "Weights hardly matter"),
        (0.42, 0.59, ""),  # one band, and other values
    ],
)
def test_weights_matter_where_values_differ(
    low: float, high: float, beginning: str, make_question: Callable[..., Question]
) -> None:
    scale = QuestionScale.for_question(make_question(GRADES, "ordinal"))
    figures = {"coefficient": "fleiss_kappa", "lowest": "none", "low": low}
    findings: Findings = [
        {"name": "weightings", "figures": {**figures, "highest": "quadratic", "high": high}}
    ]
    (text,) = build_sentences(findings, [], scale, scheme="landis_koch", can_name_bands=True)
    assert text.startswith(beginning or "Fleiss’ kappa is")
    assert build_sentences(findings, [], scale, scheme="landis_koch", can_name_bands=False) == []
