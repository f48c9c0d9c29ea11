"""What a lead chooses about labels that are not sure after the planned ratings."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from core import security_log
from events.services import record
from projects.models import Question
from quality.models import LabelRules
from quality.validation import Refused

MOST_RATINGS = 1000
MOST_BUDGET = 10_000_000
MOST_DAYS = 1000
RULES = (
    "escalate",
    "sure_from",
    "most",
    "budget",
    "second_share",
    "tell_raters",
    "tell_after",
)


def rules_of(question: Question) -> LabelRules:
    """Those that stand, or the ones that every question begins with (not stored)."""
    return LabelRules.objects.filter(question=question).first() or LabelRules(question=question)


@transaction.atomic
def choose(*, question: Question, by: Any, **chosen: Any) -> LabelRules:
    """Set some of RULES. With ``escalate`` the next sweep asks again, or no more; ``second_share``
    of the decided items are put before a second adjudicator; with ``tell_raters`` raters learn of
    decisions on their items after ``tell_after`` days. Raises Refused, and then has changed
    nothing."""
    stands = rules_of(question)
    before = {name: getattr(stands, name) for name in RULES}
    wanted = before | {name: chosen[name] for name in chosen if name in before}
    if wrong := _problems(wanted, overlap=question.project.overlap):
        raise Refused(wrong)
    LabelRules.objects.get_or_create(question=question)
    row = LabelRules.objects.select_for_update().get(question=question)
    if before == wanted:
        return row
    for name, value in wanted.items():
        setattr(row, name, value)
    row.looked_at = {}  # at once
    row.save(update_fields=[*wanted, "looked_at"])
    record(
        project_id=question.project_id,
        kind="label_rules_changed",
        subject=f"question/{question.key}",
        data={"before": before, "after": wanted},
        by=by,
    )
    security_log.event(
        "rules_changed",
        project_id=question.project_id,
        by=by.pk,
        question=question.key,
        before=before,
        after=wanted,
    )
    return row


def _problems(wanted: dict[str, Any], *, overlap: int) -> dict[str, str]:
    """Name -> what is wrong; empty when all is well."""
    wrong = {}
    if not 0.5 <= wanted["sure_from"] <= 0.999:
        wrong["sure_from"] = _("A number from 0.5 to 0.999.")
    if not 2 <= wanted["most"] <= MOST_RATINGS:
        wrong["most"] = _("A whole number from 2 to %(most)s.") % {"most": MOST_RATINGS}
    elif wanted["escalate"] and wanted["most"] <= overlap:
        said = _("More than the %(overlap)s ratings that every item gets.")
        wrong["most"] = said % {"overlap": overlap}
    if not 0 <= wanted["second_share"] <= 1:
        wrong["second_share"] = _("A number from 0 to 1.")
    for name, most in (("budget", MOST_BUDGET), ("tell_after", MOST_DAYS)):
        if not 0 <= wanted[name] <= most:
            wrong[name] = _("A whole number from 0 to %(most)s.") % {"most": most}
    return wrong
