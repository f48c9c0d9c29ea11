"""Results of a rater by day, week and month, computed from the counts on request.

Pages and API must show those of the ratings.
"""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User

from metrics import periods
from metrics.agreement.counts.tally import MAX_MOMENT_CATEGORIES
from metrics.counting import question_counting
from metrics.jobs import question_updates
from metrics.models import ALL_DAYS, CountState, PeerTally, RaterResult
from metrics.question_scale import QuestionScale
from metrics.results import rater_periods, refresh
from metrics.views.common.trends import trend_points
from projects.models import Category, Question
from ratings.models import Rating
from tests.cast import rate_many
from tests.metrics import invariants

NAMES = ("vs_peers", "vs_peers_linear", "vs_peers_quadratic", "vs_peers_percent", "vs_peers_bias")


def create_ratings(question: Question, utc: Any, *, seed: int) -> None:
    """Create ratings by four raters of 30 items over ten days; "d" is mostly alone.

    Some ratings are changed, some withdrawn.
    """
    rng = np.random.default_rng(seed)
    labels = [category.label for category in question.active_categories()]
    ratings = []
    for number in range(30):
        for rater in "abcd":
            if rng.random() < 0.25 or (rater == "d" and number % 5):
                continue
            day = 1 + int(rng.integers(10))
            ratings.append((f"i{number}", rater, str(rng.choice(labels)), utc(2026, 3, day, 12)))
    rate_many(question, [*ratings, ("lonely", "d", labels[0], utc(2026, 3, 25, 12))])
    rate_many(
        question,
        [(f"i{number}", "a", None if number % 2 else labels[1]) for number in range(0, 30, 7)],
    )


@pytest.fixture
def rated_question(question: Question, utc: Any) -> Question:
    """Return a counted question; part of it was counted before its scale got one more category."""
    create_ratings(question, utc, seed=1)
    question_updates.sweep_questions()
    Category.objects.create(question=question, code=4, label="worst", position=4, value=9)
    Question.objects.filter(pk=question.pk).update(scale_version=question.scale_version + 1)
    question_with_category = Question.objects.get(pk=question.pk)
    create_ratings(question_with_category, utc, seed=2)
    question_updates.sweep_questions()
    return question_with_category


@pytest.fixture
def wide_question(make_project: Any, lead: Any, utc: Any) -> Question:
    """Return a question with more categories than moments are stored for."""
    from projects.models import Member

    project = make_project("Wide", labels=())
    Member.objects.create(project=project, user=lead, role=Member.Role.LEAD)
    question = project.questions.get()
    for code in range(MAX_MOMENT_CATEGORIES + 1):
        Category.objects.create(
            question=question, code=code, label=f"grade {code}", position=code, value=code
        )
    create_ratings(question, utc, seed=3)
    question_updates.sweep_questions()
    return question


def compute_expected(question: Question, rater: str, span: str) -> dict[str, dict[str, Any]]:
    """Return start -> name -> estimate of the periods in which the rater has a rating.

    The pure library computes them from the ratings.
    """
    ratings = list(Rating.objects.filter(question=question).current())
    rater_id = question.project.raters.get(key=rater).pk
    rows = invariants.compute_rater_results(
        ratings, QuestionScale.for_question(question), spans=(span,)
    )
    return {
        start.isoformat(): row["each"] for (pk, _, start), row in rows.items() if pk == rater_id
    }


def assert_periods_equal(
    actual_by_day: dict[str, Any], estimates: dict[str, dict[str, Any]], name: str
) -> None:
    """Assert that exactly these days are shown, with every number.

    A day on which the rater was alone has the value None.
    """
    assert sorted(actual_by_day) == sorted(estimates)
    for day, estimate in estimates.items():
        expected = estimate.get(name) or {
            "value": None,
            "n_items": 0,
            "reason": "no_pairable_items",
        }
        assert invariants.is_same(actual_by_day[day], expected), (day, actual_by_day[day], expected)


@pytest.mark.parametrize("span", periods.SPANS)
@pytest.mark.parametrize("fixture", ["rated_question", "wide_question"])
def test_api_periods_match_ratings(
    fixture: str, span: str, request: pytest.FixtureRequest, lead: Any, api_for: Any
) -> None:
    question, api = request.getfixturevalue(fixture), api_for(lead)
    for rater in "abcd":
        estimates = compute_expected(question, rater, span)
        for name in NAMES:
            address = f"/api/v1/projects/{question.project_id}/agreement/raters/{rater}/trend/"
            rows = api.get(address, {"period": span, "coefficient": name}).json()["results"]
            assert [row["start"] for row in rows] == sorted(estimates)
            assert_periods_equal({row["start"]: row for row in rows}, estimates, name)


