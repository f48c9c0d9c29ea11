"""Make a user a member of a project, at once or after accepting the offer of a role.

Leads do not learn from the response, the list or the lifetime of an offer if there is such an
account. Only its owner discloses this, by accepting. The owner of a new account chooses a password
by a link. A link that was mailed also proves that its address is the owner's: nobody else has it.
"""

from __future__ import annotations

import datetime
from typing import Any

from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.core import signing
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _

from core import security_log
from core.text import describe_invalid_choice
from projects import hooks
from projects.models import Member, MemberOffer, Project
from projects.models.roles import is_given_work
from projects.services.project_validation import InvalidProjectChange
from projects.services.rater_changes import get_or_link_rater


def join_project(project: Project, user: User, role: str, by: Any, *, email: str = "") -> Member:
    """Create the user's membership with this role, in the caller's transaction.

    ``email``: where a new account is invited by mail, if the site sends mail. Raises
    InvalidProjectChange for an unknown role, and for a user who is a member already.
    """
    validate_role(role)
    Project.objects.select_for_update().get(pk=project.pk)
    if Member.objects.filter(project=project, user=user).exists():
        message = _("“%(name)s” is already a member.")
        raise InvalidProjectChange({"username": message % {"name": user.username}})
    member = Member.objects.create(project=project, user=user, role=role)
    if is_given_work(role):
        get_or_link_rater(project=project, user=user)
    security_log.log_event(
        "member_added",
        project_id=project.pk,
        target_user_id=user.pk,
        role=role,
        by=by.pk,
        after={"member": user.get_username(), "role": role},
    )
    if by.pk != user.pk:
        hooks.MEMBER_INVITED.call(member, by, email)
    return member


def validate_role(role: str) -> None:
    """Raise InvalidProjectChange for an unknown role."""
    if role not in Member.Role.values:
        message = describe_invalid_choice(role, Member.Role.values)
        raise InvalidProjectChange({"role": message})


OFFER_DAYS = 30
MAX_SHOWN = 20  # to the user
MAX_OPEN_OFFERS = 200  # per project


@transaction.atomic
def create_offer(*, project: Project, username: str, user: User | None, role: str, by: Any) -> None:
    """Offer a role to the owner of an account, if there is one.

    A repeated offer replaces the role; a declined one stays declined until it expires. Raises
    InvalidProjectChange for too many offers.
    """
    delete_expired_offers()
    if (
        MemberOffer.objects.filter(project=project).exclude(username=username).count()
        >= MAX_OPEN_OFFERS
    ):
        message = _("At most %(n)s open invitations. Withdraw one.")
        raise InvalidProjectChange({"username": message % {"n": MAX_OPEN_OFFERS}})
    role_and_by = {"role": role, "by": by}
    offer, is_new = MemberOffer.objects.update_or_create(
        project=project,
        username=username,
        defaults=role_and_by,
        create_defaults={**role_and_by, "user": user, "created_at": timezone.now()},
    )
    security_log.log_event(
        "role_offered",
        project_id=project.pk,
        by=by.pk,
        after={"member": username, "role": role},
    )
    if is_new and user is not None:
        hooks.ROLE_OFFERED.call(offer, by)


def list_project_offers(project: Project) -> QuerySet[MemberOffer]:
    """Return the open and declined offers of a project, for its leads."""
    return _get_current_offers().filter(project=project).order_by("username")


def list_open_offers(user: Any) -> QuerySet[MemberOffer]:
    """Return the offers that the user may accept or decline: neither expired nor declined."""
    offers = _get_current_offers().filter(user=user.pk, declined_at=None)
    return offers.select_related("project", "by", "user")


def list_recent_offers(user: Any) -> list[MemberOffer]:
    """Return the user's newest open offers, at most MAX_SHOWN."""
    return list(list_open_offers(user).order_by("-created_at", "-pk")[:MAX_SHOWN])


