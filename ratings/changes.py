"""Listeners that are called after a commit that changed ratings of a question."""

from __future__ import annotations

from core.hooks import CommitListeners

RATINGS_CHANGED = CommitListeners("ratings_changed")  # called with the question's id
