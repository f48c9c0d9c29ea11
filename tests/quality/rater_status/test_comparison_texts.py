"""Sentences that compare a rater with the others: true cases, and tempting ones beside them."""

from __future__ import annotations

from typing import Any

import pytest

from metrics.results.findings import RaterDifference
from quality.models import Alert
from quality.rater_status import status_texts
from quality.rater_status.comparison import ComparedRater, RaterComparison
from quality.rater_status.reasons import (
    NO_ALERTS,
    RaterAlerts,
    StatusReason,
    list_reasons,
)

LABELS = ("no", "yes")


def make_rater(**changes: Any) -> ComparedRater:
    values: dict[str, Any] = {
        "rater": 1,
        "n_ratings": 100,
        "n_items": 80,
        "value": 0.5,
        "low": 0.4,
        "high": 0.6,
        "se": 0.05,
        "bias": 0.3,
        "bias_low": 0.1,
        "bias_high": 0.5,
        "is_biased": True,
        "seconds": None,
        "category": 0,
        "share": 0.5,
        "peers": 0.4,
        "contrast": (1, 0.75, 0.5),
    }
    return ComparedRater(**(values | changes))


def make_comparison(middle: float | None = 0.7, **changes: Any) -> RaterComparison:
    return RaterComparison(None, "none", middle, 0.5, {1: make_rater(**changes)}, labels=LABELS)


def list_reasons_of_rater(
    comparison: RaterComparison, alerts: RaterAlerts = NO_ALERTS
) -> list[StatusReason]:
    result = comparison.raters[1]
    return list_reasons(
        1,
        comparison,
        {"value": result.value, "n_items": result.n_items},
        drift=None,
        gold=None,
        repeats=None,
        failed_exam=None,
        alerts=alerts,
    )


def list_codes(comparison: RaterComparison, alerts: RaterAlerts = NO_ALERTS) -> list[str]:
    return [reason.code.value for reason in list_reasons_of_rater(comparison, alerts)]


OUTLYING: dict[str, Any] = {"outlying": {1: RaterDifference(-0.3, 80)}}


def test_bias_leads_unless_it_leaves_the_low_agreement() -> None:
    """A guesser's low agreement is the first reason, with or without the test on the same items."""
    harsh, guesser = make_comparison(value=0.2), make_comparison(value=0.0, is_scattered=True)
    assert list_codes(harsh) == list_codes(harsh._replace(**OUTLYING)) == ["higher"]
    assert list_codes(guesser) == ["low_agreement", "higher"]
    first = list_reasons_of_rater(guesser._replace(**OUTLYING))[0]
    assert (first.code, first.value, first.n) == ("low_agreement", -0.3, 80)
    # Scattered answers alone are no low agreement.
    assert list_codes(make_comparison(value=0.68, is_scattered=True)) == ["higher"]
    assert list_codes(make_comparison(value=0.0, is_biased=False, is_scattered=True)) == []


@pytest.mark.parametrize(
    ("changes", "is_outlying", "expected"),
    [
        ({"repeats_answer": True, "is_biased": False}, False, ["same_answer"]),
        ({"is_biased": True}, False, ["same_answer"]),
        ({"is_biased": True, "is_scattered": True}, False, ["same_answer"]),
        ({"is_biased": False}, True, ["same_answer"]),
        # Where the others hardly give other answers, to do the same is no fault.
        ({"is_biased": False}, False, []),
        ({"is_biased": True, "has_one_answer": False}, False, ["higher"]),
    ],
)
def test_repeated_answer_is_the_reason_whatever_else_follows_from_it(
    changes: dict[str, Any], is_outlying: bool, expected: list[str]
) -> None:
    comparison = make_comparison(**({"value": 0.01, "has_one_answer": True} | changes))
    if is_outlying:
        comparison = comparison._replace(**OUTLYING)
    reasons = list_reasons_of_rater(comparison)
    assert [reason.code.value for reason in reasons] == expected
    if expected == ["same_answer"]:
        text = status_texts.get_reason_text(reasons[0], 1)
        assert text == "almost always answers “no”", "an alert has another, stricter rule"


def test_repeated_answer_is_as_severe_as_an_alert_that_it_explains() -> None:
    comparison = make_comparison(value=0.01, has_one_answer=True, is_biased=False)
    alert = Alert(kind="rater_apart", state="open", size=0.0)
    alerts = RaterAlerts([alert], [])
    assert list_codes(comparison, alerts) == ["same_answer", "low_agreement"]
    reasons = list_reasons_of_rater(comparison, alerts)
    assert {reason.status.value for reason in reasons} == {"act"}
    assert status_texts.get_reason_text(reasons[0], 1) == "almost always answers “no”"


@pytest.mark.parametrize(
    ("comparison", "is_outlier", "expected"),
    [
        (make_comparison(), True, "Agrees far less than the others"),
        # The value is the same, but no alert says that it is more than chance.
        (make_comparison(), False, "Agreement 0.50; team median 0.70."),
        (make_comparison(value=0.7), False, "Agreement 0.70; team median 0.70."),
        (
            make_comparison()._replace(outlying={1: RaterDifference(-0.2, 80)}),
            False,
            "Agrees less than the others: 0.50",
        ),
        # 80 items are enough data, but two raters have no median.
        (make_comparison(middle=None), True, "Agreement: 0.50. A comparison"),
    ],
)
def test_agreement_is_called_low_only_with_an_alert(
    comparison: RaterComparison, is_outlier: bool, expected: str
) -> None:
    sentence = status_texts.describe_agreement(comparison, 1, is_outlier=is_outlier)
    assert sentence.startswith(expected)
    assert "clearly" not in sentence or expected.startswith("Agrees clearly")
    assert status_texts.describe_agreement(comparison, 2, is_outlier=is_outlier) == ""


@pytest.mark.parametrize("changes", [{"n_items": 29}, {"value": None}])
def test_too_little_data_for_a_sentence(changes: dict[str, Any]) -> None:
    """The reason for the status says so already."""
    assert status_texts.describe_agreement(make_comparison(**changes), 1, is_outlier=True) == ""


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "Rates 0.30 [0.10, 0.50] higher than the others."),
        (
            {"bias": -0.3, "bias_low": -0.5, "bias_high": -0.1},
            "Rates 0.30 [0.10, 0.50] lower than the others.",
        ),
    ],
)
def test_bias_states_its_interval_and_items(changes: dict[str, Any], expected: str) -> None:
    sentence = status_texts.describe_bias(make_rater(**changes), LABELS)
    assert sentence.startswith(expected)
    assert "“yes” in 75% of comparisons on these 80 items, the others in 50%." in sentence
    assert status_texts.describe_bias(make_rater(**changes), ("no",)) == expected
