"""Summary of requested ratings, for pages."""

from __future__ import annotations

from typing import Any

from django.db.models import Count

from projects.models import Question
from quality.models import Escalation, LabelRules


def summarize_escalations(question: Question, rules: LabelRules) -> dict[str, Any] | None:
    """Return the numbers of items by state and reason, or None where requests were never used."""
    rows = Escalation.objects.filter(question=question)
    by_state = dict(rows.values_list("state").annotate(Count("pk")).order_by())
    if not by_state and not rules.request_ratings:
        return None
    in_review = rows.filter(state=Escalation.State.REVIEW).exclude(reason="").order_by("reason")
    reason_counts = in_review.values_list("reason").annotate(Count("pk"))
    return {
        "rules": rules,
        "states": [(state.label, by_state.get(state, 0)) for state in Escalation.State],
        "reasons": [(Escalation.Reason(name).label, n) for name, n in reason_counts],
    }
