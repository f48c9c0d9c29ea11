"""One coefficient as it is stored, shown and answered: made here wherever no formula made it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metrics.agreement.coefficients.intraclass.icc import Icc
from metrics.agreement.estimate import Value


def not_counted() -> Value:
    """Of what no worker has looked at yet."""
    return _alone(None, "not_counted", n_items=0, n_ratings=0)


def undefined(reason: str) -> Value:
    """A coefficient that cannot be had."""
    return _alone(None, reason, n_items=0, n_ratings=0)


def value_of_icc(one: Icc, *, n_items: int, n_ratings: int) -> Value:
    """An intraclass correlation of so many complete items, with its F interval."""
    found = _alone(one.value, one.reason, n_items=n_items, n_ratings=n_ratings)
    found["low"], found["high"] = one.ci_low, one.ci_high
    return found


def mean_of_pairs(
    mean: float | None, n_pairs: int, *, undefined: str = "no_pairable_items"
) -> Value:
    """The mean of the kappas of ``n_pairs`` pairs; with none of them it is undefined, and why."""
    found = _alone(mean, None if n_pairs else undefined, n_items=None, n_ratings=None)
    found["n_pairs"] = n_pairs
    return found


def resting_on(values: Mapping[str, Any], like: Mapping[str, Any]) -> dict[str, Any]:
    """Values by name, with the numbers of items and ratings that another value rests on."""
    rests_on = {"n_items": like["n_items"], "n_ratings": like["n_ratings"]}
    return {name: {**value, **rests_on} for name, value in values.items()}


def _alone(
    value: float | None, reason: str | None, *, n_items: int | None, n_ratings: int | None
) -> Value:
    """A value without an interval."""
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
