"""Links with which the owner of a new account chooses a password."""

from __future__ import annotations

from django.contrib.auth.tokens import default_token_generator
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from core import security_log
from projects.models import Member


def create_invitation_path(member: Member) -> str:
    """Return the path of a signed link, valid for three days and until a password is set."""
    user = member.user
    security_log.log_event(
        "invitation_link_created", target_user_id=user.pk, after={"member": user.get_username()}
    )
    parts = {
        "uidb64": urlsafe_base64_encode(force_bytes(user.pk)),
        "token": default_token_generator.make_token(user),
    }
    return reverse("invitation", kwargs=parts)
