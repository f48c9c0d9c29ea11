"""Uncounted ratings become counts, exactly, whatever happened before and however often it is asked
for."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.db import DatabaseError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metrics.counting import peer_rows, question_counting, store
from metrics.jobs import question_updates
from metrics.models import CountState, PairTally, RaterReading, Reading
from metrics.results import refresh as readings
from metrics.results.raters import rater_periods
from metrics.results.raters import rater_results as rater_readings
from metrics.scale import QuestionScale
from projects.models import Item, Rater
from ratings.models import NO_CODE, Rating
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.metrics import invariants
from tests.metrics.counting.counting_oracle import recounted, stored

pytestmark = pytest.mark.django_db
START = datetime.datetime(2026, 2, 15, 12, tzinfo=datetime.UTC)


def test_ratings_are_counted_once_and_exactly(question: Any, rate: Any) -> None:
    rate(question, "a", "r1", "minor")
    rate(question, "a", "r2", "major")
    rate(question, "b", "r1", "none")
    assert Rating.objects.uncounted().count() == 3
    question_updates.update_question(question.pk)
    assert not Rating.objects.uncounted().exists()
    assert stored(question) == recounted(question)
    before = CountState.objects.get(question=question).version
    question_updates.update_question(question.pk)
    assert stored(question) == recounted(question)
    assert CountState.objects.get(question=question).version == before


def test_change_withdrawal_and_return_move_the_counts(question: Any, rate: Any) -> None:
    for item in "abc":
        rate(question, item, "r1", "minor")
        rate(question, item, "r2", "minor")
    question_updates.update_question(question.pk)
    rate(question, "a", "r1", "critical")
    rate(question, "b", "r2", None)
    question_updates.update_question(question.pk)
    assert stored(question) == recounted(question)
    rate(question, "b", "r2", "none")
    rate(question, "c", "r1", None)
    rate(question, "c", "r2", None)
    question_updates.update_question(question.pk)
    assert stored(question) == recounted(question)
    assert (
        Reading.objects.get(question=question, span="all").coefficients["percent_agreement"][
            "n_items"
        ]
        == 2
    )


def test_a_rating_that_changes_while_it_is_counted_stays_uncounted(
    question: Any, rate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rate(question, "a", "r1", "minor")
    rate(question, "a", "r2", "minor")
    real = question_counting.read_uncounted_items

    def read_then_change(*args: Any) -> Any:
        rows = real(*args)
        Rating.objects.filter(rater__key="r1").update(code=3)
        return rows

    monkeypatch.setattr(question_counting, "read_uncounted_items", read_then_change)
    question_counting.count_items(question.pk)
    monkeypatch.undo()
    assert Rating.objects.uncounted().get().rater.key == "r1"
    question_updates.update_question(question.pk)
    assert stored(question) == recounted(question)


@pytest.mark.parametrize(
    "place", [(store, "add_patterns"), (store, "add_pairs"), (peer_rows, "add_peers")]
)
def test_a_crash_in_the_middle_leaves_everything_uncounted(
    question: Any, rate: Any, monkeypatch: pytest.MonkeyPatch, place: tuple[Any, str]
) -> None:
    rate(question, "a", "r1", "minor")
    rate(question, "a", "r2", "major")

    def crash(*args: Any, **kwargs: Any) -> None:
        raise DatabaseError("the connection is gone")

    monkeypatch.setattr(*place, crash)
    with pytest.raises(DatabaseError):
        question_updates.update_question(question.pk)
    monkeypatch.undo()
    assert Rating.objects.uncounted().count() == 2
    assert stored(question) == {"patterns": {}, "pairs": {}, "peers": {}, "own": {}}
    question_updates.update_question(question.pk)
    assert stored(question) == recounted(question)


def test_a_crash_between_counts_and_readings_is_repaired_by_the_sweep(
    question: Any, rate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rate(question, "a", "r1", "minor")
    rate(question, "a", "r2", "major")
    monkeypatch.setattr(readings, "refresh_results", lambda question_id: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        question_updates.update_question(question.pk)
    monkeypatch.undo()
    assert not Rating.objects.uncounted().exists()
    assert not Reading.objects.exists()
    assert question_updates.sweep_questions() == 1
    assert (
        Reading.objects.get(question=question, span="all").coefficients["percent_agreement"][
            "value"
        ]
        == 0
    )
    assert question_updates.sweep_questions() == 0


def test_what_is_counted_but_not_read_is_still_waiting(
    question: Any, rate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rate(question, "a", "r1", "minor")
    rate(question, "a", "r2", "major")
    question_counting.count_items(question.pk)
    assert not Rating.objects.uncounted().exists()
    assert (
        question_updates.count_pending_ratings(question, CountState.objects.get(question=question))
        == 2
    )
    monkeypatch.setattr(rater_readings, "MAX_RATERS", 1)
    readings.refresh_results(question.pk)
    assert (
        question_updates.count_pending_ratings(question, CountState.objects.get(question=question))
        == 0
    )
    assert RaterReading.objects.filter(question=question).count() == 2


def test_recount_from_nothing_gives_the_same_counts(question: Any, rate: Any) -> None:
    for number in range(12):
        rate(question, f"i{number % 5}", f"r{number % 4}", ("none", "minor", "major")[number % 3])
    question_updates.update_question(question.pk)
    before = stored(question)
    question_updates.reset_counts(question)
    assert stored(question)["patterns"] == {}
    question_updates.update_question(question.pk)
    assert stored(question) == before == recounted(question)


def test_a_backlog_is_counted_in_portions(question: Any, rate: Any) -> None:
    for number in range(20):
        rate(question, f"i{number % 7}", f"r{number % 3}", ("none", "minor")[number % 2])
    portions = 0
    while question_counting.count_items(question.pk, limit=2).has_more:
        portions += 1
    assert portions == 3
    assert not Rating.objects.uncounted().exists()
    assert stored(question) == recounted(question)


def test_a_month_is_read_whole_when_only_its_last_week_was_touched(
    question: Any, rate: Any
) -> None:
    # 1 April 2026 is a Wednesday: its week begins on 30 March.
    for item, moment in (("a", (2026, 3, 5)), ("b", (2026, 3, 31))):
        for rater in ("r1", "r2"):
            rate(
                question,
                item,
                rater,
                "minor",
                rated_at=datetime.datetime(*moment, tzinfo=datetime.UTC),
            )
    question_updates.update_question(question.pk)
    for rater in ("r1", "r2"):
        rate(
            question,
            "c",
            rater,
            "major",
            rated_at=datetime.datetime(2026, 4, 1, tzinfo=datetime.UTC),
        )
    question_updates.update_question(question.pk)
    march = Reading.objects.get(question=question, span="month", start="2026-03-01")
    assert march.coefficients["percent_agreement"]["n_items"] == 2
    rater = question.project.raters.get(key="r1")
    names = ["vs_peers"]
    own = rater_periods.list_newest_periods(
        question, rater, "month", names, scale=QuestionScale.for_question(question), number=2
    )
    assert own[0][0].isoformat() == "2026-03-01"
    assert own[0][1]["n_items"] == 2
    week = Reading.objects.get(question=question, span="week", start="2026-03-30")
    assert week.coefficients["percent_agreement"]["n_items"] == 2
    assert week.cumulative["percent_agreement"]["n_items"] == 3


def test_a_rater_in_the_place_of_another_moves_the_means_over_pairs(
    question: Any, rate: Any
) -> None:
    """Counted at once, such a change moves no pattern, and nothing that the third rater met."""
    for item, rater, label in (
        ("a", "r1", "minor"),
        ("a", "r2", "major"),
        ("b", "r1", "none"),
        ("b", "r2", "minor"),
    ):
        rate(question, item, rater, label)
    question_updates.update_question(question.pk)
    rate(question, "a", "r1", None)
    rate(question, "a", "r3", "minor")
    question_updates.update_question(question.pk)
    means = [
        reading.coefficients["mean_pairwise_kappa"]["n_pairs"]
        for reading in (
            Reading.objects.get(question=question, span="all"),
            RaterReading.objects.get(question=question, rater__key="r2"),
        )
    ]
    pairs = PairTally.objects.filter(question=question, kappa_none__isnull=False).count()
    assert means == [pairs, pairs]
    invariants.check(question.pk)


def test_a_new_category_widens_the_counts(question: Any, rate: Any) -> None:
    rate(question, "a", "r1", "minor")
    rate(question, "a", "r2", "minor")
    question_updates.update_question(question.pk)
    question.categories.create(code=4, label="fatal", position=4, value=4)
    type(question).objects.filter(pk=question.pk).update(scale_version=2)
    rate(question, "a", "r2", "fatal")
    rate(question, "b", "r1", "fatal")
    question_updates.sweep_questions()
    assert stored(question) == recounted(question)
    categories = Reading.objects.get(question=question, span="all").details["categories"]
    assert [(category["label"], category["ratings"]) for category in categories][-1] == ("fatal", 2)


def test_readings_follow_a_change_of_order(question: Any, rate: Any) -> None:
    rate(question, "a", "r1", "none")
    rate(question, "a", "r2", "minor")
    rate(question, "b", "r1", "major")
    rate(question, "b", "r2", "major")
    question_updates.update_question(question.pk)
    before = PairTally.objects.get(question=question)
    question.categories.filter(label="minor").update(position=9)
    type(question).objects.filter(pk=question.pk).update(scale_version=2)
    assert question_updates.sweep_questions() == 1
    after = PairTally.objects.get(question=question)
    assert after.kappa_none == before.kappa_none
    assert after.kappa_quadratic is not None and before.kappa_quadratic is not None
    assert after.kappa_quadratic < before.kappa_quadratic
    assert stored(question) == recounted(question)


ITEMS, RATERS = 8, 4
rates = st.tuples(
    st.integers(0, ITEMS - 1), st.integers(0, RATERS - 1), st.integers(-1, 3), st.integers(0, 70)
)
# What is done after each few ratings: nothing, a portion counted, everything, readings put off or
# not, a recount.
steps = st.tuples(
    st.lists(rates, min_size=1, max_size=3),
    st.sampled_from(["", "some", "all", "all", "sweep", "recount"]),
)


@pytest.mark.parametrize("tail", [2, 62])
@given(st.lists(rates, min_size=10, max_size=25), st.lists(steps, max_size=8))
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_history_ends_in_exact_counts(
    make_project: Any,
    monkeypatch: pytest.MonkeyPatch,
    tail: int,
    first: list[Any],
    history: list[Any],
) -> None:
    monkeypatch.setattr(readings, "MAX_CUMULATIVE_DAYS", tail)
    project = make_project()
    question = project.questions.get()
    items = [Item.objects.create(project=project, key=str(number)).pk for number in range(ITEMS)]
    raters = [Rater.objects.create(project=project, key=str(number)).pk for number in range(RATERS)]
    for some, then in [(first, "sweep"), *history]:
        for item, rater, code, day in some:
            moment = None if code == NO_CODE else START + datetime.timedelta(days=day)
            new = Judgement(items[item], raters[rater], code, rated_at=moment)
            record_ratings({question: [new]}, by=None, source="api")
        if then == "some":
            question_counting.count_items(question.pk, limit=2)
        elif then == "all":
            question_updates.update_question(question.pk)
        elif then == "sweep":
            question_updates.sweep_questions()
        elif then == "recount":
            question_updates.reset_counts(question)
    question_updates.sweep_questions()
    assert not Rating.objects.filter(question=question).uncounted().exists()
    assert stored(question) == recounted(question)
    _check_readings(question)


def _check_readings(question: Any) -> None:
    """Every stored reading is the one that a count from nothing gives; no reading is left of a
    period without items."""
    kept = {
        (r.span, r.start): (r.coefficients, r.cumulative)
        for r in Reading.objects.filter(question=question)
    }
    raters = {
        r.rater_id: (r.n_ratings, r.coefficients)
        for r in RaterReading.objects.filter(question=question)
    }
    question_updates.reset_counts(question)
    question_updates.sweep_questions()
    rated = Rating.objects.filter(question=question).current().exists()
    fresh = {
        (r.span, r.start): (r.coefficients, r.cumulative)
        for r in Reading.objects.filter(question=question)
    }
    if rated:
        assert set(kept) == set(fresh)
        for key, values in fresh.items():
            assert _near(kept[key], values), key
    again = {
        r.rater_id: (r.n_ratings, r.coefficients)
        for r in RaterReading.objects.filter(question=question)
    }
    assert set(raters) == set(again)
    for rater_key, value in again.items():
        assert _near(raters[rater_key], value), rater_key


def _near(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return set(one) == set(other) and all(_near(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_near, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= 1e-9 * max(1.0, abs(one))
    return one == other
