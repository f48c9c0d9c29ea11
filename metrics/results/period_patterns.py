"""The items of a span's periods, by pattern."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from metrics import periods
from ratings.services.days import date_of


@dataclass(frozen=True)
class Periods:
    """The periods of one span: first days (D,) and numbers of items by pattern (D, P)."""

    name: str
    begins: np.ndarray
    n_items: np.ndarray

    @classmethod
    def of(cls, name: str, days: np.ndarray, by_day: np.ndarray) -> Periods:
        begins, index = np.unique(periods.starts(days, name), return_inverse=True)
        n_items = np.zeros((len(begins), by_day.shape[1]), np.int64)
        np.add.at(n_items, index, by_day)
        return cls(name, begins, n_items)

    def since(self, day: int) -> Periods:
        """From the period of ``day`` on. What was read may begin in the middle of an earlier
        one."""
        return self.only(self.begins >= periods.starts(np.array([day]), self.name)[0])

    def containing(self, days: Iterable[int]) -> Periods:
        return self.only(
            np.isin(self.begins, periods.starts(np.fromiter(days, np.int64), self.name))
        )

    def only(self, chosen: np.ndarray) -> Periods:
        return Periods(self.name, self.begins[chosen], self.n_items[chosen])

    def cumulative(self, ever: np.ndarray) -> np.ndarray:
        """Items by pattern up to each period's end (D, P), where these are the last periods of
        all."""
        return ever - self.n_items.sum(axis=0) + self.n_items.cumsum(axis=0)

    def starts(self) -> list[Any]:
        return [date_of(begin) for begin in self.begins.tolist()]

    def empty(self) -> list[Any]:
        """First days of the periods that have no item any more."""
        return [
            start
            for start, items in zip(self.starts(), self.n_items.sum(axis=1), strict=True)
            if not items
        ]
