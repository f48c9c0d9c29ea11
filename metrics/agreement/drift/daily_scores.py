"""Daily sums of the scores of each rater, and the variances of a day.

A week that is hard for all raters is removed from the agreement of each, by a shrunken mean of the
residuals of all others. Variances are pooled over raters, and shrunk towards the pool for each.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metrics.agreement.counts.grouping import Ints, index_distinct, rank_rows
from metrics.agreement.estimate import Floats

from .comparisons import BoolArray, Comparisons, DatedRatings, RaterEffects
from .drift_settings import DriftSettings

# Scores are integer multiples of this unit, so that sums are the same in any order.
SCORE_UNIT = 1e-6
_MIN_ITEMS = 3  # items of a day that enters the variance of days
_MIN_WEEKS = 3
_MIN_RATINGS = 5  # N_w / 2m of a week that enters the variance of weeks
_PRIOR_WEEKS = 5  # differences of 0 added as prior


@dataclass(frozen=True)
class DailyScores:
    """Sums of scores by rater and active day, in this order; all (D,).

    rater: number; day: number of the day; n: compared items; total, squares: sum of their scores
    and of the squared scores.
    """

    rater: Ints
    day: Ints
    n: Ints
    total: Floats
    squares: Floats

    def select(self, rows: BoolArray | slice) -> "DailyScores":
        """Return the rows (D,) selected by a mask or slice."""
        return DailyScores(
            self.rater[rows], self.day[rows], self.n[rows], self.total[rows], self.squares[rows]
        )


@dataclass(frozen=True)
class ScoreVariances:
    """Variances of a score for each rater (R,).

    s2: of items about the mean of their day; kappa2: of daily means about the rater's level.
    """

    s2: Floats
    kappa2: Floats


def score_ratings(
    ratings: DatedRatings, comparisons: Comparisons, d: Floats, rater_effects: RaterEffects
) -> Floats:
    """Return the mean score (M,) of each rating's comparisons, without the effects of its peers.

    d (C,): scores of the comparisons; NaN for a rating without comparisons.
    """
    size = ratings.item.size
    n_comparisons = np.bincount(comparisons.own, minlength=size)
    peer_adjusted = rater_effects.remove_peer_effects(d, comparisons.other_rater)
    with np.errstate(invalid="ignore"):
        return _sum_groups(comparisons.own, peer_adjusted, size) / n_comparisons


def estimate_common_weeks(
    ratings: DatedRatings, comparisons: Comparisons, d: Floats, rater_effects: RaterEffects
) -> Floats:
    """Return how far all other raters agree above average (M,) in the week of each rating.

    It is the shrunken mean c = (T / N) k2 / (k2 + 2m s2 / N). T, N: sum and number of the residuals
    r of that week's comparisons without the rater on either side; m: comparisons per rating; s2:
    variance of all r; k2: variance between weeks. 0 where N = 0, for ratings without a day, and
    with fewer than three raters.
    """
    c = np.zeros(ratings.item.size)
    if np.count_nonzero(np.bincount(comparisons.own_rater)) < 3:
        return c
    residuals = rater_effects.compute_residuals(d, comparisons.own_rater, comparisons.other_rater)
    m = comparisons.own.size / np.count_nonzero(np.bincount(comparisons.own))
    s2 = float(residuals.var())
    # Weeks since Thursday, 1 January 1970.
    weeks, week_of = index_distinct(np.where(ratings.dated, ratings.day // 7, 0))
    dated = ratings.dated[comparisons.own]
    residuals, g, h = residuals[dated], comparisons.own_rater[dated], comparisons.other_rater[dated]
    week = week_of[comparisons.own[dated]]
    n_week = np.bincount(week, minlength=weeks.size)
    t_week = _sum_groups(week, residuals, weeks.size)
    k2 = _estimate_week_variance(n_week, t_week, 2 * m, s2)
    if k2 == 0:
        return c
    shape = (ratings.keys.size, weeks.size)
    cell = np.concatenate([g, h]) * weeks.size + np.concatenate([week, week])
    rater_n = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    rater_sums = _sum_groups(cell, np.tile(residuals, 2), rater_n.size).reshape(shape)
    n, t = n_week - rater_n, t_week - rater_sums
    week_effect = np.where(n > 0, t * k2 / (np.maximum(n, 1) * k2 + 2 * m * s2), 0.0)
    return np.where(ratings.dated, week_effect[ratings.rater, week_of], 0.0)


def _estimate_week_variance(n: Ints, t: Floats, per_rating: float, s2: float) -> float:
    """Return the variance of weekly means beyond their sampling noise, at least 0.

    n, t: numbers of comparisons and sums of their residuals by week; a mean of `per_rating`
    comparisons has the variance s2. 0 with fewer than three weeks with enough comparisons.
    """
    is_used = n >= _MIN_RATINGS * per_rating
    if is_used.sum() < _MIN_WEEKS:
        return 0.0
    n, y = n[is_used], t[is_used] / n[is_used]
    noise = s2 * (per_rating / n[1:] + per_rating / n[:-1])
    excess = np.diff(y) ** 2 - noise
    return max(0.0, float(excess.sum()) / (2 * (excess.size + _PRIOR_WEEKS)))


def sum_by_day(rater: Ints, day: Ints, x: Floats) -> DailyScores:
    """Return number, sum and sum of squares of the scores x (M,) by rater (M,) and day (M,)."""
    first, row = rank_rows([rater, day])
    units = np.rint(x / SCORE_UNIT)  # whole numbers: exact below 2^53
    return DailyScores(
        rater[first],
        day[first],
        np.bincount(row, minlength=first.size),
        _sum_groups(row, units, first.size) * SCORE_UNIT,
        _sum_groups(row, (units * SCORE_UNIT) ** 2, first.size),
    )


def estimate_variances(
    days: DailyScores, n_raters: int, score: str, settings: DriftSettings
) -> ScoreVariances:
    """Return the variances of a score for each rater, shrunk towards those of all raters.

    s2 pools the squares of items about the means of their days. kappa2 pools the squared
    differences of a rater's successive days with three items or more, less what the rater's own s2
    explains: otherwise the wider spread of a rater who began to guess would also enlarge kappa2,
    and hide the fall.
    """
    min_variance, items = settings.min_item_variance[score], settings.prior_items
    squares_about_mean = days.squares - days.total**2 / days.n
    rater_squares = _sum_groups(days.rater, squares_about_mean, n_raters)
    degrees_of_freedom = _sum_groups(days.rater, days.n - 1.0, n_raters)
    pooled = max(min_variance, float(rater_squares.sum() / max(degrees_of_freedom.sum(), 1.0)))
    s2 = np.maximum((rater_squares + items * pooled) / (degrees_of_freedom + items), min_variance)

    used_days = days.select(days.n >= _MIN_ITEMS)
    same_rater = np.diff(used_days.rater) == 0
    rater = used_days.rater[1:][same_rater]
    day_change = np.diff(used_days.total / used_days.n)[same_rater]
    noise = s2[rater] * (1 / used_days.n[1:] + 1 / used_days.n[:-1])[same_rater]
    excess = (day_change**2 - noise) / 2
    n_changes = np.bincount(rater, minlength=n_raters)
    prior = settings.prior_days
    pooled_kappa2 = (excess.sum() + prior * settings.prior_day_sd[score] ** 2) / (
        n_changes.sum() + prior
    )
    rater_excess = _sum_groups(rater, excess, n_raters)
    kappa2 = (rater_excess + prior * pooled_kappa2) / (n_changes + prior)
    return ScoreVariances(s2, np.maximum(kappa2, 0.0))


def _sum_groups(group: Ints, values: npt.ArrayLike, size: int) -> Floats:
    """Return the sum of the values in each group 0..size-1, as (size,)."""
    return np.bincount(group, weights=np.asarray(values), minlength=size).astype(float, copy=False)
