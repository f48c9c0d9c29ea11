"""Test outlier detection: each cause gives one finding of the right kind."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from metrics.agreement import drift, outliers
from metrics.agreement.outliers import copies, detection, rater_rules
from metrics.agreement.outliers.finding import MIN_ITEMS_TO_TEST
from metrics.example import streams
from metrics.example.streams import SimulatedCheat, SimulatedDrift, StreamPlan

PLAN = StreamPlan(
    raters=8,
    days=60,
    a_day=15,
    prevalence=(0.4, 0.3, 0.2, 0.1),
    ordered=False,
    noise=0.2,
    document=2,
    uneven=0.5,
)
SINCE = 60


def detect_alerts(plan, seed=3, *, change=None, seconds=None, begins=(), alert_level=5_000.0):
    """Return (drift alerts, outlier findings) of a stream; ``change`` may change its codes."""
    stream = streams.simulate_stream(plan, seed)
    code = stream.code if change is None else change(stream, np.random.default_rng(seed))
    context = drift.DriftContext(begins)
    settings = drift.DriftSettings(alert_level=alert_level)
    columns = (stream.item, stream.rater, code, stream.date, plan.k, plan.ordered)
    drift_result = drift.detect_drift(*columns, context=context, settings=settings)
    rating_seconds = None if seconds is None else seconds(stream, np.random.default_rng(seed))
    outlier_result = outliers.detect_outliers(
        drift_result, plan.k, segment_starts=begins, seconds=rating_seconds
    )
    unexplained = [
        alert_level
        for index, alert_level in enumerate(drift_result.alerts)
        if index not in outlier_result.explained
    ]
    return unexplained, outlier_result.findings


def list_kinds(findings):
    return [(finding.kind, finding.raters) for finding in findings]


@pytest.mark.parametrize("ordered", [False, True])
def test_stream_without_problems_gives_no_finding(ordered):
    plan = replace(PLAN, ordered=ordered, noise=0.85 if ordered else 0.2, days=120)
    drift_alerts, findings = detect_alerts(
        plan, seconds=lambda stream, rng: rng.lognormal(3, 0.5, stream.item.size)
    )
    assert not drift_alerts
    assert list_kinds(findings) == []


def test_constant_rater_gets_exactly_one_finding():
    plan = replace(PLAN, cheats=(SimulatedCheat(2, "constant"),))
    drift_alerts, findings = detect_alerts(plan)
    assert not drift_alerts
    assert list_kinds(findings) == [(outliers.RATER_SAME_ANSWER, (2,))]
    (finding,) = findings
    assert (finding.code, finding.size) == (0, 0.0)
    assert finding.low == 0 < finding.high < 0.2
    assert finding.facts["share"] == 1
    assert finding.facts["others"] > 0.6
    assert finding.n >= MIN_ITEMS_TO_TEST
    assert finding.onset == finding.series.day[0] <= finding.day <= finding.series.day[-1]


def test_constant_answers_that_match_the_items_give_no_finding():
    def set_none(stream, _rng):
        is_item_of_rater = np.isin(stream.item, stream.item[stream.rater == 2])
        return np.where(is_item_of_rater, 0, stream.code)

    assert list_kinds(detect_alerts(PLAN, change=set_none)[1]) == []


def test_rater_who_guesses_from_the_start_is_an_outlier():
    plan = replace(PLAN, cheats=(SimulatedCheat(5, "guess"),))
    drift_alerts, findings = detect_alerts(plan)
    assert not drift_alerts
    assert list_kinds(findings) == [(outliers.RATER_DISAGREES, (5,))]
    (finding,) = findings
    assert (
        finding.low
        <= finding.size
        <= finding.high
        < finding.facts["bound"]
        < finding.facts["middle"]
    )


def test_bad_newcomer_is_below_the_team():
    def change(stream, rng):
        is_guess = (stream.rater == 6) & (rng.random(stream.code.size) < 0.6)
        return np.where(is_guess, rng.integers(PLAN.k, size=is_guess.size), stream.code)

    plan = replace(PLAN, days=60, a_day=20)
    stream = streams.simulate_stream(plan, 3)
    code = change(stream, np.random.default_rng(3))
    is_present = (stream.rater != 6) | (stream.day >= 30)
    item, rater, day = (c[is_present] for c in (stream.item, stream.rater, stream.date))
    drift_result = drift.detect_drift(item, rater, code[is_present], day, plan.k, plan.ordered)
    (finding,) = outliers.detect_outliers(drift_result, plan.k).findings
    assert (finding.kind, finding.raters) == (outliers.NEWCOMER_BELOW_TEAM, (6,))
    assert finding.low < finding.size < finding.facts["bound"] < finding.facts["middle"]
    assert 30 <= finding.n < detection.MAX_NEWCOMER_ITEMS + 25
    assert finding.evidence >= detection.EVIDENCE_LEVEL
    # An ordinary newcomer is not named, and whoever was there from the start is no newcomer.
    drift_result = drift.detect_drift(
        item, rater, stream.code[is_present], day, plan.k, plan.ordered
    )
    assert outliers.detect_outliers(drift_result, plan.k).findings == []
    everybody = drift.detect_drift(
        stream.item, stream.rater, code, stream.date, plan.k, plan.ordered
    )
    assert detection.find_newcomers_below_team(everybody) == []


def test_copies_are_found_and_two_good_raters_are_not():
    def copy(stream, rng):
        original = np.full(stream.item.max() + 1, -1)
        original[stream.item[stream.rater == 1]] = stream.code[stream.rater == 1]
        copied = (
            (stream.rater == 4)
            & (original[stream.item] >= 0)
            & (rng.random(stream.item.size) < 0.8)
        )
        return np.where(copied, original[stream.item], stream.code)

    def be_right(stream, _rng):
        is_expert = np.isin(stream.rater, (1, 4))
        return np.where(is_expert, stream.gold[stream.item], stream.code)

    (finding,) = detect_alerts(LONG, change=copy)[1]
    assert (finding.kind, finding.raters) == (outliers.RATER_COPIES, (1, 4))
    assert finding.facts["together"] == pytest.approx(finding.facts["expected"] + finding.size)
    assert 0.1 < finding.low < finding.size < finding.high
    assert finding.n >= MIN_ITEMS_TO_TEST
    with_truth = replace(LONG, noise=0.3, gold=1.0)
    assert list_kinds(detect_alerts(with_truth, change=be_right)[1]) == []
    assert list_kinds(detect_alerts(LONG)[1]) == []


def simulate_teams(teams, error, copies_of=None, seed=5):
    """Return rows (item, rater, code, day) of one item per team; ``error``: by size of the team.

    copies_of: (rater, other): the rater copies 9 of 10 answers of the other.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for item, team in enumerate(teams):
        truth = int(rng.integers(2))
        wrong = rng.random(len(team)) < error[len(team)]
        codes = dict(zip(team, np.where(wrong, 1 - truth, truth).tolist(), strict=True))
        if copies_of and set(copies_of) <= set(team) and rng.random() < 0.9:
            codes[copies_of[0]] = codes[copies_of[1]]
        rows += [(item, rater, code, 19_000 + item // 10) for rater, code in codes.items()]
    return np.array(rows, np.int64).T


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda code, rater: np.where(rater == 3, 4 - code, code), {3}),  # the scale reversed
        (lambda code, rater: np.where(rater >= 2, 4 * (rater == 3), code), {2, 3}),  # constant
        (lambda code, _rater: code, set()),
    ],
)
def test_raters_beside_one_who_answers_nonsense_are_no_copies(change, expected):
    """They agree far more with each other than with that one, who alone is named."""
    rng = np.random.default_rng(99)
    item, rater = (index.ravel() for index in np.indices((100, 4)))
    noise = rng.choice([0, 0, 0, -1, 1], item.size)
    code = change((rng.integers(0, 5, 100)[item] + noise).clip(0, 4), rater)
    named = detection.detect_alerted_raters(
        item, rater, code, 19_000 + item // 50, categories=5, ordered=True
    )
    assert named == expected


