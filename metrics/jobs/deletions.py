"""What is to be deleted for good, a step at a time: as `ratings.items.purge` has it, with the
counting between its steps."""

from __future__ import annotations

import time

from projects.models import Deletion
from ratings.items import purge

from .question_updates import work_on

TURN_SECONDS = 2.0  # for one deletion while others wait


def sweep() -> int:
    """Go on with all deletions that are under way; how many were finished."""
    return sum(work_on_one(deletion) for deletion in purge.under_way())


def work_on_one(deletion: Deletion, *, seconds: float = TURN_SECONDS) -> bool:
    """Take the next steps for about so many seconds; whether it is done. Whoever takes it up again
    finds in the rows what is left."""
    until = time.monotonic() + seconds
    while purge.withdraw_some(deletion):
        if time.monotonic() > until:
            return False
    for question_id in purge.questions_to_count(deletion):
        work_on(question_id, seconds=seconds)
    while purge.remove_some(deletion):
        if time.monotonic() > until:
            return False
    return not purge.questions_to_count(deletion) and purge.finish(deletion)
