"""Match the alert candidates of a scan with stored alerts, so that one cause alerts once.

Every scan finds the candidates of the complete history, not only the new ones. Further ratings may
shift a day or an onset a little. A candidate therefore matches the stored alert of the same kind
and rater (or pair, or category) whose period, from onset to detection, overlaps or is close.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

MAX_GAP_DAYS = 14  # days between two periods that may still have one cause
OPEN_END = 2**31  # day number after every real day


def build_pair_subject(raters: Sequence[int]) -> tuple[int, ...]:
    """Return a 1-tuple with a number that identifies the pair of raters, as an alert's subject."""
    low, high = sorted(raters)
    return (low * 2**40 + high,)


class AlertPeriod(NamedTuple):
    """Days, since 1970-01-01, from onset to detection, and the subjects of an alert.

    ``about``: raters, a pair, a category, or the question (0).
    """

    about: tuple[int, ...]
    onset: int
    day: int

    def count_days_to(self, other: AlertPeriod) -> int:
        """Return the number of days between two periods; 0 where they overlap."""
        return max(0, other.onset - self.day, self.onset - other.day)


@dataclass(frozen=True)
class PeriodMatches:
    """Mapping from the index of a candidate to the index of its stored alert."""

    alert_index_of: dict[int, int]

    def is_new(self, index: int) -> bool:
        """Return whether the candidate matches no stored alert."""
        return index not in self.alert_index_of


def match_periods(
    candidates: Sequence[AlertPeriod], alerts: Sequence[AlertPeriod]
) -> PeriodMatches:
    """Match candidates with stored alerts one to one, closest pairs first."""
    close_pairs = []
    for index, candidate in enumerate(candidates):
        for alert_index, alert in enumerate(alerts):
            if not set(candidate.about) & set(alert.about):
                continue
            gap = candidate.count_days_to(alert)
            if gap <= MAX_GAP_DAYS:
                close_pairs.append((gap, abs(candidate.day - alert.day), index, alert_index))
    alert_index_of: dict[int, int] = {}
    matched_alerts: set[int] = set()
    for _gap, _detected, index, alert_index in sorted(close_pairs):
        if index not in alert_index_of and alert_index not in matched_alerts:
            alert_index_of[index] = alert_index
            matched_alerts.add(alert_index)
    return PeriodMatches(alert_index_of)
