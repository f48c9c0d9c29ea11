"""Masks that hide raters' identities in audit log entries of a project.

Entries from before the raters were hidden still contain their identities. Superusers see them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from projects.models import Project
from projects.services.raters import pseudonyms

# Prefixes of actions whose entries concern raters, and the fields that identify a person.
RATER_ACTION_PREFIXES = ("rater", "exam_", "gold_", "person_", "deletion_", "admin_")
PERSONAL_FIELDS = ("name", "user", "user_id", "username")

# (action, values of an entry) -> the values that may be shown
Mask = Callable[[str, Any], Any]


def return_unmasked(_what: str, values: Any) -> Any:
    return values


def build_mask(project: Project | None, user: Any) -> Mask:
    """Return the mask of the project's entries for this user.

    Entries of the site are not masked.
    """
    if project is None or not project.hides_raters or user.is_superuser:
        return return_unmasked
    pseudonym_of_key = pseudonyms.get_pseudonyms(project)

    def hide_identities(action: str, values: Any) -> Any:
        return (
            _mask_value(values, pseudonym_of_key)
            if action.startswith(RATER_ACTION_PREFIXES)
            else values
        )

    return hide_identities


def _mask_value(data: Any, pseudonym_of_key: dict[str, str]) -> Any:
    if isinstance(data, dict):
        return {
            pseudonym_of_key.get(name, name): _mask_value(value, pseudonym_of_key)
            for name, value in data.items()
            if name not in PERSONAL_FIELDS
        }
    if isinstance(data, list):
        return [_mask_value(element, pseudonym_of_key) for element in data]
    return pseudonym_of_key.get(data, data) if isinstance(data, str) else data
