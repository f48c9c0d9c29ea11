"""Test the rules that give each rater one status."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from metrics.models import RaterResult
from projects.models import Question, Rater
from quality.models import Alert, GoldScore
from quality.rater_status import comparison
from quality.rater_status.status import (
    RaterSummary,
    build_undefined_value,
    is_outlier,
    list_rater_summaries,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def make_rater_result(question: Question) -> Callable[..., Rater]:
    """``make_rater_result("ben", 0.7, se=0.05, n_items=80)``: a rater with this kappa with the
    others."""

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
        RaterResult.objects.create(
            question=question,
            rater=rater,
            n_ratings=n_items,
            coefficients={"vs_peers": peers, "vs_peers_bias": peers},
            seconds=4.5,
            computed_at=timezone.now(),
        )
        return rater

    return make


def get_statuses_by_key(question: Question) -> dict[str, RaterSummary]:
    comparison.recompute_question(question.pk, at_once=True)
    return {card.rater.key: card for card in list_rater_summaries(question, scale_is_ordered=True)}


def list_codes(summary: RaterSummary) -> list[str]:
    return [reason.code.value for reason in summary.reasons]


def test_outlier_status_follows_the_alerts(
    question: Question, make_rater_result: Any, make_alert: Any
) -> None:
    """A rater far below the middle without an alert is not marked: there is only one rule."""
    for key, value in {"ann": 0.7, "ben": 0.72, "cleo": 0.68, "dan": 0.45, "eve": 0.45}.items():
        make_rater_result(key, value)
    dan = Rater.objects.get(key="dan")
    make_alert(question, dan, kind="rater_apart", measure="agreement", size=0.45)
    results = {}
    for fields in (
        {"state": "open"},
        {"state": "muted"},
        {"state": "muted", "supported": False},
        {"state": "resolved", "supported": True},
    ):
        Alert.objects.update(**fields)
        status_by_key = get_statuses_by_key(question)
        assert not status_by_key["eve"].reasons
        status_of_dan = status_by_key["dan"]
        assert is_outlier(question, dan) == any(
            reason.alert is not None and reason.alert.supported for reason in status_of_dan.reasons
        ), fields
        results[tuple(fields.values())] = (
            status_of_dan.status,
            list_codes(status_of_dan),
        )
    assert results == {
        ("open",): ("act", ["low_agreement"]),
        ("muted",): ("check", ["low_agreement"]),
        ("muted", False): ("check", ["low_agreement"]),
        ("resolved", True): ("ok", []),
    }
    assert (status_by_key["ann"].n_ratings, status_by_key["ann"].seconds) == (200, 4.5)


def test_few_items_give_unknown_status(question: Question, make_rater_result: Any) -> None:
    make_rater_result("ann", 0.7, n_items=29)
    make_rater_result("ben", None)
    assert {card.status for card in get_statuses_by_key(question).values()} == {"unknown"}


def test_open_alert_gives_act_status_until_resolved(
    question: Question, make_rater_result: Any, make_alert: Any
) -> None:
    rater = make_rater_result("ann", 0.7)
    other = make_rater_result("ben", 0.7)
    alert = make_alert(question, rater, other_rater=other, reason="cannot_tell_who")
    status_by_state = {}
    for state in ("open", "acknowledged", "muted", "resolved"):
        Alert.objects.update(state=state)
        status_by_key = get_statuses_by_key(question)
        assert status_by_key["ann"].status == status_by_key["ben"].status, "both are named"
        status_by_state[state] = status_by_key["ann"].status
    assert status_by_state == {
        "open": "act",
        "acknowledged": "act",
        "muted": "check",
        "resolved": "ok",
    }
    assert alert.pk


def test_missed_gold_gives_act_status(question: Question, make_rater_result: Any) -> None:
    undefined_value = build_undefined_value("too_few_items")
    for key, evidence in (("ann", 99.0), ("ben", 101.0)):
        GoldScore.objects.create(
            question=question,
            rater=make_rater_result(key, 0.7),
            n=10,
            right=2,
            accuracy=0.2,
            low=0.1,
            high=0.4,
            table=[],
            kappa={**undefined_value, "value": 0.1, "reason": None},
            evidence=evidence,
            max_evidence=evidence,
        )
    status_by_key = get_statuses_by_key(question)
    assert (status_by_key["ann"].status, status_by_key["ben"].status) == ("ok", "act")
    (reason,) = status_by_key["ben"].reasons
    assert (reason.code, reason.value, reason.low, reason.n) == ("gold", 0.2, 0.1, 10)
    assert status_by_key["ben"].gold_kappa["value"] == 0.1


def test_number_of_queries_does_not_grow_with_raters(
    question: Question, django_assert_num_queries: Any, make_rater_result: Any
) -> None:
    for number in range(40):
        make_rater_result(f"r{number}", 0.7)
    with django_assert_num_queries(7):
        list_rater_summaries(question, scale_is_ordered=True)
