"""Roles of a project's members, and what each may do."""

from __future__ import annotations

from enum import Enum, auto

from django.db import models
from django.utils.translation import gettext_lazy as _


class Role(models.TextChoices):
    LEAD = "lead", _("lead")
    ANNOTATOR = "annotator", _("annotator")
    VIEWER = "viewer", _("viewer")
    # Reviews uncertain items, and sees what a viewer sees.
    ADJUDICATOR = "adjudicator", _("adjudicator")


class Capability(Enum):
    """Something that a member may do in a project."""

    RATE = auto()
    SEE_OWN_RATINGS = auto()  # on a page of one's own
    SEE_RESULTS = auto()
    REVIEW = auto()
    MANAGE = auto()


# A new role is a row here, its label in Role and a migration of the constraint.
CAPABILITIES = {
    Role.LEAD.value: {
        Capability.RATE,
        Capability.SEE_RESULTS,
        Capability.REVIEW,
        Capability.MANAGE,
    },
    Role.ANNOTATOR.value: {Capability.RATE, Capability.SEE_OWN_RATINGS},
    Role.VIEWER.value: {Capability.SEE_RESULTS},
    Role.ADJUDICATOR.value: {Capability.SEE_RESULTS, Capability.REVIEW},
}


def may(role: str | None, capability: Capability) -> bool:
    """Return whether a role has a capability; a stranger (None) has none."""
    return capability in CAPABILITIES.get(role or "", ())


def list_roles_with(capability: Capability) -> list[str]:
    """Return the roles that have a capability."""
    return [role for role in CAPABILITIES if may(role, capability)]


def is_given_work(role: str) -> bool:
    """Return whether members with this role are made raters when they join.

    Leads may rate as well, but become raters only when they ask for it.
    """
    return may(role, Capability.RATE) and not may(role, Capability.MANAGE)
