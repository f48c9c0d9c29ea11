"""Roles offered to accounts whose owners must accept first."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from .member import Member
from .project import Project


class MemberOffer(models.Model):
    """A role in a project that is offered to the owner of an account.

    It gives no access until it is accepted.

    There is a row for each username that was entered, even without such an account, so that
    leads do not learn who has an account (projects/services/members/role_offers.py).
    """

    project = models.ForeignKey(
        Project, models.CASCADE, related_name="member_offers", db_index=False
    )
    username = models.CharField(max_length=150)
    # The owner of the name when the role was offered; a later owner of it gets no offer.
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="member_offers"
    )
    role = models.CharField(max_length=11, choices=Member.Role.choices)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField()
    # A declined row stays as if open, so that it does not disclose that there is an account.
    declined_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "username"], name="member_offer_unique"),
            models.CheckConstraint(
                condition=Q(role__in=Member.Role.values), name="member_offer_role_valid"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.username} ({self.role}), offered"
