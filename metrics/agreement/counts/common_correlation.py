"""Variance of agreement coefficients under the common correlation model.

The ratings of an item are draws from an urn (Dirichlet-multinomial; beta-binomial for two
categories) with the observed shares p of the categories, and any two of them agree with the
probability that the coefficient's value implies. With rho the correlation of two ratings, a rating
copies an earlier one or is drawn from p, so the moments of an item follow from the partitions of
two, three or four ratings into equal ones. Ratings that share a block are the same, blocks are
independent draws from p:

    three   all equal 2 rho^2;  a pair rho (1 - rho), 3 ways;  none (1 - rho)^2;  over 1 + rho
    four    all equal 6 rho^3;  three 2 rho^2 (1 - rho), 4 ways;  two pairs rho^2 (1 - rho), 3 ways;
            a pair rho (1 - rho)^2, 6 ways;  none (1 - rho)^3;  over (1 + rho) (1 + 2 rho)

In a = 1 - rho, the variance times (1 + rho) (1 + 2 rho) = (2 - a) (3 - 2 a) is a polynomial. So
it is expanded once, and a limit is a root of it (score_intervals.py).
"""

from typing import NamedTuple

import numpy as np

from metrics.agreement.estimate import Floats, divide_or_nan

DEGREE = 5  # of the polynomials in a


