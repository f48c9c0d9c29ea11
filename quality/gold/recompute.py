"""Making a question's scores on gold anew when what they rest on has changed.

Always from all answers on gold: they are few beside the ratings. When and by whom it is done:
quality.recompute.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping, Sequence

from django.db import transaction
from django.utils import timezone

from core.jobs.lease import Lost, held
from metrics.scale import QuestionScale
from projects.models import Question
from quality.models import GoldItem, GoldScore, GoldState
from quality.recompute import Renewing

from . import answers, input_version, interventions, scores, suspected_answers

ROWS_AT_ONCE = 500


def _make(row: GoldState) -> None:
    started = time.monotonic()
    question = Question.objects.prefetch_related("categories").get(pk=row.question_id)
    interventions.notice_resumed(question.pk)
    # The stamp first: what changes from here on makes the scores old again.
    rests_on = input_version.stamps(question.pk).get(question.pk, {})
    each, items, summary = anew(question, row.bar)
    row.rests_on = rests_on
    row.seconds = time.monotonic() - started
    _store(row, each, items, summary)


def anew(question: Question, bar: float) -> tuple[list[GoldScore], list[GoldItem], dict[str, int]]:
    """A row of each rater, one of each gold answer, and what stands of all together."""
    scale = QuestionScale.of(question)
    golds = answers.golds_of(question, scale)
    said = [one for one in answers.said_of(question, scale) if one.item in golds]
    items = suspected_answers.doubts(golds, said, scale, question_id=question.pk, bar=bar)
    doubted = {item.item_id for item in items if item.suspected}
    anew = interventions.begins_anew(question.pk)
    each = []
    for rater, given in scores.scored(said, golds, without=doubted).items():
        each.append(
            scores.score(
                given,
                golds,
                scale,
                question_id=question.pk,
                bar=bar,
                since=anew.get(rater),
            )
        )
    return each, items, _summary(golds, said)


def _summary(golds: Mapping[int, answers.Gold], said: Sequence[answers.Said]) -> dict[str, int]:
    return {
        "n_single": sum(gold.single is not None for gold in golds.values()),
        "n_several": sum(len(gold.right) > 1 for gold in golds.values()),
        "n_shares": sum(gold.shares for gold in golds.values()),
        "n_answers": len(said),
        "n_apart": sum(one.apart for one in said),
    }


@transaction.atomic
def _store(
    row: GoldState, each: list[GoldScore], items: list[GoldItem], summary: dict[str, int]
) -> None:
    """All rows anew, unless another worker has the question meanwhile: they are few."""
    done = {"rests_on": row.rests_on, "seconds": row.seconds, "made_at": timezone.now()}
    if not held(row).update(**summary, **done):
        raise Lost
    GoldScore.objects.filter(question_id=row.question_id).delete()
    GoldScore.objects.bulk_create(each, batch_size=ROWS_AT_ONCE)
    GoldItem.objects.filter(question_id=row.question_id).delete()
    GoldItem.objects.bulk_create(items, batch_size=ROWS_AT_ONCE)
    interventions.follow(row.question, row.rule, each)


WORK = Renewing(
    "scores on gold",
    GoldState,
    _make,
    input_version.waiting,
    rest=1.5,
    longest_rest=datetime.timedelta(minutes=10),
    lease=datetime.timedelta(minutes=10),
)
sweep = WORK.sweep
renew = WORK.renew
