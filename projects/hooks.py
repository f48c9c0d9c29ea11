"""Hooks through which higher apps react to changes of projects, questions and raters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .models import Project, Rater

# (question id, codes) -> {code: number of uses}, without codes that are not used
CountInUse = Callable[[int, Iterable[int]], dict[int, int]]
Listener = Callable[[int], None]

# (question id, weights (k, k)) -> the headline now and under these weights, as {"name", "now",
# "then"}; None while there is no result
WeightsPreview = Callable[[int, list[list[float]]], dict[str, Any] | None]

# (project, acting user) and (rater, acting user), after the change and in its transaction
GuidelinesListener = Callable[[Project, Any], None]
PauseListener = Callable[[Rater, Any], None]

# (project id, {old key: new key} of raters) -> None
RatersRenamedListener = Callable[[int, Mapping[str, str]], None]

_previews: list[WeightsPreview] = []
_counters: list[CountInUse] = []
_zone_listeners: list[Listener] = []
_scale_listeners: list[Listener] = []
_renamed_listeners: list[RatersRenamedListener] = []
_guidelines_listeners: list[GuidelinesListener] = []
_pause_listeners: list[PauseListener] = []


def register_hooks(
    *,
    count_in_use: CountInUse | None = None,
    zone_changed: Listener | None = None,
    scale_changed: Listener | None = None,
    weights_preview: WeightsPreview | None = None,
    raters_renamed: RatersRenamedListener | None = None,
    guidelines_changed: GuidelinesListener | None = None,
    rater_paused: PauseListener | None = None,
) -> None:
    """Register functions of a higher app as hooks. Registering one twice has no effect.

    ``zone_changed`` gets a project's id, ``scale_changed`` a question's. They, and
    ``guidelines_changed`` and ``rater_paused`` (paused or resumed), run inside the changing
    transaction, so that an exception of theirs undoes the change.
    """
    if guidelines_changed is not None and guidelines_changed not in _guidelines_listeners:
        _guidelines_listeners.append(guidelines_changed)
    if rater_paused is not None and rater_paused not in _pause_listeners:
        _pause_listeners.append(rater_paused)
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


def count_category_uses(question_id: int, codes: Iterable[int]) -> dict[int, int]:
    """Return {code: number of uses} of a question's categories, summed over all apps.

    The numbers are summed over all counters.
    """
    code_list = list(codes)
    uses: Counter[int] = Counter()
    for count_in_use in _counters:
        uses.update(count_in_use(question_id, code_list))
    return dict(uses)


def preview_weights(question_id: int, matrix: list[list[float]]) -> dict[str, Any] | None:
    """Return the agreement under these weights, or None.

    It comes from the first preview hook that has a result.
    """
    results = (preview(question_id, matrix) for preview in _previews)
    return next((result for result in results if result is not None), None)


def notify_time_zone_changed(project_id: int) -> None:
    """Notify all listeners that a project's time zone has changed."""
    for listener in _zone_listeners:
        listener(project_id)


def notify_scale_changed(question_id: int) -> None:
    """Notify all listeners that the scale of a question has changed.

    The scale is its categories, their order, values and weights.
    """
    for listener in _scale_listeners:
        listener(question_id)


def notify_raters_renamed(project_id: int, renamed: Mapping[str, str]) -> None:
    """Notify all listeners that raters have new keys.

    They then update what they stored by key.
    """
    for listener in _renamed_listeners:
        listener(project_id, renamed)


def notify_guidelines_changed(project: Project, *, by: Any) -> None:
    """Notify all listeners that the project's guidelines have a new version."""
    for listener in _guidelines_listeners:
        listener(project, by)


def notify_rater_paused_or_resumed(rater: Rater, *, by: Any) -> None:
    """Notify all listeners that the rater was paused or resumed."""
    for listener in _pause_listeners:
        listener(rater, by)
