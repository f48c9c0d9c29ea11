"""Items that a lead sends to review, whether uncertain or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef

from core import security_log
from projects.models import Item, Question
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
