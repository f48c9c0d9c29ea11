"""Estimates: the value of a coefficient with its uncertainty, or the reason why it is undefined.

Undefined entries are NaN inside an Estimate only; `to_value()` returns None with the name of the
reason.
"""

import math
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, NotRequired, TypedDict

import numpy as np
import numpy.typing as npt
from scipy import special

Floats = npt.NDArray[np.float64]
Index = int | tuple[int, ...]

CONFIDENCE_LEVEL = 0.95  # of every interval unless stated otherwise
NORMAL_QUANTILE = float(special.ndtri((1 + CONFIDENCE_LEVEL) / 2))
SINGULAR_TOLERANCE = 1e-12  # kappa is undefined where |1 - P_e| is below this

REASONS: tuple[str | None, ...] = (
    None,
    "no_pairable_items",
    "single_category",
    "too_few_items",
    "needs_two_raters",
    "needs_2x2",
    "zero_variance",
    "zero_error_variance",
    "below_range",
    "needs_complete_items",
    "no_discordant_pairs",
    "needs_bootstrap",
)
REASON_CODES = {name: code for code, name in enumerate(REASONS) if name is not None}


class Value(TypedDict):
    """One value of a coefficient as plain numbers, None where undefined.

    It is stored, and returned by the API, in this form.
    """

    value: float | None
    low: float | None
    high: float | None
    se: float | None
    observed: float | None
    expected: float | None
    n_items: int | None
    n_ratings: int | None
    reason: str | None  # why the value is undefined
    n_pairs: NotRequired[int]  # number of pairs, for a mean over pairs of raters
    bootstrap: NotRequired[int]  # number of replicates, for a bootstrap interval
    design_effect: NotRequired[float]  # of items in clusters (counts/wider_intervals.py)


class Limits:
    """Limits of an interval: arrays (...), which subclasses may compute when first used.

    Many intervals are solved together at nearly the cost of one (`score_intervals.solve_together`).
    """

    def __init__(self, arrays: tuple[Floats, Floats] | None = None) -> None:
        self._arrays = arrays

    @property
    def is_computed(self) -> bool:
        """True if the limits are already arrays."""
        return self._arrays is not None

    @property
    def arrays(self) -> tuple[Floats, Floats]:
        """The lower and the upper limits (...), solved when first used."""
        if self._arrays is None:
            self._arrays = self.solve()
        return self._arrays

    def assign(self, arrays: tuple[Floats, Floats]) -> None:
        """Store limits (...) that were solved together with those of other estimates."""
        self._arrays = arrays

    def solve(self) -> tuple[Floats, Floats]:
        """Return the lower and upper limits (...). Raises NotImplementedError in the base class."""
        raise NotImplementedError

    def __getitem__(self, index: Any) -> "Limits":
        """Return the limits of the entries with this index."""
        low, high = self.arrays
        return Limits((np.asarray(low[index]), np.asarray(high[index])))


