"""Change the state of an alert: open, acknowledged, muted or resolved.

Each change is stored as a step and recorded as an event.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from core.text import describe_length
from projects.models import Rater
from projects.services.rater_changes import set_rater_paused
from quality.models import Alert, AlertCause, AlertState, AlertStep, RaterCheck

from .kinds import KINDS
from .storage import record_alert_event

MAX_REASON_LENGTH = 2_000


class InvalidAlertStep(ValueError):
    """The change of an alert's state is invalid.

    ``field``: name of the invalid value; ``message``: what is wrong with it.
    """

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
    cause: str = "",
    muted_until: datetime.date | None = None,
    by: Any,
) -> Alert:
    """Change the state of an alert (open, acknowledged, muted, resolved), and return the alert.

    ``muted_until``: the day on which a muted alert reopens, None for no end. ``cause``: for
    resolved one of the causes of the alert's kind; for acknowledged ``real`` or ""
    (Alert.is_confirmed). The cause ``not_rater`` makes the next scan compare other raters with
    this one's ratings again. Raters of a resolved alert are marked as checked. Repeating the
    current state without a reason changes nothing. Raises InvalidAlertStep. Locks the alert's row.
    """
    stored_alert = Alert.objects.select_for_update().get(pk=alert.pk)
    reason = reason.strip()
    _validate_step(stored_alert, state, reason=reason, cause=cause, muted_until=muted_until)
    current = stored_alert.state, stored_alert.cause, stored_alert.muted_until
    if current == (state, cause, muted_until) and not reason:
        return stored_alert
    stored_alert.state, stored_alert.cause, stored_alert.muted_until = state, cause, muted_until
    stored_alert.save(update_fields=["state", "cause", "muted_until"])
    _record_step(stored_alert, reason=reason, by=by)
    if state == AlertState.RESOLVED:
        rater_ids = filter(None, (stored_alert.rater_id, stored_alert.other_rater_id))
        mark_raters_checked(question_id=stored_alert.question_id, rater_ids=rater_ids, by=by)
    return stored_alert


def _record_step(alert: Alert, *, reason: str, by: Any) -> None:
    """Store the present state of an alert as a step, and record its event."""
    AlertStep.objects.create(
        alert=alert,
        by=by,
        at=timezone.now(),
        state=alert.state,
        cause=alert.cause,
        muted_until=alert.muted_until,
        reason=reason,
    )
    event_kind = "alert.reopened" if alert.state == AlertState.OPEN else f"alert.{alert.state}"
    until = None if alert.muted_until is None else alert.muted_until.isoformat()
    record_alert_event(
        alert, event_kind, by=by, reason=reason, cause=alert.cause, muted_until=until
    )


def mark_raters_checked(*, question_id: int, rater_ids: Iterable[int], by: Any) -> None:
    """Record that ``by`` (None: the site) has looked at the status of raters in a question."""
    now = timezone.now()
    RaterCheck.objects.bulk_create(
        (
            RaterCheck(question_id=question_id, rater_id=rater_id, by=by, checked_at=now)
            for rater_id in rater_ids
        ),
        update_conflicts=True,
        unique_fields=["question", "rater"],
        update_fields=["by", "checked_at"],
    )


def _validate_step(
    alert: Alert, state: str, *, reason: str, cause: str, muted_until: datetime.date | None
) -> None:
    """Raise InvalidAlertStep where a value does not fit the alert's kind or the new state."""
    allowed_causes = [allowed.value for allowed in KINDS[alert.kind].causes]
    if state not in AlertState.values:
        raise InvalidAlertStep("state", f"one of {', '.join(AlertState.values)}")
    if cause and cause not in allowed_causes:
        raise InvalidAlertStep("cause", f"one of {', '.join(allowed_causes)}")
    is_confirmed = state == AlertState.ACKNOWLEDGED and cause == AlertCause.REAL and alert.rater_id
    if cause and state != AlertState.RESOLVED and not is_confirmed:
        raise InvalidAlertStep("cause", "only with the state resolved")
    if muted_until is not None and state != AlertState.MUTED:
        raise InvalidAlertStep("muted_until", "only with the state muted")
    if muted_until is not None and muted_until <= timezone.now().date():
        raise InvalidAlertStep("muted_until", _("must be after today"))
    if state in {AlertState.MUTED, AlertState.RESOLVED} and not reason:
        raise InvalidAlertStep("reason", _("Enter a reason."))
    if len(reason) > MAX_REASON_LENGTH:
        raise InvalidAlertStep("reason", describe_length(MAX_REASON_LENGTH))


@transaction.atomic
def confirm_and_pause(*, alert: Alert, rater: Rater, reason: str = "", by: Any) -> None:
    """Confirm an alert and pause one of its raters; a hook then resolves the alert."""
    change_alert_state(
        alert=alert, state=AlertState.ACKNOWLEDGED, cause=AlertCause.REAL, reason=reason, by=by
    )
    set_rater_paused(rater=rater, paused=True, by=by)


def resolve_alerts_of_paused(rater: Rater, by: Any) -> None:
    """Resolve the confirmed alerts about a rater who was paused (hook ``rater_paused``)."""
    if not rater.paused:
        return
    confirmed = Alert.objects.filter(
        Q(rater=rater) | Q(other_rater=rater),
        state=AlertState.ACKNOWLEDGED,
        cause=AlertCause.REAL,
    )
    for alert in confirmed.order_by("pk").select_related("question"):
        change_alert_state(
            alert=alert,
            state=AlertState.RESOLVED,
            cause=AlertCause.REAL,
            reason=_("Rater paused"),
            by=by,
        )


def end_expired_mutes() -> int:
    """Reopen the alerts whose mute ended today or earlier; return how many."""
    today = timezone.now().date()
    expired = Alert.objects.filter(state=AlertState.MUTED, muted_until__lte=today).order_by("pk")
    alerts = list(expired.select_related("question"))
    for alert in alerts:
        change_alert_state(alert=alert, state=AlertState.OPEN, reason="", by=None)
    return len(alerts)
