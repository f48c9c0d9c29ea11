"""What a lead chooses about labels that are not sure after the planned ratings."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _

from events.recording import record
from projects.models import Question
from quality.models import LabelRules

MOST_RATINGS = 1000
MOST_BUDGET = 10_000_000


class Refused(ValueError):
    """A rule that cannot be. ``fields``: name -> what is wrong with it."""

    def __init__(self, fields: dict[str, str]) -> None:
        super().__init__("; ".join(fields.values()))
        self.fields = fields


def rules_of(question: Question) -> LabelRules:
    """Those that stand, or the ones that every question begins with (not stored)."""
    return LabelRules.objects.filter(question=question).first() or LabelRules(question=question)


@transaction.atomic
def choose(
    *,
    question: Question,
    escalate: bool,
    sure_from: float,
    most: int,
    budget: int,
    second_share: float = 0.0,
    by: object,
) -> LabelRules:
    """Ask again from now on, or no more; the next sweep follows. ``second_share`` of the decided
    items are put before a second adjudicator. Raises Refused, and then has changed nothing."""
    wrong = {}
    if not 0.5 <= sure_from <= 0.999:
        wrong["sure_from"] = _("A number from 0.5 to 0.999.")
    overlap = question.project.overlap
    if not 2 <= most <= MOST_RATINGS:
        wrong["most"] = _("A whole number from 2 to %(most)s.") % {"most": MOST_RATINGS}
    elif escalate and most <= overlap:
        said = _("More than the %(overlap)s ratings that every item gets.")
        wrong["most"] = said % {"overlap": overlap}
    if not 0 <= budget <= MOST_BUDGET:
        wrong["budget"] = _("A whole number from 0 to %(most)s.") % {"most": MOST_BUDGET}
    if not 0 <= second_share <= 1:
        wrong["second_share"] = _("A number from 0 to 1.")
    if wrong:
        raise Refused(wrong)
    LabelRules.objects.get_or_create(question=question)
    row = LabelRules.objects.select_for_update().get(question=question)
    chosen: dict[str, object] = {
        "escalate": escalate,
        "sure_from": sure_from,
        "most": most,
        "budget": budget,
    }
    chosen["second_share"] = second_share
    before = {name: getattr(row, name) for name in chosen}
    if before == chosen:
        return row
    for name, value in chosen.items():
        setattr(row, name, value)
    row.looked_at = {}  # at once
    row.save(update_fields=[*chosen, "looked_at"])
    record(
        project_id=question.project_id,
        kind="label_rules_changed",
        subject=f"question/{question.key}",
        data={"before": before, "after": chosen},
        by=by,
    )
    return row
