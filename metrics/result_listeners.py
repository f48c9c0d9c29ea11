"""Listeners that are called after a commit that changed results of a question.

Mails about targets and alerts begin with a listener. Whatever a listener reacts to must also be
found without it later, as the sweep does with counts: a worker that is killed announces nothing.
"""

from __future__ import annotations

from core.jobs.commit_listeners import CommitListeners

listeners = CommitListeners()  # called with the question's id
listen = listeners.register
announce = listeners.notify_on_commit
