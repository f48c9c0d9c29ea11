"""A lead sends items to those who decide, whatever their doubt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef

from core import security_log
from projects.models import Item, Question
from quality.models import ItemLabel, Sent, Source
from ratings.models import Rating


@transaction.atomic
def send(*, question: Question, item_ids: Sequence[int], by: Any) -> int:
    """These items come first of all that are worth a decision, until they are decided; how many
    that is true of. Those without a rating and those decided already are passed by."""
    rated = Rating.objects.standing().filter(question=question, item=OuterRef("pk"))
    decided = ItemLabel.objects.filter(
        question=question, item=OuterRef("pk"), source=Source.DECISION
    )
    known = Item.objects.filter(project=question.project_id, pk__in=item_ids)
    wanted = known.filter(Exists(rated), ~Exists(decided)).order_by("pk")
    rows = [
        Sent(question=question, item_id=pk, by=by) for pk in wanted.values_list("pk", flat=True)
    ]
    Sent.objects.bulk_create(rows, ignore_conflicts=True)
    if rows:
        security_log.event(
            "items_sent_to_decision", project_id=question.project_id, by=by.pk, items=len(rows)
        )
    return len(rows)
