"""Validation of settings and reasons that leads enter, shared by pages and API."""

from __future__ import annotations

from django.utils.translation import gettext as _

from core.text import describe_length, has_nul


class InvalidSettings(ValueError):
    """The settings are invalid; ``fields``: {name: error message}."""

    def __init__(self, fields: dict[str, str]) -> None:
        super().__init__("; ".join(fields.values()))
        self.fields = fields


def find_reason_error(reason: str, *, max_length: int) -> str:
    """Return the error message for the reason of an action, or an empty text.

    ``max_length``: maximum number of characters.
    """
    if len(reason) > max_length or has_nul(reason):
        return describe_length(max_length)
    return ""


def find_required_reason_error(reason: str, *, max_length: int) -> str:
    """Return the error message for a reason that must not be empty, or an empty text."""
    return find_reason_error(reason, max_length=max_length) if reason else _("Enter a reason.")
