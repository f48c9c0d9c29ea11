"""Audits of data that higher packages derive from ratings, registered for ``manage.py audit``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core.hooks import Hook


@dataclass(frozen=True)
class RegisteredAudit:
    """An audit of stored data.

    ``find_differences`` recomputes it and lists where it differs; ``repair`` stores it again.
    """

    find_differences: Callable[[int], list[str]]
    repair: Callable[[int], object]


REGISTERED_AUDITS: Hook[RegisteredAudit] = Hook("audits")
