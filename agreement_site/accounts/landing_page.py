"""URL of the page to which a user is redirected after signing in."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from projects.models import Member
from projects.services.members import role_offers


def get_landing_url(user: Any) -> str:
    """Return the URL to which the user is redirected after signing in.

    It is the annotation page for users who only rate, in one project, and have no open offer to
    join another one; otherwise the list of projects.
    """
    memberships = list(Member.objects.filter(user=user.pk).values_list("project_id", "role")[:2])
    if user.is_staff or len(memberships) != 1 or role_offers.list_open_offers(user).exists():
        return reverse("projects")
    [(project_id, role)] = memberships
    if role != Member.Role.ANNOTATOR:
        return reverse("projects")
    return reverse("rate", args=[project_id])
