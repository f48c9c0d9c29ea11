"""Making anew how far a question's raters agree with themselves, when a repeat was answered or the
scale changed.

A repeat is the answer to an item that the desk asked a rater again (ratings.annotation.assignments.hidden_checks), or that a
file brought again (ratings.services.check_answers), with what their rating said at that moment. Models
that ran twice have scores of their own; all together are people. Weighted as the question is, so
that it stands beside the agreement with the others. When and by whom it is done: quality.recompute.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Sequence
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from core.jobs.lease import Lost, held
from metrics.agreement.estimate import wilson
from metrics.agreement.rater_quality import repeats
from metrics.periods import starts
from metrics.scale import QuestionScale
from projects.models import Question, Rater
from quality import recompute
from quality.models import RepeatScore, RepeatState
from ratings.models import Apart, Assignment
from ratings.services.days import day_of

ROWS_AT_ONCE = 500
REPEAT = Assignment.Why.REPEAT


class Pair(NamedTuple):
    """Places of the first and the second answer among the declared categories, and the day of the
    second one."""

    first: int
    second: int
    day: int


def stamps(only: int | None = None) -> recompute.Stamps:
    """question id -> what its scores should rest on; of those whose raters are asked again, or
    that have repeats."""
    again = Apart.objects.filter(question=OuterRef("pk"), why=REPEAT)
    asked = Q(project__repeat_percent__gt=0) | Q(repeat_state__isnull=False) | Exists(again)
    questions = Question.objects.filter(asked, **({} if only is None else {"pk": only}))
    # The catalogue tells of raters' kinds.
    columns = ("pk", "scale_version", "project__catalogue_version")
    found = {
        pk: {"scale": scale, "catalogue": at} for pk, scale, at in questions.values_list(*columns)
    }
    newest = recompute.apart(found, REPEAT)
    return {pk: stamp | {"apart": newest.get(pk, 0)} for pk, stamp in found.items()}


def waiting() -> list[int]:
    return recompute.behind(RepeatState, stamps())


def _make(row: RepeatState) -> None:
    started = time.monotonic()
    question = Question.objects.select_related("project").get(pk=row.question_id)
    # The stamp first: what changes from here on makes the scores old again.
    rests_on = stamps(question.pk).get(question.pk, {})
    rows, whole = anew(question)
    done = {"rests_on": rests_on, "seconds": time.monotonic() - started}
    with transaction.atomic():
        if not held(row).update(**whole, **done, made_at=timezone.now()):
            raise Lost
        RepeatScore.objects.filter(question=question).delete()
        RepeatScore.objects.bulk_create(rows, batch_size=ROWS_AT_ONCE)


def anew(question: Question) -> tuple[list[RepeatScore], dict[str, object]]:
    """A row of each rater, and what stands of all people together."""
    scale = QuestionScale.of(question)
    by_rater = _pairs(question, scale)
    kinds = Rater.objects.filter(pk__in=by_rater, kind=Rater.Kind.MODEL)
    models = set(kinds.values_list("pk", flat=True))
    people = {rater: pairs for rater, pairs in by_rater.items() if rater not in models}
    rows, project = _scores(question, scale, people)
    of_models, _together = _scores(question, scale, {rater: by_rater[rater] for rater in models})
    rows += of_models
    whole = _summary([one for pairs in people.values() for one in pairs])
    return rows, whole | {"kappa": project.kappa, "icc": project.icc}


def _scores(
    question: Question, scale: QuestionScale, by_rater: dict[int, list[Pair]]
) -> tuple[list[RepeatScore], repeats.Repeats]:
    """A row of each rater, and what they come to together."""
    matrix = None if scale.weights == "none" else scale.weightings()[scale.weights]
    values = scale.values if scale.type.numeric else None
    tables = np.zeros((max(len(by_rater), 1), max(scale.k, 1), max(scale.k, 1)), np.int64)
    for place, pairs in enumerate(by_rater.values()):
        np.add.at(tables[place], ([one.first for one in pairs], [one.second for one in pairs]), 1)
    found = repeats.intra(tables, matrix, values)
    rows = []
    for (rater, pairs), table, said in zip(by_rater.items(), tables, found.raters, strict=False):
        score = _summary(pairs)
        score |= {"kappa": said.kappa, "shift": said.shift if scale.type.ordered else None}
        score |= {"icc": said.icc, "table": table.tolist(), "months": _months(pairs)}
        rows.append(RepeatScore(question=question, rater_id=rater, **score))
    return rows, found.project


def _pairs(question: Question, scale: QuestionScale) -> dict[int, list[Pair]]:
    """Rater -> their repeats, in the order of the second answers."""
    places = {int(code): place for place, code in enumerate(scale.codes)}
    zone = ZoneInfo(question.project.time_zone)
    rows = Apart.objects.standing().filter(question=question, why=REPEAT)
    found: dict[int, list[Pair]] = {}
    columns = ("rater_id", "first", "code", "rated_at")
    for rater, first, second, at in rows.order_by("rated_at", "id").values_list(*columns):
        if first in places and second in places:
            pair = Pair(places[first], places[second], day_of(at, zone))
            found.setdefault(rater, []).append(pair)
    return found


def _summary(pairs: Sequence[Pair]) -> dict[str, object]:
    n, same = len(pairs), sum(one.first == one.second for one in pairs)
    low, high = wilson(same, n) if n else (None, None)
    return {"n": n, "same": same, "low": low, "high": high}


def _months(pairs: Sequence[Pair]) -> list[dict[str, object]]:
    months = starts(np.array([one.day for one in pairs]), "month").tolist()
    found = []
    for start in sorted(set(months)):
        of_month = [one for one, month in zip(pairs, months, strict=True) if month == start]
        found.append({"start": start, **_summary(of_month)})
    return found


WORK = recompute.Renewing(
    "how far raters agree with themselves",
    RepeatState,
    _make,
    waiting,
    rest=1.5,
    longest_rest=datetime.timedelta(minutes=10),
    lease=datetime.timedelta(minutes=10),
)
sweep = WORK.sweep
renew = WORK.renew
