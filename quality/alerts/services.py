"""Change the state of an alert: open, looked at, muted or resolved.

Each change is stored as a step and recorded as an event.
"""

from __future__ import annotations

import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from quality.models import Alert, AlertStep, AlertState

from .detection.storage import record_alert_event
from .kinds import KINDS

MAX_REASON_LENGTH = 2_000


class InvalidAlertStep(ValueError):
    """The step of an alert is invalid: ``field`` names the value, ``message`` says what is wrong."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


@transaction.atomic
def change_alert_state(
    *,
    alert: Alert,
    state: str,
    reason: str = "",
    answer: str = "",
    until: datetime.date | None = None,
    by: Any,
) -> Alert:
    """Change the state of an alert and store the step.

    ``until``: the last day of a mute; None mutes without an end. ``answer``: the cause of a
    resolved alert, one of the answers of its kind (kinds.py). After a drift was answered with
    ``not_his_fault``, the next scan compares others with the rater's ratings again. Raises
    InvalidAlertStep. Repeating the current state without a reason changes nothing. Locks the
    alert's row.
    """
    stored_alert = Alert.objects.select_for_update().get(pk=alert.pk)
    reason = reason.strip()
    _validate_step(stored_alert, state, reason=reason, answer=answer, until=until)
    if (stored_alert.state, stored_alert.cause, stored_alert.muted_until) == (
        state,
        answer,
        until,
    ) and not reason:
        return stored_alert
    stored_alert.state, stored_alert.cause, stored_alert.muted_until = state, answer, until
    stored_alert.save(update_fields=["state", "answer", "until"])
    AlertStep.objects.create(
        alarm=stored_alert,
        by=by,
        at=timezone.now(),
        state=state,
        answer=answer,
        until=until,
        reason=reason,
    )
    event_kind = "alarm_opened" if state == AlertState.OPEN else f"alarm_{state}"
    until_text = None if until is None else until.isoformat()
    record_alert_event(
        stored_alert, event_kind, by=by, reason=reason, answer=answer, until=until_text
    )
    return stored_alert


def _validate_step(
    alert: Alert, state: str, *, reason: str, answer: str, until: datetime.date | None
) -> None:
    """Raise InvalidAlertStep where a value does not fit the alert's kind or the new state."""
    allowed_answers = [allowed.value for allowed in KINDS[alert.kind].answers]
    if state not in AlertState.values:
        raise InvalidAlertStep("state", _("one of %(known)s") % {"known": ", ".join(AlertState.values)})
    if answer and answer not in allowed_answers:
        raise InvalidAlertStep(
            "answer", _("one of %(known)s") % {"known": ", ".join(allowed_answers)}
        )
    if answer and state != AlertState.RESOLVED:
        raise InvalidAlertStep("answer", _("only with the state resolved"))
    if until is not None and state != AlertState.MUTED:
        raise InvalidAlertStep("until", _("only with the state muted"))
    if until is not None and until <= timezone.now().date():
        raise InvalidAlertStep("until", _("a day after today"))
    if state in {AlertState.MUTED, AlertState.RESOLVED} and not reason:
        raise InvalidAlertStep("reason", _("say why, or what was done"))
    if len(reason) > MAX_REASON_LENGTH:
        raise InvalidAlertStep("reason", _("at most %(most)s signs") % {"most": MAX_REASON_LENGTH})


def end_mutes() -> int:
    """Reopen the alerts whose mute ended today or earlier; return how many."""
    today = timezone.now().date()
    expired = Alert.objects.filter(state=AlertState.MUTED, until__lte=today).order_by("pk")
    alerts = list(expired.select_related("question"))
    for alert in alerts:
        change_alert_state(alert=alert, state=AlertState.OPEN, reason="", by=None)
    return len(alerts)
