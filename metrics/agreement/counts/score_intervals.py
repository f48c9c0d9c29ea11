"""Score intervals of agreement coefficients: where the value could lie, also for few or rare data.

The standard error of a coefficient is estimated from the differences between items. Where few items
differ (a rare category, nearly full agreement), it is far too small or 0. A score interval contains
each value c for which |estimate - c| is at most t standard errors *under c* (Wilson 1927; for kappa
Donner & Eliasziw 1992, Statistics in Medicine 11, 1511-1519; Zou & Donner 2004, Biometrics 60,
807-811). The variance under c is that of the common correlation model: the ratings of an item are
draws from an urn (Dirichlet-multinomial; beta-binomial for two categories) with the observed
shares p of the categories, and any two of them agree with the probability that c implies.

With rho the correlation of two ratings, a rating copies an earlier one or is drawn from p, so the
moments of an item follow from the partitions of two, three or four ratings into equal ones.
Ratings that share a block are the same, blocks are independent draws from p:

    three   all equal 2 rho^2;  a pair rho (1 - rho), 3 ways;  none (1 - rho)^2;  over 1 + rho
    four    all equal 6 rho^3;  three 2 rho^2 (1 - rho), 4 ways;  two pairs rho^2 (1 - rho), 3 ways;
            a pair rho (1 - rho)^2, 6 ways;  none (1 - rho)^3;  over (1 + rho) (1 + 2 rho)
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from metrics.agreement.estimate import ChanceCorrected, Floats, Limits, divide_or_nan, t_quantile

_PARTS = 4  # parts into which the bracket of a limit is divided first
_ROUNDS = 6  # of regula falsi; limits are exact to about 1e-7


def weigh_pairs_within(
    sizes: Floats, n_items: Floats, pair_factor: Floats, rating_factor: Floats
) -> Floats:
    """Return the numbers of pairs and ratings in the variance of an estimator, (7, ...).

    The estimator combines a mean over items of an agreement A_i (a mean of weights of pairs of
    ratings of the item) and a mean of L_i, the chance slopes of its ratings. The variance counts
    two pairs that are the same, that share a rating, or that share none; a pair with one of its own
    ratings, or with another one; a rating with itself, or with another one; in this order, all
    divided by the square of what they are a mean of.

    sizes (P,): ratings of an item; n_items (..., P); pair_factor, rating_factor (P,): weights of an
    item's A_i and L_i in the means.
    """
    m, pairs = sizes, np.maximum(sizes * (sizes - 1), 1)
    square, cross, single = pair_factor**2, pair_factor * rating_factor, rating_factor**2
    columns = [
        square * 2 / pairs,
        square * 4 * (m - 2) / pairs,
        square * (m - 2) * (m - 3) / pairs,
        cross * 2 / m,
        cross * (m - 2) / m,
        single / m,
        single * (m - 1) / m,
        pair_factor,
        rating_factor,
    ]
    totals = np.moveaxis(n_items @ np.column_stack(columns), -1, 0)
    pair_total, rating_total = totals[7], totals[8]
    weights = np.empty(totals[:7].shape)
    weights[:3] = divide_or_nan(totals[:3], pair_total**2)
    weights[3:5] = divide_or_nan(totals[3:5], pair_total * rating_total)
    weights[5:] = divide_or_nan(totals[5:7], rating_total**2)
    return weights


def weigh_pairs_between(first: Floats, second: Floats, n: Floats) -> Floats:
    """Return the same (7, ...) for pairs across two groups.

    first, second (...): ratings of an item in each group; n (...): items. L_i is half the sum of
    the groups' mean slopes.
    """
    cells, per_rating = first * second, (1 / first + 1 / second) / 4
    weights = np.empty((7, *np.shape(n)))
    weights[0] = 1 / cells
    weights[1] = (first + second - 2) / cells
    weights[2] = (first - 1) * (second - 1) / cells
    weights[3], weights[4] = 2 * per_rating, 1 - 2 * per_rating
    weights[5], weights[6] = per_rating, 1 - per_rating
    return divide_or_nan(weights, n)


class Margins(NamedTuple):
    """Shares p (..., k) of the categories, P_e (...), and its gradient h (..., k).

    dP_e = sum_j h_j dp_j.
    """

    shares: Floats
    expected: Floats
    gradient: Floats


class UrnModel:
    """Variance of an estimator under the common correlation model with observed margins."""

    def __init__(self, numbers: Floats) -> None:
        """Take the numbers (14, ...): seven of pairs, then P_e and six moments."""
        self.numbers = numbers

    @classmethod
    def from_margins(cls, pairs: Floats, w: Floats | None, margins: Margins) -> "UrnModel":
        """Build the model from numbers of pairs (7, ...), weights w (k, k) or None, and margins."""
        shares, expected, h = margins
        if w is None:
            mean_weight = mean_squared_weight = shares
        else:
            symmetric = (w + w.T) / 2
            mean_weight, mean_squared_weight = shares @ symmetric, shares @ symmetric**2
        weighted_slope = shares * h
        numbers = np.empty((14, *pairs.shape[1:]))
        numbers[:7] = pairs
        numbers[7] = expected
        # Of draws X, Y, Z from p: E w(X, Y), E w(X, Y)^2, E w(X, Y) w(X, Z), E h(X), E h(X)^2 and
        # E w(X, Y) h(X).
        numbers[8] = (shares * mean_weight).sum(axis=-1)
        numbers[9] = (mean_squared_weight * shares).sum(axis=-1)
        numbers[10] = (shares * mean_weight**2).sum(axis=-1)
        numbers[11] = weighted_slope.sum(axis=-1)
        numbers[12] = (weighted_slope * h).sum(axis=-1)
        numbers[13] = (weighted_slope * mean_weight).sum(axis=-1)
        return cls(numbers)

    def compute_variance(self, value: Floats) -> Floats:
        """Return the variance of the estimator if its true value were `value` (s, ...)."""
        pairs, (expected, s, q, r, h, h_square, h_weight) = self.numbers[:7], self.numbers[7:]
        same_pair, shared_rating, disjoint, own_rating, other_rating, same_rating, two_ratings = (
            pairs
        )
        x, beyond_chance = 1 - value, np.maximum(1 - expected, 1e-12)
        # The correlation of two ratings that gives this value; at least 0.
        a = np.minimum(x * (beyond_chance / np.maximum(1 - s, 1e-12)), 1.0)
        rho = 1 - a
        rho_2, a_2, rho_a = rho * rho, a * a, rho * a
        three, four = 1 / (1 + rho), 1 / ((1 + rho) * (1 + 2 * rho))
        mean = rho + a * s
        agreement_variance = (
            same_pair * (rho + a * q)
            + shared_rating * three * (2 * rho_2 + rho_a * (2 * s + q) + a_2 * r)
            + disjoint
            * four
            * (
                rho_2 * (6 * rho + a * (8 * s + 1 + 2 * q))
                + a_2 * (rho * (2 * s + 4 * r) + a * (s * s))
            )
            - (same_pair + shared_rating + disjoint) * mean**2
        )
        # Above 0, but less agreement t than independent ratings with these margins have: a
        # coefficient whose chance does not follow the margins, as AC1 of ratings that are all in
        # one category. Pairs agree with the probability t.
        t = 1 - x * beyond_chance
        agreement_variance = np.where(
            (t < s) & (value > 0),
            np.maximum(agreement_variance, own_rating * t * (1 - t)),
            agreement_variance,
        )
        covariance = (
            own_rating * (rho * h + a * h_weight)
            + other_rating
            * three
            * ((2 * rho_2 + rho_a) * h + 2 * rho_a * h_weight + a_2 * (s * h))
            - (own_rating + other_rating) * h * mean
        )
        slope_variance = (same_rating + two_ratings * rho) * (h_square - h * h)
        variance = agreement_variance - x * (2 * covariance - x * slope_variance)
        return np.asarray(np.maximum(variance, 0.0) / beyond_chance**2)


class ScoreLimits(Limits):
    """Limits of the interval shown: score interval and value -/+ t se together.

    The score interval holds for few and rare data, the standard error where items differ in other
    ways than the model has it; the limits are the outer ones of both. They lie between `lowest`,
    the least value that the coefficient can have, and 1; NaN for df < 1.
    """

    def __init__(
        self,
        point: ChanceCorrected,
        model: UrnModel,
        se: Floats,
        df: Floats,
        *,
        lowest: Floats | float,
        extra_variance: Floats | float = 0.0,
    ) -> None:
        """Take a problem: all arrays (...).

        df: degrees of freedom of t; extra_variance: of sources other than the items.
        """
        super().__init__()
        numbers = np.empty((5, *np.shape(point.value)))
        numbers[0] = point.value
        numbers[1] = np.minimum(lowest, point.value)
        numbers[2] = quantile = t_quantile(df)
        numbers[3] = quantile * np.where(np.isfinite(se), se, 0.0)
        numbers[4] = extra_variance
        self.numbers, self.model = numbers, model

    def solve(self) -> tuple[Floats, Floats]:
        """Return the limits (...)."""
        low, high = _solve(self.numbers, self.model)
        return low, high


def solve_together(limits: Sequence[Limits]) -> None:
    """Solve all problems among the limits of estimates of one shape in one computation."""
    problems = [part for part in limits if isinstance(part, ScoreLimits) and not part.is_solved]
    if len(problems) < 2:
        return
    numbers = np.stack([problem.numbers for problem in problems], axis=1)
    model = UrnModel(np.stack([problem.model.numbers for problem in problems], axis=1))
    for problem, low, high in zip(problems, *_solve(numbers, model), strict=True):
        problem.assign((low, high))


def _solve(numbers: Floats, model: UrnModel) -> Floats:
    """Return the lower and the upper limits (2, ...) of problems (5, ...)."""
    value, lowest, quantile, margin, extra_variance = numbers

    def exceed(candidate: Floats) -> Floats:
        """Return by how much a candidate (s, ...) is farther away than t standard errors."""
        error = np.sqrt(model.compute_variance(candidate) + extra_variance)
        return np.asarray(np.abs(candidate - value) - quantile * error)

    # Both limits at once: axis 0 is the lower and the upper one.
    score = _find_crossing(exceed, np.stack([value, value]), np.stack([lowest, value * 0 + 1]))
    return np.stack(
        [
            np.maximum(np.minimum(value - margin, score[0]), lowest),
            np.minimum(np.maximum(value + margin, score[1]), 1.0),
        ]
    )


def _find_crossing(exceed: Callable[[Floats], Floats], inside: Floats, outside: Floats) -> Floats:
    """Return the point (2, ...) between `inside` and `outside` where `exceed` becomes positive.

    `outside` where it never does. Regula falsi in the first part of the bracket that has a
    crossing; each step leaves at most 95% of the bracket, also where one end would never move.
    """
    steps = np.arange(_PARTS + 1).reshape(-1, *[1] * inside.ndim) / _PARTS
    width = outside - inside
    excess = exceed(inside + steps * width)
    is_outside = excess[1:] > 0
    never = ~is_outside.any(axis=0)
    first = is_outside.argmax(axis=0)[None]
    low, high = (np.take_along_axis(excess, first + end, axis=0)[0] for end in (0, 1))
    bound, outside = outside, inside + (first[0] + 1) / _PARTS * width
    inside = inside + first[0] / _PARTS * width
    for _round in range(_ROUNDS):
        share = np.clip(_compute_crossing_share(low, high), 0.05, 0.95)
        middle = inside + share * (outside - inside)
        at_middle = exceed(middle)
        is_outside = at_middle > 0
        outside, high = np.where(is_outside, middle, outside), np.where(is_outside, at_middle, high)
        inside, low = np.where(is_outside, inside, middle), np.where(is_outside, low, at_middle)
    crossing = inside + _compute_crossing_share(low, high) * (outside - inside)
    return np.where(never, bound, crossing)


def _compute_crossing_share(low: Floats, high: Floats) -> Floats:
    """Return where a line from `low` <= 0 to `high` > 0 crosses 0, as a share of the way."""
    return -low / np.where(high > low, high - low, 1.0)
