"""Hooks that a project's set-up calls and ``ratings`` fills: projects knows nothing of ratings."""

from __future__ import annotations

from collections.abc import Callable, Iterable

# question id, codes -> how many ratings hold each of the codes (those with none left out)
Counter = Callable[[int, Iterable[int]], dict[int, int]]
Listener = Callable[[int], None]

_count_in_use: Counter | None = None
_zone_listener: Listener | None = None
_scale_listener: Listener | None = None


def fill(*, count_in_use: Counter, zone_changed: Listener, scale_changed: Listener) -> None:
    """Register the three hooks, once, when the site starts.

    ``zone_changed`` gets a project's id, ``scale_changed`` a question's; both run inside the
    changing transaction.
    """
    global _count_in_use, _zone_listener, _scale_listener
    _count_in_use, _zone_listener, _scale_listener = count_in_use, zone_changed, scale_changed


def in_use(question_id: int, codes: Iterable[int]) -> dict[int, int]:
    """code -> number of ratings that hold it, for those of ``codes`` that any rating holds."""
    return _count_in_use(question_id, codes) if _count_in_use else {}


def zone_changed(project_id: int) -> None:
    if _zone_listener:
        _zone_listener(project_id)


def scale_changed(question_id: int) -> None:
    if _scale_listener:
        _scale_listener(question_id)
