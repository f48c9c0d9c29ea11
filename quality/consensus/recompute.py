"""Making a question's labels anew when what they rest on has changed.

A hundred thousand ratings take about a second. When and by whom it is done: quality.recompute.
"""

from __future__ import annotations

import datetime
import time

from django.db import transaction
from django.utils import timezone

from core.jobs.lease import held, keep_lease
from metrics.scale import QuestionScale
from projects.models import Question
from quality.models import Consensus
from quality.recompute import Renewing

from . import input_version, storage, votes
from .fit import fit

LONGEST_REST = datetime.timedelta(minutes=10)


def _make(row: Consensus) -> None:
    started = time.monotonic()
    question = Question.objects.prefetch_related("categories").get(pk=row.question_id)
    # The stamp first: what changes from here on makes the labels old again.
    rests_on = input_version.stamps(question.pk).get(question.pk, {})
    with transaction.atomic():
        scale = QuestionScale.of(question)
        fixed = votes.fixed_of(question)
        said = votes.of_question(question, with_models=row.with_models)
    labels = fit(said, scale, fixed, method=row.method)
    storage.store(row, labels, fixed, scale, seen=rests_on.get("decision", 0))
    # Not the whole row: what the lead chose meanwhile stays.
    keep_lease(
        row,
        held(row),
        codes=scale.codes.tolist(),
        n_items=int(labels.item.size),
        n_ratings=int(labels.ratings.sum()),
        expected_errors=labels.expected_errors,
        sure=labels.sure(),
        model=labels.model,
        calibration=labels.calibration,
        reason=labels.reason,
        rests_on=rests_on,
        seconds=time.monotonic() - started,
        made_at=timezone.now(),
    )


WORK = Renewing(
    "labels",
    Consensus,
    _make,
    input_version.waiting,
    rest=1.0,
    longest_rest=LONGEST_REST,
    lease=datetime.timedelta(minutes=10),
)
sweep = WORK.sweep
renew = WORK.renew