@dataclass(frozen=True)
class Estimate:
    """Estimates of a coefficient: one for each entry of a leading shape (...).

    An entry is, for example, a pair, a day or a replicate; the shape is () for a single estimate.

    value, se, low, high, observed, expected: float (...), NaN where undefined
    reason: int (...), index into REASONS of why the value is undefined; 0 where it is defined
    se_reason: int (...), the same for the standard error and the interval
    low, high: the interval that pages and the API show (counts/score_intervals.py)
    n_items: int (...), items on which ratings can be compared
    n_ratings: int (...), ratings of these items
    df: float (...), degrees of freedom of the published interval value -/+ t(df) se
    """

    value: Floats
    se: Floats
    limits: "Limits"
    observed: Floats
    expected: Floats
    reason: npt.NDArray[np.int64]
    se_reason: npt.NDArray[np.int64]
    n_items: npt.NDArray[np.int64]
    n_ratings: npt.NDArray[np.int64]
    df: Floats

    @property
    def low(self) -> Floats:
        """The lower limit of the interval shown (...)."""
        return self.limits.arrays[0]

    @property
    def high(self) -> Floats:
        """The upper limit of the interval shown (...)."""
        return self.limits.arrays[1]

    @property
    def ci_low(self) -> Floats:
        """The lower limit of the published interval (...), which may lie below -1."""
        return np.asarray(self.value - t_quantile(self.df) * self.se)

    @property
    def ci_high(self) -> Floats:
        """The upper limit of the published interval (...), at most 1."""
        return np.asarray(np.minimum(self.value + t_quantile(self.df) * self.se, 1.0))

    @property
    def shape(self) -> tuple[int, ...]:
        """The leading shape (...) of the estimate."""
        return self.value.shape

    def __getitem__(self, index: Any) -> "Estimate":
        """Return the estimate of some entries, by an index into the leading axes."""
        parts = {field.name: getattr(self, field.name)[index] for field in fields(self)}
        limits = parts.pop("limits")
        return Estimate(limits=limits, **{name: np.asarray(part) for name, part in parts.items()})

    def to_value(self, index: Index = ()) -> Value:
        """Return one entry as a Value."""
        return {
            "value": to_finite_float(self.value[index]),
            "low": to_finite_float(self.low[index]),
            "high": to_finite_float(self.high[index]),
            "se": to_finite_float(self.se[index]),
            "observed": to_finite_float(self.observed[index]),
            "expected": to_finite_float(self.expected[index]),
            "n_items": int(self.n_items[index]),
            "n_ratings": int(self.n_ratings[index]),
            "reason": REASONS[int(self.reason[index])],
        }

    def to_values(self) -> list[Value]:
        """Return the entries of an estimate with one leading axis as Values.

        The result is that of `to_value` for each entry, computed many times faster.
        """
        columns = zip(
            _to_finite_floats(self.value),
            _to_finite_floats(self.low),
            _to_finite_floats(self.high),
            _to_finite_floats(self.se),
            _to_finite_floats(self.observed),
            _to_finite_floats(self.expected),
            self.n_items.tolist(),
            self.n_ratings.tolist(),
            self.reason.tolist(),
            strict=True,
        )
        return [
            {
                "value": value,
                "low": low,
                "high": high,
                "se": se,
                "observed": observed,
                "expected": expected,
                "n_items": n_items,
                "n_ratings": n_ratings,
                "reason": REASONS[reason],
            }
            for value, low, high, se, observed, expected, n_items, n_ratings, reason in columns
        ]

    def get_interval_reason(self, index: Index = ()) -> str | None:
        """Return the reason why one entry has no standard error, or None if it has one."""
        return REASONS[int(self.se_reason[index])]


def _to_finite_floats(values: Floats) -> list[float | None]:
    """Return the values (n,) as a list, None for those that are not finite."""
    numbers: list[float | None] = values.tolist()
    for index in np.flatnonzero(~np.isfinite(values)).tolist():
        numbers[index] = None
    return numbers


def to_finite_float(value: Any) -> float | None:
    """Return the value as a float, or None when it is not finite."""
    result = float(value)
    return result if math.isfinite(result) else None


def correct_for_chance(
    observed: Floats, expected: Floats, pairable: npt.NDArray[np.bool_]
) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return (P_o - P_e) / (1 - P_e) (...), and indices into REASONS, 0 where it is defined.

    observed, expected: float (...); pairable: bool (...), whether there is any pair of ratings.
    """
    beyond_chance = 1 - expected
    singular = np.abs(beyond_chance) < SINGULAR_TOLERANCE
    reason = np.where(
        pairable,
        np.where(singular, REASON_CODES["single_category"], 0),
        REASON_CODES["no_pairable_items"],
    )
    return (observed - expected) / np.where(reason == 0, beyond_chance, np.nan), reason


def divide_or_nan(numerator: Any, denominator: Any) -> Floats:
    """Return numerator / denominator, NaN where the denominator is 0."""
    denominators = np.asarray(denominator, float)
    return np.asarray(numerator / np.where(denominators == 0, np.nan, denominators))


def t_quantile(df: npt.ArrayLike, level: float = CONFIDENCE_LEVEL) -> Floats:
    """Return the two-sided quantile of Student's t, with the shape of df; NaN for df < 1."""
    df = np.asarray(df, float)
    if df.size == 1:
        return np.full(df.shape, _compute_t_quantile(df.item(), level))
    distinct, index = np.unique(df, return_inverse=True)
    quantile = np.where(
        distinct >= 1, special.stdtrit(np.maximum(distinct, 1), (1 + level) / 2), np.nan
    )
    return quantile[index].reshape(df.shape)


@lru_cache(maxsize=4096)
def _compute_t_quantile(df: float, level: float) -> float:
    return float(special.stdtrit(df, (1 + level) / 2)) if df >= 1 else math.nan


def wilson_interval(
    n_successes: float, n: float, level: float = CONFIDENCE_LEVEL
) -> tuple[float, float]:
    """Return Wilson's interval of a proportion of `n_successes` among n > 0 trials.

    Both may be effective numbers, such as those of answers in clusters. Source: Wilson 1927, JASA
    22, 209-212.
    """
    z = float(special.ndtri((1 + level) / 2))
    proportion, shrinkage = n_successes / n, z**2 / n
    centre = (proportion + shrinkage / 2) / (1 + shrinkage)
    half = z / (1 + shrinkage) * math.sqrt(proportion * (1 - proportion) / n + shrinkage / (4 * n))
    return max(centre - half, 0.0), min(centre + half, 1.0)


