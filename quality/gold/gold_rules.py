"""Settings of gold answers of a question."""

from __future__ import annotations

import math
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from core import security_log
from metrics.views.common.number_formats import format_number
from projects.models import Question, Scale
from projects.services.gold import get_positions
from quality.models import GoldState


@transaction.atomic
def set_gold_rules(
    *,
    question: Question,
    by: Any,
    pass_mark: str | float | None = None,
    rule: str | None = None,
    tolerance: str | float | None = None,
) -> GoldState:
    """Set the pass mark of raters on gold, the consequence below it, and the tolerance.

    ``pass_mark``: an accuracy; ``tolerance``: Question.gold_tolerance; None leaves a value
    unchanged. The next sweep recomputes scores and evidence; earlier answers in exams keep their
    outcome. Records a security event. Raises ValueError for a pass mark outside 0.05 to 0.99, an
    unknown rule, and a tolerance that makes no difference on this scale or every answer right.
    """
    if rule is not None and rule not in GoldState.Rule.values:
        raise ValueError(_("Choose an action."))
    row, _created = GoldState.objects.get_or_create(question=question)
    value = row.pass_mark if pass_mark is None else _parse_number(pass_mark)
    if not 0.05 <= value <= 0.99:
        raise ValueError(_("The pass mark must be between 0.05 and 0.99."))
    before = {"pass_mark": row.pass_mark, "rule": row.rule, "tolerance": question.gold_tolerance}
    if tolerance is not None:
        question.gold_tolerance = _parse_tolerance(tolerance, question)
        question.save(update_fields=["gold_tolerance"])
    row.pass_mark, row.rule = value, rule or row.rule
    row.save(update_fields=["pass_mark", "rule"])
    security_log.log_event(
        "gold_settings_changed",
        project_id=question.project_id,
        by=by.pk,
        question=question.key,
        before=before,
        after={"pass_mark": value, "rule": row.rule, "tolerance": question.gold_tolerance},
    )
    return row


def _parse_number(text: str | float) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _parse_tolerance(text: str | float, question: Question) -> float:
    """Return the tolerance. Raises ValueError if it makes no difference or every answer right."""
    tolerance, positions = _parse_number(text), get_positions(question).values()
    span = max(positions, default=0.0) - min(positions, default=0.0)
    if tolerance == 0:
        return 0.0
    if not Scale(question.scale).ordered:
        raise ValueError(_("Categories without an order have no tolerance."))
    if not 0 < tolerance < span:
        raise ValueError(
            _("The tolerance must be from 0 to below %(span)s.") % {"span": format_number(span, 2)}
        )
    return tolerance