@pytest.mark.parametrize("span", periods.SPANS)
def test_api_periods_are_paged(
    question: Question, span: str, rate: Any, utc: Any, lead: Any, api_for: Any
) -> None:
    """Ratings on every day of two months make pages end within weeks and months."""
    for month, day in [(month, day) for month in (3, 4) for day in range(1, 31)]:
        for rater in "ab":
            label = "minor" if rater == "a" or day % 3 else "major"
            rate(question, f"{month}-{day}", rater, label, rated_at=utc(2026, month, day, 12))
    question_updates.sweep_questions()
    api = api_for(lead)
    trend = f"/api/v1/projects/{question.project_id}/agreement/raters/a/trend/"
    address = f"{trend}?period={span}"
    full_answer = api.get(address).json()
    assert full_answer["next"] is None
    rows, next_address = [], f"{address}&page_size=1"
    while next_address:
        page = api.get(next_address).json()
        assert len(page["results"]) <= 1
        rows += page["results"]
        next_address = page["next"]
    assert rows == full_answer["results"]
    assert sum(row["n_items"] for row in rows) == 60


@pytest.mark.parametrize("span", periods.SPANS)
@pytest.mark.parametrize("fixture", ["rated_question", "wide_question"])
@pytest.mark.parametrize(
    ("chart", "name"), [("rater-trend", "vs_peers_quadratic"), ("rater-bias", "vs_peers_bias")]
)
def test_chart_periods_match_ratings(
    fixture: str, span: str, chart: str, name: str, request: Any, client_for: Any
) -> None:
    question, client = (
        request.getfixturevalue(fixture),
        client_for(User.objects.get(username="lead")),
    )
    for rater in "abc":
        address = f"/projects/{question.project_id}/charts/{chart}.json"
        params = {"rater": rater, "period": span, "weights": "quadratic"}
        rows = client.get(address, params).json()["rows"]
        # The chart has no row for a period without a value.
        chart_rows = {
            row["start"]: {field: row[field] for field in ("value", "low", "high", "n_items")}
            for row in rows
        }
        periods_and_estimates = compute_expected(question, rater, span).items()
        estimates = {
            start: estimate_by_name[name]
            for start, estimate_by_name in periods_and_estimates
            if name in estimate_by_name
        }
        estimates = {
            day: estimate for day, estimate in estimates.items() if estimate["value"] is not None
        }
        assert sorted(chart_rows) == sorted(estimates)
        assert all(invariants.is_same(estimates[day], chart_rows[day]) for day in chart_rows)