def build_proportion(
    share: float | None,
    interval: tuple[float, float] | None,
    *,
    n_items: int,
    n_ratings: int,
    reason: str | None = None,
) -> Value:
    """Return a share with its interval (low, high) as a Value, without standard error.

    Both are None where the share is undefined, for the reason with the name `reason`.
    """
    low, high = interval or (None, None)
    return {
        "value": share,
        "low": low,
        "high": high,
        "se": None,
        "observed": share,
        "expected": None,
        "n_items": n_items,
        "n_ratings": n_ratings,
        "reason": reason,
    }


@dataclass(frozen=True)
class EstimateBasis:
    """Numbers of items and ratings, and degrees of freedom, behind an estimate.

    n_items, n_ratings: int (...), items and ratings compared; df: float (...), degrees of freedom
    of the interval.
    """

    n_items: npt.NDArray[np.int64]
    n_ratings: npt.NDArray[np.int64]
    df: Floats


@dataclass(frozen=True)
class ChanceCorrected:
    """Observed and expected agreement, and the coefficient computed from them, without errors.

    All arrays are (...); reason: index into REASONS, 0 where the value is defined.
    """

    observed: Floats
    expected: Floats
    value: Floats
    reason: npt.NDArray[np.int64]

    @classmethod
    def from_agreement(
        cls, observed: Floats, expected: Floats, pairable: npt.NDArray[np.bool_]
    ) -> "ChanceCorrected":
        """Return the chance-corrected coefficient of observed and expected agreement (...).

        pairable: bool (...), True where any ratings can be compared.
        """
        value, reason = correct_for_chance(observed, expected, pairable)
        expected = np.where(pairable, expected, np.nan)
        return cls(observed, expected, value, reason)


def mark_undefined(mask: npt.NDArray[np.bool_], reason_name: str, estimate: Estimate) -> Estimate:
    """Return the estimate (...) with entries marked as undefined where the mask (...) is True.

    Their reason is the one in REASONS named reason_name; entries that are already undefined keep
    theirs.
    """
    mask = np.asarray(mask) & (estimate.reason == 0)
    number_fields = ("value", "se", "observed", "expected")
    changes: dict[str, Any] = {
        name: np.where(mask, np.nan, getattr(estimate, name)) for name in number_fields
    }
    low, high = (np.where(mask, np.nan, limit) for limit in estimate.limits.arrays)
    changes["limits"] = Limits((low, high))
    for name in ("reason", "se_reason"):
        changes[name] = np.where(mask, REASON_CODES[reason_name], getattr(estimate, name))
    return replace(estimate, **changes)


def build_estimate(
    point: ChanceCorrected,
    se: Floats | None,
    basis: EstimateBasis,
    *,
    upper: float = 1.0,
    no_se_reason: str = "needs_bootstrap",
    limits: Limits | None = None,
) -> Estimate:
    """Return an Estimate (...) from point, standard error and basis, with its intervals.

    limits: of the interval shown; None for value -/+ t(df) se, with at most `upper`. se: float
    (...), or None where no analytic standard error exists; then `no_se_reason` names the reason.
    """
    shape = np.shape(point.value)
    if se is None:
        se = np.full(shape, np.nan)
        se_reason = np.where(point.reason == 0, REASON_CODES[no_se_reason], point.reason)
    else:
        se_reason = np.where(
            point.reason == 0,
            np.where(basis.df < 1, REASON_CODES["too_few_items"], 0),
            point.reason,
        )
        se = np.where(se_reason == 0, se, np.nan)
    if limits is None:
        margin = t_quantile(basis.df) * se
        low, high = point.value - margin, np.minimum(point.value + margin, upper)
        limits = Limits((np.asarray(low, float), np.asarray(high, float)))
    return Estimate(
        value=np.asarray(point.value, float),
        se=np.asarray(se, float),
        limits=limits,
        observed=_broadcast(np.asarray(point.observed, float), shape),
        expected=_broadcast(np.asarray(point.expected, float), shape),
        reason=np.asarray(point.reason, np.int64),
        se_reason=np.asarray(se_reason, np.int64),
        n_items=_broadcast(np.asarray(basis.n_items, np.int64), shape),
        n_ratings=_broadcast(np.asarray(basis.n_ratings, np.int64), shape),
        df=_broadcast(np.asarray(basis.df, float), shape),
    )


def _broadcast(array: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Return the array broadcast to the shape; unchanged if it already has it."""
    return array if array.shape == shape else np.broadcast_to(array, shape)
