"""Which alarm of today is which case: nothing rings twice for one cause.

Every look begins from nothing and finds the alarms of the whole history. More ratings may move a
day or an onset a little, so an alarm is the case of the same kind and rater (or pair, or category)
whose days, from the onset to when it was noticed, it shares, or that lies next to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

NEAR = 14  # days between two alarms of one rater that may still be one cause
FOREVER = 2**31  # a day that never comes


def pair_of(raters: Sequence[int]) -> tuple[int, ...]:
    """One number for two raters, so that a pair is only itself."""
    low, high = sorted(raters)
    return (low * 2**40 + high,)


class Stretch(NamedTuple):
    """The days, since 1970-01-01, from an onset to when it was noticed, and what it is about:
    raters, a pair, a category, or the question (0)."""

    about: tuple[int, ...]
    onset: int
    day: int

    def apart(self, other: Stretch) -> int:
        """Days between two stretches; 0 where they overlap."""
        return max(0, other.onset - self.day, self.onset - other.day)


@dataclass(frozen=True)
class Match:
    """Place of an alarm of today -> place of its case; the others are new."""

    case_of: dict[int, int]

    def is_new(self, place: int) -> bool:
        return place not in self.case_of


def match(found: Sequence[Stretch], cases: Sequence[Stretch]) -> Match:
    """Pair the alarms of today with the cases, the nearest first, each with one at most."""
    near = []
    for place, alarm in enumerate(found):
        for number, case in enumerate(cases):
            if not set(alarm.about) & set(case.about):
                continue
            days = alarm.apart(case)
            if days <= NEAR:
                near.append((days, abs(alarm.day - case.day), place, number))
    case_of: dict[int, int] = {}
    taken: set[int] = set()
    for _days, _noticed, place, number in sorted(near):
        if place not in case_of and number not in taken:
            case_of[place] = number
            taken.add(number)
    return Match(case_of)
