"""Rules for raters on gold, and the warnings and pauses of those who are too often wrong.

A rater who is right as often as the pass mark requires ever reaches the evidence of a pause with
probability at most 1/100, that of a warning with at most 1/20, however often it is computed
(metrics.agreement.rater_quality.gold): the highest evidence counts. An intervention stays until a
lead overrides it; the evidence then starts again with later answers.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Collection, Iterable
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from core import security_log
from core.text import describe_range
from events.services import record_event
from metrics.agreement.rater_quality.gold import PAUSE_EVIDENCE
from metrics.views.common.number_formats import format_number
from projects.models import Question, Rater, Scale
from projects.services.gold import get_positions
from projects.services.rater_changes import set_rater_paused
from quality.models import GoldIntervention, GoldScore, GoldState
from quality.settings_changes import find_required_reason_error


@transaction.atomic
def set_gold_rules(
    *,
    question: Question,
    by: Any,
    pass_mark: str | float | None = None,
    rule: str | None = None,
    tolerance: str | float | None = None,
) -> GoldState:
    """Set the pass mark on gold, the consequence below it, and the tolerance of gold answers.

    ``pass_mark``: an accuracy; ``rule``: GoldState.Rule; ``tolerance``: Question.gold_tolerance;
    None leaves a value unchanged. The next sweep recomputes scores and evidence; earlier answers in
    exams keep their outcome. Records a security event. Raises ValueError for a pass mark outside
    0.05 to 0.99, for an unknown rule, and for a tolerance other than 0 on a scale without order,
    below 0, or so large that every answer is right.
    """
    if rule is not None and rule not in GoldState.Rule.values:
        raise ValueError(_("Choose an action."))
    row, _created = GoldState.objects.get_or_create(question=question)
    value = row.pass_mark if pass_mark is None else _parse_number(pass_mark)
    if not 0.05 <= value <= 0.99:
        raise ValueError(describe_range(0.05, 0.99))
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
    """Return the tolerance as a number.

    Raises ValueError for another than 0 on a scale without order, and for one that is not a number,
    is negative or makes every answer right.
    """
    tolerance, positions = _parse_number(text), get_positions(question).values()
    span = max(positions, default=0.0) - min(positions, default=0.0)
    if tolerance == 0:
        return 0.0
    if not Scale(question.scale).ordered:
        raise ValueError(_("Unordered categories have no tolerance."))
    if not 0 < tolerance < span:
        raise ValueError(
            _("The tolerance must be from 0 to below %(span)s.") % {"span": format_number(span, 2)}
        )
    return tolerance


Step, State, Rule = GoldIntervention.Step, GoldIntervention.State, GoldState.Rule

WARN_AT = 20.0
MAX_REASON_LENGTH = 2_000
# Stored as the reason of interventions that ended when a lead resumed the rater.
RESUMED = "resumed among the people"


class InvalidIntervention(ValueError):
    """The intervention cannot be carried out or overridden; the message says why."""


def get_evidence_starts(question_id: int) -> dict[int, datetime.datetime]:
    """Return {rater id: time of the last override}: the evidence counts only later answers."""
    rows = GoldIntervention.objects.filter(question=question_id, state=State.OVERRIDDEN).order_by()
    return dict(rows.values_list("rater").annotate(Max("decided_at")))


@transaction.atomic
def override_resumed_pauses(question_id: int) -> None:
    """Override the pauses by gold of raters whom a lead has resumed on another page."""
    rows = GoldIntervention.objects.filter(question=question_id, step=Step.PAUSE, state=State.DONE)
    for intervention in rows.filter(rater__paused=False).select_related("rater", "question"):
        _override_interventions(intervention, reason=RESUMED, by=None)


def create_interventions(
    question: Question, rule: str, scores: Iterable[GoldScore]
) -> list[GoldIntervention]:
    """Create the warnings and pauses that the evidence calls for, unless they exist; return them.

    Only people are warned or paused, and nobody is warned whose pause is proposed or in force.
    ``rule``: a GoldState.Rule, whether they are proposed, carried out at once, or not created. Call
    it in the transaction that stores the scores.
    """
    if rule == Rule.OFF:
        return []
    score_of_rater = {row.rater_id: row for row in scores if row.max_evidence >= WARN_AT}
    people = Rater.objects.filter(pk__in=score_of_rater, kind=Rater.Kind.HUMAN).order_by("pk")
    steps_of_rater = _get_current_steps(question, score_of_rater)
    interventions = []
    for rater in people:
        score = score_of_rater[rater.pk]
        step = Step.PAUSE if score.max_evidence >= PAUSE_EVIDENCE else Step.WARN
        if {step, Step.PAUSE} & steps_of_rater.get(rater.pk, set()):
            continue
        intervention = GoldIntervention.objects.create(
            question=question,
            rater=rater,
            step=step,
            state=State.PROPOSED,
            evidence=score.max_evidence,
            n_answers=score.n,
            created_at=timezone.now(),
        )
        if rule == Rule.AUTOMATIC:
            _warn_or_pause_rater(intervention, by=None)
        else:
            _record_event(intervention, f"gold.{step}_proposed", by=None)
        interventions.append(intervention)
    return interventions


@transaction.atomic
def carry_out_intervention(*, intervention: GoldIntervention, by: Any) -> GoldIntervention:
    """Carry out a proposed intervention and return it.

    Raises InvalidIntervention if it was already decided.
    """
    row = _lock_intervention(intervention)
    if row.state != State.PROPOSED:
        raise InvalidIntervention(_("Already decided."))
    _warn_or_pause_rater(row, by=by)
    return row


@transaction.atomic
def override_intervention(
    *, intervention: GoldIntervention, reason: str, by: Any
) -> GoldIntervention:
    """Override all interventions against the intervention's rater in its question; return it.

    The rater may continue, unless a pause by gold of another question is in force, and the evidence
    starts again. Raises InvalidIntervention for an empty or too long reason, and if it was
    overridden before.
    """
    reason = reason.strip()
    if problem := find_required_reason_error(reason, max_length=MAX_REASON_LENGTH):
        raise InvalidIntervention(problem)
    row = _lock_intervention(intervention)
    if row.state == State.OVERRIDDEN:
        raise InvalidIntervention(_("Already decided."))
    _override_interventions(row, reason=reason, by=by)
    return row


def _lock_intervention(intervention: GoldIntervention) -> GoldIntervention:
    return (
        GoldIntervention.objects.select_for_update(of=("self",))
        .select_related("rater", "question")
        .get(pk=intervention.pk)
    )


def _get_current_steps(question: Question, raters: Collection[int]) -> dict[int, set[str]]:
    """Return {rater id: steps (warn, pause) of the interventions in force} of these raters."""
    steps: dict[int, set[str]] = {}
    rows = GoldIntervention.objects.filter(question=question, rater__in=raters)
    for rater, step in rows.exclude(state=State.OVERRIDDEN).values_list("rater", "step"):
        steps.setdefault(rater, set()).add(step)
    return steps


def _warn_or_pause_rater(intervention: GoldIntervention, *, by: Any) -> None:
    intervention.state, intervention.by, intervention.decided_at = State.DONE, by, timezone.now()
    intervention.save(update_fields=["state", "by", "decided_at"])
    rater = intervention.rater
    if intervention.step == Step.PAUSE:
        if not rater.paused:
            set_rater_paused(rater=rater, paused=True, by=by, reason=Rater.GoldNotice.PAUSED)
    elif not rater.gold_notice:
        rater.gold_notice = Rater.GoldNotice.WARNED
        rater.save(update_fields=["gold_notice"])
        _record_security_event("rater_warned", intervention, by)
    _record_event(intervention, f"gold.{intervention.step}_carried_out", by=by)


def _override_interventions(intervention: GoldIntervention, *, reason: str, by: Any) -> None:
    now = timezone.now()
    rows = GoldIntervention.objects.filter(question=intervention.question, rater=intervention.rater)
    ended = list(rows.exclude(state=State.OVERRIDDEN).values_list("step", "state"))
    rows.exclude(state=State.OVERRIDDEN).update(
        state=State.OVERRIDDEN, by=by, decided_at=now, reason=reason
    )
    other_interventions = GoldIntervention.objects.filter(
        rater=intervention.rater, state=State.DONE
    )
    rater = intervention.rater
    was_paused = (Step.PAUSE, State.DONE) in ended and rater.paused
    if was_paused and not other_interventions.filter(step=Step.PAUSE).exists():
        set_rater_paused(rater=rater, paused=False, by=by)
    if rater.gold_notice == Rater.GoldNotice.WARNED and not other_interventions.exists():
        rater.gold_notice = ""
        rater.save(update_fields=["gold_notice"])
    _record_security_event("gold_intervention_overridden", intervention, by, reason=reason)
    _record_event(intervention, "gold.overridden", by=by)


def _record_security_event(
    event_name: str, intervention: GoldIntervention, by: Any, **details: Any
) -> None:
    security_log.log_event(
        event_name,
        project_id=intervention.question.project_id,
        by=by.pk if by is not None else None,
        question=intervention.question.key,
        rater=intervention.rater_id,
        after={
            "rater": intervention.rater.key,
            "step": intervention.step,
            "evidence": intervention.evidence,
            **details,
        },
    )


def _record_event(intervention: GoldIntervention, kind: str, *, by: Any) -> None:
    record_event(
        project_id=intervention.question.project_id,
        kind=kind,
        subject=f"rater/{intervention.rater_id}",
        data={
            "question": intervention.question.key,
            "rater": intervention.rater.key,
            "step": intervention.step,
            "evidence": intervention.evidence,
            "n_answers": intervention.n_answers,
        },
        by=by,
    )
