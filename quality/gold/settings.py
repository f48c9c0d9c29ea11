"""What a lead chooses about gold of a question."""

from __future__ import annotations

import math
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from core import security_log
from projects.models import Question
from quality.models import GoldState


@transaction.atomic
def choose(*, question: Question, bar: str | float, by: Any, rule: str | None = None) -> GoldState:
    """Raters are to be right with this probability at least; the next sweep weighs the evidence
    anew. ``rule``: what follows when it speaks against one; None: as it is. ValueError for what is
    no number between 0.05 and 0.99, and an unknown rule."""
    try:
        share = float(bar)
    except ValueError:
        share = math.nan
    if not 0.05 <= share <= 0.99:
        raise ValueError(_("The bar is a number from 0.05 to 0.99."))
    if rule is not None and rule not in GoldState.Rule.values:
        raise ValueError(_("Choose what follows."))
    row, _new = GoldState.objects.get_or_create(question=question)
    before = {"bar": row.bar, "rule": row.rule}
    row.bar, row.rule = share, rule or row.rule
    row.save(update_fields=["bar", "rule"])
    security_log.event(
        "gold_bar_changed",
        project_id=question.project_id,
        by=by.pk,
        question=question.key,
        before=before,
        after={"bar": share, "rule": row.rule},
    )
    return row
