"""Alarms of drift: reference cases, slow oracles, who is named, and what stays silent."""

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
SOON = drift.DriftSettings(alert_level=20.0)
K = 4


def case(name):
    return json.loads((TRUTH / f"{name}.json").read_text(encoding="utf-8"))


def stream(seed=1, *, raters=5, days=40, a_day=8, per_item=3, drifts=(), k=K):
    """Ratings (item, rater, code, day): everybody hits the truth or its neighbour; `drifts` are
    (rater, from day, how many of the answers fall by one)."""
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(days * a_day):
        truth = int(rng.integers(k))
        day = 19_000 + item // a_day
        for rater in rng.choice(raters, size=min(per_item, raters), replace=False).tolist():
            code = int(np.clip(truth + rng.choice([-1, 0, 0, 0, 1]), 0, k - 1))
            for who, since, share in drifts:
                if who == rater and day - 19_000 >= since and rng.random() < share:
                    code = max(code - 1, 0)
            rows.append((item, rater, code, day))
    return rows


def run(rows, k=K, *, ordered=True, **options):
    item, rater, code, day = np.array(rows, np.int64).reshape(-1, 4).T
    return drift.detect_drift(item, rater, code, day, k, ordered, **options)


# --- reference cases


def test_evidence_of_a_step_is_that_of_the_case():
    given_case = case("12_evidence_step_down")
    found = insight_drift_answers.alarm_evidence(given_case, TRUTH)
    assert found.keys() == given_case["expected"].keys()
    for name, value in given_case["expected"].items():
        assert found[name] == pytest.approx(value, rel=given_case["tolerances"][name]), name


def test_rater5_alone_is_alarmed(shared_data):
    given_case = case("13_mqm_zhen_rater5")
    found = insight_drift_answers.alarm(given_case, shared_data)
    assert found.keys() == given_case["expected"].keys()
    # Nearer than the tolerances of the case; the wobble of days alone is another (below).
    assert found["alarms"] == given_case["expected"]["alarms"]
    assert found["steps"] == pytest.approx(given_case["expected"]["steps"], abs=1e-3)


def test_evidence_that_is_left_is_that_of_the_case(shared_data):
    """Effects, weeks and variances after an alarm: figures that the case tells beside. The wobble
    of its days takes s2 of all raters, ours of each: so the figures are near, not the same."""
    given_case = case("13_mqm_zhen_rater5")
    left = given_case["greatest_evidence_left_not_required"]
    found = insight_drift_answers.alarm(given_case | {"expected": {"greatest": left}}, shared_data)
    assert found["greatest"] == pytest.approx(left, rel=0.06)


@pytest.mark.parametrize(
    ("name", "categories"),
    [
        ("sxs_mqm_ende.csv", ["none", "minor", "major"]),
        ("ukpconvarg1.csv.gz", ["a1", "a2", "equal"]),
        ("sleep_dodh.csv.gz", ["W", "N1", "N2", "N3", "REM"]),
    ],
)
def test_real_data_without_drift_raise_nothing(shared_data, name, categories):
    scale = "ordinal" if "ende" in name else "nominal"
    asked = {"file": name, "categories": categories, "scale": scale}
    if "sleep" in name:  # a night is a day, in the order of the nights
        rows = insight_drift_answers.rows_of(asked, shared_data)
        asked["rows"] = [row | {"date": int(row["item"][4:6])} for row in rows]
    found = insight_drift_answers.alarm(asked | {"expected": {"alarms": []}}, shared_data)
    assert found["alarms"] == []


# --- oracles


@pytest.mark.parametrize(
    ("theta", "variance"), [(0.3, 0.01), (-0.2, 0.004), (0.0, 0.5), (1.2, 0.1), (-1.5, 0.01)]
)
@pytest.mark.parametrize("omega", [0.01, 0.2, 0.4])
def test_bayes_factor_is_the_mean_likelihood_ratio(theta, variance, omega):
    ((up,), (down,)) = bayes_factor(np.array([theta]), np.array([variance]), omega, (1, -1))
    assert up == pytest.approx(drift_oracle.bayes_factor(theta, variance, omega), rel=1e-8)
    assert down == pytest.approx(drift_oracle.bayes_factor(-theta, variance, omega), rel=1e-8)


