"""Decide the gates of a question again when what they are based on has changed.

A changed verdict is an event. Scheduling and leases: quality.recomputation.
"""

from __future__ import annotations

import datetime
import time
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from core.jobs.lease import get_leased_rows, update_leased_row
from events.services import record_event
from projects.models import Question
from quality import recomputation
from quality.models import Alert, AlertStep, Decision, Gate, GateState, VerdictValue
from ratings.models import Assignment

from .inputs import GateInputs
from .verdicts import Document, compute_document

EVENT_KINDS = {
    VerdictValue.PASS.value: "gate.passed",
    VerdictValue.FAIL.value: "gate.failed",
    VerdictValue.NOT_ENOUGH.value: "gate.not_enough",
}
EVENT_RULE_FIELDS = ("measure", "name", "at_least", "at_most", "verdict", "needed_items")


def get_input_versions(only: int | None = None) -> recomputation.InputVersions:
    """Return {question id: input version of its gates}, of all questions with gates or of one."""
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
        "decision": _get_newest(Decision.objects.all(), "question_id", changed),
        "alert": _get_newest(Alert.objects.all(), "question_id", changed),
        "alert_step": _get_newest(AlertStep.objects.all(), "alert__question_id", changed),
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


def _get_newest(rows: Any, path: str, questions: Any) -> dict[int, int]:
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
        _store_verdict(gate, compute_document(gate, moment, inputs))
    update_leased_row(
        state,
        get_leased_rows(state),
        input_version=current_version,
        duration_seconds=time.monotonic() - started,
        computed_at=timezone.now(),
    )


@transaction.atomic
def _store_verdict(gate: Gate, document: Document) -> None:
    """Store a gate's signed verdict, and record an event if pass or fail differs from the last.

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
