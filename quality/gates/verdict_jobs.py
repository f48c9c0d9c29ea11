"""Verdicts on gates: given again when their input has changed, and on request for any moment.

A changed verdict is an event. On request, verdicts on small questions are computed at once, those
on large ones by a worker. Scheduling and leases: quality.recomputation.
"""

from __future__ import annotations

import datetime
import time
from typing import Any
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from core.jobs.lease import get_leased_rows, update_leased_row
from core.jobs.on_demand import OnDemandJob, delete_least_recently_requested
from events.services import record_event
from projects.models import Question
from quality import recomputation
from quality.models import Alert, AlertStep, Decision, Gate, GateState, GateVerdict, VerdictValue
from ratings.api.query_times import restore_plus_sign
from ratings.models import Assignment, Rating

from .inputs import GateInputs
from .rules import Rule
from .verdicts import Document, compute_verdict

MAX_IMMEDIATE_RATINGS = 20_000  # about a second; read once for each filter of the rules
REUSE_SECONDS = 60  # a verdict of so long ago counts as current for a large question
MAX_STORED = 100  # verdicts of a gate


class InvalidMoment(ValueError):
    """No verdict can be given for this moment; the message says why."""


def get_or_request_verdict(gate: Gate, as_of: datetime.datetime | None) -> Document | None:
    """Return the signed verdict on a gate at a moment, or None while a worker still computes it.

    ``as_of``: the moment, None for now. The verdict on a question with few ratings is computed
    at once; for a large one, a verdict of up to REUSE_SECONDS ago counts as current.
    """
    n_filters = len({Rule.from_stored(stored).filter for stored in gate.rules})
    limit = MAX_IMMEDIATE_RATINGS // max(n_filters, 1)
    if Rating.objects.filter(question=gate.question_id)[: limit + 1].count() <= limit:
        return compute_verdict(gate, as_of or timezone.now())
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
    """Return the moment of a text like 2026-03-02T18:00+08:00, in UTC.

    ``zone``: time zone that applies if the text has none. Raises InvalidMoment for another
    text, and for a moment in the future.
    """
    text = restore_plus_sign(text)
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
    return {"document": compute_verdict(row.gate, row.as_of)}


VERDICT_JOB = OnDemandJob(
    rows=GateVerdict.objects.select_related("gate__question__project"),
    result_field="document",
    task_name="quality.tasks.compute_gate_verdict",
    compute_result=_compute_fields,
    min_cooldown=datetime.timedelta(0),
    expires_after=datetime.timedelta(hours=1),
)


EVENT_KINDS = {
    VerdictValue.PASS.value: "gate.passed",
    VerdictValue.FAIL.value: "gate.failed",
    VerdictValue.NOT_ENOUGH.value: "gate.not_enough",
}
EVENT_RULE_FIELDS = ("measure", "name", "at_least", "at_most", "verdict", "needed_items")


def get_input_versions(only: int | None = None) -> recomputation.InputVersions:
    """Return {question id: version of everything on which the verdicts of its gates are based}.

    ``only``: the id of one question; None: all questions that have gates.
    """
    gates = Gate.objects.filter(**recomputation.build_question_filter(only)).order_by()
    changed = dict(gates.values_list("question_id").annotate(Max("changed_at")))
    counts = recomputation.get_count_versions(
        only,
        overlap="project__overlap",
        clusters="project__cluster_attribute",
        method="consensus__method",
        models="consensus__with_models",
        tolerance="gold_tolerance",
    )
    gold = recomputation.get_gold_versions(only)
    checks = recomputation.get_check_answer_versions(changed, Assignment.Kind.GOLD)
    newest_rows = {
        "decision": _get_newest_ids(Decision.objects.all(), "question_id", changed),
        "alert": _get_newest_ids(Alert.objects.all(), "question_id", changed),
        "alert_step": _get_newest_ids(AlertStep.objects.all(), "alert__question_id", changed),
    }
    newest_gates = dict(gates.values_list("question_id").annotate(Max("pk")))
    versions = {}
    for question_id, changed_at in changed.items():
        versions[question_id] = {
            **counts.get(question_id, {}),
            "gates": [changed_at.isoformat(), newest_gates[question_id]],
            "gold": gold.get(question_id, [0, 0]),
            "checks": checks.get(question_id, 0),
            **{name: newest.get(question_id, 0) for name, newest in newest_rows.items()},
        }
    return versions


def _get_newest_ids(rows: Any, path: str, questions: Any) -> dict[int, int]:
    newest = rows.filter(**{f"{path}__in": list(questions)}).order_by().values_list(path)
    return dict(newest.annotate(Max("pk")))


def list_outdated_questions() -> list[int]:
    """Return ids of the questions whose gates must be decided again, oldest first."""
    return recomputation.list_outdated(GateState, get_input_versions())


def _decide_and_store(state: GateState) -> None:
    """Decide all gates of the question, store the verdicts and release the lease."""
    started = time.monotonic()
    # Read the input version first: later changes must make the verdicts outdated again.
    current_version = get_input_versions(state.question_id).get(state.question_id, {})
    question = Question.objects.select_related("project").get(pk=state.question_id)
    moment = timezone.now()
    inputs = GateInputs(question, moment)
    for gate in Gate.objects.filter(question=question).select_related("question__project"):
        _store_verdict(gate, compute_verdict(gate, moment, inputs))
    update_leased_row(
        state,
        get_leased_rows(state),
        input_version=current_version,
        duration_seconds=time.monotonic() - started,
        computed_at=timezone.now(),
    )


@transaction.atomic
def _store_verdict(gate: Gate, document: Document) -> None:
    """Store a gate's signed verdict, and record an event if it differs from the previous one.

    Nothing is stored if the gate was changed or deleted meanwhile.
    """
    row = Gate.objects.select_for_update().filter(pk=gate.pk, changed_at=gate.changed_at).first()
    if row is None:
        return
    previous, row.verdict = row.verdict, document["verdict"]
    row.document = document
    row.save(update_fields=["verdict", "document"])
    if previous != row.verdict:
        record_event(
            project_id=row.project_id,
            kind=EVENT_KINDS[row.verdict],
            subject=f"gate/{row.pk}",
            data={
                "gate": row.name,
                "question": document["question"],
                "previous": previous or None,
                "rules": [_summarize_rule(rule) for rule in document["rules"]],
                **{name: document[name] for name in ("as_of", "ratings_hash", "n_ratings")},
            },
        )


def _summarize_rule(rule: Document) -> Document:
    estimate = rule["estimate"]
    return {
        **{name: rule[name] for name in EVENT_RULE_FIELDS if name in rule},
        **{name: estimate[name] for name in ("value", "low", "high", "n_items")},
    }


RECOMPUTATION = recomputation.Recomputation(
    "gates",
    GateState,
    _decide_and_store,
    list_outdated_questions,
    pause_factor=2.0,
    max_pause=datetime.timedelta(minutes=10),
    lease=datetime.timedelta(minutes=10),
)
sweep = RECOMPUTATION.sweep
recompute_question = RECOMPUTATION.recompute
