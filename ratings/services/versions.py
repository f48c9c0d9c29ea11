"""Under which version of the guidelines, and of which content of an item, something was said."""

from __future__ import annotations

import datetime
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Version:
    """The version in force (0: none was ever written), and since when it is; None: always."""

    number: int
    since: datetime.datetime | None = None

    def stamp(self, said_at: datetime.datetime | None, seen: int | None = None) -> int | None:
        """The version that a rating or a line of its history carries; None where nobody knows.

        ``said_at`` is the time that the source brings, None for now: what was said before the
        version in force was made was said under another one, perhaps of another tool. ``seen``
        is the version that the rater had before them, when the form or a file tells it (0: nobody
        knows).
        """
        if seen is not None:
            return min(seen, self.number) or None
        if said_at is not None and self.since is not None and said_at < self.since:
            return None
        return self.number or None
