"""What every coefficient returns: values with their uncertainty, or the reason why there is none.

Undefined entries are NaN inside an Estimate only; `reading()` gives None with the name of the
reason.
"""

import math
from dataclasses import dataclass, fields, replace
from typing import Any, NotRequired, TypedDict

import numpy as np
import numpy.typing as npt
from scipy import special

Floats = npt.NDArray[np.float64]
Index = int | tuple[int, ...]

LEVEL = 0.95  # of every interval that does not say otherwise
SINGULAR = 1e-12  # |1 - P_e| below this: no room for agreement beyond chance

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
CODE = {name: code for code, name in enumerate(REASONS) if name is not None}


class Value(TypedDict):
    """One value of a coefficient in plain numbers, None where there is none; as it is stored and as
    the API answers it."""

    value: float | None
    low: float | None
    high: float | None
    se: float | None
    observed: float | None
    expected: float | None
    n_items: int | None
    n_ratings: int | None
    reason: str | None  # why there is no value
    n_pairs: NotRequired[int]  # of a mean over pairs
    bootstrap: NotRequired[int]  # the interval is that of so many replicates


@dataclass(frozen=True)
class Estimate:
    """A coefficient for each entry of a common leading shape (...): a pair, a day, a replicate, or
    () for one.

    value, se, low, high, observed, expected: float (...), NaN where undefined
    reason, se_reason: index into REASONS (...), why the value (the error and interval) is
        undefined; 0: defined
    n_items, n_ratings: int (...), the items that have what the coefficient compares, and their
        ratings
    """

    value: Floats
    se: Floats
    low: Floats
    high: Floats
    observed: Floats
    expected: Floats
    reason: npt.NDArray[np.int64]
    se_reason: npt.NDArray[np.int64]
    n_items: npt.NDArray[np.int64]
    n_ratings: npt.NDArray[np.int64]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    def __getitem__(self, index: Any) -> "Estimate":
        return Estimate(*(np.asarray(getattr(self, field.name)[index]) for field in fields(self)))

    def reading(self, index: Index = ()) -> Value:
        """One entry in plain numbers."""
        return {
            "value": number(self.value[index]),
            "low": number(self.low[index]),
            "high": number(self.high[index]),
            "se": number(self.se[index]),
            "observed": number(self.observed[index]),
            "expected": number(self.expected[index]),
            "n_items": int(self.n_items[index]),
            "n_ratings": int(self.n_ratings[index]),
            "reason": REASONS[int(self.reason[index])],
        }

    def readings(self) -> list[Value]:
        """`reading` of every entry of an estimate with one leading axis, many times faster than one
        by one."""
        columns = zip(
            _plain(self.value),
            _plain(self.low),
            _plain(self.high),
            _plain(self.se),
            _plain(self.observed),
            _plain(self.expected),
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

    def why_no_interval(self, index: Index = ()) -> str | None:
        """Name of the reason why there is no standard error, None where there is one."""
        return REASONS[int(self.se_reason[index])]


def _plain(values: Floats) -> list[float | None]:
    plain: list[float | None] = values.tolist()
    for index in np.flatnonzero(~np.isfinite(values)).tolist():
        plain[index] = None
    return plain


def number(value: Any) -> float | None:
    """A plain float, None for what is not a finite number."""
    plain = float(value)
    return plain if math.isfinite(plain) else None


def chance_corrected(
    observed: Floats, expected: Floats, pairable: npt.NDArray[np.bool_]
) -> tuple[Floats, npt.NDArray[np.int64]]:
    """(P_o - P_e) / (1 - P_e), and the reason where it is undefined."""
    room = 1 - expected
    singular = np.abs(room) < SINGULAR
    reason = np.where(
        ~pairable, CODE["no_pairable_items"], np.where(singular, CODE["single_category"], 0)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(reason == 0, (observed - expected) / room, np.nan)
    return value, reason


def divided(numerator: Any, denominator: Any) -> Floats:
    """numerator / denominator, NaN where the denominator is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(denominator == 0, np.nan, np.divide(numerator, denominator))


def quantile_t(df: npt.ArrayLike, level: float = LEVEL) -> Floats:
    """Two-sided quantile of Student's t; NaN for df < 1."""
    df = np.asarray(df, float)
    distinct, index = np.unique(df, return_inverse=True)
    quantile = np.where(
        distinct >= 1, special.stdtrit(np.maximum(distinct, 1), (1 + level) / 2), np.nan
    )
    return quantile[index].reshape(df.shape)


def wilson(right: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Wilson's interval of a share of `right` among n > 0 (Wilson 1927, JASA 22, 209-212)."""
    z = float(special.ndtri((1 + level) / 2))
    share, pull = right / n, z**2 / n
    centre = (share + pull / 2) / (1 + pull)
    half = z / (1 + pull) * math.sqrt(share * (1 - share) / n + pull / (4 * n))
    return max(centre - half, 0.0), min(centre + half, 1.0)


@dataclass(frozen=True)
class Basis:
    """What an estimate rests on. All (...): items and ratings compared, degrees of freedom of the
    interval."""

    n_items: npt.NDArray[np.int64]
    n_ratings: npt.NDArray[np.int64]
    df: Floats


@dataclass(frozen=True)
class Corrected:
    """Observed and expected agreement and the coefficient made of them, before its uncertainty. All
    (...)."""

    observed: Floats
    expected: Floats
    value: Floats
    reason: npt.NDArray[np.int64]

    @classmethod
    def of(cls, observed: Floats, expected: Floats, pairable: npt.NDArray[np.bool_]) -> "Corrected":
        value, reason = chance_corrected(observed, expected, pairable)
        expected = np.where(pairable, expected, np.nan)
        return cls(observed, expected, value, reason)


def undefined_where(none: npt.NDArray[np.bool_], why: str, estimate: Estimate) -> Estimate:
    """The estimate (...) without a value at those places (...) of it that had one."""
    none = np.asarray(none) & (estimate.reason == 0)
    numbers = ("value", "se", "low", "high", "observed", "expected")
    gone: dict[str, Any] = {
        name: np.where(none, np.nan, getattr(estimate, name)) for name in numbers
    }
    for name in ("reason", "se_reason"):
        gone[name] = np.where(none, CODE[why], getattr(estimate, name))
    return replace(estimate, **gone)


def estimated(
    point: Corrected,
    se: Floats | None,
    basis: Basis,
    *,
    upper: float = 1.0,
    why_no_se: str = "needs_bootstrap",
) -> Estimate:
    """Add the t interval value -/+ t(df) se, its upper end clipped to `upper`, the lower end not
    clipped."""
    shape = np.shape(point.value)
    if se is None:
        se = np.full(shape, np.nan)
        se_reason = np.where(point.reason == 0, CODE[why_no_se], point.reason)
    else:
        se_reason = np.where(
            point.reason == 0, np.where(basis.df < 1, CODE["too_few_items"], 0), point.reason
        )
        se = np.where(se_reason == 0, se, np.nan)
    margin = quantile_t(basis.df) * se
    return Estimate(
        value=np.asarray(point.value, float),
        se=np.asarray(se, float),
        low=np.asarray(point.value - margin, float),
        high=np.asarray(np.minimum(point.value + margin, upper), float),
        observed=np.broadcast_to(np.asarray(point.observed, float), shape),
        expected=np.broadcast_to(np.asarray(point.expected, float), shape),
        reason=np.asarray(point.reason, np.int64),
        se_reason=np.asarray(se_reason, np.int64),
        n_items=np.broadcast_to(np.asarray(basis.n_items, np.int64), shape),
        n_ratings=np.broadcast_to(np.asarray(basis.n_ratings, np.int64), shape),
    )
