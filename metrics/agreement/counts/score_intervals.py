"""Score intervals of agreement coefficients, which stay valid for few or rare data.

The standard error of a coefficient is estimated from the differences between items. Where few items
differ (a rare category, nearly full agreement), it is far too small or 0. A score interval contains
each value c for which |estimate - c| is at most z standard errors *under c* (Wilson 1927; for kappa
Donner & Eliasziw 1992, Statistics in Medicine 11, 1511-1519; Zou & Donner 2004, Biometrics 60,
807-811), here those of common_correlation.py. Items may differ more than this model has it (easy
and hard ones). So its variance is multiplied by a dispersion of 1 or more, as that of a generalized
linear model is (Wedderburn 1974, Biometrika 61, 439-447): at the estimate, the interval is never
narrower than 1.96 estimated standard errors. Quantiles of t would make it 7% wider at 10 items and
2% at 50, where it covers 96% without them.

Where few items differ, the distribution of 1 - value is skewed, which a score limit ignores: one
differing item of 20 would exclude the probability 0.008 of differing, although one of seven studies
would then have such an item. So the upper limit is at least 1 minus the 5% quantile of the gamma
distribution with the mean 1 - value and the variance at the estimate. Of a count of rare items this
is the exact Poisson limit (Garwood 1936, Biometrika 28, 437-442), as in the modified Wilson
interval (Brown, Cai & DasGupta 2001, Statistical Science 16, 101-133).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import special

from metrics.agreement.estimate import (
    CONFIDENCE_LEVEL,
    NORMAL_QUANTILE,
    ChanceCorrected,
    Floats,
    Limits,
)

from .common_correlation import DEGREE, CommonCorrelationModel, evaluate_polynomials

# Where each piece of a polynomial is evaluated, in shares of its length. They are denser near the
# value, because the limits of many items are close to it.
_STEPS = np.array([0, 1 / 32, 1 / 8, 1 / 2, 1])[:, None]
_ROUNDS = 9  # of regula falsi; limits are exact to about 1e-7
_NEWTON_ROUNDS = 6
# Up to this shape, compare with the gamma limit. It is the larger one only below about 12.
_SKEWED_SHAPE = 20
_NEWTON_TOLERANCE = 1e-7  # last step, relative to the distance from the value


class ScoreLimits(Limits):
    """Limits of the score interval, the one that is shown.

    They lie between `lowest`, the least possible value of the coefficient, and 1; NaN for df < 1.
    """

    def __init__(
        self,
        point: ChanceCorrected,
        model: CommonCorrelationModel,
        se: Floats,
        df: Floats,
        *,
        lowest: Floats | float,
        extra_variance: Floats | float = 0.0,
        quantile: Floats | float = NORMAL_QUANTILE,
    ) -> None:
        """Store an unsolved problem: point, variance model, standard error and degrees of freedom.

        df: of se; below one there are no limits; extra_variance: of sources other than the items;
        quantile: least distance of the limits from the value, in standard errors.
        """
        super().__init__()
        numbers = np.empty((4, *np.shape(point.value)))
        numbers[0] = point.value
        numbers[1] = np.minimum(lowest, point.value)
        numbers[2] = np.where(np.asarray(df) >= 1, quantile, np.nan) * np.where(
            np.isfinite(se), se, 0.0
        )
        numbers[3] = extra_variance
        self.numbers, self.model = numbers, model

    def solve(self) -> tuple[Floats, Floats]:
        """Return the lower and upper limits (...) by solving the score equation."""
        low, high = _solve_score_equations(self.numbers, self.model)
        return low, high


def solve_together(limits: Sequence[Limits]) -> None:
    """Solve the score intervals of several estimates of one shape at once, in place."""
    problems = [part for part in limits if isinstance(part, ScoreLimits) and not part.is_computed]
    if len(problems) < 2:
        return
    numbers = np.stack([problem.numbers for problem in problems], axis=1)
    model = CommonCorrelationModel(
        np.stack([problem.model.numbers for problem in problems], axis=1)
    )
    low, high = _solve_score_equations(numbers, model)
    for problem, limits_of_problem in zip(problems, zip(low, high, strict=True), strict=True):
        problem.assign(limits_of_problem)


def _solve_score_equations(numbers: Floats, model: CommonCorrelationModel) -> Floats:
    """Return the lower and the upper limits (2, ...) of problems, as numbers (4, ...) and a model.

    numbers: value, lowest value, margin, extra variance. A limit is the first root of (c - value)^2
    - z^2 (dispersion) (variance under c) on the way from the value to the end of the range. In a =
    (1 - c) / scale, it is a polynomial in each of three pieces.
    """
    shape = numbers.shape[1:]
    value, lowest, margin, extra_variance = numbers.reshape(4, -1)
    polynomials = CommonCorrelationModel(model.numbers.reshape(14, -1)).build_polynomials()
    scale = polynomials.scale
    centre, farthest = (1 - value) / scale, (1 - lowest) / scale
    z_square = NORMAL_QUANTILE**2
    variance = z_square * (polynomials.compute_variance(centre) + extra_variance)
    dispersion = np.maximum(1.0, margin**2 / np.maximum(variance, 1e-300))
    dispersion[variance < 1e-12] = 1.0
    factor = z_square * dispersion / (scale * polynomials.beyond_chance) ** 2
    excess = -factor * polynomials.coefficients
    constant = centre**2 - factor * polynomials.beyond_chance**2 * extra_variance
    # (constant - 2 centre a + a^2), in the first piece times (2 - a) (3 - 2 a) = 6 - 7 a + 2 a^2.
    excess[0, 0] += 6 * constant
    excess[1, 0] -= 7 * constant + 12 * centre
    excess[2, 0] += 2 * constant + 14 * centre + 6
    excess[3, 0] -= 4 * centre + 7
    excess[4, 0] += 2
    excess[0, 1:] += constant
    excess[1, 1:] -= 2 * centre
    excess[2, 1:] += 1
    crossing, is_found = _approach_crossing(
        excess[:, 0], centre, np.sqrt(dispersion * variance) / scale, np.minimum(farthest, 1.0)
    )
    rest = np.flatnonzero(~is_found.all(axis=0))
    if rest.size:
        ends = _compute_piece_ends(centre[rest], farthest[rest], polynomials.end[rest])
        lower = excess[:, :, rest]
        upper = np.where(centre[rest] > 1, lower[:, ::-1], lower)
        crossing[:, rest] = _find_crossing(
            np.concatenate([lower, upper], axis=-1), ends.reshape(4, -1)
        ).reshape(2, -1)
    limits = 1 - scale * crossing
    limits[1] = np.maximum(
        limits[1], _compute_gamma_limits(value, dispersion * variance / z_square)
    )
    limits[0] = np.minimum(np.maximum(limits[0], lowest), value)
    limits[1] = np.maximum(limits[1], value)
    limits[:, ~np.isfinite(margin)] = np.nan
    return np.asarray(limits.reshape(2, *shape))


def _compute_gamma_limits(value: Floats, variance: Floats) -> Floats:
    """Return the upper limits (n,) if 1 - value is gamma distributed with this variance (n,).

    Where the distribution is not skewed, the limit is the value itself.
    """
    distance = 1 - value
    shape = distance**2 / np.maximum(variance, 1e-300)
    is_skewed = (shape > 0) & (shape < _SKEWED_SHAPE)
    shape = shape[is_skewed]
    limits = value.copy()
    quantile = special.gammaincinv(shape, 1 - CONFIDENCE_LEVEL)
    limits[is_skewed] = 1 - distance[is_skewed] * quantile / shape
    return limits


def _compute_piece_ends(centre: Floats, farthest: Floats, end: Floats) -> Floats:
    """Return the ends (4, 2, n) of the three pieces, for lower and upper limits in search order.

    centre, farthest: where the search of the lower limit begins and ends; end: of the second piece.
    """
    ends = np.empty((4, 2, centre.size))
    ends[0] = centre
    ends[1, 0] = np.minimum(np.maximum(centre, 1.0), farthest)
    ends[2, 0] = np.minimum(np.maximum(centre, end), farthest)
    ends[3, 0] = farthest
    ends[1, 1] = np.where(centre > 1, np.minimum(centre, end), 0.0)
    ends[2, 1] = np.where(centre > 1, 1.0, 0.0)
    ends[3, 1] = 0.0
    return ends


def _approach_crossing(
    polynomial: Floats, centre: Floats, half: Floats, farthest: Floats
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return roots (2, n) of the first piece beyond and before `centre`, and where they are valid.

    polynomial (6, n); centre (n,): the value, as a; half (n,): z standard errors, the distance at
    which Newton's method begins; farthest (n,): the end of the piece. A root is valid if the last
    step was small, the distance is within a factor of 2 of the start, and it lies inside the piece.
    """
    start = centre + np.stack([half, -half])
    root, step = start, start
    with np.errstate(all="ignore"):  # _find_crossing finds the roots that diverge here
        for _round in range(_NEWTON_ROUNDS):
            value, slope = polynomial[DEGREE] * root + polynomial[DEGREE - 1], polynomial[DEGREE]
            for power in range(DEGREE - 2, -1, -1):
                slope = slope * root + value
                value = value * root + polynomial[power]
            step = value / slope
            root = root - step
        distance = np.abs(root - centre)
        is_found = np.abs(step) <= _NEWTON_TOLERANCE * distance
        is_found &= (distance >= half / 2) & (distance <= half * 2)
        is_found &= ((root - centre) * np.array([[1], [-1]]) > 0) & (root > 0) & (root < farthest)
        is_found &= centre < 1
    return root, is_found