@pytest.mark.parametrize("channel", [drift.AGREEMENT, drift.UP, drift.DOWN])
@pytest.mark.parametrize("seed", [1, 2])
def test_evidence_is_that_of_matrices_day_by_day(seed, channel):
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 25, 14)
    items = [np.round(rng.normal(0.2 * (day >= 8), 0.7, size), 1) for day, size in enumerate(n)]
    days = [(len(x), x.sum(), (x**2).sum()) for x in items]
    prior = drift.PRIORS[channel]
    side = drift.SIDE_OF_CHANNEL[channel]
    sizes, total, squares = zip(*days, strict=True)
    found = drift.compute_evidence(
        sizes, total, squares, s2=0.45, kappa2=0.006, side=side, prior=prior
    )
    expected = drift_oracle.evidence(
        days, s2=0.45, kappa2=0.006, side=side, omega=prior.omega, tolerance=prior.tolerance
    )
    assert found.total == pytest.approx(expected, rel=1e-8)


def test_onset_and_step_are_those_of_the_most_evidence():
    """Against plain sums over the onsets."""
    rng = np.random.default_rng(15)
    n = np.full(20, 20)
    y = np.repeat([0.0, 0.35], 10) + rng.normal(0, 0.15, 20)
    prior = drift.ShiftPrior(omega=0.4, tolerance=0.02, caution=0.0)
    found = drift.compute_evidence(n, n * y, n * y**2, s2=0.45, kappa2=0.006, side=1, prior=prior)
    days = np.column_stack([n, n * y, n * y**2])
    onsets = range(2, 20)  # of the last day: 40 items before the first, 20 since the last
    each = np.array([
        drift_oracle.onset_evidence(days, j, 0.45, 0.006, 1, 0.4, 0.02, caution=1.0) for j in onsets
    ])  # fmt: skip
    assert found.onset[-1] == onsets[int(each.argmax())]
    j = int(found.onset[-1])
    assert found.step[-1] == pytest.approx(y[j:].mean() - y[:j].mean())


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("undated", [0, 7])
def test_scores_of_days_are_those_of_dictionaries(ordered, undated):
    rows = stream(3, days=30, a_day=6)
    hidden = [
        (*row[:3], None if undated and n % undated == 0 else row[3]) for n, row in enumerate(rows)
    ]
    numbers = [(*row[:3], drift.UNDATED if row[3] is None else row[3]) for row in hidden]
    item, rater, code, day = np.array(numbers, np.int64).T
    ratings = DatedRatings.from_columns(item, rater, code, day, K)
    material = DriftData.from_ratings(ratings, K, ordered=ordered, settings=drift.DriftSettings())
    assert set(material.differences) == (
        {drift.AGREEMENT, drift.BIAS} if ordered else {drift.AGREEMENT}
    )
    for score in material.differences:
        found = material.compute_days(score, Exclusions.empty(ratings.keys.size))
        expected = drift_oracle.day_sums(drift_oracle.scores(score, hidden, K, ordered=ordered))
        flat = [(rater, *day) for rater, days in sorted(expected.items()) for day in days]
        columns = np.array(flat).T
        assert found.rater.tolist() == columns[0].tolist()
        assert found.day.tolist() == columns[1].tolist()
        assert found.n.tolist() == columns[2].tolist()
        assert found.total == pytest.approx(columns[3], abs=1e-4)
        assert found.squares == pytest.approx(columns[4], abs=1e-4)


