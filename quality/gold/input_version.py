"""Whether scores on gold are those of what stands now: what they were made of, in a few numbers."""

from __future__ import annotations

from django.db.models import Count, Max

from quality import recompute
from quality.models import GoldAct, GoldReview, GoldState
from ratings.models import Assignment


def stamps(only: int | None = None) -> recompute.Stamps:
    """question id -> what its scores should rest on, of all counted questions that ever had gold,
    or of one."""
    gold = recompute.gold(only)
    reviews = GoldReview.objects.filter(gold__question__in=list(gold))
    reviewed = dict(reviews.values_list("gold__question_id").order_by().annotate(Max("pk")))
    counted = recompute.counted(only, bar="gold_state__bar", rule="gold_state__rule")
    acts = GoldAct.objects.filter(question__in=list(gold), state=GoldAct.State.OVERRIDDEN)
    overridden = dict(acts.values_list("question").order_by().annotate(Count("pk")))
    found = {}
    for question_id in gold.keys() & counted.keys():
        review = reviewed.get(question_id, 0)
        known = {"gold": gold[question_id], "review": review}
        known["overridden"] = overridden.get(question_id, 0)
        found[question_id] = {**counted[question_id], **known}
    for name, why in (("apart", Assignment.Why.GOLD), ("exam", Assignment.Why.EXAM)):
        for question_id, newest in recompute.apart(found, why).items():
            found[question_id][name] = newest
    return found


def is_old(question_id: int) -> bool:
    """Whether the question's scores are not those of now."""
    row = GoldState.objects.filter(question_id=question_id).first()
    stamp = stamps(question_id).get(question_id)
    return stamp is not None and (row is None or row.rests_on != stamp)


def waiting() -> list[int]:
    """Ids of the questions whose scores are not those of now, the longest untouched first."""
    return recompute.behind(GoldState, stamps())
