"""Bulk action of the item list that sends items to review."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core import security_log
from projects.models import Item, Project, Question
from quality.models import ItemLabel, LabelSource, ReviewAssignment
from ratings.models import Rating


@transaction.atomic
def assign_for_review(*, question: Question, item_ids: Sequence[int], by: Any) -> int:
    """Put these items first in the review queue until they are decided; return how many.

    Items without a rating and items that are decided already are skipped. Records a security
    event.
    """
    rated = Rating.objects.current().filter(question=question, item=OuterRef("pk"))
    decided = ItemLabel.objects.filter(
        question=question, item=OuterRef("pk"), source=LabelSource.DECISION
    )
    items = Item.objects.filter(project=question.project_id, pk__in=item_ids)
    accepted = items.filter(Exists(rated), ~Exists(decided)).order_by("pk")
    rows = [
        ReviewAssignment(question=question, item_id=item_id, by=by)
        for item_id in accepted.values_list("pk", flat=True)
    ]
    ReviewAssignment.objects.bulk_create(rows, ignore_conflicts=True)
    if rows:
        security_log.log_event(
            "items_sent_to_review", project_id=question.project_id, by=by.pk, items=len(rows)
        )
    return len(rows)


def assign_selected_items(request: HttpRequest, project: Project, ids: list[int]) -> None:
    """Put the selected items first in the review queue and report how many were accepted."""
    question = get_object_or_404(project.questions, key=request.POST.get("question", ""))
    n_assigned = assign_for_review(question=question, item_ids=ids, by=request.user)
    message = ngettext(
        "%(n)s item moved to the top of the queue.",
        "%(n)s items moved to the top of the queue.",
        n_assigned,
    )
    messages.success(request, message % {"n": n_assigned})
    if n_assigned < len(set(ids)):
        messages.info(request, _("Left out: items without ratings or with a decision."))
