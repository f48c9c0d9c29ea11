"""Listeners that are called after the commit when ratings of a question changed."""

from __future__ import annotations

from core.jobs.hooks import CommitListeners

listeners = CommitListeners()  # a number is a question's id
listen = listeners.register
announce = listeners.notify_on_commit
