"""Recompute intra-rater agreement when a repeated item was answered or the scale changed.

A repeat is the answer to an item that a rater was asked again
(ratings.annotation.assignments.hidden_checks) or that an import contains twice
(ratings.services.own_answers), with the rating at that moment. Models that ran twice have
scores of their own; totals are of people. Weighted as the question is, so that it can be compared
with the agreement with others. Scheduling and leases: quality.recomputation.
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

from core.jobs.lease import LeaseLost, get_leased_rows
from metrics.agreement.estimate import wilson_interval
from metrics.agreement.rater_quality import repeats
from metrics.agreement.weights import UNWEIGHTED
from metrics.periods import compute_start_days
from metrics.question_scale import QuestionScale
from projects.models import Question, Rater
from quality import recomputation
from quality.models import RepeatScore, RepeatState
from ratings.models import Assignment, CheckAnswer
from ratings.services.rating_timestamps import day_number

BATCH_SIZE = 500
REPEAT = Assignment.Kind.REPEAT


class RepeatedAnswer(NamedTuple):
    """Category indexes of a rater's first and second answer to an item.

    ``day``: day of the second answer, counted from 1970-01-01.
    """

    first: int
    second: int
    day: int


def get_input_versions(only: int | None = None) -> recomputation.InputVersions:
    """Return {question id: version of everything from which its repeat scores are computed}.

    ``only``: the id of one question; None: all. Questions that repeat no items and have no repeated
    answers are left out.
    """
    repeated_answers = CheckAnswer.objects.filter(question=OuterRef("pk"), kind=REPEAT)
    has_repeats = (
        Q(project__repeat_percent__gt=0) | Q(repeat_state__isnull=False) | Exists(repeated_answers)
    )
    questions = Question.objects.filter(has_repeats, **({} if only is None else {"pk": only}))
    # The version of items and raters covers the kinds of raters.
    columns = ("pk", "scale_version", "project__items_and_raters_version")
    versions = {
        question_id: {"scale": scale, "items_and_raters": items_and_raters}
        for question_id, scale, items_and_raters in questions.values_list(*columns)
    }
    last_repeats = recomputation.get_check_answer_versions(versions, REPEAT)
    return {
        question_id: version | {"check_answers": last_repeats.get(question_id, 0)}
        for question_id, version in versions.items()
    }


def list_outdated_questions() -> list[int]:
    """Return ids of the questions whose scores are outdated or missing, oldest first."""
    return recomputation.list_outdated(RepeatState, get_input_versions())


def _compute_and_store_scores(state: RepeatState) -> None:
    """Compute and store the scores of a question's raters on repeats.

    Raises LeaseLost if another worker has taken over the question.
    """
    started = time.monotonic()
    question = Question.objects.select_related("project").get(pk=state.question_id)
    # Read the input version first: later changes must make the scores outdated again.
    input_version = get_input_versions(question.pk).get(question.pk, {})
    rows, totals = compute_repeat_scores(question)
    metadata = {"input_version": input_version, "duration_seconds": time.monotonic() - started}
    with transaction.atomic():
        if not get_leased_rows(state).update(**totals, **metadata, computed_at=timezone.now()):
            raise LeaseLost
        RepeatScore.objects.filter(question=question).delete()
        RepeatScore.objects.bulk_create(rows, batch_size=BATCH_SIZE)


def compute_repeat_scores(question: Question) -> tuple[list[RepeatScore], dict[str, object]]:
    """Return (unsaved score of each rater, {name: total of all people of the question})."""
    scale = QuestionScale.for_question(question)
    pairs_of_rater = _get_repeated_answers(question, scale)
    kinds = Rater.objects.filter(pk__in=pairs_of_rater, kind=Rater.Kind.MODEL)
    models = set(kinds.values_list("pk", flat=True))
    people = {rater: pairs for rater, pairs in pairs_of_rater.items() if rater not in models}
    rows, people_result = _compute_repeat_scores(question, scale, people)
    model_scores, _model_result = _compute_repeat_scores(
        question, scale, {rater: pairs_of_rater[rater] for rater in models}
    )
    rows += model_scores
    totals = _summarize_pairs([pair for pairs in people.values() for pair in pairs])
    return rows, totals | {"kappa": people_result.kappa, "icc": people_result.icc}


def _compute_repeat_scores(
    question: Question, scale: QuestionScale, pairs_of_rater: dict[int, list[RepeatedAnswer]]
) -> tuple[list[RepeatScore], repeats.RepeatAgreement]:
    """Return (unsaved score of each rater, agreement of all of them pooled)."""
    is_weighted = scale.weighting != UNWEIGHTED
    matrix = scale.build_weight_matrices()[scale.weighting] if is_weighted else None
    values = scale.values if scale.type.numeric else None
    tables = np.zeros((max(len(pairs_of_rater), 1), max(scale.k, 1), max(scale.k, 1)), np.int64)
    for index, pairs in enumerate(pairs_of_rater.values()):
        np.add.at(
            tables[index], ([pair.first for pair in pairs], [pair.second for pair in pairs]), 1
        )
    result = repeats.compute_intra_rater_agreement(tables, matrix, values)
    rows = []
    for (rater, pairs), table, rater_result in zip(
        pairs_of_rater.items(), tables, result.raters, strict=False
    ):
        score = _summarize_pairs(pairs)
        score |= {
            "kappa": rater_result.kappa,
            "shift": rater_result.shift if scale.type.ordered else None,
        }
        score |= {
            "icc": rater_result.icc,
            "table": table.tolist(),
            "months": _list_month_scores(pairs),
        }
        rows.append(RepeatScore(question=question, rater_id=rater, **score))
    return rows, result.project


def _get_repeated_answers(
    question: Question, scale: QuestionScale
) -> dict[int, list[RepeatedAnswer]]:
    """Return {rater id: pairs of first and second answer}, in the order of the second answers.

    Pairs with an undeclared category are left out.
    """
    index_of_code = {int(code): index for index, code in enumerate(scale.codes)}
    zone = ZoneInfo(question.project.time_zone)
    rows = CheckAnswer.objects.current().filter(question=question, kind=REPEAT)
    pairs_of_rater: dict[int, list[RepeatedAnswer]] = {}
    columns = ("rater_id", "rated_code", "code", "rated_at")
    for rater_id, first, second, rated_at in rows.order_by("rated_at", "id").values_list(*columns):
        if first in index_of_code and second in index_of_code:
            pair = RepeatedAnswer(
                index_of_code[first], index_of_code[second], day_number(rated_at, zone)
            )
            pairs_of_rater.setdefault(rater_id, []).append(pair)
    return pairs_of_rater


def _summarize_pairs(pairs: Sequence[RepeatedAnswer]) -> dict[str, object]:
    n, same = len(pairs), sum(pair.first == pair.second for pair in pairs)
    low, high = wilson_interval(same, n) if n else (None, None)
    return {"n": n, "same": same, "low": low, "high": high}


def _list_month_scores(pairs: Sequence[RepeatedAnswer]) -> list[dict[str, object]]:
    months = compute_start_days(np.array([pair.day for pair in pairs]), "month").tolist()
    rows = []
    for start in sorted(set(months)):
        of_month = [pair for pair, month in zip(pairs, months, strict=True) if month == start]
        rows.append({"start": start, **_summarize_pairs(of_month)})
    return rows


def find_inconsistent_scores(scores: Sequence[RepeatScore]) -> dict[int, RepeatScore]:
    """Return {rater id: score} of raters who repeat their answers less often than the others.

    ``scores`` are the scores of all people of a question.
    """
    same, n_repeats = (
        np.array([(score.same, score.n) for score in scores], np.int64).reshape(-1, 2).T
    )
    tables = (np.asarray(score.table) for score in scores)
    answers = (table.sum(axis=0) + table.sum(axis=1) for table in tables)
    largest_share = np.array([counts.max() / counts.sum() for counts in answers], float)
    is_inconsistent = repeats.find_inconsistent_raters(same, n_repeats, largest_share)
    return {
        score.rater_id: score
        for score, is_named in zip(scores, is_inconsistent, strict=True)
        if is_named
    }


RECOMPUTATION = recomputation.Recomputation(
    "intra-rater agreement",
    RepeatState,
    _compute_and_store_scores,
    list_outdated_questions,
    pause_factor=1.5,
    max_pause=datetime.timedelta(minutes=10),
    lease=datetime.timedelta(minutes=10),
)
sweep = RECOMPUTATION.sweep
recompute_question = RECOMPUTATION.recompute
