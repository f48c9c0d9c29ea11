"""A rater's days, weeks and months are read off the counts when somebody asks: what page and API
show of them."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from metrics import periods
from metrics.agreement.counts.tally import MAX_MOMENT_CATEGORIES
from metrics.counting import question_counting
from metrics.jobs import question_updates
from metrics.models import ALL_DAYS, CountState, PeerTally, RaterReading
from metrics.results import refresh as readings
from metrics.results.raters import rater_periods
from metrics.scale import QuestionScale
from metrics.views.common.trends import trend_points
from projects.models import Category, Question
from ratings.models import Rating
from tests.metrics import invariants

NAMES = ("vs_peers", "vs_peers_linear", "vs_peers_quadratic", "vs_peers_percent", "vs_peers_bias")


def rate_many(question: Question, rate: Any, utc: Any, *, seed: int) -> None:
    """Four raters on 30 items over ten days; "d" mostly alone; some change their mind, some
    withdraw."""
    rng = np.random.default_rng(seed)
    labels = [category.label for category in question.active_categories()]
    for number in range(30):
        for rater in "abcd":
            if rng.random() < 0.25 or (rater == "d" and number % 5):
                continue
            day = 1 + int(rng.integers(10))
            rate(
                question,
                f"i{number}",
                rater,
                str(rng.choice(labels)),
                rated_at=utc(2026, 3, day, 12),
            )
    rate(question, "lonely", "d", labels[0], rated_at=utc(2026, 3, 25, 12))
    for number in range(0, 30, 7):
        rate(question, f"i{number}", "a", None if number % 2 else labels[1])


@pytest.fixture
def rated(question: Question, rate: Any, utc: Any) -> Question:
    """Counted, a part of it before the scale got one more category."""
    rate_many(question, rate, utc, seed=1)
    question_updates.sweep_questions()
    Category.objects.create(question=question, code=4, label="worst", position=4, value=9)
    Question.objects.filter(pk=question.pk).update(scale_version=question.scale_version + 1)
    changed = Question.objects.get(pk=question.pk)
    rate_many(changed, rate, utc, seed=2)
    question_updates.sweep_questions()
    return changed


@pytest.fixture
def wide(make_project: Any, lead: Any, rate: Any, utc: Any) -> Question:
    """More categories than moments are kept for."""
    from projects.models import Member

    project = make_project("Wide", labels=())
    Member.objects.create(project=project, user=lead, role=Member.Role.LEAD)
    question = project.questions.get()
    for code in range(MAX_MOMENT_CATEGORIES + 1):
        Category.objects.create(
            question=question, code=code, label=f"grade {code}", position=code, value=code
        )
    rate_many(question, rate, utc, seed=3)
    question_updates.sweep_questions()
    return question


def expected(question: Question, rater: str, span: str) -> dict[str, dict[str, Any]]:
    """First day -> name -> READING of the periods in which the rater has a rating, from the ratings
    by the pure library."""
    ratings = list(Rating.objects.filter(question=question).current())
    mine = question.project.raters.get(key=rater).pk
    found = invariants.expected_rater_readings(
        ratings, QuestionScale.for_question(question), spans=(span,)
    )
    return {start.isoformat(): row["each"] for (pk, _, start), row in found.items() if pk == mine}


def assert_shown(shown: dict[str, Any], readings: dict[str, dict[str, Any]], name: str) -> None:
    """The days as they are shown: none more, none less, every number; None where the rater was
    alone."""
    assert sorted(shown) == sorted(readings)
    for day, reading in readings.items():
        fresh = reading.get(name) or {"value": None, "n_items": 0, "reason": "no_pairable_items"}
        assert invariants.holds(shown[day], fresh), (day, shown[day], fresh)


@pytest.mark.parametrize("span", periods.SPANS)
@pytest.mark.parametrize("which", ["rated", "wide"])
def test_periods_of_the_api_are_those_of_the_ratings(
    which: str, span: str, request: pytest.FixtureRequest, lead: Any, api_for: Any
) -> None:
    question, api = request.getfixturevalue(which), api_for(lead)
    for rater in "abcd":
        found = expected(question, rater, span)
        for name in NAMES:
            address = f"/api/v1/projects/{question.project_id}/agreement/raters/{rater}/trend/"
            rows = api.get(address, {"period": span, "coefficient": name}).json()["results"]
            assert [row["start"] for row in rows] == sorted(found)
            assert_shown({row["start"]: row for row in rows}, found, name)


@pytest.mark.parametrize("span", periods.SPANS)
def test_periods_of_the_api_are_paged(
    question: Question, span: str, rate: Any, utc: Any, lead: Any, api_for: Any
) -> None:
    """Every day of two months, so that pages end within weeks and months."""
    for month, day in [(month, day) for month in (3, 4) for day in range(1, 31)]:
        for rater in "ab":
            label = "minor" if rater == "a" or day % 3 else "major"
            rate(question, f"{month}-{day}", rater, label, rated_at=utc(2026, month, day, 12))
    question_updates.sweep_questions()
    api = api_for(lead)
    trend = f"/api/v1/projects/{question.project_id}/agreement/raters/a/trend/"
    address = f"{trend}?period={span}"
    whole = api.get(address).json()
    assert whole["next"] is None
    found, following = [], f"{address}&page_size=1"
    while following:
        answer = api.get(following).json()
        assert len(answer["results"]) <= 1
        found += answer["results"]
        following = answer["next"]
    assert found == whole["results"]
    assert sum(row["n_items"] for row in found) == 60


@pytest.mark.parametrize("span", periods.SPANS)
@pytest.mark.parametrize("which", ["rated", "wide"])
@pytest.mark.parametrize(
    ("chart", "name"), [("rater-trend", "vs_peers_quadratic"), ("rater-bias", "vs_peers_bias")]
)
def test_periods_of_the_chart_are_those_of_the_ratings(
    which: str, span: str, chart: str, name: str, request: Any, client_for: Any
) -> None:
    question, client = request.getfixturevalue(which), client_for(User.objects.get(username="lead"))
    for rater in "abc":
        address = f"/projects/{question.project_id}/charts/{chart}.json"
        asked = {"rater": rater, "period": span, "weights": "quadratic"}
        rows = client.get(address, asked).json()["rows"]
        # A period without a value leaves a gap.
        shown = {
            row["start"]: {part: row[part] for part in ("value", "low", "high", "n_items")}
            for row in rows
        }
        readings = expected(question, rater, span).items()
        found = {start: each[name] for start, each in readings if name in each}
        found = {day: reading for day, reading in found.items() if reading["value"] is not None}
        assert sorted(shown) == sorted(found)
        assert all(invariants.holds(found[day], shown[day]) for day in shown)


@pytest.mark.parametrize(("span", "number"), [("day", 3), ("week", 1)])
def test_a_page_reads_the_newest_periods_alone(
    rated: Question,
    span: str,
    number: int,
    lead: Any,
    client_for: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = f"/projects/{rated.project_id}/raters/a/?period={span}"
    whole = client_for(lead).get(page).context["points"]
    monkeypatch.setattr(trend_points, "TABLE_PERIODS", number)
    newest = client_for(lead).get(page).context
    assert newest["points"] == whole[-number:]
    assert newest["older"] == len(whole) - number > 0
    rater, scale = rated.project.raters.get(key="a"), QuestionScale.for_question(rated)
    assert trend_points.list_rater_points(
        rated, rater, span, "vs_peers", scale=scale, limit=number
    ) == [trend_points.list_rater_points(rated, rater, span, "vs_peers", scale=scale)[0][-number:]]


def test_a_day_whose_ratings_were_withdrawn_is_not_shown(
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


def test_a_period_is_as_new_as_the_counts(
    question: Question, rate: Any, utc: Any, lead: Any, client_for: Any, api_for: Any
) -> None:
    """Before the readings are made the page still tells the ratings as waiting, and shows no day
    without its rater."""
    for rater in "ab":
        rate(question, "i1", rater, "minor", rated_at=utc(2026, 3, 1, 12))
    question_counting.count_items(question.pk)
    page = f"/projects/{question.project_id}/raters/a/?period=day"
    assert "has no counted rating" in client_for(lead).get(page).content.decode()
    readings.refresh_results(question.pk)
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


def test_period_of_a_rater_follows_the_items_of_days_weeks_and_months(
    question: Question, rate: Any, utc: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Items shared with others, two on each of eight days and then one: the newest part decides."""
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


