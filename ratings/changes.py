"""Listeners that are called after a commit that changed ratings of a question."""

from __future__ import annotations

from core.jobs.commit_listeners import CommitListeners

listeners = CommitListeners()  # a number is a question's id
listen = listeners.register
announce = listeners.notify_on_commit
