"""Audits of data that higher packages derive from ratings, registered for ``manage.py audit``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core.hooks import Hook


@dataclass(frozen=True)
class RegisteredAudit:
    """An audit of data that a higher package stores.

    ``find_differences`` recomputes a question's data and describes each difference; ``repair``
    stores the recomputed data.
    """

    find_differences: Callable[[int], list[str]]
    repair: Callable[[int], object]


REGISTERED_AUDITS: Hook[RegisteredAudit] = Hook("audits")
