"""Who agrees far less with everybody than the team, from the start.

A rater's level is the mean of the agreement scores (drift/comparisons.py). The bound is the median
of the other raters' levels, less 0.1 or three of their standard deviations where these are more:
by their median absolute deviation, and by the t quantile of as many raters. Raters differ, and the
lowest of many is no outlier. The evidence that the level is below the bound is the one-sided Bayes
factor of drift/evidence.py, at most 1 on average for whoever is at the bound or above, so that such
a rater is ever named with a probability of at most 1 / alarm.
"""

import numpy as np
from scipy import special

from metrics.agreement.drift import AGREEMENT, NORMAL, Drift
from metrics.agreement.drift.daily_scores import Days, variances
from metrics.agreement.drift.evidence import bayes_factor
from metrics.agreement.estimate import Floats

from .finding import RATER_APART, Found, Series

LEAST_ITEMS = 30
LEAST_OTHERS = 3
_TAIL = float(special.ndtr(-3))  # beyond three standard deviations
_MAD = 1.4826  # standard deviation of normal values over their median absolute deviation


def apart(drift: Drift) -> list[Found]:
    """One Found a rater at most, by what he did before any drift of his own."""
    material, settings = drift.material, drift.material.settings
    if not material.compared.own.size:
        return []
    days = _before_drift(drift, drift.days[AGREEMENT])
    n_raters = material.ratings.keys.size
    spread = variances(days, n_raters, AGREEMENT, settings)
    weight = 1 / (spread.s2[days.rater] / days.n + spread.kappa2[days.rater])
    items = np.bincount(days.rater, weights=days.n, minlength=n_raters)
    known = np.flatnonzero(items >= LEAST_ITEMS)
    total = np.bincount(days.rater, weights=days.total, minlength=n_raters)
    middle, limit = bound(total[known] / items[known], least=settings.apart)
    starts = np.searchsorted(days.rater, [known, known + 1])
    found = []
    for place in np.flatnonzero(np.isfinite(limit)).tolist():
        rows = slice(int(starts[0][place]), int(starts[1][place]))
        own, of_days = days.chosen(rows), weight[rows]
        omega = settings.priors[AGREEMENT].omega
        course = _course(own, of_days, float(limit[place]), omega)
        if course[-1] >= settings.alarm:
            key = int(material.ratings.keys[known[place]])
            facts = {"middle": float(middle[place]), "bound": float(limit[place])}
            found.append(_found(key, own, of_days, course, facts=facts, level=settings.alarm))
    return found


def bound(level: Floats, *, least: float) -> tuple[Floats, Floats]:
    """The middle of the others, and the level below which a rater is apart (both (R,)); minus
    infinity where the others are too few to tell."""
    size = level.size
    middle, limit = np.full(size, -np.inf), np.full(size, -np.inf)
    if size - 1 < LEAST_OTHERS:
        return middle, limit
    times = -float(special.stdtrit(size - 2, _TAIL)) * np.sqrt(1 + 1 / (size - 1))
    for place in range(size):
        others = np.delete(level, place) if size < 100 else level
        middle[place] = np.median(others)
        spread = _MAD * float(np.median(np.abs(others - middle[place])))
        limit[place] = middle[place] - max(least, times * spread)
        if size >= 100:  # one of so many moves nothing
            return np.full(size, middle[0]), np.full(size, limit[0])
    return middle, limit


def _before_drift(drift: Drift, days: Days) -> Days:
    first = np.full(drift.material.ratings.keys.size, np.iinfo(np.int64).max)
    place = {int(key): number for number, key in enumerate(drift.material.ratings.keys)}
    for alarm in drift.alarms:
        for key in alarm.raters:
            first[place[key]] = min(first[place[key]], alarm.onset)
    return days.chosen(days.day < first[days.rater])


def _course(own: Days, weight: Floats, limit: float, omega: float) -> Floats:
    """The evidence after each day (T,); 0 before there are enough items."""
    mean = np.cumsum(weight * own.total / own.n) / np.cumsum(weight)
    (evidence,) = bayes_factor(limit - mean, 1 / np.cumsum(weight), omega)
    return np.where(np.cumsum(own.n) >= LEAST_ITEMS, evidence, 0.0)


def _found(
    key: int,
    own: Days,
    weight: Floats,
    course: Floats,
    *,
    facts: dict[str, float],
    level: float,
) -> Found:
    t = int(np.argmax(course >= level))
    mean = own.total / own.n
    w = weight[: t + 1]
    at = float((w * mean[: t + 1]).sum() / w.sum())
    margin = NORMAL / float(np.sqrt(w.sum()))
    first = int(own.day[0])
    return Found(
        kind=RATER_APART,
        measure=AGREEMENT,
        raters=(key,),
        code=None,
        day=int(own.day[t]),
        onset=first,
        earliest=first,
        latest=first,
        size=at,
        low=at - margin,
        high=at + margin,
        n=int(own.n[: t + 1].sum()),
        n_before=0,
        evidence=float(course[t]),
        series=Series(own.day, own.n, mean, course),
        facts=facts,
    )
