"""Pacing: how often a question is counted while ratings arrive.

Counting takes locks that raters need too (on SQLite: the single lock of all writers). So after a
question was counted, it pauses for nine times as long as that took, at most LONGEST_PAUSE_SECONDS.
Counting then takes a tenth of the time on any machine, and the ratings that arrive meanwhile are
counted together. The first rating after a quiet period is counted at once.
"""

from __future__ import annotations

import time

PAUSE_FACTOR = 9
LONGEST_PAUSE_SECONDS = 1.0

# Question -> (end of its last counting, seconds that it took), by this process's monotonic clock.
# Each worker paces itself. That is enough, because only one hint a question is pending.
_last_runs: dict[int, tuple[float, float]] = {}


def wait_for_turn(question_id: int) -> None:
    """Sleep until the question's pause is over."""
    ended, duration = _last_runs.get(question_id, (0.0, 0.0))
    pause = min(LONGEST_PAUSE_SECONDS, PAUSE_FACTOR * duration) - (time.monotonic() - ended)
    if pause > 0:
        time.sleep(pause)


def record_run(question_id: int, started: float) -> None:
    """Record a counting run that began at ``started`` (time.monotonic) and ends now."""
    ended = time.monotonic()
    _last_runs[question_id] = (ended, ended - started)
