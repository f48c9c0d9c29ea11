"""Roles that are offered: whoever has an account is asked before they are a member.

Whether a name is anybody's is not told to who offers: not by the answer, nor by the list, nor by
how long a line stays there. Only its owner tells, by accepting.
"""

from __future__ import annotations

import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from core import security_log
from projects.models import Member, MemberOffer, Project
from projects.services.project_validation import Refused

from .joining import join

DAYS = 30
MOST_SHOWN = 20  # to the one who is asked
MOST_OPEN = 200  # of a project


@transaction.atomic
def offer(*, project: Project, username: str, user: User | None, role: str, by: Any) -> None:
    """Ask the owner of an account, if there is one. Asked again, they find the role asked last;
    who declined is not asked again as long as the line stands. Raises Refused for too many."""
    remove_old()
    if MemberOffer.objects.filter(project=project).exclude(username=username).count() >= MOST_OPEN:
        said = _("%(most)s are asked already, which is as many as may be. Withdraw some first.")
        raise Refused({"username": said % {"most": MOST_OPEN}})
    role_and_by = {"role": role, "by": by}
    MemberOffer.objects.update_or_create(
        project=project,
        username=username,
        defaults=role_and_by,
        create_defaults={**role_and_by, "user": user, "made_at": timezone.now()},
    )
    security_log.event(
        "role_offered",
        project_id=project.pk,
        by=by.pk,
        after={"member": username, "role": role},
    )


def of_project(project: Project) -> QuerySet[MemberOffer]:
    """For its leads: what was offered and is open, or declined."""
    return _standing().filter(project=project).order_by("username")


def open_to(user: Any) -> QuerySet[MemberOffer]:
    """What somebody may accept or decline."""
    asked = _standing().filter(user=user.pk, declined_at=None)
    return asked.select_related("project", "by", "user")


def shown_to(user: Any) -> list[MemberOffer]:
    """Of these the newest."""
    return list(open_to(user).order_by("-made_at", "-pk")[:MOST_SHOWN])


def _standing() -> QuerySet[MemberOffer]:
    """Without those of accounts that became members in another way."""
    joined = Member.objects.filter(project=OuterRef("project"), user=OuterRef("user"))
    return MemberOffer.objects.filter(~Exists(joined), made_at__gt=_oldest())


@transaction.atomic
def withdraw(*, offered: MemberOffer, by: Any) -> None:
    offered.delete()
    security_log.event(
        "offer_withdrawn",
        project_id=offered.project_id,
        by=by.pk,
        before={"member": offered.username, "role": offered.role},
    )


@transaction.atomic
def decline(*, offered: MemberOffer) -> None:
    """The line of the trail is no line of the project's: its leads see an open offer."""
    user = _owner_of(offered)
    MemberOffer.objects.filter(pk=offered.pk).update(declined_at=timezone.now())
    security_log.event(
        "offer_declined",
        by=user.pk,
        project=offered.project_id,
        before={"member": user.get_username(), "role": offered.role},
    )


@transaction.atomic
def accept(*, offered: MemberOffer, role: str) -> Member:
    """Make its owner a member. Raises Refused when it is not there any more, when the role is not
    the one that they saw, or when they are a member already."""
    user = _owner_of(offered)
    # Whoever withdraws or changes it meanwhile comes before or after.
    standing = MemberOffer.objects.select_for_update().filter(pk=offered.pk, role=role)
    found = standing.select_related(None).first()
    if found is None:
        raise Refused({"role": _("This was withdrawn or changed meanwhile. Look at it again.")})
    member = join(found.project, user, found.role, user)
    found.delete()
    security_log.event(
        "offer_accepted",
        project_id=found.project_id,
        by=user.pk,
        after={"member": user.get_username(), "role": found.role},
    )
    return member


def _owner_of(offered: MemberOffer) -> User:
    assert offered.user is not None
    return offered.user


def remove_old() -> int:
    """Remove what nobody accepted in time; how many."""
    return MemberOffer.objects.filter(made_at__lte=_oldest()).delete()[0]


def _oldest() -> datetime.datetime:
    return timezone.now() - datetime.timedelta(days=DAYS)
