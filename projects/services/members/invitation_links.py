"""Links with which the owner of a new account chooses a password.

A link that was mailed also proves that its address is the owner's: nobody else has the link.
"""

from __future__ import annotations

from typing import Any

from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.tokens import default_token_generator
from django.core import signing
from django.db import transaction
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from core import security_log
from projects.models import Member

PROOF = "address"  # parameter of a mailed link
_SALT = "projects.invitation_address"


def create_invitation_path(member: Member, *, address: str = "") -> str:
    """Return the path of a signed link, valid for three days and until a password is set.

    ``address``: where the link is mailed; using it confirms the address.
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
    """Store the address that the mailed link of a user proves, unless another account has it.

    Nothing happens for another text, or one that is too old.
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
