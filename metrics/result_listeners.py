"""Listeners that are called after a commit that changed results of a question.

Mails about targets and alerts begin with a listener. Whatever a listener reacts to must also be
found without it later, as the sweep does with counts: a worker that is killed announces nothing.
"""

from __future__ import annotations

from core.jobs.commit_listeners import CommitListeners

RESULTS_CHANGED = CommitListeners("results_changed")  # called with the question's id
