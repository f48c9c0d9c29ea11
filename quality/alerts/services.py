"""What a lead does about a case. Each step is kept, and recorded as an event."""

from __future__ import annotations

import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from quality.models import Alarm, AlarmStep, State

from .detection.storage import tell
from .kinds import KINDS

LONGEST_REASON = 2_000


class Refused(ValueError):
    """``field`` may not be like this; ``said`` tells why."""

    def __init__(self, field: str, said: str) -> None:
        super().__init__(said)
        self.field = field
        self.said = said


@transaction.atomic
def step(
    *,
    alarm: Alarm,
    state: str,
    reason: str = "",
    answer: str = "",
    until: datetime.date | None = None,
    by: Any,
) -> Alarm:
    """Take a case on: to be looked at, muted (``until`` a day, or without an end), resolved or
    open again.

    ``answer``: of what was resolved, what it was (kinds.py). A drift excused (``not_his_fault``),
    the rater's ratings are peers of others again from the next look on. Refused says what is
    missing. The same step once more changes nothing.
    """
    case = Alarm.objects.select_for_update().get(pk=alarm.pk)
    reason = reason.strip()
    _check(case, state, reason=reason, answer=answer, until=until)
    if (case.state, case.answer, case.until) == (state, answer, until) and not reason:
        return case
    case.state, case.answer, case.until = state, answer, until
    case.save(update_fields=["state", "answer", "until"])
    AlarmStep.objects.create(
        alarm=case,
        by=by,
        at=timezone.now(),
        state=state,
        answer=answer,
        until=until,
        reason=reason,
    )
    kind = "alarm_opened" if state == State.OPEN else f"alarm_{state}"
    shown_until = None if until is None else until.isoformat()
    tell(case, kind, by=by, reason=reason, answer=answer, until=shown_until)
    return case


def _check(
    case: Alarm, state: str, *, reason: str, answer: str, until: datetime.date | None
) -> None:
    answers = [found.value for found in KINDS[case.kind].answers]
    if state not in State.values:
        raise Refused("state", _("one of %(known)s") % {"known": ", ".join(State.values)})
    if answer and answer not in answers:
        raise Refused("answer", _("one of %(known)s") % {"known": ", ".join(answers)})
    if answer and state != State.RESOLVED:
        raise Refused("answer", _("only with the state resolved"))
    if until is not None and state != State.MUTED:
        raise Refused("until", _("only with the state muted"))
    if until is not None and until <= timezone.now().date():
        raise Refused("until", _("a day after today"))
    if state in {State.MUTED, State.RESOLVED} and not reason:
        raise Refused("reason", _("say why, or what was done"))
    if len(reason) > LONGEST_REASON:
        raise Refused("reason", _("at most %(most)s signs") % {"most": LONGEST_REASON})


def end_mutes() -> int:
    """Open the cases that were muted until today or earlier; how many."""
    today = timezone.now().date()
    over = Alarm.objects.filter(state=State.MUTED, until__lte=today).order_by("pk")
    ended = list(over.select_related("question"))
    for alarm in ended:
        step(alarm=alarm, state=State.OPEN, reason="", by=None)
    return len(ended)
