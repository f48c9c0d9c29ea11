"""Hook of the work that follows a pull."""

from __future__ import annotations

from collections.abc import Callable

from core.hooks import Hook
from ratings.models import LabelStudioConnection

from .client import Client

# Called by the worker that holds the lease of an active connection, after it has read everything.
# Work that is not finished at the deadline (a monotonic time) goes on in the next run: a function
# does one step at least, and returns whether it has finished.
AFTER_PULL: Hook[Callable[[LabelStudioConnection, Client, float], bool]] = Hook("after_pull")
