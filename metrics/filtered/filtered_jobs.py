"""On-demand jobs that compute results of a filter from the ratings.

They are stored in rows (core.jobs.on_demand).
"""

from __future__ import annotations

import datetime
import hashlib
import logging
from dataclasses import dataclass

from django.db import OperationalError
from django.utils import timezone

from core.jobs.on_demand import OnDemandJob, delete_least_recently_requested
from metrics.counting.store import encode_json
from metrics.filters import RatingFilter
from metrics.models import CountState, FilteredResult
from projects.models import Question

from . import bodies

logger = logging.getLogger(__name__)

BODY_FORMAT = 6  # so that no page reads a body that an older release wrote
MAX_STORED = 40  # for a question


@dataclass(frozen=True)
class FilteredRequest:
    """A request for a filtered result: its kind, the filter, one or two raters, and scores."""

    kind: str
    filter: RatingFilter
    raters: tuple[int, ...] = ()
    scores: str = ""  # source of the categories' scores (metrics.results.category_scores)

    @property
    def spec(self) -> dict[str, object]:
        """The filter, raters and scores as plain JSON."""
        spec = self.filter.spec | ({"raters": list(self.raters)} if self.raters else {})
        return spec | ({"scores": self.scores} if self.scores else {})

    @property
    def key(self) -> str:
        """Hash that identifies the stored result."""
        return hashlib.sha256(
            encode_json([BODY_FORMAT, self.kind, sorted(self.spec.items())]).encode()
        ).hexdigest()


def get_or_request_filtered_result(
    question: Question, request: FilteredRequest, *, version: int
) -> FilteredResult:
    """Return the stored result, or request it; a stale one is computed again.

    ``version``: the current CountState.version. The body, which may be large, is loaded when it is
    accessed; that of filter choices immediately. A page must not fail because a full or busy
    database accepts no request: then nothing is requested until the page asks again.
    """
    rows = FilteredResult.objects.filter(question=question, key=request.key)
    if request.kind != FilteredResult.Kind.CHOICES:
        rows = rows.defer("body")
    row = rows.first()
    try:
        if row is None:
            return _request_new(question, request)
        current = (version, question.project.items_and_raters_version)
        FILTERED_RESULT_JOB.request_refresh(
            row, is_stale=lambda: (row.version, row.items_and_raters_version) != current
        )
    except OperationalError as error:
        logger.warning(
            "filtered result %s of question %s not requested (%s)", request.kind, question.pk, error
        )
    return row or FilteredResult(
        question=question,
        key=request.key,
        kind=request.kind,
        spec=request.spec,
        requested_at=timezone.now(),
    )


def _request_new(question: Question, request: FilteredRequest) -> FilteredResult:
    row, is_new = FILTERED_RESULT_JOB.get_or_start(
        question=question,
        key=request.key,
        defaults={"kind": request.kind, "spec": request.spec},
    )
    if is_new:
        # The filter choices are kept: every filtered page needs them.
        deletable = FilteredResult.objects.filter(question=question).exclude(
            kind=FilteredResult.Kind.CHOICES
        )
        delete_least_recently_requested(deletable, keep=MAX_STORED)
    return row


def _compute_fields(row: FilteredResult) -> dict[str, object]:
    # Read before computing: if counting goes on meanwhile, the body is marked stale.
    version = (
        0 if row.kind == FilteredResult.Kind.CHOICES else CountState.get_version(row.question_id)
    )
    return {
        "body": bodies.compute_body(row),
        "version": version,
        "items_and_raters_version": row.question.project.items_and_raters_version,
    }


FILTERED_RESULT_JOB = OnDemandJob(
    rows=FilteredResult.objects.select_related("question__project").defer("body"),
    result_field="body",
    task_name="metrics.tasks.compute_filtered_result",
    compute_result=_compute_fields,
    min_cooldown=datetime.timedelta(seconds=2),
    expires_after=datetime.timedelta(hours=1),
)
