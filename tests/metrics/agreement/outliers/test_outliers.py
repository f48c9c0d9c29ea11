"""What else somebody should look at: each cause rings once, and by its own name."""

from dataclasses import replace

import numpy as np
import pytest

from metrics.agreement import drift, outliers
from metrics.agreement.outliers import careless_raters, disagreement
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


def found(plan, seed=3, *, change=None, seconds=None, begins=(), alarm=5_000.0):
    """The alarms of drift and the rest, of a stream whose codes ``change`` may have changed."""
    stream = streams.simulate_stream(plan, seed)
    code = stream.code if change is None else change(stream, np.random.default_rng(seed))
    known = drift.DriftContext(begins)
    settings = drift.DriftSettings(alert_level=alarm)
    columns = (stream.item, stream.rater, code, stream.date, plan.k, plan.ordered)
    moved = drift.detect_drift(*columns, context=known, settings=settings)
    taken = None if seconds is None else seconds(stream, np.random.default_rng(seed))
    watched = outliers.detect_outliers(moved, plan.k, segment_starts=begins, seconds=taken)
    ringing = [alarm for n, alarm in enumerate(moved.alerts) if n not in watched.explained]
    return ringing, watched.findings


def told(rest):
    return [(one.kind, one.raters) for one in rest]


@pytest.mark.parametrize("ordered", [False, True])
def test_where_nothing_happens_nothing_rings(ordered):
    plan = replace(PLAN, ordered=ordered, noise=0.85 if ordered else 0.2, days=120)
    moved, rest = found(plan, seconds=lambda stream, rng: rng.lognormal(3, 0.5, stream.item.size))
    assert not moved
    assert told(rest) == []


def test_who_answers_always_the_same_is_named_for_that_alone():
    plan = replace(PLAN, cheats=(SimulatedCheat(2, "constant"),))
    moved, rest = found(plan)
    assert not moved
    assert told(rest) == [(outliers.RATER_SAME_ANSWER, (2,))]
    (one,) = rest
    assert (one.code, one.size) == (0, 0.0)
    assert one.low == 0 < one.high < 0.2
    assert one.facts["share"] == 1
    assert one.facts["others"] > 0.6
    assert one.n >= careless_raters.MIN_ITEMS
    assert one.onset == one.series.day[0] <= one.day <= one.series.day[-1]


def test_who_met_harmless_items_only_is_not_always_the_same():
    def harmless(stream, _rng):
        mine = np.isin(stream.item, stream.item[stream.rater == 2])
        return np.where(mine, 0, stream.code)

    assert told(found(PLAN, change=harmless)[1]) == []


def test_who_guesses_from_the_start_is_apart():
    plan = replace(PLAN, cheats=(SimulatedCheat(5, "guess"),))
    moved, rest = found(plan)
    assert not moved
    assert told(rest) == [(outliers.RATER_DISAGREES, (5,))]
    (one,) = rest
    assert one.low <= one.size <= one.high < one.facts["bound"] < one.facts["middle"]


def test_few_ratings_accuse_nobody():
    plan = replace(PLAN, days=1, a_day=disagreement.MIN_ITEMS - 4, missing=0.0, document=4)
    cheats = (SimulatedCheat(2, "constant"), SimulatedCheat(5, "guess"))
    _moved, rest = found(replace(plan, cheats=cheats))
    assert told(rest) == []


def test_the_bound_is_what_raters_so_different_reach():
    level = np.array([0.6, 0.62, 0.58, 0.61, 0.1])
    middle, limit = disagreement.compute_bound(level, least=0.1)
    assert middle[4] == pytest.approx(0.605)
    assert level[4] < limit[4] < 0.505
    assert (level[:4] > limit[:4]).all()
    assert np.isneginf(disagreement.compute_bound(level[:3], least=0.1)[1]).all()
    many = np.random.default_rng(0).normal(0.5, 0.1, 400)
    assert disagreement.compute_bound(many, least=0.1)[1][0] == pytest.approx(0.2, abs=0.06)


