"""Test alerts on arbitrary tables of ratings: every reported value is finite or has a reason.

Tables have missing ratings, one rater, one category, unknown days, and rows in any order.
"""

from dataclasses import astuple, fields, is_dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.agreement import drift, outliers
from metrics.agreement.rater_quality import gold

# Little evidence gives an alert, so that the code that follows alerts is tested, too.
SENSITIVE_SETTINGS = drift.DriftSettings(alert_level=3.0, watch_level=1.5)
EARLIEST_SETTINGS = drift.DriftSettings(alert_level=250.0)  # the least that a project may choose
DAY = 19_700
REASONS = {None, drift.TOO_SHORT, drift.NO_PEERS, drift.CANNOT_TELL_WHO}


@st.composite
def tables(draw):
    """Draw rows (item, rater, code, day), k and ordered.

    Some raters keep to a category, stop early, rate seldom or have ratings without a time; each
    rater's share of the items is drawn as well.
    """
    k = draw(st.integers(2, 5))
    raters = draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    items = draw(st.sampled_from([0, 1, 150, 600, 600]))
    truth = rng.integers(k, size=items)
    habits = draw(
        st.lists(
            st.sampled_from(["fair", "fair", "constant", "guess", "jumps", "jumps"]),
            min_size=raters,
            max_size=raters,
        )
    )
    rating_share = draw(
        st.lists(st.sampled_from([0.02, 0.6, 1.0, 1.0]), min_size=raters, max_size=raters)
    )
    last_day = draw(st.lists(st.sampled_from([5, 60, 60, 60]), min_size=raters, max_size=raters))
    undated_share = draw(st.sampled_from([0.0, 0.0, 0.1, 1.0]))
    days = draw(st.sampled_from([1, 40, 60, 60]))
    rows = []
    for item in range(items):
        day = DAY + item * days // items
        for rater in range(raters):
            if rng.random() >= rating_share[rater] or day - DAY >= last_day[rater]:
                continue
            code = int(np.clip(truth[item] + rng.choice([-1, 0, 0, 0, 1]), 0, k - 1))
            if habits[rater] == "constant":
                code = 0
            if habits[rater] == "guess" or (habits[rater] == "jumps" and day > DAY + days / 2):
                code = int(rng.integers(k))
            rating_day = (
                drift.UNDATED if rng.random() < undated_share else day + int(rng.integers(3))
            )
            rows.append((item, rater + 10, code, rating_day))
    order = rng.permutation(len(rows))
    return [rows[index] for index in order], k, draw(st.booleans())


def detect(rows, k, ordered, seconds=None, detection_settings=SENSITIVE_SETTINGS):
    """Return the drift result and the outlier result of rows."""
    item, rater, code, day = np.array(rows, np.int64).reshape(-1, 4).T
    drift_result = drift.detect_drift(
        item, rater, code, day, k, ordered, settings=detection_settings
    )
    return drift_result, outliers.detect_outliers(drift_result, k, seconds=seconds)


