"""Who answers without looking: always the same, or far faster than anybody else.

Both count how often something was not done that an honest rater does, against a probability: the
mean likelihood ratio over all smaller probabilities (gold.evidence_of), an e-process whatever the
order of answers. Whoever does it at least so often is ever named with a probability of at most
1 / alarm.
"""

import numpy as np
import numpy.typing as npt

from metrics.agreement.counts.grouping import Ints
from metrics.agreement.drift import Drift
from metrics.agreement.drift.comparisons import Comparisons, Ratings
from metrics.agreement.estimate import wilson
from metrics.agreement.rater_quality.gold import evidence_of

from .disagreement import bound
from .finding import RATER_FAST, RATER_SAME, Found, Series

LEAST_ITEMS = 30
_SELDOM = 0.25  # of how often the others leave the category
_QUARTER = float(np.log(4))  # of the time of the others
_HALF = 0.5


def same(drift: Drift) -> list[Found]:
    """Who keeps to one category where most others say something else.

    Asked: own ratings of items of which more than half of the other ratings are not the rater's
    most used category. Counted: those in which the rater left it, too; against a quarter of how
    often all other raters leave that category when they are asked so.
    """
    ratings, compared, alarm = _kept(drift)
    size, n_raters = ratings.item.size, ratings.keys.size
    k = int(ratings.code.max(initial=0)) + 1
    others = np.bincount(compared.own, minlength=size)
    # (k, M): of each rating, how many of the others say each category.
    said = [
        np.bincount(compared.own, weights=ratings.code[compared.other] == code, minlength=size)
        for code in range(k)
    ]
    asked = np.array([(others > 0) & (2 * (others - agree) > others) for agree in said])
    used = np.zeros((n_raters, k))
    scored = others > 0
    np.add.at(used, (ratings.rater[scored], ratings.code[scored]), 1)
    top = used.argmax(axis=1)
    found = []
    for code in range(k):
        left = asked[code] & (ratings.code != code)
        n_asked = np.bincount(ratings.rater[asked[code]], minlength=n_raters)
        n_left = np.bincount(ratings.rater[left], minlength=n_raters)
        rest, others_left = n_asked.sum() - n_asked, n_left.sum() - n_left
        for rater in np.flatnonzero((top == code) & (n_asked >= LEAST_ITEMS) & (rest > 0)):
            p0 = _SELDOM * others_left[rater] / rest[rater]
            if (
                not 0 < p0 < 1
                or evidence_of(n_left[rater], n_asked[rater] - n_left[rater], p0) < alarm * k
            ):
                continue
            own = np.flatnonzero(asked[code] & (ratings.rater == rater))
            one = _counted(ratings.day[own], left[own], p0, alarm * k)
            if one is not None:
                facts = {
                    "share": float(used[rater, code] / used[rater].sum()),
                    "others": float(others_left[rater] / rest[rater]),
                }
                key = int(ratings.keys[rater])
                found.append(_found(RATER_SAME, "answers", key, one, facts=facts, code=code))
    return found


def fast(drift: Drift, seconds: npt.ArrayLike) -> list[Found]:
    """Who needs a small part of the time that others need for the same items.

    seconds (N,): of the ratings as they were given to drift.alarms, negative for unknown. A rating
    is hasty that took less than a quarter of the mean (of logarithms) of the others, or less than
    raters so different as these reach (apart.bound). Counted: ratings that are not, against half of
    them.
    """
    ratings, compared, alarm = _kept(drift)
    taken = np.asarray(seconds, float)[ratings.row]
    timed = taken >= 0
    both = timed[compared.own] & timed[compared.other]
    own, other = compared.own[both], compared.other[both]
    if not own.size:
        return []
    log = np.log(np.maximum(taken, 0.1))
    size, n_raters = ratings.item.size, ratings.keys.size
    number = np.bincount(own, minlength=size)
    usual = np.bincount(own, weights=log[other], minlength=size) / np.maximum(number, 1)
    pace = log - usual
    rows = np.flatnonzero(number > 0)
    n = np.bincount(ratings.rater[rows], minlength=n_raters)
    known = np.flatnonzero(n >= LEAST_ITEMS)
    rows = rows[np.lexsort((ratings.day[rows], ratings.rater[rows]))]
    starts = np.searchsorted(ratings.rater[rows], known)
    parts = [rows[start : start + n[rater]] for start, rater in zip(starts, known, strict=True)]
    level = np.array([float(np.median(pace[part])) for part in parts])
    _middle, limit = bound(level, least=_QUARTER)
    found = []
    for place, part in enumerate(parts):
        if not np.isfinite(limit[place]) or level[place] >= limit[place]:
            continue
        one = _counted(ratings.day[part], pace[part] >= limit[place], _HALF, alarm)
        if one is not None:
            facts = {
                "seconds": float(np.median(taken[part])),
                "usual": float(np.median(np.exp(usual[part]))),
                "times": float(np.exp(-limit[place])),
            }
            key = int(ratings.keys[known[place]])
            found.append(_found(RATER_FAST, "pace", key, one, facts=facts))
    return found


def _counted(
    day: Ints, done: npt.NDArray[np.bool_], p0: float, alarm: float
) -> tuple[Series, int, int, int] | None:
    """Day by day how often it was done, with the evidence against doing it with p0; the place of
    the day on which that is enough, and until then how often it was asked and done. None where it
    never is, or is not any more."""
    days, place = np.unique(day, return_inverse=True)
    n = np.bincount(place, minlength=days.size)
    right = np.bincount(place, weights=done, minlength=days.size)
    asked, kept = np.cumsum(n), np.cumsum(right)
    course = np.where(asked >= LEAST_ITEMS, evidence_of(kept, asked - kept, p0), 0.0)
    reached = np.flatnonzero(course >= alarm)
    if not reached.size or course[-1] < alarm:
        return None
    t = int(reached[0])
    return Series(days, n, right / n, course), t, int(asked[t]), int(kept[t])


def _found(
    kind: str,
    measure: str,
    rater: int,
    counted: tuple[Series, int, int, int],
    *,
    facts: dict[str, float],
    code: int | None = None,
) -> Found:
    series, t, asked, kept = counted
    low, high = wilson(kept, asked)
    first = int(series.day[0])
    return Found(
        kind=kind,
        measure=measure,
        raters=(rater,),
        code=code,
        day=int(series.day[t]),
        onset=first,
        earliest=first,
        latest=first,
        size=kept / asked,
        low=low,
        high=high,
        n=asked,
        n_before=0,
        evidence=float(series.evidence[t]),
        series=series,
        facts=facts,
    )


def _kept(drift: Drift) -> tuple[Ratings, Comparisons, float]:
    """The ratings, and the comparisons without what drifters said since; and the evidence that
    rings."""
    ratings, compared = drift.material.ratings, drift.material.compared
    return (
        ratings,
        compared.chosen(~drift.out[compared.own] & ~drift.out[compared.other]),
        drift.material.settings.alarm,
    )