def _find_crossing(coefficients: Floats, ends: Floats) -> Floats:
    """Return where the polynomials first become positive (n,), or the last end if they do not.

    coefficients (6, 3, n): by power and piece; ends (4, n): of the pieces, in search order; at the
    first one the polynomials are not positive.
    """
    size = ends.shape[-1]
    bracket = np.zeros((4, size))  # two ends, and the values there
    bracket[:2] = ends[-1]
    polynomial = np.zeros((len(coefficients), size))
    remaining = np.arange(size)
    for piece in range(3):
        start, width = ends[piece, remaining], ends[piece + 1, remaining] - ends[piece, remaining]
        is_wide = width != 0
        if not is_wide.any():
            continue
        problems = remaining[is_wide]
        nodes = start[is_wide] + _STEPS * width[is_wide]
        piece_coefficients = coefficients[:, piece, problems]
        excess = evaluate_polynomials(piece_coefficients[:, None], nodes)
        is_outside = excess[1:] > 0
        is_crossed = is_outside.any(axis=0)
        column = np.flatnonzero(is_crossed)
        part = is_outside.argmax(axis=0)[column]
        solved = problems[column]
        bracket[:, solved] = (
            nodes[part, column],
            nodes[part + 1, column],
            np.minimum(excess[part, column], 0.0),
            excess[part + 1, column],
        )
        polynomial[:, solved] = piece_coefficients[:, column]
        is_wide[is_wide] = is_crossed
        remaining = remaining[~is_wide]
        if not remaining.size:
            break
    return _narrow_brackets(polynomial, bracket)


def _narrow_brackets(polynomial: Floats, bracket: Floats) -> Floats:
    """Return the roots (n,) of polynomials (6, n) in brackets (4, n), by regula falsi.

    A bracket has two ends and the values there, <= 0 and > 0. The value at an end that stays twice
    is halved (Illinois), and each step leaves at most 97% of the bracket.
    """
    inside, outside, low, high = bracket
    was_beyond = np.full(inside.shape, 2)
    for _round in range(_ROUNDS):
        share = np.clip(low / np.minimum(low - high, -1e-300), 0.03, 0.97)
        middle = inside + share * (outside - inside)
        at_middle = evaluate_polynomials(polynomial, middle)
        is_beyond = at_middle > 0
        retained_share = np.where(is_beyond == was_beyond, 0.5, 1.0)
        inside = np.where(is_beyond, inside, middle)
        outside = np.where(is_beyond, middle, outside)
        low = np.where(is_beyond, retained_share * low, at_middle)
        high = np.where(is_beyond, at_middle, retained_share * high)
        was_beyond = is_beyond
    return inside + low / np.minimum(low - high, -1e-300) * (outside - inside)