def test_who_is_far_faster_than_others_on_the_same_items():
    def seconds(stream, rng):
        hard = rng.lognormal(3, 1, stream.item.max() + 1)[stream.item]
        return hard * rng.lognormal(0, 0.4, hard.size) * np.where(stream.rater == 4, 0.1, 1)

    rest = found(PLAN, seconds=seconds)[1]
    assert told(rest) == [(outliers.RATER_TOO_FAST, (4,))]
    (one,) = rest
    assert one.facts["seconds"] < one.facts["usual"] / 4
    assert one.high < 0.5

    def short(stream, rng):
        """Rater 4 gets the short items: everybody is fast on these."""
        mine = np.isin(stream.item, stream.item[stream.rater == 4])
        return rng.lognormal(3, 0.4, stream.item.size) * np.where(mine, 0.1, 1)

    assert told(found(PLAN, seconds=short)[1]) == []
    unknown = found(PLAN, seconds=lambda stream, rng: np.full(stream.item.size, -1.0))
    assert told(unknown[1]) == []


def test_what_a_drifter_does_is_nobody_elses_alarm():
    drifts = (SimulatedDrift(3, "kappa", 0.5, 30),)
    moved, rest = found(replace(PLAN, drifts=drifts, days=100))
    assert [alarm.rater for alarm in moved] == [3]
    assert told(rest) == []


def confused(stream, rng, *, chosen, since=SINCE):
    """The codes, of which half the chosen ones are guesses from a day on."""
    later = chosen & (stream.day >= since) & (rng.random(stream.code.size) < 0.5)
    return np.where(later, rng.integers(PLAN.k, size=later.size), stream.code)


LONG = replace(PLAN, days=120, a_day=20)


def test_a_question_that_fell_rings_once():
    def everybody(stream, rng):
        return confused(stream, rng, chosen=np.ones(stream.code.size, bool))

    moved, rest = found(LONG, change=everybody)
    assert told(rest) == [(outliers.QUESTION_AGREEMENT_FELL, ())]
    (one,) = rest
    assert one.low <= one.size <= one.high < 0
    assert abs(one.onset - int(streams.compute_dates(SINCE))) <= 7
    assert one.earliest <= one.onset <= one.latest <= one.day
    assert one.facts["is"] < one.facts["was"]
    assert not [alarm for alarm in moved if alarm.onset <= one.day]
    # Other guidelines on that day begin anew.
    assert told(found(LONG, change=everybody, begins=[int(streams.compute_dates(SINCE))])[1]) == []


def test_a_pair_that_diverged():
    plan = replace(LONG, per_item=2, raters=6)

    def apart_from_each_other(stream, rng):
        both = [np.isin(stream.item, stream.item[stream.rater == rater]) for rater in (1, 2)]
        return confused(stream, rng, chosen=both[0] & both[1])

    _moved, rest = found(plan, 4, change=apart_from_each_other)
    assert told(rest) == [(outliers.PAIR_DIVERGED, (1, 2))]


def test_a_category_that_nobody_uses_any_more():
    def gone(stream, _rng):
        return np.where((stream.code == 2) & (stream.day >= SINCE), 1, stream.code)

    moved, rest = found(LONG, 4, change=gone)
    assert told(rest) == [(outliers.CATEGORY_COLLAPSED, ())]
    assert (rest[0].code, rest[0].measure) == (2, "use")
    assert not moved


def test_whoever_is_at_the_bound_is_hardly_ever_named():
    """Ville's inequality, by trial: 2 in 100 at an evidence of 50, whenever one looks."""
    rng = np.random.default_rng(1)
    trials, day = 500, np.repeat(np.arange(100), 5)
    named = 0
    for _ in range(trials):
        done = rng.random(day.size) < 0.3
        _days, place = np.unique(day, return_inverse=True)
        asked = np.cumsum(np.bincount(place))
        kept = np.cumsum(np.bincount(place, weights=done))
        course = careless_raters.compute_evidence_from_counts(kept, asked - kept, 0.3)
        named += bool((course >= 50).any())
    assert named / trials <= 0.02
