"""Hooks of a project's set-up, for those who stand above it: projects knows nothing of ratings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

# question id, codes -> how many ratings hold each of the codes (those with none left out)
CountInUse = Callable[[int, Iterable[int]], dict[int, int]]
Listener = Callable[[int], None]

# question id, weights (k, k) -> what is read first now, and under these weights: {"name", "now",
# "then"}; None while there is nothing to tell
Preview = Callable[[int, list[list[float]]], dict[str, Any] | None]

# project id, old key -> new key of raters
Renamed = Callable[[int, Mapping[str, str]], None]

_previews: list[Preview] = []
_counters: list[CountInUse] = []
_zone_listeners: list[Listener] = []
_scale_listeners: list[Listener] = []
_renamed_listeners: list[Renamed] = []


def listen(
    *,
    count_in_use: CountInUse | None = None,
    zone_changed: Listener | None = None,
    scale_changed: Listener | None = None,
    weights_preview: Preview | None = None,
    raters_renamed: Renamed | None = None,
) -> None:
    """Register what is to be asked and told. Who is registered twice still hears once.

    ``zone_changed`` gets a project's id, ``scale_changed`` a question's. They run inside the
    changing transaction, so that a failure of theirs undoes the change.
    """
    if raters_renamed is not None and raters_renamed not in _renamed_listeners:
        _renamed_listeners.append(raters_renamed)
    if count_in_use is not None and count_in_use not in _counters:
        _counters.append(count_in_use)
    if weights_preview is not None and weights_preview not in _previews:
        _previews.append(weights_preview)
    if zone_changed is not None and zone_changed not in _zone_listeners:
        _zone_listeners.append(zone_changed)
    if scale_changed is not None and scale_changed not in _scale_listeners:
        _scale_listeners.append(scale_changed)


def in_use(question_id: int, codes: Iterable[int]) -> dict[int, int]:
    """code -> number of uses, summed over all who count them, for those of ``codes`` that have
    any."""
    wanted = list(codes)
    found: Counter[int] = Counter()
    for count_in_use in _counters:
        found.update(count_in_use(question_id, wanted))
    return dict(found)


def weights_preview(question_id: int, matrix: list[list[float]]) -> dict[str, Any] | None:
    """What agreement would be under these weights, of the first who can tell."""
    found = (preview(question_id, matrix) for preview in _previews)
    return next((one for one in found if one is not None), None)


def zone_changed(project_id: int) -> None:
    """Tell all listeners that a project's time zone is another one now."""
    for listener in _zone_listeners:
        listener(project_id)


def scale_changed(question_id: int) -> None:
    """Tell all listeners that a question's categories, their order, values or weights changed."""
    for listener in _scale_listeners:
        listener(question_id)


def raters_renamed(project_id: int, renamed: Mapping[str, str]) -> None:
    """Tell that raters have other keys now: what others stored under the old ones follows."""
    for listener in _renamed_listeners:
        listener(project_id, renamed)
