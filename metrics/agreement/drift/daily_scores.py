"""The scores of ratings as sums of a rater's days, and what a day is worth.

A week that is hard for everybody is taken out of the agreement of each, by a shrunken mean of the
residuals of all others. Variances are pooled over raters, and shrunk towards the pool for each.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metrics.agreement.counts.grouping import Ints, compact, rank_rows
from metrics.agreement.estimate import Floats

from .comparisons import Bools, Comparisons, Effects, Ratings
from .settings import Settings

# Scores are sums of integers of this unit, so that they add up to the same in any order.
UNIT = 1e-6
_LEAST_ITEMS = 3  # of a day that tells how much days wobble
_LEAST_WEEKS = 3
_LEAST_RATINGS = 5  # N_w / 2m of a week that tells how much weeks differ
_LIKE_WEEKS = 5  # differences of 0 that are added


@dataclass(frozen=True)
class Days:
    """Sums of raters' active days, in the order of raters and days; all (D,).

    rater, day; n: compared items; total, squares: sum of their scores, and of the squares
    """

    rater: Ints
    day: Ints
    n: Ints
    total: Floats
    squares: Floats

    def chosen(self, rows: Bools | slice) -> "Days":
        """The days of some rows."""
        return Days(
            self.rater[rows], self.day[rows], self.n[rows], self.total[rows], self.squares[rows]
        )


@dataclass(frozen=True)
class Variances:
    """Of each rater (R,): s2 of an item about its day, kappa2 of the days about their level."""

    s2: Floats
    kappa2: Floats


def scores(ratings: Ratings, compared: Comparisons, d: Floats, found: Effects) -> Floats:
    """x (M,) of each rating, NaN where nothing is compared with it; d (C,)."""
    size = ratings.item.size
    number = np.bincount(compared.own, minlength=size)
    left = found.without_peers(d, compared.h)
    with np.errstate(invalid="ignore"):
        return _sums(compared.own, left, size) / number


def common_weeks(ratings: Ratings, compared: Comparisons, d: Floats, found: Effects) -> Floats:
    """c (M,): how far everybody else agreed more than usual in the week of each rating.

    c = (T / N) k2 / (k2 + 2m s2 / N), T and N the sum and number of the residuals r of that week's
    comparisons without the rater on either side; m comparisons an own item; s2 the variance of all
    r. 0 where N = 0, where a rating has no day, and for fewer than three raters.
    """
    c = np.zeros(ratings.item.size)
    if np.count_nonzero(np.bincount(compared.g)) < 3:
        return c
    r = found.residuals(d, compared.g, compared.h)
    m = compared.own.size / np.count_nonzero(np.bincount(compared.own))
    s2 = float(r.var())
    # Weeks since Thursday, 1 January 1970.
    weeks, week_of = compact(np.where(ratings.dated, ratings.day // 7, 0))
    dated = ratings.dated[compared.own]
    r, g, h = r[dated], compared.g[dated], compared.h[dated]
    week = week_of[compared.own[dated]]
    n_week = np.bincount(week, minlength=weeks.size)
    t_week = _sums(week, r, weeks.size)
    k2 = _variance_of_weeks(n_week, t_week, 2 * m, s2)
    if k2 == 0:
        return c
    shape = (ratings.keys.size, weeks.size)
    cell = np.concatenate([g, h]) * weeks.size + np.concatenate([week, week])
    own_n = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    own_t = _sums(cell, np.tile(r, 2), own_n.size).reshape(shape)
    n, t = n_week - own_n, t_week - own_t
    of_week = np.where(n > 0, t * k2 / (np.maximum(n, 1) * k2 + 2 * m * s2), 0.0)
    return np.where(ratings.dated, of_week[ratings.rater, week_of], 0.0)


def _variance_of_weeks(n: Ints, t: Floats, each: float, s2: float) -> float:
    """k2: how much successive weeks differ beyond the noise of their comparisons, of which `each`
    count as one."""
    enough = n >= _LEAST_RATINGS * each
    if enough.sum() < _LEAST_WEEKS:
        return 0.0
    n, y = n[enough], t[enough] / n[enough]
    noise = s2 * (each / n[1:] + each / n[:-1])
    excess = np.diff(y) ** 2 - noise
    return max(0.0, float(excess.sum()) / (2 * (excess.size + _LIKE_WEEKS)))


def by_day(rater: Ints, day: Ints, x: Floats) -> Days:
    """The sums of the scores x (M,) of raters' days; all (M,)."""
    first, row = rank_rows([rater, day])
    units = np.rint(x / UNIT)  # whole numbers: exact below 2^53
    return Days(
        rater[first],
        day[first],
        np.bincount(row, minlength=first.size),
        _sums(row, units, first.size) * UNIT,
        _sums(row, (units * UNIT) ** 2, first.size),
    )


def variances(days: Days, n_raters: int, score: str, settings: Settings) -> Variances:
    """s2 and kappa2 of each rater, drawn towards those of all.

    s2 pools the squares about the means of the days; kappa2 the squared differences of a rater's
    successive days with three items or more, beyond what the rater's own s2 explains: else the
    wider spread of somebody who began to guess would count once more, as wobble, and hide the fall.
    """
    floor, items = settings.floor[score], settings.prior_items
    about = days.squares - days.total**2 / days.n
    spread = _sums(days.rater, about, n_raters)
    free = _sums(days.rater, days.n - 1.0, n_raters)
    pooled = max(floor, float(spread.sum() / max(free.sum(), 1.0)))
    s2 = np.maximum((spread + items * pooled) / (free + items), floor)

    large = days.chosen(days.n >= _LEAST_ITEMS)
    same = np.diff(large.rater) == 0
    rater = large.rater[1:][same]
    moved = np.diff(large.total / large.n)[same]
    noise = s2[rater] * (1 / large.n[1:] + 1 / large.n[:-1])[same]
    excess = (moved**2 - noise) / 2
    number = np.bincount(rater, minlength=n_raters)
    prior = settings.prior_days
    of_all = (excess.sum() + prior * settings.wobble[score] ** 2) / (number.sum() + prior)
    own = _sums(rater, excess, n_raters)
    kappa2 = (own + prior * of_all) / (number + prior)
    return Variances(s2, np.maximum(kappa2, 0.0))


def _sums(group: Ints, values: npt.ArrayLike, size: int) -> Floats:
    """The sum of the values of each group 0..size-1."""
    return np.bincount(group, weights=np.asarray(values), minlength=size).astype(float, copy=False)
