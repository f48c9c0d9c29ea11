"""Reports on a question as of a moment.

Requested by a page, computed by a worker from the history of the ratings, and stored
(core.jobs.on_demand).
"""

from __future__ import annotations

import datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from core.jobs.on_demand import OnDemandJob
from metrics.models import Report
from projects.models import Question

from .report_facts import compute_report_facts


class ReportDateInFuture(ValueError):
    """The report date is in the future, so its ratings are unknown."""


def get_or_request_report(
    question: Question, *, as_of: datetime.datetime | None, by: Any
) -> Report:
    """Return the report on a question as of a moment (default: now), or request it.

    Raises ReportDateInFuture.
    """
    now = timezone.now()
    if as_of is not None and as_of > now:
        raise ReportDateInFuture(_("This time is in the future."))
    row, _is_new = REPORT_JOB.get_or_start(
        question=question, as_of=as_of or now, defaults={"created_by": by}
    )
    return row


def _compute_fields(row: Report) -> dict[str, object]:
    return {"facts": compute_report_facts(row.question, row.as_of)}


REPORT_JOB = OnDemandJob(
    rows=Report.objects.select_related("question__project").defer("facts"),
    result_field="facts",
    task_name="metrics.tasks.compute_report",
    compute_result=_compute_fields,
    min_cooldown=datetime.timedelta(0),
)
