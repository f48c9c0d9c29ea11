"""What rooms above store of a question's ratings, for ``manage.py audit`` to compare and repair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Stored:
    """``differences`` makes it anew and says where it differs; ``repair`` stores it anew."""

    differences: Callable[[int], list[str]]
    repair: Callable[[int], object]


ALL: list[Stored] = []