def test_scatter_of_items_is_not_taken_for_wobble_of_days():
    """Everybody's days lie at their level; the items of the first rater scatter far more."""
    rng = np.random.default_rng(3)
    spread = np.repeat([1.2, 0.4, 0.4, 0.4, 0.4], 300)
    rater = np.repeat(np.arange(5), 300)
    x = rng.normal(0.5, spread[:, None], (1_500, 20))
    days = DailyScores(
        rater, np.tile(np.arange(300), 5), np.full(1_500, 20), x.sum(axis=1), (x**2).sum(axis=1)
    )
    found = estimate_variances(days, 5, drift.AGREEMENT, drift.DriftSettings())
    assert found.s2 == pytest.approx([1.44, 0.16, 0.16, 0.16, 0.16], rel=0.06)
    assert found.kappa2 == pytest.approx(np.zeros(5), abs=0.004)  # with s2 of all: 0.05


# --- what is promised


def test_without_drift_each_onset_is_an_e_value():
    """Normal day means of known variance, one level unknown: the mean of E_j is 1 on every day."""
    prior = drift.ShiftPrior(omega=0.06, tolerance=0.0, pseudo=0.0, caution=0.0)
    n = np.full(6, 30)
    s2, kappa2 = 0.3, 0.002
    rng = np.random.default_rng(20_261_122)
    found = []
    for _ in range(8_000):
        y = 0.7 + rng.normal(0, np.sqrt(s2 / n + kappa2))
        # Squares as if the items were alike, so that the caution against skew leaves it alone.
        days = drift.compute_evidence(n, n * y, n * y**2, s2=s2, kappa2=kappa2, side=1, prior=prior)
        found.append(days.total)
    onsets = np.arange(1, 6)  # on day t each of 1..t is an onset
    mean = np.mean(found, axis=0)[1:] / onsets
    error = np.std(found, axis=0)[1:] / onsets / np.sqrt(len(found))
    assert (error < 0.02).all()
    assert (np.abs(mean - 1) < 4 * error).all()


def test_cautions_only_lower_the_evidence_of_no_drift():
    n = np.full(20, 20)
    rng = np.random.default_rng(7)
    found = []
    for _ in range(400):
        items = rng.normal(0.3, 0.7, (20, 20))
        columns = (n, items.sum(axis=1), (items**2).sum(axis=1))
        prior = drift.PRIORS[drift.UP]
        found.append(
            drift.compute_evidence(*columns, s2=0.49, kappa2=0.0, side=1, prior=prior).total
        )
    assert (np.mean(found, axis=0) <= np.arange(20) + 0.5).all()


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 5), shuffle=st.randoms(use_true_random=False))
def test_any_order_of_the_rows_gives_the_same_alarms(seed, shuffle):
    rows = stream(seed, days=30, drifts=[(2, 12, 0.6), (4, 20, 0.8)])
    straight = run(rows, settings=SOON)
    shuffle.shuffle(rows)
    mixed = run(rows, settings=SOON)
    assert straight.alarms
    assert mixed.alarms == straight.alarms
    assert mixed.raters == straight.raters


# --- who is named


def test_a_drifter_is_named_and_no_peer_of_his():
    found = run(stream(4, raters=4, days=60, a_day=10, drifts=[(1, 30, 0.7)]))
    (alarm,) = found.alarms
    assert (alarm.rater, alarm.raters, alarm.reason) == (1, (1,), None)
    assert alarm.channel == drift.DOWN
    assert abs(alarm.onset - 19_030) <= 4
    assert alarm.onset < alarm.day < 19_060
    assert alarm.earliest <= alarm.onset <= alarm.latest <= alarm.day
    assert 19_010 < alarm.earliest <= 19_030 <= alarm.latest
    assert -1.1 < alarm.low < alarm.size < alarm.high < -0.3
    assert alarm.evidence >= 5_000
    assert alarm.n_before >= 30
    assert alarm.n_since >= 10
    assert alarm.chart.evidence[alarm.chart.at_least(5_000)] == alarm.evidence


