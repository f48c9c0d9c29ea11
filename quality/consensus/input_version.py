"""Whether labels are those of what stands now: what they were made of, in a few numbers."""

from __future__ import annotations

from django.db.models import Max

from quality import recompute
from quality.models import Consensus, Decision


def stamps(only: int | None = None) -> recompute.Stamps:
    """question id -> what its labels should rest on, of all questions that were ever counted, or of
    one."""
    decisions = Decision.objects.filter(**recompute.of(only)).values_list("question_id").order_by()
    decided = dict(decisions.annotate(Max("pk")))
    gold = recompute.gold(only)
    found = recompute.counted(only, method="consensus__method", models="consensus__with_models")
    for question_id, stamp in found.items():
        stamp["decision"] = decided.get(question_id, 0)
        stamp["gold"] = gold.get(question_id, [0, 0])
    return found


def is_old(row: Consensus) -> bool:
    """Whether the question's labels are not those of now."""
    return stamps(row.question_id).get(row.question_id) != row.rests_on


def waiting() -> list[int]:
    """Ids of the questions whose labels are not those of now, the longest untouched first."""
    return recompute.behind(Consensus, stamps())