def compute_weights_within_group(
    sizes: Floats, n_items: Floats, pair_factor: Floats, rating_factor: Floats
) -> Floats:
    """Return the shares (7, ...) of seven kinds of pairs of terms in an estimator's variance.

    The estimator combines a mean over items of an agreement A_i (a mean of weights of pairs of
    ratings of the item) and a mean of L_i, the chance slopes of its ratings. The rows count two
    pairs that are the same, that share a rating, or that share none; a pair with one of its own
    ratings, or with another rating; a rating with itself, or with another one. Each is divided by
    the square of the number that the mean is taken over.

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


def compute_weights_across_groups(first: Floats, second: Floats, n: Floats) -> Floats:
    """Return the numbers (7, ...) of compute_weights_within_group for pairs across two groups.

    first, second (...): ratings per item in each group; n (...): items. L_i is half the sum of the
    groups' mean slopes.
    """
    cells, per_rating = first * second, (1 / first + 1 / second) / 4
    weights = np.empty((7, *np.shape(n)))
    weights[0] = 1 / cells
    weights[1] = (first + second - 2) / cells
    weights[2] = (first - 1) * (second - 1) / cells
    weights[3], weights[4] = 2 * per_rating, 1 - 2 * per_rating
    weights[5], weights[6] = per_rating, 1 - per_rating
    return divide_or_nan(weights, n)


MAX_LOOPED_ROWS = 4  # of shares for which a sum without a temporary matrix is faster


class Margins(NamedTuple):
    """Shares p (..., k) of the categories, P_e (...), and its gradient h (..., k).

    h is defined by dP_e = sum_j h_j dp_j.
    """

    shares: Floats
    expected: Floats
    gradient: Floats


class UrnPolynomials(NamedTuple):
    """Variance of an estimator times (1 - P_e)^2, as polynomials in a = (1 - value) / scale.

    coefficients (6, 3, ...): by power and piece. The first piece, with a factor (2 - a) (3 - 2 a),
    is up to a = 1, where ratings are independent; the second up to a = end; the third beyond.
    scale, end, beyond_chance = 1 - P_e: (...).
    """

    coefficients: Floats
    scale: Floats
    end: Floats
    beyond_chance: Floats

    def compute_variance(self, a: Floats) -> Floats:
        """Return the variance (...) where (1 - value) / scale is `a` (...)."""
        dependent, below, far_below = (
            evaluate_polynomials(self.coefficients[:, piece], a) for piece in range(3)
        )
        below = np.where(a <= self.end, below, far_below)
        inner = np.minimum(a, 1.0)
        value = np.where(a < 1, dependent / ((2 - inner) * (3 - 2 * inner)), below)
        return np.asarray(np.maximum(value, 0.0) / self.beyond_chance**2)


def evaluate_polynomials(coefficients: Floats, a: Floats) -> Floats:
    """Return the polynomials with coefficients (6, ...), lowest power first, at a (...)."""
    result = coefficients[DEGREE] * a
    for power in range(DEGREE - 1, 0, -1):
        result += coefficients[power]
        result *= a
    result += coefficients[0]
    return np.asarray(result)


class CommonCorrelationModel:
    """Variance of an estimator under the common correlation model with observed margins."""

    def __init__(self, numbers: Floats) -> None:
        """Store the numbers (14, ...): seven weights of pairs, then P_e and six moments."""
        self.numbers = numbers

    @classmethod
    def from_margins(
        cls, pairs: Floats, w: Floats | None, margins: Margins
    ) -> "CommonCorrelationModel":
        """Build the model from weights of pairs (7, ...), agreement weights w (k, k), and margins.

        w must be symmetric; None where only equal ratings agree.
        """
        shares, expected, h = margins
        if w is None:
            mean_weight = mean_squared_weight = shares
        else:
            mean_weight = shares @ w
            # Without a temporary matrix, which takes most of the time with many categories.
            mean_squared_weight = (
                np.einsum("...j,jl,jl->...l", shares, w, w)
                if shares.size <= MAX_LOOPED_ROWS * len(w)
                else shares @ (w * w)
            )
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

    def build_polynomials(self) -> UrnPolynomials:
        """Return the variance as polynomials in the coefficient's value.

        Var(A - x L) = Var A - 2 x Cov(A, L) + x^2 Var L with x = 1 - value. Let A be the agreement
        of pairs and s, q, r = E w(X, Y), E w(X, Y)^2, E w(X, Y) w(X, Z). The parts of Var A are,
        for a pair with itself, b a - u^2 a^2 with u = 1 - s and b = q - s + u; for two pairs that
        share a rating, a (b + (r - q - 2 u^2) a + u^2 a^2) / (2 - a). The other parts follow in the
        same way.
        """
        same, sharing, disjoint, own, other, same_rating, other_rating = self.numbers[:7]
        expected, s, q, r, h, h_square, h_weight = self.numbers[7:]
        beyond_chance, u = np.maximum(1 - expected, 1e-12), np.maximum(1 - s, 1e-12)
        scale = u / beyond_chance
        b, e, square = q - s + u, r - q, u * u
        all_pairs = same + sharing + disjoint
        ratings = own + other
        slopes = same_rating + other_rating
        covariance = 2 * scale * (h_weight - s * h)
        slope_variance = scale**2 * (h_square - h * h)
        coefficients = np.zeros((DEGREE + 1, 3, *np.shape(s)))
        coefficients[1, 0] = b * (6 * same + 3 * sharing + 2 * disjoint)
        coefficients[2, 0] = (
            e * (3 * sharing + 4 * disjoint)
            - b * (7 * same + 2 * sharing)
            - 6 * square * all_pairs
            - 6 * covariance * ratings
            + 6 * slope_variance * slopes
        )
        coefficients[3, 0] = (
            2 * b * same
            - e * (2 * sharing + 4 * disjoint)
            + 2 * disjoint * (s * s - q)
            + square * (7 * all_pairs - disjoint)
            + covariance * (7 * ratings + 3 * other)
            - slope_variance * (7 * slopes + 6 * other_rating)
        )
        coefficients[4, 0] = (
            slope_variance * (2 * slopes + 7 * other_rating)
            - 2 * square * all_pairs
            - 2 * covariance * (ratings + other)
        )
        coefficients[5, 0] = -2 * slope_variance * other_rating
        # Independent ratings.
        coefficients[0, 1:] = same * (q - s * s) + sharing * (r - s * s)
        coefficients[1, 1:] = -covariance * own
        coefficients[2, 1:] = slope_variance * same_rating
        # Less agreement t = 1 - u a than independent ratings with these margins have: a coefficient
        # whose chance does not follow the margins, as AC1 of ratings that are all in one category.
        # Pairs agree with the probability t, and their variance grows by that of a share. It stays
        # the same where t reaches P_e: a jump there would let rounding choose the limit.
        end = np.maximum(np.minimum(expected, s), np.minimum(s, u))
        coefficients[0, 1] -= own * s * u
        coefficients[1, 1] += own * u
        coefficients[2, 1] -= own * square
        coefficients[0, 2] += own * np.maximum(end * (1 - end) - s * u, 0.0)
        return UrnPolynomials(coefficients, scale, (1 - end) / u, beyond_chance)

    def compute_variance(self, value: Floats) -> Floats:
        """Return the estimator's variance (...) if `value` (...) were the true value."""
        polynomials = self.build_polynomials()
        return polynomials.compute_variance((1 - value) / polynomials.scale)
