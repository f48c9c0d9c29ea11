"""Test drift alerts: reference cases, slow oracles, named raters, and data without alerts."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.agreement import drift
from metrics.agreement.drift.comparisons import DatedRatings, fit_effects
from metrics.agreement.drift.control_charts import FAR_FUTURE, DriftData, Exclusions
from metrics.agreement.drift.daily_scores import DailyScores, estimate_variances
from metrics.agreement.drift.evidence import DailySums, bayes_factor, compute_evidence_by_side
from tests.metrics.agreement import insight_drift_answers
from tests.metrics.agreement.drift import drift_oracle

TRUTH = Path(__file__).parents[1] / "truth_insight"
SENSITIVE_SETTINGS = drift.DriftSettings(alert_level=20.0)
K = 4


def load_case(name):
    return json.loads((TRUTH / f"{name}.json").read_text(encoding="utf-8"))


def simulate_stream(seed=1, *, raters=5, days=40, a_day=8, per_item=3, drifts=(), k=K):
    """Return ratings (item, rater, code, day) in which everybody gives the truth or its neighbour.

    `drifts` are (rater, from day, share of the answers that fall by one).
    """
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(days * a_day):
        truth = int(rng.integers(k))
        day = 19_000 + item // a_day
        for rater in rng.choice(raters, size=min(per_item, raters), replace=False).tolist():
            code = int(np.clip(truth + rng.choice([-1, 0, 0, 0, 1]), 0, k - 1))
            for drifting_rater, from_day, share in drifts:
                if drifting_rater == rater and day - 19_000 >= from_day and rng.random() < share:
                    code = max(code - 1, 0)
            rows.append((item, rater, code, day))
    return rows


def run(rows, k=K, *, ordered=True, **options):
    """Detect drift in rows of (item, rater, code, day)."""
    item, rater, code, day = np.array(rows, np.int64).reshape(-1, 4).T
    return drift.detect_drift(item, rater, code, day, k, ordered, **options)


# --- reference cases


def test_step_evidence_matches_reference_case():
    case = load_case("12_evidence_step_down")
    answers = insight_drift_answers.answer_alert_evidence(case, TRUTH)
    assert answers.keys() == case["expected"].keys()
    for name, value in case["expected"].items():
        assert answers[name] == pytest.approx(value, rel=case["tolerances"][name]), name


def test_only_rater5_gets_an_alert(shared_data):
    case = load_case("13_mqm_zhen_rater5")
    answers = insight_drift_answers.answer_alerts(case, shared_data)
    assert answers.keys() == case["expected"].keys()
    # Stricter than the tolerances of the case; only the day variance differs (see below).
    assert answers["alarms"] == case["expected"]["alarms"]
    assert answers["steps"] == pytest.approx(case["expected"]["steps"], abs=1e-3)


def test_remaining_evidence_matches_reference_case(shared_data):
    """Compare effects, weeks and variances after an alert with the case's additional figures.

    The case takes s2 of all raters for the variance of days, the library that of each rater: so the
    figures are close, not equal.
    """
    case = load_case("13_mqm_zhen_rater5")
    remaining = case["greatest_evidence_left_not_required"]
    answers = insight_drift_answers.answer_alerts(
        case | {"expected": {"greatest": remaining}}, shared_data
    )
    assert answers["greatest"] == pytest.approx(remaining, rel=0.06)


@pytest.mark.parametrize(
    ("name", "categories"),
    [
        ("sxs_mqm_ende.csv", ["none", "minor", "major"]),
        ("ukpconvarg1.csv.gz", ["a1", "a2", "equal"]),
        ("sleep_dodh.csv.gz", ["W", "N1", "N2", "N3", "REM"]),
    ],
)
def test_real_data_without_drift_give_no_alert(shared_data, name, categories):
    scale = "ordinal" if "ende" in name else "nominal"
    case = {"file": name, "categories": categories, "scale": scale}
    if "sleep" in name:  # each night counts as one day, in order
        rows = insight_drift_answers.read_rows(case, shared_data)
        case["rows"] = [row | {"date": int(row["item"][4:6])} for row in rows]
    answers = insight_drift_answers.answer_alerts(case | {"expected": {"alarms": []}}, shared_data)
    assert answers["alarms"] == []


# --- oracles


@pytest.mark.parametrize(
    ("theta", "variance"), [(0.3, 0.01), (-0.2, 0.004), (0.0, 0.5), (1.2, 0.1), (-1.5, 0.01)]
)
@pytest.mark.parametrize("omega", [0.01, 0.2, 0.4])
def test_bayes_factor_is_the_mean_likelihood_ratio(theta, variance, omega):
    ((up,), (down,)) = bayes_factor(np.array([theta]), np.array([variance]), omega, (1, -1))
    assert up == pytest.approx(drift_oracle.compute_bayes_factor(theta, variance, omega), rel=1e-8)
    assert down == pytest.approx(
        drift_oracle.compute_bayes_factor(-theta, variance, omega), rel=1e-8
    )


@pytest.mark.parametrize("channel", [drift.AGREEMENT, drift.UP, drift.DOWN])
@pytest.mark.parametrize("seed", [1, 2])
def test_evidence_matches_matrix_oracle_on_every_day(seed, channel):
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 25, 14)
    items = [np.round(rng.normal(0.2 * (day >= 8), 0.7, size), 1) for day, size in enumerate(n)]
    days = [(len(x), x.sum(), (x**2).sum()) for x in items]
    prior = drift.PRIORS[channel]
    side = drift.SIDE_OF_CHANNEL[channel]
    sizes, total, squares = zip(*days, strict=True)
    evidence = drift.compute_evidence(
        sizes, total, squares, s2=0.45, kappa2=0.006, side=side, prior=prior
    )
    expected = drift_oracle.compute_evidence(
        days, s2=0.45, kappa2=0.006, side=side, omega=prior.omega, tolerance=prior.tolerance
    )
    assert evidence.total == pytest.approx(expected, rel=1e-8)


def test_onset_and_step_come_from_the_strongest_onset():
    """Compare with plain sums over the onsets."""
    rng = np.random.default_rng(15)
    n = np.full(20, 20)
    y = np.repeat([0.0, 0.35], 10) + rng.normal(0, 0.15, 20)
    prior = drift.ShiftPrior(omega=0.4, tolerance=0.02, skew_prior_items=0.0)
    evidence = drift.compute_evidence(
        n, n * y, n * y**2, s2=0.45, kappa2=0.006, side=1, prior=prior
    )
    days = np.column_stack([n, n * y, n * y**2])
    onsets = range(2, 20)  # of the last day: 40 items before the first, 20 since the last
    by_onset = np.array([
        drift_oracle.compute_onset_evidence(days, j, 0.45, 0.006, 1, 0.4, 0.02, caution=1.0) for j in onsets
    ])  # fmt: skip
    assert evidence.onset[-1] == onsets[int(by_onset.argmax())]
    j = int(evidence.onset[-1])
    assert evidence.step[-1] == pytest.approx(y[j:].mean() - y[:j].mean())


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("undated", [0, 7])
def test_daily_scores_match_dictionary_oracle(ordered, undated):
    rows = simulate_stream(3, days=30, a_day=6)
    rows_with_undated = [
        (*row[:3], None if undated and n % undated == 0 else row[3]) for n, row in enumerate(rows)
    ]
    numbers = [(*row[:3], drift.UNDATED if row[3] is None else row[3]) for row in rows_with_undated]
    item, rater, code, day = np.array(numbers, np.int64).T
    ratings = DatedRatings.from_columns(item, rater, code, day, K)
    data = DriftData.from_ratings(ratings, K, ordered=ordered, settings=drift.DriftSettings())
    assert set(data.differences) == (
        {drift.AGREEMENT, drift.BIAS} if ordered else {drift.AGREEMENT}
    )
    for score in data.differences:
        days_of_score = data.compute_scores(score, Exclusions.empty(ratings.keys.size))[0]
        expected = drift_oracle.sum_by_day(
            drift_oracle.compute_scores(score, rows_with_undated, K, ordered=ordered)
        )
        flat = [(rater, *day) for rater, days in sorted(expected.items()) for day in days]
        columns = np.array(flat).T
        assert days_of_score.rater.tolist() == columns[0].tolist()
        assert days_of_score.day.tolist() == columns[1].tolist()
        assert days_of_score.n.tolist() == columns[2].tolist()
        assert days_of_score.total == pytest.approx(columns[3], abs=1e-4)
        assert days_of_score.squares == pytest.approx(columns[4], abs=1e-4)


def test_item_variance_is_not_mistaken_for_day_variance():
    """Every rater's days have the same level; the items of the first rater vary far more."""
    rng = np.random.default_rng(3)
    spread = np.repeat([1.2, 0.4, 0.4, 0.4, 0.4], 300)
    rater = np.repeat(np.arange(5), 300)
    x = rng.normal(0.5, spread[:, None], (1_500, 20))
    days = DailyScores(
        rater, np.tile(np.arange(300), 5), np.full(1_500, 20), x.sum(axis=1), (x**2).sum(axis=1)
    )
    result = estimate_variances(days, 5, drift.AGREEMENT, drift.DriftSettings())
    assert result.s2 == pytest.approx([1.44, 0.16, 0.16, 0.16, 0.16], rel=0.06)
    assert result.kappa2 == pytest.approx(np.zeros(5), abs=0.004)  # with s2 of all: 0.05