def test_with_the_scale_turned_round_the_drift_goes_up():
    rows = stream(4, raters=4, days=60, a_day=10, drifts=[(1, 30, 0.7)])
    turned = [(item, rater, K - 1 - code, day) for item, rater, code, day in rows]
    (down,), (up,) = run(rows).alarms, run(turned).alarms
    assert (up.rater, up.channel, up.day, up.onset) == (1, drift.UP, down.day, down.onset)
    assert up.size == pytest.approx(-down.size, abs=1e-6)


def test_several_drifters_are_named_one_after_the_other():
    rows = stream(5, raters=7, days=90, a_day=14, drifts=[(1, 30, 0.7), (5, 60, 0.7)])
    assert [alarm.rater for alarm in run(rows).alarms] == [1, 5]


def test_a_rater_who_moves_twice_is_alarmed_twice_and_each_time_anew():
    rows = stream(6, raters=5, days=160, a_day=14, drifts=[(1, 30, 0.5), (1, 100, 0.7)])
    first, second = run(rows).alarms
    assert first.rater == second.rater == 1
    assert first.onset < first.day < second.onset < second.day
    # The new level is the new normal: the second chart begins after the first alarm.
    assert second.chart.day[0] > first.day


def test_a_nominal_scale_finds_a_rater_who_guesses():
    rng = np.random.default_rng(8)
    rows = [
        (item, rater, int(rng.integers(K)) if rater == 2 and day >= 19_025 else code, day)
        for item, rater, code, day in stream(8, days=60, a_day=10)
    ]
    (alarm,) = run(rows, ordered=False).alarms
    assert (alarm.rater, alarm.channel) == (2, drift.AGREEMENT)
    assert alarm.size < -0.1
    assert set(alarm.chart.channels) == {drift.AGREEMENT}