def test_raters_who_nearly_always_give_one_answer_are_no_copies():
    """They agree in 83% of all items, and by their habits alone."""
    rng = np.random.default_rng(41)
    item, rater = (index.ravel() for index in np.indices((1_500, 6)))
    truth = rng.integers(0, 4, 1_500)
    code = np.where(rng.random(item.size) < 0.7, truth[item], rng.integers(0, 4, item.size))
    has_habit = (rater < 2) & (rng.random(item.size) < 0.91)
    code = np.where(has_habit, 0, code)
    for ordered in (False, True):
        result = drift.detect_drift(item, rater, code, 19_000 + item // 50, 4, ordered)
        assert list_kinds(copies.find_copies(result)) == []


def test_two_raters_of_easy_items_are_no_copies():
    """Only hard items have many ratings; the two who rate the easy ones agree on them."""
    teams = [tuple(range(8))] * 120 + [(0, 1)] * 480
    item, rater, code, day = simulate_teams(teams, {2: 0.03, 8: 0.5})
    result = drift.detect_drift(item, rater, code, day, 2, False)
    assert list_kinds(copies.find_copies(result)) == []


def test_copies_are_found_where_each_item_has_two_ratings():
    pairs = list(itertools.combinations(range(8), 2))
    for copies_of, expected in (((1, 0), [(outliers.RATER_COPIES, (0, 1))]), (None, [])):
        item, rater, code, day = simulate_teams(pairs * 200, {2: 0.2}, copies_of)
        result = drift.detect_drift(item, rater, code, day, 2, False)
        assert list_kinds(copies.find_copies(result)) == expected


def test_expected_agreement_of_a_pair_is_the_product_of_two_levels():
    levels = np.array([0.95, 0.8, 0.7, 0.9, 0.5])
    first, second = np.triu_indices(5, 1)
    mean = levels[first] * levels[second]
    n = np.arange(40, 50)
    expected = copies.fit_expected_agreement(first, second, n, mean, 5)
    assert expected == pytest.approx(mean, abs=1e-3)
    mean[0] = 1.0  # the pair itself has only a small part in its expected value, by the others
    assert copies.fit_expected_agreement(first, second, n, mean, 5)[0] == pytest.approx(
        0.76, abs=0.07
    )


def test_few_ratings_give_no_finding():
    plan = replace(PLAN, days=1, a_day=MIN_ITEMS_TO_TEST - 4, missing=0.0, document=4)
    cheats = (SimulatedCheat(2, "constant"), SimulatedCheat(5, "guess"))
    _drift_alerts, findings = detect_alerts(replace(plan, cheats=cheats))
    assert list_kinds(findings) == []


def test_outlier_bound_follows_the_spread_of_raters():
    level = np.array([0.6, 0.62, 0.58, 0.61, 0.1])
    middle, limit = rater_rules.compute_medians_and_lower_bounds(level, least=0.1)
    assert middle[4] == pytest.approx(0.605)
    assert level[4] < limit[4] < 0.505
    assert (level[:4] > limit[:4]).all()
    assert np.isneginf(rater_rules.compute_medians_and_lower_bounds(level[:3], least=0.1)[1]).all()
    many_levels = np.random.default_rng(0).normal(0.5, 0.1, 400)
    assert rater_rules.compute_medians_and_lower_bounds(many_levels, least=0.1)[1][
        0
    ] == pytest.approx(0.2, abs=0.06)


def test_rater_far_faster_on_the_same_items_gets_a_finding():
    def simulate_seconds(stream, rng):
        item_seconds = rng.lognormal(3, 1, stream.item.max() + 1)[stream.item]
        return (
            item_seconds
            * rng.lognormal(0, 0.4, item_seconds.size)
            * np.where(stream.rater == 4, 0.1, 1)
        )

    findings = detect_alerts(PLAN, seconds=simulate_seconds)[1]
    assert list_kinds(findings) == [(outliers.RATER_TOO_FAST, (4,))]
    (finding,) = findings
    assert finding.facts["seconds"] < finding.facts["usual"] / 4
    assert finding.high < 0.5

    def simulate_short_items(stream, rng):
        """Give rater 4 the short items, on which every rater is fast."""
        is_item_of_rater = np.isin(stream.item, stream.item[stream.rater == 4])
        return rng.lognormal(3, 0.4, stream.item.size) * np.where(is_item_of_rater, 0.1, 1)

    assert list_kinds(detect_alerts(PLAN, seconds=simulate_short_items)[1]) == []
    without_seconds = detect_alerts(
        PLAN, seconds=lambda stream, rng: np.full(stream.item.size, -1.0)
    )
    assert list_kinds(without_seconds[1]) == []


def test_drift_of_one_rater_gives_no_finding_for_others():
    drifts = (SimulatedDrift(3, "kappa", 0.5, 30),)
    drift_alerts, findings = detect_alerts(replace(PLAN, drifts=drifts, days=100))
    assert [alarm.rater for alarm in drift_alerts] == [3]
    assert list_kinds(findings) == []


def replace_by_guesses(stream, rng, *, selected, since=SINCE):
    """Replace half of the selected codes by guesses from a day on."""
    replaced = selected & (stream.day >= since) & (rng.random(stream.code.size) < 0.5)
    return np.where(replaced, rng.integers(PLAN.k, size=replaced.size), stream.code)


LONG = replace(PLAN, days=120, a_day=20)


def test_fall_of_a_question_gives_one_finding():
    def confuse_everybody(stream, rng):
        return replace_by_guesses(stream, rng, selected=np.ones(stream.code.size, bool))

    drift_alerts, findings = detect_alerts(LONG, change=confuse_everybody)
    assert list_kinds(findings) == [(outliers.QUESTION_AGREEMENT_FELL, ())]
    (finding,) = findings
    assert finding.low <= finding.size <= finding.high < 0
    assert abs(finding.onset - int(streams.convert_working_days(SINCE))) <= 7
    assert finding.earliest <= finding.onset <= finding.latest <= finding.day
    assert finding.facts["is"] < finding.facts["was"]
    assert not [alarm for alarm in drift_alerts if alarm.onset <= finding.day]
    # New guidelines on that day start a new segment.
    assert (
        list_kinds(
            detect_alerts(
                LONG, change=confuse_everybody, begins=[int(streams.convert_working_days(SINCE))]
            )[1]
        )
        == []
    )


def test_decline_from_the_first_week_on_gives_a_finding():
    """Its best onset is too early to be told from a single odd week, but later ones are not."""

    def confuse_more_and_more(stream, rng):
        is_guess = rng.random(stream.code.size) < 0.7 * stream.day / LONG.days
        return np.where(is_guess, rng.integers(PLAN.k, size=is_guess.size), stream.code)

    _drift_alerts, findings = detect_alerts(LONG, change=confuse_more_and_more)
    assert set(list_kinds(findings)) == {(outliers.QUESTION_AGREEMENT_FELL, ())}


def test_diverging_pair_gives_a_finding():
    plan = replace(LONG, per_item=2, raters=6)

    def confuse_shared_items(stream, rng):
        rated_by = [np.isin(stream.item, stream.item[stream.rater == rater]) for rater in (1, 2)]
        return replace_by_guesses(stream, rng, selected=rated_by[0] & rated_by[1])

    _drift_alerts, findings = detect_alerts(plan, 4, change=confuse_shared_items)
    assert list_kinds(findings) == [(outliers.PAIR_DIVERGED, (1, 2))]


def simulate_hard_items_of_two_raters(seed):
    """Return columns: from day 36 on raters 0 and 1 rate all hard items, with a changing third."""
    rng = np.random.default_rng(seed)
    day = np.sort(rng.integers(0, 72, 3_120))
    raters = rng.permuted(np.tile(np.arange(10), (day.size, 1)), axis=1)[:, :3]
    others = rng.permuted(np.tile(np.arange(2, 10), (day.size, 1)), axis=1)[:, :3]
    is_hard = (day >= 36) & (rng.random(day.size) < 0.3)
    raters = np.where((day >= 36)[:, None], others, raters)
    raters[is_hard, 0], raters[is_hard, 1] = 0, 1
    truth, *guesses = (rng.choice(4, day.size, p=(0.4, 0.3, 0.2, 0.1)) for _draw in range(4))
    is_guess = rng.random((day.size, 3)) < np.where(is_hard, 0.6, 0.2)[:, None]
    code = np.where(is_guess, np.stack(guesses, 1), truth[:, None])
    dates = np.repeat(streams.convert_working_days(day), 3)
    return np.repeat(np.arange(day.size), 3), raters.ravel(), code.ravel(), dates


@pytest.mark.parametrize("seed", [32, 50])
def test_no_pair_is_named_for_the_hard_items_of_two_raters(seed):
    """Of 45 pairs, one fell by chance beyond the others with these items."""
    item, rater, code, day = simulate_hard_items_of_two_raters(seed)
    drift_result = drift.detect_drift(item, rater, code, day, 4, False)
    outlier_result = outliers.detect_outliers(drift_result, 4)
    assert outliers.get_alerted_raters(drift_result, outlier_result) == set()


def test_category_no_longer_used_gives_a_finding():
    def drop_category(stream, _rng):
        return np.where((stream.code == 2) & (stream.day >= SINCE), 1, stream.code)

    drift_alerts, findings = detect_alerts(LONG, 4, change=drop_category)
    assert list_kinds(findings) == [(outliers.CATEGORY_COLLAPSED, ())]
    assert (findings[0].code, findings[0].measure) == (2, "category_share")
    assert not drift_alerts


def detect_with_category_change(seed, *, error, shares, blur=0.0):
    """Return the findings on categories whose shares change, the first blurred with the second.

    Eight raters, 40 items a day, three ratings an item; an error is an answer by prevalence.
    """
    rng = np.random.default_rng(seed)
    day = np.sort(rng.integers(0, 120, 4_800))
    is_since = (day >= SINCE).astype(int)
    truth, *random_codes = (
        np.where(
            is_since, rng.choice(4, day.size, p=shares[1]), rng.choice(4, day.size, p=shares[0])
        )
        for _draw in range(4)
    )
    raters = rng.permuted(np.tile(np.arange(8), (day.size, 1)), axis=1)[:, :3]
    code = np.where(rng.random((day.size, 3)) < error, np.stack(random_codes, 1), truth[:, None])
    is_moved = (rng.random(code.shape) < blur) & (code == 0) & (is_since[:, None] == 1)
    code[is_moved] = 1
    item = np.repeat(np.arange(day.size), 3)
    columns = (
        item,
        raters.ravel(),
        code.ravel(),
        np.repeat(streams.convert_working_days(day), 3),
        4,
        False,
    )
    findings = outliers.detect_outliers(drift.detect_drift(*columns), 4).findings
    return [finding for finding in findings if finding.kind == outliers.CATEGORY_COLLAPSED]


def test_category_that_becomes_rare_is_not_used_less_consistently():
    """Others give it half as often, though everybody errs as before."""
    rare = ((0.5, 0.25, 0.15, 0.1), (0.07, 0.45, 0.29, 0.19))
    for seed in range(4):
        assert detect_with_category_change(seed, error=0.55, shares=rare) == []
        shares = ((0.4, 0.3, 0.2, 0.1), (0.12, 0.45, 0.28, 0.15))
        (finding,) = detect_with_category_change(seed, error=0.25, shares=shares, blur=0.6)
        assert (finding.code, finding.measure) == (0, "agreement")
        assert finding.facts["is"] < finding.facts["was"] / 2


def test_rater_at_the_bound_is_rarely_named():
    """Check Ville's inequality by simulation: at most 2 in 100 reach evidence 50 at any time."""
    rng = np.random.default_rng(1)
    trials, day = 500, np.repeat(np.arange(100), 5)
    n_named = 0
    for _ in range(trials):
        has_habit = rng.random(day.size) < 0.3
        _days, day_index = np.unique(day, return_inverse=True)
        n_answers = np.cumsum(np.bincount(day_index))
        n_with_habit = np.cumsum(np.bincount(day_index, weights=has_habit))
        evidence_path = rater_rules.compute_evidence_from_counts(
            n_with_habit, n_answers - n_with_habit, 0.3
        )
        n_named += bool((evidence_path >= 50).any())
    assert n_named / trials <= 0.02
