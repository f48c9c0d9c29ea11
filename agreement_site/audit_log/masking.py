"""Lines of a project that hides who its raters are, as those who lead it may read them: lines of
before still say who is who. Superusers read what stands there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from projects.models import Project
from projects.services.raters import pseudonyms

# Acts whose lines tell of raters, and what they say of the person.
ABOUT_RATERS = ("rater", "exam_", "gold_", "person_", "deletion_", "admin_")
PERSONAL = ("name", "user", "user_id", "username")

# act, values before, after, or else of a line -> what may be read of them
Mask = Callable[[str, Any], Any]


def unmasked(_what: str, told: Any) -> Any:
    return told


def mask_for(project: Project | None, user: Any) -> Mask:
    """What hides raters from this user in lines of the project; of the whole site, nothing is."""
    if project is None or not project.raters_hidden or user.is_superuser:
        return unmasked
    shown = pseudonyms.pseudonyms(project)

    def mask(what: str, told: Any) -> Any:
        return _masked(told, shown) if what.startswith(ABOUT_RATERS) else told

    return mask


def _masked(told: Any, shown: dict[str, str]) -> Any:
    if isinstance(told, dict):
        return {
            shown.get(name, name): _masked(value, shown)
            for name, value in told.items()
            if name not in PERSONAL
        }
    if isinstance(told, list):
        return [_masked(one, shown) for one in told]
    return shown.get(told, told) if isinstance(told, str) else told