@pytest.mark.parametrize(("span", "number"), [("day", 3), ("week", 1)])
def test_page_shows_newest_periods_only(
    rated_question: Question,
    span: str,
    number: int,
    lead: Any,
    client_for: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = f"/projects/{rated_question.project_id}/raters/a/?period={span}"
    all_points = client_for(lead).get(page).context["points"]
    monkeypatch.setattr(trend_points, "TABLE_PERIODS", number)
    newest = client_for(lead).get(page).context
    assert newest["points"] == all_points[-number:]
    assert newest["older"] == len(all_points) - number > 0
    rater, scale = (
        rated_question.project.raters.get(key="a"),
        QuestionScale.for_question(rated_question),
    )
    assert trend_points.list_rater_points(
        rated_question, rater, span, "vs_peers", scale=scale, limit=number
    ) == [
        trend_points.list_rater_points(rated_question, rater, span, "vs_peers", scale=scale)[0][
            -number:
        ]
    ]


def test_day_of_withdrawn_ratings_is_not_shown(
    question: Question, rate: Any, utc: Any, lead: Any, api_for: Any
) -> None:
    for rater in "ab":
        rate(question, "i1", rater, "minor", rated_at=utc(2026, 3, 1, 12))
        rate(question, "i2", rater, "minor", rated_at=utc(2026, 3, 2, 12))
    question_updates.sweep_questions()
    rate(question, "i1", "a", None)
    question_updates.sweep_questions()
    address = f"/api/v1/projects/{question.project_id}/agreement/raters/{{}}/trend/?period=day"
    days = [
        [row["start"] for row in api_for(lead).get(address.format(key)).json()["results"]]
        for key in "ab"
    ]
    assert days == [["2026-03-02"], ["2026-03-01", "2026-03-02"]]


def test_period_is_as_new_as_counts(
    question: Question, rate: Any, utc: Any, lead: Any, client_for: Any, api_for: Any
) -> None:
    """Before the results are computed, the page still counts the ratings as uncounted.

    It shows no day without the rater.
    """
    for rater in "ab":
        rate(question, "i1", rater, "minor", rated_at=utc(2026, 3, 1, 12))
    question_counting.count_items(question.pk)
    page = f"/projects/{question.project_id}/raters/a/?period=day"
    assert "Counting …" in client_for(lead).get(page).content.decode()
    refresh.refresh_results(question.pk)
    rate(question, "i2", "a", "minor", rated_at=utc(2026, 3, 1, 12))
    rate(question, "i2", "b", "major", rated_at=utc(2026, 3, 1, 12))
    question_counting.count_items(question.pk)
    assert (
        question_updates.count_pending_ratings(question, CountState.objects.get(question=question))
        == 2
    )
    address = f"/api/v1/projects/{question.project_id}/agreement/raters/a/trend/?coefficient=vs_peers_percent"
    for span in periods.SPANS:
        (row,) = api_for(lead).get(f"{address}&period={span}").json()["results"]
        assert row["value"] == 0.5


def test_default_period_of_rater_follows_recent_items(
    question: Question, rate: Any, utc: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two shared items on each of eight days, then one a day: the newest days decide."""
    for day in range(1, 13):
        for number in range(2 if day < 9 else 1):
            for key in "ab":
                rate(question, f"i{day}-{number}", key, "minor", rated_at=utc(2026, 3, day, 12))
        rate(question, f"alone-{day}", "a", "minor", rated_at=utc(2026, 3, day, 12))
    question_updates.sweep_questions()
    rater = question.project.raters.get(key="a")
    monkeypatch.setattr(trend_points, "MIN_MEDIAN_ITEMS", 2)
    assert trend_points.choose_rater_period(question, rater) == "day"
    monkeypatch.setattr(trend_points, "RECENT_PERIODS", 3)
    assert trend_points.choose_rater_period(question, rater) == "week"
    assert (
        trend_points.choose_rater_period(question, question.project.raters.create(key="new"))
        == "week"
    )


def test_items_of_day_match_its_estimate(rated_question: Question) -> None:
    """``rater_period`` relies on it."""
    scale = QuestionScale.for_question(rated_question)
    for rater in rated_question.project.raters.all():
        days = rater_periods.filter_days(rated_question, [rater.pk])
        rows = rater_periods.list_newest_periods(
            rated_question, rater, "day", ["vs_peers_percent"], scale=scale, number=100
        )
        assert [estimate["n_items"] for _, estimate in rows] == list(
            days.order_by("day").values_list("n_items", flat=True)
        )


@pytest.mark.parametrize("weeks", [1, 2, 40, 60])
def test_sparklines_of_table_match_weeks(rated_question: Question, weeks: int) -> None:
    scale, raters = (
        QuestionScale.for_question(rated_question),
        list(rated_question.project.raters.all()),
    )
    period_length, ids = datetime.timedelta(weeks=weeks), [rater.pk for rater in raters]
    sparklines = rater_periods.get_recent_values(
        rated_question, ids, "week", "vs_peers", scale=scale, back=period_length
    )
    weeks_by_rater = {
        rater.pk: rater_periods.list_newest_periods(
            rated_question, rater, "week", ["vs_peers"], scale=scale, number=99
        )
        for rater in raters
    }
    # A week in which nothing could first be compared has no value to draw.
    weeks_by_rater = {
        rater: [row for row in rows if row[1]["n_items"]] for rater, rows in weeks_by_rater.items()
    }
    newest = max(start for rows in weeks_by_rater.values() for start, _reading in rows)
    for rater, rows in weeks_by_rater.items():
        recent_estimates = [estimate for start, estimate in rows if start > newest - period_length]
        expected = [(estimate["value"], estimate["n_items"]) for estimate in recent_estimates]
        assert sparklines.get(rater, []) == expected
    assert sparklines


def test_limited_periods_are_complete(question: Question, rate: Any, utc: Any) -> None:
    """However few periods are requested, none of them lacks its first days."""
    for day in range(1, 29):
        for rater in "abc":
            rate(question, f"i{day}", rater, "minor", rated_at=utc(2026, 2, day, 12))
    question_updates.sweep_questions()
    scale, ids = (
        QuestionScale.for_question(question),
        [rater.pk for rater in question.project.raters.all()],
    )
    for number in range(1, 12):
        newest = rater_periods.list_newest_periods_of_raters(
            question, ids, "week", "vs_peers_percent", scale=scale, number=number
        )
        assert len(newest) == number
        # February 2026 begins on a Sunday: that week has one day alone.
        weeks = {(start.day, estimate["n_items"]) for _, start, estimate in newest}
        assert weeks <= {
            (26, 1),
            (2, 7),
            (9, 7),
            (16, 7),
            (23, 6),
        }
    first_rater = question.project.raters.get(key="a")
    for number in (1, 2):
        rows = rater_periods.list_periods_after(
            question,
            first_rater,
            "week",
            ["vs_peers_percent"],
            scale=scale,
            after=datetime.date(2026, 2, 2),
            number=number,
        )
        assert [estimate["n_items"] for _, estimate in rows] == [7] * number


def test_only_all_time_tallies_become_stale(question: Question, rate: Any, utc: Any) -> None:
    for day in (2, 3, 12):
        for rater in "ab":
            rate(question, f"i{day}", rater, "minor", rated_at=utc(2026, 3, day, 12))
    question_updates.sweep_questions()
    before = dict(RaterResult.objects.values_list("rater__key", "computed_at"))
    rate(question, "i3", "a", "major")
    question_counting.count_items(question.pk)
    stale = PeerTally.objects.filter(stale=True)
    assert sorted(stale.values_list("rater__key", "day")) == [("a", ALL_DAYS), ("b", ALL_DAYS)]
    refresh.refresh_results(question.pk)
    after = dict(RaterResult.objects.values_list("rater__key", "computed_at"))
    assert before["a"] < after["a"]
    assert not stale.exists()
