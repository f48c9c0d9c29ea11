"""What a lead chooses about gold of a question."""

from __future__ import annotations

import math
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from groundwork import security
from projects.models import Question
from quality.models import GoldState


@transaction.atomic
def choose(*, question: Question, bar: str | float, by: Any) -> GoldState:
    """Raters are to be right with this probability at least; the next sweep weighs the evidence
    anew. ValueError for what is no number between 0.05 and 0.99."""
    try:
        share = float(bar)
    except ValueError:
        share = math.nan
    if not 0.05 <= share <= 0.99:
        raise ValueError(_("The bar is a number from 0.05 to 0.99."))
    row, _new = GoldState.objects.get_or_create(question=question)
    before, row.bar = row.bar, share
    row.save(update_fields=["bar"])
    security.event(
        "gold_bar_changed",
        project_id=question.project_id,
        by=by.pk,
        question=question.key,
        before={"bar": before},
        after={"bar": share},
    )
    return row
