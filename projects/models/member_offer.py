"""Roles that were offered to accounts whose owners have not been asked before."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from .member import Member
from .project import Project


class MemberOffer(models.Model):
    """A role in a project for whoever owns an account: it opens nothing until they accept.

    There is a row for each name that was typed, whether or not anybody has it, so that who offers
    learns from no list who has an account (projects/services/members/offers.py).
    """

    project = models.ForeignKey(
        Project, models.CASCADE, related_name="member_offers", db_index=False
    )
    username = models.CharField(max_length=150)
    # Whose account it was when the role was offered: who gets the name later is not asked.
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="member_offers"
    )
    role = models.CharField(max_length=11, choices=Member.Role.choices)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    made_at = models.DateTimeField()
    # The row stays then, as if nobody had answered: that there is an account is its owner's to say.
    declined_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "username"], name="member_offer_unique"),
            models.CheckConstraint(
                condition=Q(role__in=Member.Role.values), name="member_offer_role_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.username} ({self.role}), offered"
