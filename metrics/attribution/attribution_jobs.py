"""On-demand jobs that explain a change of agreement between two periods.

Requested by a page, computed by a worker and stored in a row (core.jobs.on_demand).
"""

from __future__ import annotations

import datetime
from typing import Any

from core.jobs.on_demand import OnDemandJob, delete_least_recently_requested
from metrics.models import Attribution, CountState
from metrics.results.clusters import QuestionClusters
from metrics.scale import QuestionScale
from projects.models import Question

from .attribution_result import compute_attribution

MAX_STORED = 100  # for a question


def get_or_request_attribution(question: Question, **parameters: Any) -> Attribution:
    """Return the stored attribution of a change, or request a new one; a stale one is recomputed.

    ``parameters``: period_unit ("week" or "month"), earlier_start, later_start (first days of the
    periods), weights.
    """
    row, is_new = ATTRIBUTION_JOB.get_or_start(question=question, **parameters)
    if is_new:
        delete_least_recently_requested(
            Attribution.objects.filter(question=question), keep=MAX_STORED
        )
    else:
        ATTRIBUTION_JOB.request_refresh(
            row, is_stale=lambda: row.version != CountState.get_version(question.pk)
        )
    return row


def _compute_fields(row: Attribution) -> dict[str, object] | None:
    scale = QuestionScale.for_question(row.question)
    if row.weights not in scale.list_weightings():
        return None  # the custom weights were removed
    # Read before computing: if counting goes on meanwhile, the result is marked stale.
    version = CountState.get_version(row.question_id)
    clusters = QuestionClusters.load(row.question_id, row.question.project)
    return {"result": compute_attribution(row, scale, clusters), "version": version}


ATTRIBUTION_JOB = OnDemandJob(
    rows=Attribution.objects.select_related("question").defer("result"),
    result_field="result",
    task_name="metrics.tasks.compute_attribution",
    compute_result=_compute_fields,
    min_cooldown=datetime.timedelta(seconds=30),
)
