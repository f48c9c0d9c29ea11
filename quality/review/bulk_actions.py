"""Bulk action of the item list that sends items to review."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from projects.models import Project
from quality.review import assignments


def assign_selected_items(request: HttpRequest, project: Project, ids: list[int]) -> None:
    """Put the selected items first in the review queue and report how many were accepted."""
    question = get_object_or_404(project.questions, key=request.POST.get("question", ""))
    n_assigned = assignments.assign_for_review(question=question, item_ids=ids, by=request.user)
    message = ngettext(
        "%(n)s item moved to the top of the review queue.",
        "%(n)s items moved to the top of the review queue.",
        n_assigned,
    )
    messages.success(request, message % {"n": n_assigned})
    if n_assigned < len(set(ids)):
        messages.info(request, _("Items without ratings or with a decision were left out."))
