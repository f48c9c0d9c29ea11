"""Versions of the guidelines and of an item's content that an answer refers to."""

from __future__ import annotations

import datetime
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CurrentVersion:
    """Number of the current version of guidelines or an item, and the time it became current.

    The time is None for a version that has always been current.
    """

    number: int
    since: datetime.datetime | None = None

    def get_number_for(
        self, answered_at: datetime.datetime | None, shown_number: int | None = None
    ) -> int | None:
        """Return the version number that a rating or a history entry stores; None if unknown.

        ``answered_at`` is the time that the source sends, None for now: an answer from before the
        current version was created belongs to another one, perhaps of another tool.
        ``shown_number`` is the version that the rater saw, if the form or a file says so (0:
        unknown).
        """
        if shown_number is not None:
            return min(shown_number, self.number) or None
        if answered_at is not None and self.since is not None and answered_at < self.since:
            return None
        return self.number or None
