"""Verdicts on request: computed at once for small questions, by a worker for large ones."""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

from django.utils import timezone
from django.utils.translation import gettext as _

from core.jobs.on_demand import OnDemandJob, delete_least_recently_requested
from quality.models import Gate, GateVerdict
from ratings.api.query_times import restore_plus
from ratings.models import Rating

from .rules import Rule
from .verdicts import Document, compute_document

MAX_IMMEDIATE_RATINGS = 20_000  # about a second; read once for each filter of the rules
REUSE_SECONDS = 60  # a verdict of so long ago counts as current for a large question
MAX_STORED = 100  # verdicts of a gate


class InvalidMoment(ValueError):
    """No verdict can be given for this moment; the message says why."""


def get_or_request_verdict(gate: Gate, as_of: datetime.datetime | None) -> Document | None:
    """Return the verdict at a moment (default: now), or request it and return None.

    The verdict on a question with few ratings is computed at once.
    """
    n_filters = len({Rule.from_stored(stored).filter for stored in gate.rules})
    limit = MAX_IMMEDIATE_RATINGS // max(n_filters, 1)
    if Rating.objects.filter(question=gate.question_id)[: limit + 1].count() <= limit:
        return compute_document(gate, as_of or timezone.now())
    row = None
    if as_of is None:
        recent = timezone.now() - datetime.timedelta(seconds=REUSE_SECONDS)
        rows = gate.verdicts.filter(requested_at__gte=recent)
        row = rows.filter(pending=True).first() or rows.filter(as_of__gte=recent).first()
    if row is None:
        row, is_new = VERDICT_JOB.get_or_start(gate=gate, as_of=as_of or timezone.now())
        if is_new:
            delete_least_recently_requested(gate.verdicts.all(), keep=MAX_STORED)
    document: Document | None = row.document
    return document


def parse_moment(text: str, zone: ZoneInfo) -> datetime.datetime:
    """Return the moment of a text like 2026-03-02T18:00+08:00. Raises InvalidMoment.

    ``zone``: time zone that applies if the text has none.
    """
    text = restore_plus(text)
    try:
        moment = datetime.datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone)
        moment = moment.astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        message = _("Use a time like 2026-03-02T18:00+08:00, not “%(text)s”")
        raise InvalidMoment(message % {"text": text[:60]}) from None
    if moment > timezone.now():
        raise InvalidMoment(_("%(time)s is in the future") % {"time": text[:60]})
    return moment


def _compute_fields(row: GateVerdict) -> Document:
    return {"document": compute_document(row.gate, row.as_of)}


VERDICT_JOB = OnDemandJob(
    rows=GateVerdict.objects.select_related("gate__question__project"),
    result_field="document",
    task_name="quality.tasks.compute_gate_verdict",
    compute_result=_compute_fields,
    min_cooldown=datetime.timedelta(0),
    expires_after=datetime.timedelta(hours=1),
)