# --- guarantees


def test_without_drift_each_onset_is_an_e_value():
    """With normal day means of known variance and one unknown level, E_j has mean 1 on every day."""
    prior = drift.ShiftPrior(omega=0.06, tolerance=0.0, pseudo=0.0, skew_prior_items=0.0)
    n = np.full(6, 30)
    s2, kappa2 = 0.3, 0.002
    rng = np.random.default_rng(20_261_122)
    totals = []
    for _ in range(8_000):
        y = 0.7 + rng.normal(0, np.sqrt(s2 / n + kappa2))
        # Squares as if all items were equal, so that the caution against skew has no effect.
        days = drift.compute_evidence(n, n * y, n * y**2, s2=s2, kappa2=kappa2, side=1, prior=prior)
        totals.append(days.total)
    onsets = np.arange(1, 6)  # on day t each of 1..t is an onset
    mean = np.mean(totals, axis=0)[1:] / onsets
    error = np.std(totals, axis=0)[1:] / onsets / np.sqrt(len(totals))
    assert (error < 0.02).all()
    assert (np.abs(mean - 1) < 4 * error).all()


def test_cautions_only_lower_evidence_without_drift():
    n = np.full(20, 20)
    rng = np.random.default_rng(7)
    totals = []
    for _ in range(400):
        items = rng.normal(0.3, 0.7, (20, 20))
        columns = (n, items.sum(axis=1), (items**2).sum(axis=1))
        prior = drift.PRIORS[drift.UP]
        totals.append(
            drift.compute_evidence(*columns, s2=0.49, kappa2=0.0, side=1, prior=prior).total
        )
    assert (np.mean(totals, axis=0) <= np.arange(20) + 0.5).all()


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 5), shuffle=st.randoms(use_true_random=False))
def test_any_row_order_gives_the_same_alerts(seed, shuffle):
    rows = simulate_stream(seed, days=30, drifts=[(2, 12, 0.6), (4, 20, 0.8)])
    in_order = run(rows, settings=SENSITIVE_SETTINGS)
    shuffle.shuffle(rows)
    shuffled = run(rows, settings=SENSITIVE_SETTINGS)
    assert in_order.alerts
    assert shuffled.alerts == in_order.alerts
    assert shuffled.raters == in_order.raters