def test_items_of_a_day_are_those_of_its_reading(rated: Question) -> None:
    """``rater_period`` counts on it."""
    scale = QuestionScale.for_question(rated)
    for rater in rated.project.raters.all():
        days = rater_periods.filter_rater_days(rated, rater)
        found = rater_periods.list_newest_periods(
            rated, rater, "day", ["vs_peers_percent"], scale=scale, number=100
        )
        assert [reading["n_items"] for _, reading in found] == list(
            days.order_by("day").values_list("n_items", flat=True)
        )


@pytest.mark.parametrize("weeks", [1, 2, 40, 60])
def test_the_small_trends_of_a_table_are_those_of_the_weeks(rated: Question, weeks: int) -> None:
    scale, raters = QuestionScale.for_question(rated), list(rated.project.raters.all())
    back, ids = datetime.timedelta(weeks=weeks), [rater.pk for rater in raters]
    small = rater_periods.get_recent_values(rated, ids, "week", "vs_peers", scale=scale, back=back)
    each = {
        rater.pk: rater_periods.list_newest_periods(
            rated, rater, "week", ["vs_peers"], scale=scale, number=99
        )
        for rater in raters
    }
    newest = max(start for found in each.values() for start, _reading in found)
    for rater, found in each.items():
        recent = [reading for start, reading in found if start > newest - back]
        shown = [(reading["value"], reading["n_items"]) for reading in recent]
        assert small.get(rater, []) == shown
    assert small


