"""What came of asking again, for the pages."""

from __future__ import annotations

from typing import Any

from django.db.models import Count

from projects.models import Question
from quality.models import Escalation, LabelRules


def summary(question: Question, rules: LabelRules) -> dict[str, Any] | None:
    """How many items were escalated and to what end; None where none ever was and none is to be."""
    rows = Escalation.objects.filter(question=question)
    by_state = dict(rows.values_list("state").annotate(Count("pk")).order_by())
    if not by_state and not rules.escalate:
        return None
    why = rows.filter(state=Escalation.State.DECIDE).exclude(why="").order_by("why")
    reasons = why.values_list("why").annotate(Count("pk"))
    return {
        "rules": rules,
        "states": [(state.label, by_state.get(state, 0)) for state in Escalation.State],
        "reasons": [(Escalation.Why(name).label, n) for name, n in reasons],
    }
