"""Value: the stored form of a coefficient with interval and reason, and its builders.

For values that no Estimate provides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metrics.agreement.coefficients.intraclass.icc import Icc
from metrics.agreement.estimate import Value


def build_uncounted_value() -> Value:
    """Return the Value of a coefficient before its ratings are counted."""
    return _build_value(None, "not_counted", n_items=0, n_ratings=0)


def build_undefined_value(reason: str) -> Value:
    """Return the Value of a coefficient that is undefined for this reason."""
    return _build_value(None, reason, n_items=0, n_ratings=0)


def build_icc_value(icc: Icc, *, n_items: int, n_ratings: int) -> Value:
    """Return the Value of an intraclass correlation of complete items, with its F interval."""
    value = _build_value(icc.value, icc.reason, n_items=n_items, n_ratings=n_ratings)
    value["low"], value["high"] = icc.ci_low, icc.ci_high
    return value


def build_pair_mean_value(
    mean: float | None, n_pairs: int, *, undefined_reason: str = "no_pairable_items"
) -> Value:
    """Return the Value of the mean kappa of ``n_pairs`` pairs.

    Without pairs it is undefined, for ``undefined_reason``.
    """
    value = _build_value(mean, None if n_pairs else undefined_reason, n_items=None, n_ratings=None)
    value["n_pairs"] = n_pairs
    return value


def copy_sample_sizes(values: Mapping[str, Any], source: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values by name, with the numbers of items and ratings of another value."""
    sizes = {"n_items": source["n_items"], "n_ratings": source["n_ratings"]}
    return {name: {**value, **sizes} for name, value in values.items()}


def _build_value(
    value: float | None, reason: str | None, *, n_items: int | None, n_ratings: int | None
) -> Value:
    """Return a Value without an interval."""
    return {
        "value": value,
        "low": None,
        "high": None,
        "se": None,
        "observed": None,
        "expected": None,
        "n_items": n_items,
        "n_ratings": n_ratings,
        "reason": reason,
    }