def test_some_of_many_periods_are_whole(question: Question, rate: Any, utc: Any) -> None:
    """However few of them are asked for: none lacks its first days."""
    for day in range(1, 29):
        for rater in "abc":
            rate(question, f"i{day}", rater, "minor", rated_at=utc(2026, 2, day, 12))
    question_updates.sweep_questions()
    scale, ids = (
        QuestionScale.for_question(question),
        [rater.pk for rater in question.project.raters.all()],
    )
    for number in range(1, 12):
        found = rater_periods.list_newest_periods_of_raters(
            question, ids, "week", "vs_peers_percent", scale=scale, number=number
        )
        assert len(found) == number
        # February 2026 begins on a Sunday: that week has one day alone.
        shown = {(start.day, reading["n_items"]) for _, start, reading in found}
        assert shown <= {
            (26, 1),
            (2, 7),
            (9, 7),
            (16, 7),
            (23, 6),
        }
    first = question.project.raters.get(key="a")
    for number in (1, 2):
        rows = rater_periods.list_periods_after(
            question,
            first,
            "week",
            ["vs_peers_percent"],
            scale=scale,
            after=datetime.date(2026, 2, 2),
            number=number,
        )
        assert [reading["n_items"] for _, reading in rows] == [7] * number


def test_of_single_days_nothing_is_stale(question: Question, rate: Any, utc: Any) -> None:
    for day in (2, 3, 12):
        for rater in "ab":
            rate(question, f"i{day}", rater, "minor", rated_at=utc(2026, 3, day, 12))
    question_updates.sweep_questions()
    before = dict(RaterReading.objects.values_list("rater__key", "computed_at"))
    rate(question, "i3", "a", "major")
    question_counting.count_items(question.pk)
    stale = PeerTally.objects.filter(stale=True)
    assert sorted(stale.values_list("rater__key", "day")) == [("a", ALL_DAYS), ("b", ALL_DAYS)]
    readings.refresh_results(question.pk)
    after = dict(RaterReading.objects.values_list("rater__key", "computed_at"))
    assert before["a"] < after["a"]
    assert not stale.exists()


@pytest.mark.django_db(transaction=True)
def test_stored_periods_go_when_the_database_is_upgraded(question: Question) -> None:
    executor = MigrationExecutor(connection)
    executor.migrate([("metrics", "0010_bootstrap")])
    try:
        old = executor.loader.project_state([("metrics", "0010_bootstrap")]).apps
        rater = question.project.raters.get()
        make = old.get_model("metrics", "RaterReading").objects.create
        of = {"question_id": question.pk, "rater_id": rater.pk, "n_ratings": 1}
        for number, span in enumerate(("all", "day", "week", "month")):
            make(**of | {"n_ratings": number}, span=span, computed_at=timezone.now())
        tally = old.get_model("metrics", "PeerTally").objects.create
        for day in (ALL_DAYS, 5):
            tally(**of, day=day, width=4, table=b"", moments=b"", n_items=0)
    finally:
        executor = MigrationExecutor(connection)
        executor.migrate(executor.loader.graph.leaf_nodes())
    assert RaterReading.objects.get().n_ratings == 0  # that of all days
    assert PeerTally.objects.get(stale=True).day == ALL_DAYS
