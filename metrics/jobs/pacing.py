"""How often one question is counted while ratings stream in.

Counting takes locks that those who rate need too (on SQLite: the one lock of all writers). So a
question that was counted just now rests for nine times as long as that took, at most
LONGEST_REST_SECONDS: counting then takes a tenth of the time, whatever the machine, and the ratings
that arrive meanwhile are counted together. The first rating after a quiet moment is counted at
once.
"""

from __future__ import annotations

import time

REST_FACTOR = 9
LONGEST_REST_SECONDS = 1.0

# Question -> (when its last counting ended, how long it took), by this process's monotonic clock.
# Each worker paces itself; that is enough, for one hint a question is under way.
_last: dict[int, tuple[float, float]] = {}


def wait(question_id: int) -> None:
    """Sleep until it is the question's turn again."""
    ended, spent = _last.get(question_id, (0.0, 0.0))
    rest = min(LONGEST_REST_SECONDS, REST_FACTOR * spent) - (time.monotonic() - ended)
    if rest > 0:
        time.sleep(rest)


def counted(question_id: int, started: float) -> None:
    """Remember a counting that began at ``started`` (time.monotonic) and ends now."""
    ended = time.monotonic()
    _last[question_id] = (ended, ended - started)