# --- raters that alerts name


def test_drifting_rater_gets_alert_and_peers_do_not():
    result = run(simulate_stream(4, raters=4, days=60, a_day=10, drifts=[(1, 30, 0.7)]))
    (alert,) = result.alerts
    assert (alert.rater, alert.raters, alert.reason) == (1, (1,), None)
    assert alert.channel == drift.DOWN
    assert abs(alert.onset - 19_030) <= 4
    assert alert.onset < alert.day < 19_060
    assert alert.earliest <= alert.onset <= alert.latest <= alert.day
    assert 19_010 < alert.earliest <= 19_030 <= alert.latest
    assert -1.1 < alert.low < alert.size < alert.high < -0.3
    assert alert.evidence >= 5_000
    assert alert.n_before >= 30
    assert alert.n_since >= 10
    assert alert.chart.evidence[alert.chart.find_first_reaching(5_000)] == alert.evidence


def test_reversed_scale_reverses_drift_direction():
    rows = simulate_stream(4, raters=4, days=60, a_day=10, drifts=[(1, 30, 0.7)])
    reversed_rows = [(item, rater, K - 1 - code, day) for item, rater, code, day in rows]
    (down,), (up,) = run(rows).alerts, run(reversed_rows).alerts
    assert (up.rater, up.channel, up.day, up.onset) == (1, drift.UP, down.day, down.onset)
    assert up.size == pytest.approx(-down.size, abs=1e-6)


