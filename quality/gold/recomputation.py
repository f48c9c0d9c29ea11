"""Recompute a question's scores on gold when their input has changed.

Always from all answers on gold: they are few compared with the ratings. Scheduling and leases:
quality.recomputation.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping, Sequence

from django.db import transaction
from django.utils import timezone

from core.jobs.lease import LeaseLost, get_leased_rows
from metrics.scale import QuestionScale
from projects.models import Question
from quality.models import GoldItem, GoldScore, GoldState
from quality.recomputation import Recomputation

from . import answers, input_version, interventions, scores, suspected_answers

BATCH_SIZE = 500


def _compute_and_store_scores(state: GoldState) -> None:
    """Compute and store the raters' scores on the gold of a question."""
    started = time.monotonic()
    question = Question.objects.prefetch_related("categories").get(pk=state.question_id)
    interventions.override_resumed_pauses(question.pk)
    # Read the input version first: later changes must make the scores outdated again.
    current_version = input_version.get_input_versions(question.pk).get(question.pk, {})
    gold_scores, items, summary = compute_gold_results(question, state.pass_mark)
    state.input_version = current_version
    state.duration_seconds = time.monotonic() - started
    _store_results(state, gold_scores, items, summary)


def compute_gold_results(
    question: Question, pass_mark: float
) -> tuple[list[GoldScore], list[GoldItem], dict[str, int]]:
    """Return a score for each rater, a row for each gold answer, and totals of the question.

    ``pass_mark``: the pass mark.
    """
    scale = QuestionScale.for_question(question)
    gold_of_item = answers.get_current_gold(question, scale)
    responses = [
        response
        for response in answers.list_gold_responses(question, scale)
        if response.item in gold_of_item
    ]
    items = suspected_answers.build_gold_items(
        gold_of_item, responses, scale, question_id=question.pk, pass_mark=pass_mark
    )
    suspected_items = {item.item_id for item in items if item.suspected}
    evidence_starts = interventions.get_evidence_starts(question.pk)
    gold_scores = []
    for rater, rater_responses in scores.group_scored_responses(
        responses, gold_of_item, excluded_items=suspected_items
    ).items():
        gold_scores.append(
            scores.compute_gold_score(
                rater_responses,
                gold_of_item,
                scale,
                question_id=question.pk,
                pass_mark=pass_mark,
                since=evidence_starts.get(rater),
            )
        )
    return gold_scores, items, _compute_totals(gold_of_item, responses)


def _compute_totals(
    gold_of_item: Mapping[int, answers.CurrentGold], responses: Sequence[answers.GoldResponse]
) -> dict[str, int]:
    return {
        "n_single": sum(gold.single_category is not None for gold in gold_of_item.values()),
        "n_several": sum(len(gold.stated) > 1 for gold in gold_of_item.values()),
        "n_shares": sum(gold.shares for gold in gold_of_item.values()),
        "n_answers": len(responses),
        "n_check_answers": sum(response.is_check for response in responses),
    }


@transaction.atomic
def _store_results(
    row: GoldState, gold_scores: list[GoldScore], items: list[GoldItem], summary: dict[str, int]
) -> None:
    """Replace all rows of the question. Raises LeaseLost where another worker has taken over."""
    metadata = {
        "input_version": row.input_version,
        "duration_seconds": row.duration_seconds,
        "computed_at": timezone.now(),
    }
    if not get_leased_rows(row).update(**summary, **metadata):
        raise LeaseLost
    GoldScore.objects.filter(question_id=row.question_id).delete()
    GoldScore.objects.bulk_create(gold_scores, batch_size=BATCH_SIZE)
    GoldItem.objects.filter(question_id=row.question_id).delete()
    GoldItem.objects.bulk_create(items, batch_size=BATCH_SIZE)
    interventions.create_interventions(row.question, row.rule, gold_scores)


RECOMPUTATION = Recomputation(
    "scores on gold",
    GoldState,
    _compute_and_store_scores,
    input_version.list_outdated_questions,
    pause_factor=1.5,
    max_pause=datetime.timedelta(minutes=10),
    lease=datetime.timedelta(minutes=10),
)
sweep = RECOMPUTATION.sweep
recompute_question = RECOMPUTATION.recompute
