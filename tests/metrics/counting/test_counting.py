"""Uncounted ratings are counted exactly, whatever happened before and however often one asks."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.db import DatabaseError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metrics.counting import peer_store, question_counting, store
from metrics.jobs import question_updates
from metrics.models import CountState, PairTally, RaterResult, Result
from metrics.question_scale import QuestionScale
from metrics.results import rater_periods, refresh
from metrics.results import rater_results as rater_readings
from projects.models import Item, Rater
from ratings.models import NO_CODE, Rating
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.metrics import invariants
from tests.metrics.counting.counting_oracle import load_stored_counts, recount
from tests.tools.full_run import choose_number

pytestmark = pytest.mark.django_db
START = datetime.datetime(2026, 2, 15, 12, tzinfo=datetime.UTC)


def test_ratings_are_counted_once_and_exactly(question: Any, rate: Any) -> None:
    rate(question, "a", "r1", "minor")
    rate(question, "a", "r2", "major")
    rate(question, "b", "r1", "none")
    assert Rating.objects.uncounted().count() == 3
    question_updates.update_question(question.pk)
    assert not Rating.objects.uncounted().exists()
    assert load_stored_counts(question) == recount(question)
    before = CountState.objects.get(question=question).version
    question_updates.update_question(question.pk)
    assert load_stored_counts(question) == recount(question)
    assert CountState.objects.get(question=question).version == before


def test_change_withdrawal_and_return_update_counts(question: Any, rate: Any) -> None:
    for item in "abc":
        rate(question, item, "r1", "minor")
        rate(question, item, "r2", "minor")
    question_updates.update_question(question.pk)
    rate(question, "a", "r1", "critical")
    rate(question, "b", "r2", None)
    question_updates.update_question(question.pk)
    assert load_stored_counts(question) == recount(question)
    rate(question, "b", "r2", "none")
    rate(question, "c", "r1", None)
    rate(question, "c", "r2", None)
    question_updates.update_question(question.pk)
    assert load_stored_counts(question) == recount(question)
    assert (
        Result.objects.get(question=question, period_unit="all").coefficients["percent_agreement"][
            "n_items"
        ]
        == 2
    )


def test_rating_changed_while_counted_stays_uncounted(
    question: Any, rate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rate(question, "a", "r1", "minor")
    rate(question, "a", "r2", "minor")
    original = question_counting.load_ratings_of_uncounted_items

    def read_then_change(*args: Any) -> Any:
        rows = original(*args)
        Rating.objects.filter(rater__key="r1").update(code=3)
        return rows

    monkeypatch.setattr(question_counting, "load_ratings_of_uncounted_items", read_then_change)
    question_counting.count_items(question.pk)
    monkeypatch.undo()
    assert Rating.objects.uncounted().get().rater.key == "r1"
    question_updates.update_question(question.pk)
    assert load_stored_counts(question) == recount(question)


@pytest.mark.parametrize(
    "target", [(store, "add_patterns"), (store, "add_pair_tables"), (peer_store, "add_peer_counts")]
)
def test_crash_in_counting_leaves_everything_uncounted(
    question: Any, rate: Any, monkeypatch: pytest.MonkeyPatch, target: tuple[Any, str]
) -> None:
    rate(question, "a", "r1", "minor")
    rate(question, "a", "r2", "major")

    def crash(*args: Any, **kwargs: Any) -> None:
        raise DatabaseError("the connection is gone")

    monkeypatch.setattr(*target, crash)
    with pytest.raises(DatabaseError):
        question_updates.update_question(question.pk)
    monkeypatch.undo()
    assert Rating.objects.uncounted().count() == 2
    assert load_stored_counts(question) == {"patterns": {}, "pairs": {}, "peers": {}, "own": {}}
    question_updates.update_question(question.pk)
    assert load_stored_counts(question) == recount(question)


def test_sweep_repairs_crash_between_counts_and_results(
    question: Any, rate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rate(question, "a", "r1", "minor")
    rate(question, "a", "r2", "major")
    monkeypatch.setattr(refresh, "refresh_results", lambda question_id: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        question_updates.update_question(question.pk)
    monkeypatch.undo()
    assert not Rating.objects.uncounted().exists()
    assert not Result.objects.exists()
    assert question_updates.sweep_questions() == 1
    assert (
        Result.objects.get(question=question, period_unit="all").coefficients["percent_agreement"][
            "value"
        ]
        == 0
    )
    assert question_updates.sweep_questions() == 0


def test_ratings_counted_without_results_are_pending(
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
    refresh.refresh_results(question.pk)
    assert (
        question_updates.count_pending_ratings(question, CountState.objects.get(question=question))
        == 0
    )
    assert RaterResult.objects.filter(question=question).count() == 2


def test_recount_gives_the_same_counts(question: Any, rate: Any) -> None:
    for number in range(12):
        rate(question, f"i{number % 5}", f"r{number % 4}", ("none", "minor", "major")[number % 3])
    question_updates.update_question(question.pk)
    before = load_stored_counts(question)
    question_updates.delete_counts_and_results(question)
    assert load_stored_counts(question)["patterns"] == {}
    question_updates.update_question(question.pk)
    assert load_stored_counts(question) == before == recount(question)


def test_backlog_is_counted_in_portions(question: Any, rate: Any) -> None:
    for number in range(20):
        rate(question, f"i{number % 7}", f"r{number % 3}", ("none", "minor")[number % 2])
    portions = 0
    while question_counting.count_items(question.pk, limit=2).has_more:
        portions += 1
    assert portions == 3
    assert not Rating.objects.uncounted().exists()
    assert load_stored_counts(question) == recount(question)


def test_month_is_complete_when_only_its_last_week_changed(question: Any, rate: Any) -> None:
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
    march = Result.objects.get(question=question, period_unit="month", start="2026-03-01")
    assert march.coefficients["percent_agreement"]["n_items"] == 2
    rater = question.project.raters.get(key="r1")
    names = ["vs_peers"]
    rows = rater_periods.list_newest_periods(
        question, rater, "month", names, scale=QuestionScale.for_question(question), number=2
    )
    assert rows[0][0].isoformat() == "2026-03-01"
    assert rows[0][1]["n_items"] == 2
    week = Result.objects.get(question=question, period_unit="week", start="2026-03-30")
    assert week.coefficients["percent_agreement"]["n_items"] == 2
    assert week.cumulative["percent_agreement"]["n_items"] == 3


def test_replaced_rater_updates_means_over_pairs(question: Any, rate: Any) -> None:
    """Counted at once, such a change affects no pattern and no pair of the third rater."""
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
        result.coefficients["mean_pairwise_kappa"]["n_pairs"]
        for result in (
            Result.objects.get(question=question, period_unit="all"),
            RaterResult.objects.get(question=question, rater__key="r2"),
        )
    ]
    pairs = PairTally.objects.filter(question=question, kappa_none__isnull=False).count()
    assert means == [pairs, pairs]
    invariants.check(question.pk)


def test_new_category_widens_counts(question: Any, rate: Any) -> None:
    rate(question, "a", "r1", "minor")
    rate(question, "a", "r2", "minor")
    question_updates.update_question(question.pk)
    question.categories.create(code=4, label="fatal", position=4, value=4)
    type(question).objects.filter(pk=question.pk).update(scale_version=2)
    rate(question, "a", "r2", "fatal")
    rate(question, "b", "r1", "fatal")
    question_updates.sweep_questions()
    assert load_stored_counts(question) == recount(question)
    categories = Result.objects.get(question=question, period_unit="all").details["categories"]
    assert [(category["label"], category["ratings"]) for category in categories][-1] == ("fatal", 2)


def test_results_follow_new_category_order(question: Any, rate: Any) -> None:
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
    assert load_stored_counts(question) == recount(question)


ITEMS, RATERS = 8, 4
rates = st.tuples(
    st.integers(0, ITEMS - 1), st.integers(0, RATERS - 1), st.integers(-1, 3), st.integers(0, 70)
)
# The action after each few ratings: none, counting a part or everything, a sweep, a recount.
steps = st.tuples(
    st.lists(rates, min_size=1, max_size=3),
    st.sampled_from(["", "some", "all", "all", "sweep", "recount"]),
)


@pytest.mark.parametrize("tail", [2, 62])
@given(st.lists(rates, min_size=10, max_size=25), st.lists(steps, max_size=8))
@settings(
    max_examples=choose_number(8, full=15),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
def test_any_history_ends_in_exact_counts(
    make_project: Any,
    monkeypatch: pytest.MonkeyPatch,
    tail: int,
    first: list[Any],
    history: list[Any],
) -> None:
    monkeypatch.setattr(refresh, "MAX_CUMULATIVE_DAYS", tail)
    project = make_project()
    question = project.questions.get()
    items = [Item.objects.create(project=project, key=str(number)).pk for number in range(ITEMS)]
    raters = [Rater.objects.create(project=project, key=str(number)).pk for number in range(RATERS)]
    for batch, action in [(first, "sweep"), *history]:
        for item, rater, code, day in batch:
            moment = None if code == NO_CODE else START + datetime.timedelta(days=day)
            judgement = Judgement(items[item], raters[rater], code, rated_at=moment)
            record_ratings({question: [judgement]}, by=None, source="api")
        if action == "some":
            question_counting.count_items(question.pk, limit=2)
        elif action == "all":
            question_updates.update_question(question.pk)
        elif action == "sweep":
            question_updates.sweep_questions()
        elif action == "recount":
            question_updates.delete_counts_and_results(question)
    question_updates.sweep_questions()
    assert not Rating.objects.filter(question=question).uncounted().exists()
    assert load_stored_counts(question) == recount(question)
    _check_results(question)


def _check_results(question: Any) -> None:
    """Assert that every stored result equals the one of a full recount.

    No result of a period without items may be left.
    """
    stored_results = {
        (r.period_unit, r.start): (r.coefficients, r.cumulative)
        for r in Result.objects.filter(question=question)
    }
    stored_rater_results = {
        r.rater_id: (r.n_ratings, r.coefficients)
        for r in RaterResult.objects.filter(question=question)
    }
    question_updates.delete_counts_and_results(question)
    question_updates.sweep_questions()
    has_ratings = Rating.objects.filter(question=question).current().exists()
    recomputed = {
        (r.period_unit, r.start): (r.coefficients, r.cumulative)
        for r in Result.objects.filter(question=question)
    }
    if has_ratings:
        assert set(stored_results) == set(recomputed)
        for key, values in recomputed.items():
            assert _is_close(stored_results[key], values), key
    recomputed_raters = {
        r.rater_id: (r.n_ratings, r.coefficients)
        for r in RaterResult.objects.filter(question=question)
    }
    assert set(stored_rater_results) == set(recomputed_raters)
    for rater_key, value in recomputed_raters.items():
        assert _is_close(stored_rater_results[rater_key], value), rater_key


def _is_close(first: Any, second: Any) -> bool:
    if isinstance(first, dict):
        return set(first) == set(second) and all(
            _is_close(first[key], second[key]) for key in first
        )
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(_is_close, first, second))
    if isinstance(first, float) and isinstance(second, float):
        return abs(first - second) <= 1e-9 * max(1.0, abs(first))
    return first == second