def test_several_drifting_raters_each_get_an_alert():
    rows = simulate_stream(5, raters=7, days=90, a_day=14, drifts=[(1, 30, 0.7), (5, 60, 0.7)])
    assert [alert.rater for alert in run(rows).alerts] == [1, 5]


def test_rater_who_drifts_twice_gets_two_alerts():
    rows = simulate_stream(6, raters=5, days=160, a_day=14, drifts=[(1, 30, 0.5), (1, 100, 0.7)])
    first, second = run(rows).alerts
    assert first.rater == second.rater == 1
    assert first.onset < first.day < second.onset < second.day
    # The new level is the new normal: the second chart begins after the first alarm.
    assert second.chart.day[0] > first.day


def test_guessing_rater_is_found_on_nominal_scale():
    rng = np.random.default_rng(8)
    rows = [
        (item, rater, int(rng.integers(K)) if rater == 2 and day >= 19_025 else code, day)
        for item, rater, code, day in simulate_stream(8, days=60, a_day=10)
    ]
    (alert,) = run(rows, ordered=False).alerts
    assert (alert.rater, alert.channel) == (2, drift.AGREEMENT)
    assert alert.size < -0.1
    assert set(alert.chart.channels) == {drift.AGREEMENT}


def test_two_categories_have_only_the_agreement_channel():
    rows = [(item, rater, code // 2, day) for item, rater, code, day in simulate_stream(2, days=30)]
    result = run(rows, 2, ordered=True)
    assert all(set(chart.channels) == {drift.AGREEMENT} for chart in result.charts)


def test_two_raters_alone_cannot_be_distinguished():
    rows = simulate_stream(9, raters=2, days=80, a_day=10, drifts=[(1, 30, 0.8)])
    (alert,) = run(rows).alerts
    assert alert.reason == drift.CANNOT_TELL_WHO
    assert sorted(alert.raters) == [0, 1]
    assert alert.rater in {0, 1}


def test_two_raters_who_drift_again_get_a_second_alert():
    rows = simulate_stream(9, raters=2, days=200, a_day=10, drifts=[(1, 30, 0.5), (1, 120, 0.8)])
    first, second = run(rows).alerts
    assert sorted(first.raters) == sorted(second.raters) == [0, 1]
    assert first.day < second.onset


@pytest.mark.parametrize("score", [drift.AGREEMENT, drift.BIAS])
def test_effects_match_dense_solution_for_any_counts(score):
    """Two raters share a million items, two share one or a few, and one has no peer."""
    rng = np.random.default_rng(14)
    pair_counts = np.array([(0, 1, 1_000_000), (0, 2, 1), (1, 3, 3), (2, 3, 40_000)])
    g = np.concatenate([pair_counts[:, 0], pair_counts[:, 1]])
    h = np.concatenate([pair_counts[:, 1], pair_counts[:, 0]])
    mean = rng.normal(0.3, 0.5, len(pair_counts))
    d = np.concatenate([mean, mean if score == drift.AGREEMENT else -mean])
    n_shared = np.tile(pair_counts[:, 2], 2)
    rater_effects = fit_effects(score, np.repeat(d, n_shared), np.repeat(g, n_shared), np.repeat(h, n_shared),
                    n_raters=5, ridge=10)  # fmt: skip
    s = 1 if score == drift.AGREEMENT else -1
    matrix = 10.0 * np.eye(5)
    right_side = np.zeros(5)
    for own, peer, value, times in zip(g, h, d, n_shared, strict=True):
        matrix[own, own] += times
        matrix[own, peer] += s * times
        right_side[own] += times * (value - rater_effects.mu)
    assert rater_effects.a == pytest.approx(np.linalg.solve(matrix, right_side), abs=1e-6)
    assert rater_effects.a[4] == 0


def test_a_slow_ramp_is_found():
    rng = np.random.default_rng(10)
    rows = [
        (item, rater, max(code - int(rater == 3 and rng.random() < (day - 19_030) / 40), 0), day)
        for item, rater, code, day in simulate_stream(10, days=90, a_day=12)
    ]
    (alert,) = run(rows).alerts
    assert (alert.rater, alert.channel) == (3, drift.DOWN)
    assert alert.onset > 19_025


# --- context beside the ratings


def test_new_guidelines_start_new_segment_for_all_raters():
    rows = simulate_stream(4, raters=4, days=60, a_day=10, drifts=[(1, 30, 0.7)])
    (alert,) = run(rows).alerts
    at_onset = run(rows, context=drift.DriftContext(segment_starts=[19_030]))
    assert at_onset.alerts == []  # the drift came with the guidelines
    assert min(chart.day[0] for chart in at_onset.charts) == 19_030
    # Drift before the guidelines changed still gives its alert.
    later = run(rows, context=drift.DriftContext(segment_starts=[alert.day + 1]))
    assert [(row.rater, row.day) for row in later.alerts] == [(1, alert.day)]
    assert min(chart.day[0] for chart in later.charts) == alert.day + 1


def test_ratings_after_excused_alert_still_serve_as_peers():
    rows = simulate_stream(4, raters=4, days=60, a_day=10, drifts=[(1, 30, 0.7)])
    (alert,) = run(rows).alerts
    excused = drift.ExcusedAlert(rater=1, onset=alert.onset, day=alert.day)
    result = run(rows, context=drift.DriftContext(excused=[excused]))
    assert (result.alerts[0].rater, result.alerts[0].day) == (1, alert.day)
    chart_by_rater = {chart.rater: chart for chart in result.charts}
    assert chart_by_rater[1].day[0] > alert.day  # a new segment all the same
    # The other raters are compared with these ratings again.
    chart_by_rater_without_excuse = {chart.rater: chart for chart in run(rows).charts}
    assert (
        chart_by_rater[0].compute_means(drift.BIAS)[-1]
        > chart_by_rater_without_excuse[0].compute_means(drift.BIAS)[-1]
    )
    another = drift.ExcusedAlert(rater=1, onset=alert.day + 1, day=alert.day + 9)
    assert run(rows, context=drift.DriftContext(excused=[another])).raters == run(rows).raters


# --- data without alerts, and the reasons


def test_raters_with_short_data_or_no_peers_have_reasons():
    rows = simulate_stream(11, days=40)
    rows += [(10_000 + n, 77, 0, 19_000 + n) for n in range(200)]  # nobody else's items
    rows += [(n, 88, rows[0][2], 19_000) for n in range(0, 60, 3)]  # 20 items of one day
    result = run(rows)
    reasons = {row.rater: row.reason for row in result.raters}
    assert reasons[77] == drift.NO_PEERS
    assert reasons[88] == drift.TOO_SHORT
    assert {reasons[rater] for rater in range(5)} == {None}
    assert {row.rater: row.n for row in result.raters}[77] == 0


def test_undated_ratings_are_peers_but_on_no_chart():
    rows = simulate_stream(12, days=40)
    undated = [
        (item, rater, code, drift.UNDATED if rater == 0 else day) for item, rater, code, day in rows
    ]
    result = run(undated)
    assert {chart.rater for chart in result.charts} == {1, 2, 3, 4}
    assert result.raters[0].reason == drift.TOO_SHORT
    n_by_rater = {chart.rater: chart.n.sum() for chart in run(rows).charts}
    assert all(chart.n.sum() == n_by_rater[chart.rater] for chart in result.charts)


def test_empty_and_single_category_data_give_no_alert():
    empty = run([])
    assert (empty.alerts, empty.raters, empty.charts) == ([], [], [])
    same = [(item, rater, 0, day) for item, rater, _, day in simulate_stream(13, days=60)]
    assert run(same).alerts == []


def test_sudden_total_change_gives_finite_evidence():
    days = drift.compute_evidence(
        n=np.full(40, 500),
        total=500.0 * np.repeat([0, 2], 20),
        squares=1000.0 * np.repeat([0, 2], 20),
        s2=0.12,
        kappa2=0.0,
        side=1,
        prior=replace(drift.PRIORS[drift.UP], skew_prior_items=0.0),
    )
    assert np.isfinite(days.total).all()
    assert days.onset[-1] == 20
    assert days.step[-1] == pytest.approx(2)


def test_lower_alert_level_gives_earlier_alert():
    rows = simulate_stream(4, raters=4, days=60, a_day=10, drifts=[(1, 30, 0.7)])
    early = run(rows, settings=drift.DriftSettings(alert_level=250.0)).alerts[0]
    assert (early.rater, early.evidence >= 250) == (1, True)
    assert early.day < run(rows).alerts[0].day


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(1, 7, 0, 1), (1, 7, 1, 2)], "rater 7 rated an item twice"),
        ([(1, 7, 4, 1)], "code"),
    ],
)
def test_invalid_rows_raise_an_error(rows, message):
    with pytest.raises(ValueError, match=message):
        run(rows)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n": [3, 0]}, "day 1: an active day has at least one item"),
        ({"s2": 0.0}, "s2 must be positive"),
        ({"side": 2}, "side must be 1 or -1"),
        ({"total": [1.0]}, "three columns of equal length"),
    ],
)
def test_invalid_days_raise_an_error(changed, message):
    columns = {"n": [3, 2], "total": [1.0, 1.0], "squares": [1.0, 1.0]}
    parameters = {"s2": 0.5, "kappa2": 0.0, "side": 1}
    with pytest.raises(ValueError, match=message):
        drift.compute_evidence(**(columns | parameters | changed), prior=drift.PRIORS[drift.UP])