def iter_numbers(value):
    """Yield all numbers in a nested value."""
    if is_dataclass(value):
        for field in fields(value):
            yield from iter_numbers(getattr(value, field.name))
    elif isinstance(value, dict):
        yield from iter_numbers(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for element in value:
            yield from iter_numbers(element)
    elif isinstance(value, np.ndarray):
        yield from value.ravel().tolist()
    elif isinstance(value, (int, float)):
        yield value


@settings(max_examples=60, deadline=None)
@given(tables())
def test_every_reported_value_is_finite_or_has_a_reason(table):
    rows, k, ordered = table
    rng = np.random.default_rng(len(rows))
    drift_result, outlier_result = detect(
        rows, k, ordered, rng.lognormal(2, 1, len(rows)) * (rng.random(len(rows)) < 0.9)
    )
    values = list(
        iter_numbers(
            [drift_result.alerts, drift_result.raters, drift_result.charts, outlier_result.findings]
        )
    )
    assert np.isfinite(values).all()
    assert {entry.rater for entry in drift_result.raters} == {row[1] for row in rows}
    assert {entry.reason for entry in drift_result.raters} | {
        entry.reason for entry in drift_result.alerts
    } <= REASONS
    for alert in drift_result.alerts:
        assert alert.earliest <= alert.onset <= alert.latest <= alert.day
        assert alert.low <= alert.size <= alert.high
        assert alert.n_before >= 30
        assert alert.n_since >= 10
        assert alert.evidence >= SENSITIVE_SETTINGS.alert_level
    for chart in drift_result.charts:
        assert all(entry < next_day for entry, next_day in pairwise(chart.day.tolist()))
    # All alerts of a rater are on different days, in order.
    for rater in {alert.rater for alert in drift_result.alerts}:
        days = [alert.day for alert in drift_result.alerts if alert.rater == rater]
        assert days == sorted(set(days))


@settings(max_examples=25, deadline=None)
@given(tables(), st.randoms(use_true_random=False))
def test_row_order_does_not_change_the_alerts(table, shuffle):
    rows, k, ordered = table
    shuffled_rows = rows.copy()
    shuffle.shuffle(shuffled_rows)
    in_order, shuffled = detect(rows, k, ordered), detect(shuffled_rows, k, ordered)
    assert [astuple(alert)[:-1] for alert in in_order[0].alerts] == [
        astuple(alert)[:-1] for alert in shuffled[0].alerts
    ]
    assert in_order[0].raters == shuffled[0].raters
    assert [(finding.kind, finding.raters, finding.day) for finding in in_order[1].findings] == [
        (finding.kind, finding.raters, finding.day) for finding in shuffled[1].findings
    ]


@settings(max_examples=25, deadline=None)
@given(tables())
def test_one_rater_or_one_category_gives_no_alert(table):
    rows, k, ordered = table
    rows_of_one_rater = [row for row in rows if row[1] == 10]
    drift_result, outlier_result = detect(rows_of_one_rater, k, ordered)
    assert (drift_result.alerts, outlier_result.findings) == ([], [])
    assert {entry.reason for entry in drift_result.raters} <= {drift.NO_PEERS}
    rows_of_one_category = [(item, rater, 0, day) for item, rater, _code, day in rows]
    drift_result, outlier_result = detect(
        rows_of_one_category, k, ordered, detection_settings=EARLIEST_SETTINGS
    )
    assert (drift_result.alerts, outlier_result.findings) == ([], [])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.booleans(), max_size=400), st.floats(0.01, 0.99), st.booleans())
def test_gold_evidence_is_finite_for_any_answers(answers, p0, long):
    evidence_path = gold.compute_evidence(answers * (50 if long else 1), p0)
    assert np.isfinite(evidence_path).all()
    assert (evidence_path >= 0).all()
    assert gold.evaluate_exam(answers).outcome in {"passed", "failed", "undecided"}
    assert gold.is_answer_known_among_raters(answers) in {True, False}


@pytest.mark.parametrize("most", [80, 100])
def test_exam_of_80_questions_keeps_walds_limits(most):
    """After 50 answers the sign decides too early: docs/statistics.md states by how much."""
    assert gold.exam_pass_probability(0.6, max_answers=most) <= 0.05
    assert gold.exam_pass_probability(0.8, max_answers=most) >= 0.95
    assert gold.exam_pass_probability(0.6, max_answers=50) == pytest.approx(0.0664, abs=5e-5)


def test_expected_exam_length_is_the_mean_of_simulated_exams() -> None:
    rng = np.random.default_rng(7)
    for p in (0.5, 0.8):
        answers = rng.random((4_000, 50)) < p
        mean = np.mean([gold.evaluate_exam(list(row)).n_answers for row in answers])
        assert gold.expected_exam_length(p) == pytest.approx(mean, rel=0.04)
