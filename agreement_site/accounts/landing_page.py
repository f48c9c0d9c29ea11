"""Where somebody who has just come in begins their work."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from projects.models import Member
from projects.services.members import offers


def first_page(user: Any) -> str:
    """The desk, for who does nothing here but rate in one project and is asked to join no other;
    else the list of projects."""
    roles = list(Member.objects.filter(user=user.pk).values_list("project_id", "role")[:2])
    if user.is_staff or len(roles) != 1 or offers.open_to(user).exists():
        return reverse("projects")
    [(project_id, role)] = roles
    if role != Member.Role.ANNOTATOR:
        return reverse("projects")
    return reverse("rate", args=[project_id])
