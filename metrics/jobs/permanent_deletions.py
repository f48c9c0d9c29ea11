"""Background work of permanent deletions, in steps.

The steps are those of `ratings.items.removal`, with counting in between.
"""

from __future__ import annotations

import time

from projects import permissions
from projects.models import Deletion
from ratings.items import removal

from .question_updates import update_question_for_seconds

TURN_SECONDS = 2.0  # for one deletion while others are pending


def process_pending_deletions() -> int:
    """Continue all deletions except those under legal hold; return how many were finished."""
    return sum(
        process_deletion(deletion)
        for deletion in removal.list_open_deletions()
        if deletion.project_id is None or not permissions.is_under_legal_hold(deletion.project_id)
    )


def process_deletion(deletion: Deletion, *, seconds: float = TURN_SECONDS) -> bool:
    """Process the next steps for about ``seconds``; return whether the deletion is finished.

    A later call continues with the steps that remain, which it finds from the remaining rows.
    """
    deadline = time.monotonic() + seconds
    while removal.withdraw_next_ratings(deletion):
        if time.monotonic() > deadline:
            return False
    for question_id in removal.list_questions_to_count(deletion):
        update_question_for_seconds(question_id, seconds=seconds)
    while removal.delete_next_batch(deletion):
        if time.monotonic() > deadline:
            return False
    return not removal.list_questions_to_count(deletion) and removal.delete_target_row(deletion)
