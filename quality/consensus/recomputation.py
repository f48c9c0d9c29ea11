"""Recompute a question's labels when their input has changed.

A hundred thousand ratings take about a second. Scheduling and leases: quality.recomputation.
"""

from __future__ import annotations

import datetime
import time

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from core.jobs.lease import get_leased_rows, update_leased_row
from metrics.question_scale import QuestionScale
from projects.models import Question
from quality import recomputation
from quality.consensus import fit, storage
from quality.models import Consensus, Decision
from quality.recomputation import Recomputation

from .fit import fit_labels


def get_input_versions(only: int | None = None) -> recomputation.InputVersions:
    """Return {question id: version of everything from which its labels are computed}.

    ``only``: the id of one question; None: all questions whose ratings have been counted.
    """
    decisions = (
        Decision.objects.filter(**recomputation.build_question_filter(only))
        .values_list("question_id")
        .order_by()
    )
    last_decisions = dict(decisions.annotate(Max("pk")))
    gold_versions = recomputation.get_gold_versions(only)
    versions = recomputation.get_count_versions(
        only,
        method="consensus__method",
        models="consensus__with_models",
        tolerance="gold_tolerance",
    )
    for question_id, version in versions.items():
        version["decision"] = last_decisions.get(question_id, 0)
        version["gold"] = gold_versions.get(question_id, [0, 0])
    return versions


def is_outdated(row: Consensus) -> bool:
    """Return whether the input of the question's labels has changed since they were computed."""
    return get_input_versions(row.question_id).get(row.question_id) != row.input_version


def list_outdated_questions() -> list[int]:
    """Return ids of the questions whose labels are outdated or missing, oldest first."""
    return recomputation.list_outdated(Consensus, get_input_versions())


MAX_PAUSE = datetime.timedelta(minutes=10)


def _compute_and_store_labels(consensus: Consensus) -> None:
    """Compute and store the labels of a question, then release the lease with the result."""
    started = time.monotonic()
    questions = Question.objects.select_related("project").prefetch_related("categories")
    question = questions.get(pk=consensus.question_id)
    # Read the input version first: later changes must make the labels outdated again.
    current_version = get_input_versions(question.pk).get(question.pk, {})
    with transaction.atomic():
        scale = QuestionScale.for_question(question)
        fixed = fit.get_fixed_codes(question)
        ratings = fit.load_votes(question, with_models=consensus.with_models)
    labels = fit_labels(
        ratings,
        scale,
        fixed,
        method=consensus.method,
        tolerance=question.effective_gold_tolerance,
    )
    storage.store_labels(
        consensus, labels, fixed, scale, last_decision_id=current_version.get("decision", 0)
    )
    with transaction.atomic():
        # Not the whole row: settings that the lead changed meanwhile must stay.
        update_leased_row(
            consensus,
            get_leased_rows(consensus),
            codes=scale.codes.tolist(),
            n_items=int(labels.item.size),
            n_ratings=int(labels.ratings.sum()),
            expected_errors=labels.expected_errors,
            certainty_levels=labels.list_confidence_levels(),
            model=labels.model,
            calibration=labels.calibration,
            reason=labels.reason,
            input_version=current_version,
            duration_seconds=time.monotonic() - started,
            computed_at=timezone.now(),
        )
        storage.record_completion(consensus, question)


RECOMPUTATION = Recomputation(
    "labels",
    Consensus,
    _compute_and_store_labels,
    list_outdated_questions,
    pause_factor=1.0,
    max_pause=MAX_PAUSE,
    lease=datetime.timedelta(minutes=10),
)
sweep = RECOMPUTATION.sweep
recompute_question = RECOMPUTATION.recompute
