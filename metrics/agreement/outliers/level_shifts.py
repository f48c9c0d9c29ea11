"""What moved that is no single rater: the question's agreement, a pair's, a category's, or how
often a category is used.

The evidence is that of a rater's drift (drift/evidence.py), over weeks instead of days: without a
move it grows by at most 1 a week. Ringing at alarm / 5 weeks, a question's agreement rings falsely
at most once in `alarm` working days. Each of n pairs, and each of the categories in either measure,
needs n times as much: so all of them together ring no more often.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from metrics.agreement.counts.grouping import Ints, compact
from metrics.agreement.drift import (
    AGREEMENT,
    Drift,
    Evidence,
    Extent,
    Prior,
    Settings,
    evidence,
    shift_estimates,
)
from metrics.agreement.drift.comparisons import effects
from metrics.agreement.drift.daily_scores import Days, by_day, variances
from metrics.agreement.drift.evidence import Sums
from metrics.agreement.estimate import Floats

from .finding import CATEGORY_COLLAPSED, PAIR_DIVERGED, QUESTION_FELL, USE, Found, Series

WEEK = 7
_MONDAY = 3  # 1970-01-01 was a Thursday
WORKED = 5  # days of a week
_WANDER = 2.0  # successive weeks are alike: times the variance that their differences show
# Weeks before the onset, and from it on: one odd week moves nothing.
LEAST_BEFORE, LEAST_SINCE = 4, 2
COLLAPSED = 0.5  # of its agreement, or
UNUSED = 0.9  # of its use, is what a category has lost at least


@dataclass(frozen=True)
class Scored:
    """Scores of items or comparisons, each of a group and a day; all (N,)."""

    group: Ints
    day: Ints
    score: Floats


@dataclass(frozen=True)
class Move:
    """A fall of one group: place t of the week that made it enough."""

    group: int
    series: Series
    found: Evidence
    t: int
    extent: Extent

    @property
    def onset(self) -> int:
        return int(self.found.onset[self.t])

    def mean(self, rows: slice) -> float:
        n = self.series.n[rows]
        return float((self.series.mean[rows] * n).sum() / n.sum())

    @property
    def before(self) -> float:
        return self.mean(slice(0, self.onset))

    @property
    def since(self) -> float:
        return self.mean(slice(self.onset, self.t + 1))


def question(drift: Drift, begins: list[int], *, with_drifters: bool = False) -> list[Found]:
    """The agreement of all with each other, with the raters' own levels taken out."""
    kept, r = _residuals(drift, with_drifters=with_drifters)
    item, place = compact(drift.material.ratings.item[drift.material.compared.own[kept]])
    score = np.bincount(place, weights=r) / np.bincount(place)
    scored = Scored(np.zeros(item.size, np.int64), _last_day(drift, kept, place), score)
    prior = drift.material.settings.priors[AGREEMENT]
    moves = _moves(scored, 1, prior=prior, settings=drift.material.settings, begins=begins)
    return [_found(QUESTION_FELL, AGREEMENT, (), move) for move in moves]


def pairs(drift: Drift, begins: list[int]) -> list[Found]:
    """The agreement of two raters with each other, with their own levels taken out."""
    kept, r = _residuals(drift)
    compared, ratings = drift.material.compared, drift.material.ratings
    once = compared.g[kept] < compared.h[kept]
    kept, r = kept[once], r[once]
    met, group = compact(compared.g[kept] * ratings.keys.size + compared.h[kept])
    prior = drift.material.settings.priors[AGREEMENT]
    enough = np.bincount(group, minlength=met.size) >= prior.least_before + prior.least_since
    rows = enough[group]
    scored = Scored((np.cumsum(enough) - 1)[group[rows]], _days(drift, kept[rows]), r[rows])
    met = met[enough]
    found = []
    settings = drift.material.settings
    for move in _moves(scored, met.size, prior=prior, settings=settings, begins=begins):
        g, h = divmod(int(met[move.group]), ratings.keys.size)
        raters = int(ratings.keys[g]), int(ratings.keys[h])
        found.append(_found(PAIR_DIVERGED, AGREEMENT, raters, move))
    return found


def categories(drift: Drift, begins: list[int], k: int) -> list[Found]:
    """How often others say a category, too, where one rater says it; and how often it is said at
    all."""
    settings, ratings = drift.material.settings, drift.material.ratings
    kept = np.flatnonzero(~drift.out[drift.material.compared.own])
    kept = kept[~drift.out[drift.material.compared.other[kept]]]
    own = ratings.code[drift.material.compared.own[kept]]
    other = ratings.code[drift.material.compared.other[kept]]
    found = []
    for code in range(k):
        said = kept[own == code]
        if not said.size:
            continue
        item, place = compact(ratings.item[drift.material.compared.own[said]])
        score = np.bincount(place, weights=other[own == code] == code) / np.bincount(place)
        day = _last_day(drift, said, place)
        scored = Scored(np.zeros(item.size, np.int64), day, score)
        prior = settings.priors[AGREEMENT]
        moves = _moves(scored, 1, prior=prior, settings=settings, begins=begins, times=2 * k)
        for move in moves:
            if move.since < (1 - COLLAPSED) * move.before:
                found.append(_found(CATEGORY_COLLAPSED, AGREEMENT, (), move, code=code))
        found += _unused(drift, begins, code, k)
    return found


