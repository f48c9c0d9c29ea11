"""Warning and pausing raters whose answers on gold speak against them, as the project's rule says.

Whoever is right as often as the bar asks ever reaches the evidence of a pause with probability
1/100 at most, that of a warning with 1/20, however often one looks (metrics.agreement.rater_quality.gold): the
highest evidence counts, and an act stands until a lead overrides it. Then the evidence begins anew
with the answers that come after.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from core import security_log
from events.services import record
from metrics.agreement.rater_quality.gold import PAUSE_AT
from projects.models import Question, Rater
from projects.services.raters.updates import pause_rater
from quality import validation
from quality.models import GoldAct, GoldScore, GoldState

Step, State, Rule = GoldAct.Step, GoldAct.State, GoldState.Rule

WARN_AT = 20.0
LONGEST_REASON = 2_000
# Kept as the reason of what ended when the lead resumed the rater elsewhere.
RESUMED = "resumed among the people"


class Refused(ValueError):
    """It cannot be done; the message says why."""


def begins_anew(question_id: int) -> dict[int, datetime.datetime]:
    """Rater -> when an act against them was overridden last: the evidence is of later answers."""
    rows = GoldAct.objects.filter(question=question_id, state=State.OVERRIDDEN).order_by()
    return dict(rows.values_list("rater").annotate(Max("decided_at")))


@transaction.atomic
def notice_resumed(question_id: int) -> None:
    """A lead who lets a paused rater go on elsewhere has overridden the pause."""
    rows = GoldAct.objects.filter(question=question_id, step=Step.PAUSE, state=State.DONE)
    for act in rows.filter(rater__paused=False).select_related("rater", "question"):
        _override(act, reason=RESUMED, by=None)


def follow(question: Question, rule: str, scores: Iterable[GoldScore]) -> list[GoldAct]:
    """Raise what the evidence asks for and does not stand yet. In the transaction that stores the
    scores."""
    if rule == Rule.OFF:
        return []
    high = {row.rater_id: row for row in scores if row.highest >= WARN_AT}
    people = Rater.objects.filter(pk__in=high, kind=Rater.Kind.HUMAN).order_by("pk")
    standing = _standing(question, high)
    made = []
    for rater in people:
        score = high[rater.pk]
        step = Step.PAUSE if score.highest >= PAUSE_AT else Step.WARN
        if {step, Step.PAUSE} & standing.get(rater.pk, set()):
            continue
        act = GoldAct.objects.create(
            question=question,
            rater=rater,
            step=step,
            state=State.PROPOSED,
            evidence=score.highest,
            answers=score.n,
            made_at=timezone.now(),
        )
        if rule == Rule.AUTOMATIC:
            _carry_out(act, by=None)
        else:
            _tell(act, f"gold_{step}_proposed", by=None)
        made.append(act)
    return made


@transaction.atomic
def carry_out(*, act: GoldAct, by: Any) -> GoldAct:
    """Do what is proposed. Raises Refused."""
    row = _locked(act)
    if row.state != State.PROPOSED:
        raise Refused(_("This was decided already."))
    _carry_out(row, by=by)
    return row


@transaction.atomic
def override(*, act: GoldAct, reason: str, by: Any) -> GoldAct:
    """It is not to be, or no longer: the rater goes on, and the evidence begins anew. What else
    stands against the rater for this question ends with it. Raises Refused."""
    reason = reason.strip()
    if wrong := validation.trouble_with_needed(reason, longest=LONGEST_REASON):
        raise Refused(wrong)
    row = _locked(act)
    if row.state == State.OVERRIDDEN:
        raise Refused(_("This was decided already."))
    _override(row, reason=reason, by=by)
    return row


def _locked(act: GoldAct) -> GoldAct:
    return (
        GoldAct.objects.select_for_update(of=("self",))
        .select_related("rater", "question")
        .get(pk=act.pk)
    )


def _standing(question: Question, raters: Collection[int]) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    rows = GoldAct.objects.filter(question=question, rater__in=raters)
    for rater, step in rows.exclude(state=State.OVERRIDDEN).values_list("rater", "step"):
        found.setdefault(rater, set()).add(step)
    return found


def _carry_out(act: GoldAct, *, by: Any) -> None:
    act.state, act.by, act.decided_at = State.DONE, by, timezone.now()
    act.save(update_fields=["state", "by", "decided_at"])
    rater = act.rater
    if act.step == Step.PAUSE:
        if not rater.paused:
            pause_rater(rater=rater, paused=True, by=by, told=Rater.Told.PAUSED)
    elif not rater.told:
        rater.told = Rater.Told.WARNED
        rater.save(update_fields=["told"])
        _write_trail("rater_warned", act, by)
    _tell(act, f"gold_{act.step}_carried_out", by=by)


def _override(act: GoldAct, *, reason: str, by: Any) -> None:
    now = timezone.now()
    rows = GoldAct.objects.filter(question=act.question, rater=act.rater)
    ended = list(rows.exclude(state=State.OVERRIDDEN).values_list("step", "state"))
    rows.exclude(state=State.OVERRIDDEN).update(
        state=State.OVERRIDDEN, by=by, decided_at=now, reason=reason
    )
    others = GoldAct.objects.filter(rater=act.rater, state=State.DONE)
    rater = act.rater
    was_paused = (Step.PAUSE, State.DONE) in ended and rater.paused
    if was_paused and not others.filter(step=Step.PAUSE).exists():
        pause_rater(rater=rater, paused=False, by=by)
    if rater.told == Rater.Told.WARNED and not others.exists():
        rater.told = ""
        rater.save(update_fields=["told"])
    _write_trail("gold_overridden", act, by, reason=reason)
    _tell(act, "gold_overridden", by=by)


def _write_trail(what: str, act: GoldAct, by: Any, **more: Any) -> None:
    security_log.event(
        what,
        project_id=act.question.project_id,
        by=by.pk if by is not None else None,
        question=act.question.key,
        rater=act.rater_id,
        after={"rater": act.rater.key, "step": act.step, "evidence": act.evidence, **more},
    )


def _tell(act: GoldAct, kind: str, *, by: Any) -> None:
    record(
        project_id=act.question.project_id,
        kind=kind,
        subject=f"rater/{act.rater_id}",
        data={
            "question": act.question.key,
            "step": act.step,
            "evidence": act.evidence,
            "answers": act.answers,
        },
        by=by,
    )
