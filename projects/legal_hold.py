"""Legal hold: projects of which nothing may be deleted (setting LEGAL_HOLD).

The operator sets it, not a lead: numbers of projects, or ``all``.
"""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.utils.translation import gettext as _

ALL = "all"


def is_site_held() -> bool:
    """Return True where nothing on the site may be deleted."""
    return ALL in settings.LEGAL_HOLD


def list_held_projects() -> list[int]:
    """Return the ids of the projects that are named; not all of them for ``all``."""
    return [int(text) for text in settings.LEGAL_HOLD if text != ALL]


def is_held(project_id: int) -> bool:
    return is_site_held() or project_id in list_held_projects()


def raise_if_held(project_id: int) -> None:
    """Raise PermissionDenied where nothing of the project may be deleted."""
    if is_held(project_id):
        raise PermissionDenied(
            _("Until an administrator ends the legal hold, nothing can be deleted.")
        )
