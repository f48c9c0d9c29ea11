"""Settings of gold answers of a question."""

from __future__ import annotations

import math
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from core import security_log
from projects.models import Question
from quality.models import GoldState


@transaction.atomic
def set_pass_mark(
    *, question: Question, pass_mark: str | float, by: Any, rule: str | None = None
) -> GoldState:
    """Set the pass mark of raters on gold, and the consequence below it.

    ``pass_mark`` is the accuracy, and ``rule`` what follows.

    ``rule`` None leaves it unchanged. The next sweep recomputes the evidence. Records a security
    event. Raises ValueError for a number outside 0.05 to 0.99 and for an unknown rule.
    """
    try:
        value = float(pass_mark)
    except ValueError:
        value = math.nan
    if not 0.05 <= value <= 0.99:
        raise ValueError(_("The pass mark must be between 0.05 and 0.99."))
    if rule is not None and rule not in GoldState.Rule.values:
        raise ValueError(_("Choose an action."))
    row, _created = GoldState.objects.get_or_create(question=question)
    before = {"pass_mark": row.pass_mark, "rule": row.rule}
    row.pass_mark, row.rule = value, rule or row.rule
    row.save(update_fields=["pass_mark", "rule"])
    security_log.log_event(
        "gold_settings_changed",
        project_id=question.project_id,
        by=by.pk,
        question=question.key,
        before=before,
        after={"pass_mark": value, "rule": row.rule},
    )
    return row
