"""Reports: what there was to say of a question at a moment. Asked for by a page, computed by a
worker from the history of the ratings, and kept (core.jobs.on_demand)."""

from __future__ import annotations

import datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from core.jobs.on_demand import AskedWork
from metrics.models import Report
from projects.models import Question

from .report_facts import facts_at


class NotPast(ValueError):
    """A moment of which nobody can know yet what was rated by then."""


def ask(question: Question, *, as_of: datetime.datetime | None, by: Any) -> Report:
    """The report on a question as of a moment; of now, where none is given. It waits where there
    was none. Raises NotPast."""
    now = timezone.now()
    if as_of is not None and as_of > now:
        raise NotPast(_("This moment is yet to come."))
    row, _new = WORK.ask(question=question, as_of=as_of or now, defaults={"by": by})
    return row


def _made(row: Report) -> dict[str, Any]:
    return {"facts": facts_at(row.question, row.as_of)}


WORK = AskedWork(
    rows=Report.objects.select_related("question__project").defer("facts"),
    result="facts",
    task="metrics.tasks.compute_report",
    make=_made,
    shortest_rest=datetime.timedelta(0),
)
