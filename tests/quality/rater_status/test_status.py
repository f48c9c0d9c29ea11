"""One status a rater, by rules that can be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from metrics.models import RaterReading
from projects.models import Question, Rater
from quality.models import Alarm, GoldScore
from quality.rater_status import comparison
from quality.rater_status.status import (
    RaterSummary,
    build_undefined_value,
    is_outlier,
    list_rater_summaries,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def reading(question: Question) -> Callable[..., Rater]:
    """``reading("ben", 0.7, se=0.05, n_items=80)``: a rater with this kappa with the others."""

    def make(key: str, value: float | None, *, se: float = 0.02, n_items: int = 200) -> Rater:
        rater = Rater.objects.get_or_create(project=question.project, key=key)[0]
        peers = {
            "value": value,
            "se": None if value is None else se,
            "low": None,
            "high": None,
            "observed": None,
            "expected": None,
            "n_items": n_items,
            "n_ratings": 3 * n_items,
            "reason": "no_pairable_items" if value is None else None,
        }
        RaterReading.objects.create(
            question=question,
            rater=rater,
            n_ratings=n_items,
            coefficients={"vs_peers": peers, "vs_peers_bias": peers},
            seconds=4.5,
            computed_at=timezone.now(),
        )
        return rater

    return make


def of(question: Question) -> dict[str, RaterSummary]:
    comparison.recompute_question(question.pk, at_once=True)
    return {card.rater.key: card for card in list_rater_summaries(question, ordered=True)}


def test_who_is_apart_is_what_the_alarms_say(
    question: Question, reading: Any, make_alarm: Any
) -> None:
    """Whoever lies far below the middle without a case is not told: there is one rule."""
    for key, value in {"ann": 0.7, "ben": 0.72, "cleo": 0.68, "dan": 0.45, "eve": 0.45}.items():
        reading(key, value)
    dan = Rater.objects.get(key="dan")
    make_alarm(question, dan, kind="rater_apart", measure="agreement", size=0.45)
    seen = {}
    for changed in (
        {"state": "open"},
        {"state": "muted"},
        {"state": "muted", "stands": False},
        {"state": "resolved", "stands": True},
    ):
        Alarm.objects.update(**changed)
        found = of(question)
        assert not found["eve"].reasons
        dans = found["dan"]
        assert is_outlier(question, dan) == ("apart_from_peers" in dans.reasons), changed
        seen[tuple(changed.values())] = (dans.status, dans.reasons)
    assert seen == {
        ("open",): ("act", ["drift_alarm", "apart_from_peers"]),
        ("muted",): ("watch", ["alarm_muted", "apart_from_peers"]),
        ("muted", False): ("watch", ["alarm_muted"]),
        ("resolved", True): ("fine", []),
    }
    assert (found["ann"].n_ratings, found["ann"].seconds) == (200, 4.5)


def test_of_little_nothing_is_said(question: Question, reading: Any) -> None:
    reading("ann", 0.7, n_items=29)
    reading("ben", None)
    assert {card.status for card in of(question).values()} == {"unknown"}


def test_an_alarm_asks_for_an_act_until_it_is_resolved(
    question: Question, reading: Any, make_alarm: Any
) -> None:
    rater = reading("ann", 0.7)
    other = reading("ben", 0.7)
    alarm = make_alarm(question, rater, other=other, reason="cannot_tell_who")
    seen = {}
    for state in ("open", "looked_at", "muted", "resolved"):
        Alarm.objects.update(state=state)
        cards_now = of(question)
        assert cards_now["ann"].status == cards_now["ben"].status, "both are named"
        seen[state] = cards_now["ann"].status
    assert seen == {"open": "act", "looked_at": "act", "muted": "watch", "resolved": "fine"}
    assert alarm.pk


def test_gold_that_is_missed_asks_for_an_act(question: Question, reading: Any) -> None:
    nothing = build_undefined_value("too_few_items")
    for key, evidence in (("ann", 99.0), ("ben", 101.0)):
        GoldScore.objects.create(
            question=question,
            rater=reading(key, 0.7),
            n=10,
            right=2,
            accuracy=0.2,
            low=0.1,
            high=0.4,
            table=[],
            kappa={**nothing, "value": 0.1, "reason": None},
            evidence=evidence,
            highest=evidence,
        )
    found = of(question)
    assert (found["ann"].status, found["ben"].status) == ("fine", "act")
    assert found["ben"].reasons == ["gold_below_bar"]
    assert found["ben"].gold_kappa["value"] == 0.1


def test_a_thousand_raters_cost_no_more_queries_than_three(
    question: Question, django_assert_num_queries: Any, reading: Any
) -> None:
    for number in range(40):
        reading(f"r{number}", 0.7)
    with django_assert_num_queries(7):
        list_rater_summaries(question, ordered=True)