def _unused(drift: Drift, begins: list[int], code: int, k: int) -> list[Found]:
    ratings = drift.material.ratings
    rows = np.flatnonzero(~drift.out)
    item, place = compact(ratings.item[rows])
    if not item.size:
        return []
    score = np.bincount(place, weights=ratings.code[rows] == code) / np.bincount(place)
    day = np.full(item.size, np.iinfo(np.int64).min)
    np.maximum.at(day, place, ratings.day[rows])
    share = float(score.mean())
    prior = replace(drift.material.settings.priors[AGREEMENT], omega=share, tolerance=share / 4)
    settings = replace(
        drift.material.settings, wobble={AGREEMENT: share / 4}, floor={AGREEMENT: share / 4}
    )
    scored = Scored(np.zeros(item.size, np.int64), day, score)
    moves = _moves(scored, 1, prior=prior, settings=settings, begins=begins, times=2 * k)
    return [
        _found(CATEGORY_COLLAPSED, USE, (), move, code=code)
        for move in moves
        if move.since < (1 - UNUSED) * move.before
    ]


def _residuals(drift: Drift, *, with_drifters: bool = False) -> tuple[Ints, Floats]:
    """Places of the comparisons, as a rule without what drifters said since, and what is left of
    their agreement without the raters' levels."""
    compared, ratings = drift.material.compared, drift.material.ratings
    d = drift.material.d[AGREEMENT]
    out = drift.out & (not with_drifters)
    kept = np.flatnonzero(~out[compared.own] & ~out[compared.other])
    kept = kept[ratings.dated[compared.own[kept]] & ratings.dated[compared.other[kept]]]
    g, h = compared.g[kept], compared.h[kept]
    ridge = drift.material.settings.ridge
    found = effects(AGREEMENT, d[kept], g, h, n_raters=ratings.keys.size, ridge=ridge)
    return kept, found.residuals(d[kept], g, h)


def _days(drift: Drift, kept: Ints) -> Ints:
    """The days of comparisons: when both had rated."""
    day, compared = drift.material.ratings.day, drift.material.compared
    return np.maximum(day[compared.own[kept]], day[compared.other[kept]])


def _last_day(drift: Drift, kept: Ints, place: Ints) -> Ints:
    """The last day of each item; place (N,): the item of each comparison."""
    last = np.full(int(place.max(initial=-1)) + 1, np.iinfo(np.int64).min)
    np.maximum.at(last, place, _days(drift, kept))
    return last


def _moves(
    scored: Scored,
    groups: int,
    *,
    prior: Prior,
    settings: Settings,
    begins: list[int],
    times: int = 0,
) -> list[Move]:
    """The falls of all groups, each with so many times the evidence of one (`times` 0: as many as
    there are groups)."""
    level = settings.alarm / WORKED * max(1, times or groups)
    # Other guidelines begin anew: a group of its own.
    edges = np.array(sorted(begins), np.int64)
    part = np.searchsorted(edges, scored.day, side="right")
    group = scored.group * (edges.size + 1) + part
    weeks = by_day(group, (scored.day + _MONDAY) // WEEK, scored.score)
    spread = variances(weeks, groups * (edges.size + 1), AGREEMENT, settings)
    ends = np.flatnonzero(np.diff(weeks.rater, prepend=-1, append=-1))
    found = []
    for start, end in pairwise(ends.tolist()):
        one = int(weeks.rater[start])
        s2, kappa2 = float(spread.s2[one]), _WANDER * float(spread.kappa2[one])
        rest = weeks.chosen(slice(start, end))
        while (move := _first(rest, level, s2=s2, kappa2=kappa2, prior=prior)) is not None:
            found.append(replace(move, group=one // (edges.size + 1)))
            rest = rest.chosen(slice(move.t + 1, None))
    return found


def _first(weeks: Days, level: float, *, s2: float, kappa2: float, prior: Prior) -> Move | None:
    if weeks.n.size < LEAST_BEFORE + LEAST_SINCE:
        return None
    found = evidence(
        weeks.n, weeks.total, weeks.squares, s2=s2, kappa2=kappa2, side=-1, prior=prior
    )
    week = np.arange(weeks.n.size)
    lasts = (found.onset >= LEAST_BEFORE) & (week - found.onset + 1 >= LEAST_SINCE)
    reached = np.flatnonzero((found.total >= level) & lasts)
    if not reached.size:
        return None
    t = int(reached[0])
    until = weeks.chosen(slice(t + 1))
    shift = shift_estimates(
        Sums(until.n, until.total, until.squares),
        int(found.onset[t]),
        s2=s2,
        kappa2=kappa2,
        side=-1,
        prior=prior,
    )
    series = Series(weeks.day * WEEK - _MONDAY, weeks.n, weeks.total / weeks.n, found.total)
    return Move(0, series, found, t, shift)


def _found(
    kind: str, measure: str, raters: tuple[int, ...], move: Move, *, code: int | None = None
) -> Found:
    series, found, t = move.series, move.found, move.t
    return Found(
        kind=kind,
        measure=measure,
        raters=raters,
        code=code,
        day=int(series.day[t]) + WEEK - 1,
        onset=int(series.day[move.onset]),
        earliest=int(series.day[move.extent.earliest]),
        latest=int(series.day[move.extent.latest]) + WEEK - 1,
        size=float(found.step[t]),
        low=move.extent.low,
        high=move.extent.high,
        n=int(series.n[move.onset : t + 1].sum()),
        n_before=int(series.n[: move.onset].sum()),
        evidence=float(found.total[t]),
        series=series,
        facts={"was": move.before, "is": move.since},
    )