def test_two_categories_have_agreement_alone():
    rows = [(item, rater, code // 2, day) for item, rater, code, day in stream(2, days=30)]
    found = run(rows, 2, ordered=True)
    assert all(set(chart.channels) == {drift.AGREEMENT} for chart in found.charts)


def test_of_two_raters_nothing_tells_which():
    rows = stream(9, raters=2, days=80, a_day=10, drifts=[(1, 30, 0.8)])
    (alarm,) = run(rows).alarms
    assert alarm.reason == drift.CANNOT_TELL_WHO
    assert sorted(alarm.raters) == [0, 1]
    assert alarm.rater in {0, 1}


def test_two_raters_who_move_again_are_named_again():
    rows = stream(9, raters=2, days=200, a_day=10, drifts=[(1, 30, 0.5), (1, 120, 0.8)])
    first, second = run(rows).alarms
    assert sorted(first.raters) == sorted(second.raters) == [0, 1]
    assert first.day < second.onset


@pytest.mark.parametrize("score", [drift.AGREEMENT, drift.BIAS])
def test_effects_are_those_of_a_dense_solution_whatever_the_numbers(score):
    """Two who met a million times, two who met them once, and one without a peer."""
    rng = np.random.default_rng(14)
    met = np.array([(0, 1, 1_000_000), (0, 2, 1), (1, 3, 3), (2, 3, 40_000)])
    g = np.concatenate([met[:, 0], met[:, 1]])
    h = np.concatenate([met[:, 1], met[:, 0]])
    mean = rng.normal(0.3, 0.5, len(met))
    d = np.concatenate([mean, mean if score == drift.AGREEMENT else -mean])
    often = np.tile(met[:, 2], 2)
    found = fit_effects(score, np.repeat(d, often), np.repeat(g, often), np.repeat(h, often),
                    n_raters=5, ridge=10)  # fmt: skip
    s = 1 if score == drift.AGREEMENT else -1
    matrix = 10.0 * np.eye(5)
    right = np.zeros(5)
    for one, other, value, times in zip(g, h, d, often, strict=True):
        matrix[one, one] += times
        matrix[one, other] += s * times
        right[one] += times * (value - found.mu)
    assert found.a == pytest.approx(np.linalg.solve(matrix, right), abs=1e-6)
    assert found.a[4] == 0


def test_a_slow_ramp_is_found():
    rng = np.random.default_rng(10)
    rows = [
        (item, rater, max(code - int(rater == 3 and rng.random() < (day - 19_030) / 40), 0), day)
        for item, rater, code, day in stream(10, days=90, a_day=12)
    ]
    (alarm,) = run(rows).alarms
    assert (alarm.rater, alarm.channel) == (3, drift.DOWN)
    assert alarm.onset > 19_025


# --- what is known beside the ratings


def test_other_guidelines_begin_a_new_segment_for_everybody():
    rows = stream(4, raters=4, days=60, a_day=10, drifts=[(1, 30, 0.7)])
    (alarm,) = run(rows).alarms
    there = run(rows, known=drift.DriftContext(segment_starts=[19_030]))
    assert there.alarms == []  # the drift came with the guidelines
    assert min(chart.day[0] for chart in there.charts) == 19_030
    # What was moved before the guidelines changed is told as ever.
    later = run(rows, known=drift.DriftContext(segment_starts=[alarm.day + 1]))
    assert [(one.rater, one.day) for one in later.alarms] == [(1, alarm.day)]
    assert min(chart.day[0] for chart in later.charts) == alarm.day + 1


def test_the_ratings_after_an_excused_alarm_stay_peers_of_others():
    rows = stream(4, raters=4, days=60, a_day=10, drifts=[(1, 30, 0.7)])
    (alarm,) = run(rows).alarms
    excused = drift.ExcusedAlert(rater=1, onset=alarm.onset, day=alarm.day)
    found = run(rows, known=drift.DriftContext(excused=[excused]))
    assert (found.alarms[0].rater, found.alarms[0].day) == (1, alarm.day)
    own = {chart.rater: chart for chart in found.charts}
    assert own[1].day[0] > alarm.day  # a new segment all the same
    # The others are compared with them again.
    without = {chart.rater: chart for chart in run(rows).charts}
    assert own[0].means(drift.BIAS)[-1] > without[0].means(drift.BIAS)[-1]
    another = drift.ExcusedAlert(rater=1, onset=alarm.day + 1, day=alarm.day + 9)
    assert run(rows, known=drift.DriftContext(excused=[another])).raters == run(rows).raters


# --- what stays silent, and why


def test_too_short_and_no_peers_have_a_name():
    rows = stream(11, days=40)
    rows += [(10_000 + n, 77, 0, 19_000 + n) for n in range(200)]  # nobody else's items
    rows += [(n, 88, rows[0][2], 19_000) for n in range(0, 60, 3)]  # 20 items of one day
    found = run(rows)
    reasons = {one.rater: one.reason for one in found.raters}
    assert reasons[77] == drift.NO_PEERS
    assert reasons[88] == drift.TOO_SHORT
    assert {reasons[rater] for rater in range(5)} == {None}
    assert {one.rater: one.n for one in found.raters}[77] == 0


def test_undated_ratings_are_peers_but_on_no_chart():
    rows = stream(12, days=40)
    undated = [
        (item, rater, code, drift.UNDATED if rater == 0 else day) for item, rater, code, day in rows
    ]
    found = run(undated)
    assert {chart.rater for chart in found.charts} == {1, 2, 3, 4}
    assert found.raters[0].reason == drift.TOO_SHORT
    whole = {chart.rater: chart.n.sum() for chart in run(rows).charts}
    assert all(chart.n.sum() == whole[chart.rater] for chart in found.charts)


def test_nothing_at_all_and_a_single_category_raise_nothing():
    empty = run([])
    assert (empty.alarms, empty.raters, empty.charts) == ([], [], [])
    same = [(item, rater, 0, day) for item, rater, _, day in stream(13, days=60)]
    assert run(same).alarms == []


def test_a_sudden_and_total_change_stays_a_number():
    days = drift.compute_evidence(
        n=np.full(40, 500),
        total=500.0 * np.repeat([0, 2], 20),
        squares=1000.0 * np.repeat([0, 2], 20),
        s2=0.12,
        kappa2=0.0,
        side=1,
        prior=replace(drift.PRIORS[drift.UP], caution=0.0),
    )
    assert np.isfinite(days.total).all()
    assert days.onset[-1] == 20
    assert days.step[-1] == pytest.approx(2)


def test_a_lower_alarm_comes_earlier():
    rows = stream(4, raters=4, days=60, a_day=10, drifts=[(1, 30, 0.7)])
    early = run(rows, settings=drift.DriftSettings(alert_level=250.0)).alarms[0]
    assert (early.rater, early.evidence >= 250) == (1, True)
    assert early.day < run(rows).alarms[0].day


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(1, 7, 0, 1), (1, 7, 1, 2)], "rater 7 rated an item twice"),
        ([(1, 7, 4, 1)], "code"),
    ],
)
def test_wrong_rows_are_named(rows, message):
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
def test_wrong_days_are_named(changed, message):
    columns = {"n": [3, 2], "total": [1.0, 1.0], "squares": [1.0, 1.0]}
    assumed = {"s2": 0.5, "kappa2": 0.0, "side": 1}
    with pytest.raises(ValueError, match=message):
        drift.compute_evidence(**(columns | assumed | changed), prior=drift.PRIORS[drift.UP])