def detect_with_full_recompute(rows, level):
    """Return (rater, day, onset) of all alerts by the definition: recompute all charts after each."""
    item, rater, code, day = np.array(rows, np.int64).reshape(-1, 4).T
    ratings = DatedRatings.from_columns(item, rater, code, day, K)
    data = DriftData.from_ratings(
        ratings, K, ordered=True, settings=drift.DriftSettings(alert_level=level)
    )
    exclusions = Exclusions.empty(ratings.keys.size)
    exclusions.start_segment(-FAR_FUTURE, FAR_FUTURE)
    alerts: list[tuple[int, int, int]] = []
    while True:
        charts = data.build_round(exclusions)
        reached = [(chart, charts.find_alert(chart, data.settings)) for chart in charts.charts]
        ranked = [
            (chart.day[index], -chart.evidence[index], n)
            for n, (chart, index) in enumerate(reached)
            if index is not None
        ]
        if not ranked:
            return alerts
        chart, index = reached[min(ranked)[2]]
        assert index is not None
        onset = int(chart.day[chart.channels[chart.find_leading_channel(index)].onset[index]])
        alerts.append((int(ratings.keys[chart.rater]), int(chart.day[index]), onset))
        exclusions.peers[chart.rater] = min(exclusions.peers[chart.rater], onset)
        exclusions.before[chart.rater] = chart.day[index]


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10_000), raters=st.integers(3, 9), level=st.sampled_from([5.0, 20.0, 200.0])
)
def test_candidate_search_gives_same_alerts_as_full_search(seed, raters, level):
    drifts = [(0, 15, 0.6), (1, 20, 0.8), (2, 25, 0.9)]
    rows = simulate_stream(seed, raters=raters, days=40, a_day=10, drifts=drifts)
    result = run(rows, settings=drift.DriftSettings(alert_level=level))
    assert [
        (alert.rater, alert.day, alert.onset) for alert in result.alerts
    ] == detect_with_full_recompute(rows, level)


def test_two_sides_together_equal_each_side_alone():
    rng = np.random.default_rng(4)
    n = rng.integers(5, 30, 40)
    items = [rng.normal(0.3 * (day > 20), 0.8, size) for day, size in enumerate(n)]
    days = DailySums(n, [x.sum() for x in items], [(x**2).sum() for x in items])
    prior = drift.PRIORS[drift.UP]
    rates: dict[str, Any] = {"s2": 0.6, "kappa2": 0.005, "prior": prior}
    for side, together in zip(
        (1, -1), compute_evidence_by_side(days, (1, -1), **rates), strict=True
    ):
        alone = drift.compute_evidence(*days, side=side, **rates)
        for name in ("total", "onset", "step"):
            assert np.array_equal(getattr(together, name), getattr(alone, name)), name
