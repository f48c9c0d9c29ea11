"""Listeners that are called after a commit that changed results of a question.

Mails about targets and alerts begin with a listener. A worker that is killed calls no listener, so
a sweep must later find each change to which a listener reacts.
"""

from __future__ import annotations

from core.jobs.commit_listeners import CommitListeners

RESULTS_CHANGED = CommitListeners("results_changed")  # called with the question's id