def everybody_each_time(rows, level):
    """(rater, day, onset) of all alarms, as the definition says it: after each one all charts are
    made anew."""
    item, rater, code, day = np.array(rows, np.int64).reshape(-1, 4).T
    ratings = DatedRatings.from_columns(item, rater, code, day, K)
    material = DriftData.from_ratings(
        ratings, K, ordered=True, settings=drift.DriftSettings(alert_level=level)
    )
    left_out = Exclusions.empty(ratings.keys.size)
    left_out.start_segment(-FAR_FUTURE, FAR_FUTURE)
    told: list[tuple[int, int, int]] = []
    while True:
        charts = material.build_round(left_out).charts
        reached = [(chart, chart.find_first_reaching(level)) for chart in charts]
        ranked = [
            (chart.day[t], -chart.evidence[t], n)
            for n, (chart, t) in enumerate(reached)
            if t is not None
        ]
        if not ranked:
            return told
        chart, t = reached[min(ranked)[2]]
        assert t is not None
        onset = int(chart.day[chart.channels[chart.find_leading_channel(t)].onset[t]])
        told.append((int(ratings.keys[chart.rater]), int(chart.day[t]), onset))
        left_out.peers[chart.rater] = min(left_out.peers[chart.rater], onset)
        left_out.before[chart.rater] = chart.day[t]


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10_000), raters=st.integers(3, 9), level=st.sampled_from([5.0, 20.0, 200.0])
)
def test_looking_at_some_first_raises_what_looking_at_all_does(seed, raters, level):
    drifts = [(0, 15, 0.6), (1, 20, 0.8), (2, 25, 0.9)]
    rows = stream(seed, raters=raters, days=40, a_day=10, drifts=drifts)
    found = run(rows, settings=drift.DriftSettings(alert_level=level))
    assert [(one.rater, one.day, one.onset) for one in found.alarms] == everybody_each_time(
        rows, level
    )
    assert all(chart.at_least(level) is None for chart in found.charts)


def test_both_sides_at_once_are_each_by_itself():
    rng = np.random.default_rng(4)
    n = rng.integers(5, 30, 40)
    items = [rng.normal(0.3 * (day > 20), 0.8, size) for day, size in enumerate(n)]
    days = DailySums(n, [x.sum() for x in items], [(x**2).sum() for x in items])
    prior = drift.PRIORS[drift.UP]
    rates: dict[str, Any] = {"s2": 0.6, "kappa2": 0.005, "prior": prior}
    for side, both in zip((1, -1), compute_evidence_by_side(days, (1, -1), **rates), strict=True):
        alone = drift.compute_evidence(*days, side=side, **rates)
        for name in ("total", "onset", "step"):
            assert np.array_equal(getattr(both, name), getattr(alone, name)), name
