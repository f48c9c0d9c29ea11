"""What a lead may not choose or say, with the reason: one check for all pages and calls."""

from __future__ import annotations

from django.utils.translation import gettext as _

from core.text import has_nul


class Refused(ValueError):
    """Rules that cannot be. ``fields``: name -> what is wrong with it."""

    def __init__(self, fields: dict[str, str]) -> None:
        super().__init__("; ".join(fields.values()))
        self.fields = fields


def trouble_with(reason: str, *, longest: int) -> str:
    """What is wrong with the reason of an act; empty when nothing is. ``longest`` counts
    characters."""
    if len(reason) > longest or has_nul(reason):
        return _("%(n)s characters at most, and no NUL") % {"n": longest}
    return ""


def trouble_with_needed(reason: str, *, longest: int) -> str:
    """The same where there must be one."""
    return trouble_with(reason, longest=longest) if reason else _("Say why.")