def _get_current_offers() -> QuerySet[MemberOffer]:
    """Return the offers that have not expired, without those of users who are members by now."""
    joined = Member.objects.filter(project=OuterRef("project"), user=OuterRef("user"))
    return MemberOffer.objects.filter(~Exists(joined), created_at__gt=_get_expiry_cutoff())


@transaction.atomic
def withdraw_offer(*, offer: MemberOffer, by: Any) -> None:
    offer.delete()
    security_log.log_event(
        "offer_withdrawn",
        project_id=offer.project_id,
        by=by.pk,
        before={"member": offer.username, "role": offer.role},
    )


@transaction.atomic
def decline_offer(*, offer: MemberOffer) -> None:
    """Mark an offer of a role as declined by the owner of the account.

    The audit log entry belongs to no project: leads must still see the offer as open.
    """
    user = _get_owner(offer)
    MemberOffer.objects.filter(pk=offer.pk).update(declined_at=timezone.now())
    security_log.log_event(
        "offer_declined",
        by=user.pk,
        project=offer.project_id,
        before={"member": user.get_username(), "role": offer.role},
    )


@transaction.atomic
def accept_offer(*, offer: MemberOffer, role: str) -> Member:
    """Make the owner of the account a member with the offered role.

    ``role``: the role that the user saw. Raises InvalidProjectChange if the offer does not exist
    any more, if its role is another one by now, or if the user is a member already.
    """
    user = _get_owner(offer)
    # The lock orders this before or after a withdrawal or change by somebody else.
    locked = MemberOffer.objects.select_for_update().filter(pk=offer.pk, role=role)
    current = locked.select_related(None).first()
    if current is None:
        raise InvalidProjectChange({"role": _("This invitation was changed or withdrawn.")})
    member = join_project(current.project, user, current.role, user)
    current.delete()
    security_log.log_event(
        "offer_accepted",
        project_id=current.project_id,
        by=user.pk,
        after={"member": user.get_username(), "role": current.role},
    )
    return member


def _get_owner(offer: MemberOffer) -> User:
    assert offer.user is not None
    return offer.user


def delete_expired_offers() -> int:
    """Delete expired offers, and return their number."""
    return MemberOffer.objects.filter(created_at__lte=_get_expiry_cutoff()).delete()[0]


def _get_expiry_cutoff() -> datetime.datetime:
    return timezone.now() - datetime.timedelta(days=OFFER_DAYS)


PROOF = "address"  # parameter of a mailed link
_SALT = "projects.invitation_address"


def create_invitation_path(member: Member, *, address: str = "") -> str:
    """Return the path of a link by which the member's owner chooses a password.

    It is signed, and valid for three days and until a password is set. ``address``: where the link
    is mailed; using it confirms the address.
    """
    user = member.user
    security_log.log_event(
        "invitation_link_created", target_user_id=user.pk, after={"member": user.get_username()}
    )
    parts = {
        "uidb64": urlsafe_base64_encode(force_bytes(user.pk)),
        "token": default_token_generator.make_token(user),
    }
    path = reverse("invitation", kwargs=parts)
    if not address:
        return path
    return f"{path}?{PROOF}={signing.dumps([user.pk, address], salt=_SALT)}"


@transaction.atomic
def confirm_address(user: Any, proof: str) -> None:
    """Set the user's e-mail address to the one that ``proof``, from a mailed link, contains.

    Nothing happens if the proof is invalid, expired or another user's, if the user has an address,
    or if another account has this one.
    """
    try:
        user_id, address = signing.loads(proof, salt=_SALT, max_age=settings.PASSWORD_RESET_TIMEOUT)
    except signing.BadSignature:
        return
    owned = EmailAddress.objects.filter(email__iexact=address, verified=True)
    if (
        user_id != user.pk
        or user.email
        or owned.exists()
        or get_user_model().objects.filter(email__iexact=address).exists()
    ):
        return
    user.email = address
    user.save(update_fields=["email"])
    EmailAddress.objects.update_or_create(
        user=user, email=address, defaults={"verified": True, "primary": True}
    )
    security_log.log_event("email_confirmed", by=user.pk, after={"email": address})
