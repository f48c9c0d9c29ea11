"""Recompute a question's scores on gold when their input has changed.

Always from all answers on gold: they are few compared with the ratings. Scheduling and leases:
quality.recomputation.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from django.db import transaction
from django.db.models import Count, Max
from django.utils import timezone

from core.jobs.lease import LeaseLost, get_leased_rows
from metrics.agreement.estimate import wilson_interval
from metrics.agreement.rater_quality import gold as formulas
from metrics.periods import compute_start_days
from metrics.question_scale import QuestionScale
from projects.models import Question
from quality import recomputation
from quality.gold import answers, services, suspected_answers
from quality.models import GoldIntervention, GoldItem, GoldReview, GoldScore, GoldState
from quality.recomputation import Recomputation
from ratings.models import Assignment, Exam

from .answers import CurrentGold, GoldResponse


def get_input_versions(only: int | None = None) -> recomputation.InputVersions:
    """Return {question id: version of everything from which its gold scores are computed}.

    ``only``: the id of one question; None: all counted questions that ever had gold.
    """
    gold_versions = recomputation.get_gold_versions(only)
    reviews = GoldReview.objects.filter(gold__question__in=list(gold_versions))
    last_reviews = dict(reviews.values_list("gold__question_id").order_by().annotate(Max("pk")))
    count_versions = recomputation.get_count_versions(
        only,
        pass_mark="gold_state__pass_mark",  # noqa: S106
        rule="gold_state__rule",
        tolerance="gold_tolerance",
    )
    overrides = GoldIntervention.objects.filter(
        question__in=list(gold_versions), state=GoldIntervention.State.OVERRIDDEN
    )
    override_counts = dict(overrides.values_list("question").order_by().annotate(Count("pk")))
    versions = {}
    for question_id in gold_versions.keys() & count_versions.keys():
        review = last_reviews.get(question_id, 0)
        extra = {"gold": gold_versions[question_id], "review": review}
        extra["overridden"] = override_counts.get(question_id, 0)
        versions[question_id] = {**count_versions[question_id], **extra}
    for name, kind in (("apart", Assignment.Kind.GOLD), ("exam", Assignment.Kind.EXAM)):
        for question_id, newest in recomputation.get_check_answer_versions(versions, kind).items():
            versions[question_id][name] = newest
    passed_exams = Exam.objects.filter(question__in=list(versions), state=Exam.State.PASSED)
    for question_id, number in (
        passed_exams.values_list("question").order_by().annotate(Count("pk"))
    ):
        versions[question_id]["passed_exams"] = number
    return versions


def is_outdated(question_id: int) -> bool:
    """Return whether the input of the question's scores has changed since they were computed."""
    row = GoldState.objects.filter(question_id=question_id).first()
    version = get_input_versions(question_id).get(question_id)
    return version is not None and (row is None or row.input_version != version)


def list_outdated_questions() -> list[int]:
    """Return ids of the questions whose scores are outdated or missing, oldest first."""
    return recomputation.list_outdated(GoldState, get_input_versions())


# Upper limit of the stored evidence; larger numbers make no difference.
MAX_EVIDENCE = 1e300


# Replaces the kappa of fewer answers than formulas.MIN_ANSWERS.
TOO_FEW_ANSWERS = dict.fromkeys(("value", "low", "high", "se")) | {"reason": "too_few_items"}


def group_scored_responses(
    responses: Sequence[GoldResponse],
    gold_of_item: Mapping[int, CurrentGold],
    *,
    excluded_items: Collection[int] = (),
) -> dict[int, list[GoldResponse]]:
    """Return {rater id: answers that count for the score}, in the order given.

    Answers in exams do not count, nor do those to gold that is not scored. ``excluded_items``: ids
    of the items whose gold is suspected.
    """
    responses_of_rater: dict[int, list[GoldResponse]] = {}
    for response in responses:
        if (
            not response.is_exam
            and gold_of_item[response.item].right
            and response.item not in excluded_items
        ):
            responses_of_rater.setdefault(response.rater, []).append(response)
    return responses_of_rater


def compute_gold_score(
    responses: Sequence[GoldResponse],
    gold_of_item: Mapping[int, CurrentGold],
    scale: QuestionScale,
    *,
    question_id: int,
    pass_mark: float,
    since: datetime.datetime | None = None,
) -> GoldScore:
    """Return the unsaved gold score of a rater; evidence counts only answers after ``since``."""
    right = [response.code in gold_of_item[response.item].right for response in responses]
    table = _count_answers(responses, gold_of_item, scale.k)
    result = formulas.compute_score(table, None, scale.values if scale.type.numeric else None)
    n, n_right = len(responses), sum(right)
    low, high = wilson_interval(n_right, n)
    n_before = 0 if since is None else sum(response.at <= since for response in responses)
    evidence_by_answer = _compute_evidence_by_answer(right, n_before, pass_mark)
    reached = formulas.count_answers_until_pause(evidence_by_answer)
    return GoldScore(
        question_id=question_id,
        rater_id=responses[0].rater,
        n=n,
        right=n_right,
        accuracy=n_right / n,
        low=low,
        high=high,
        table=table.tolist(),
        chance=_compute_chance(responses, gold_of_item, scale.k),
        # Of few answers it would say nothing: no surface has it.
        kappa=result.kappa if n >= formulas.MIN_ANSWERS else result.kappa | TOO_FEW_ANSWERS,
        bias=result.bias if scale.type.ordered else None,
        classes=_list_class_scores(responses, gold_of_item, scale),
        weeks=_list_week_scores(responses, np.array(right), evidence_by_answer),
        evidence=float(evidence_by_answer[-1]),
        max_evidence=float(evidence_by_answer.max()),
        n_until_pause=reached,
        pause_reached_at=None if reached is None else responses[reached - 1].at,
    )


def _compute_evidence_by_answer(right: list[bool], n_before: int, pass_mark: float) -> np.ndarray:
    """Return the evidence against the rater after each answer, an array (N,).

    ``right``: whether each of the N answers is right. The evidence stays 1 for the first
    ``n_before``.
    """
    evidence = np.minimum(formulas.compute_evidence(right[n_before:], pass_mark), MAX_EVIDENCE)
    return np.concatenate([np.ones(n_before), evidence])


def _compute_chance(
    responses: Sequence[GoldResponse], gold_of_item: Mapping[int, CurrentGold], k: int
) -> float:
    """Return the accuracy expected if the rater's answers were assigned to these items at random.

    An item with several right answers, or with a tolerance, is easier to hit by chance.
    """
    codes = [response.code for response in responses]
    shares = np.bincount(codes, minlength=k) / len(codes)
    hits = [shares[list(gold_of_item[response.item].right)].sum() for response in responses]
    return float(np.mean(hits))


def _count_answers(
    responses: Sequence[GoldResponse], gold_of_item: Mapping[int, CurrentGold], k: int
) -> np.ndarray:
    """Return the counts (k, k) of answers (rows) by gold category (columns).

    Gold answers with several categories are left out.
    """
    table = np.zeros((k, k), np.int64)
    for response in responses:
        category = gold_of_item[response.item].single_category
        if category is not None:
            table[response.code, category] += 1
    return table


def _list_class_scores(
    responses: Sequence[GoldResponse],
    gold_of_item: Mapping[int, CurrentGold],
    scale: QuestionScale,
) -> list[dict[str, float]]:
    """Return a row for each gold category: how often the rater was right, and the 95% interval.

    Gold answers with several categories are left out. ``code`` of a row is that of the category.
    """
    outcomes: dict[int, list[bool]] = {}
    for response in responses:
        gold = gold_of_item[response.item]
        if gold.single_category is not None:
            outcomes.setdefault(gold.single_category, []).append(response.code in gold.right)
    rows = []
    for category, is_right in sorted(outcomes.items()):
        n, right = len(is_right), sum(is_right)
        low, high = wilson_interval(right, n)
        code = int(scale.codes[category])
        rows.append({"code": code, "n": n, "right": right, "low": low, "high": high})
    return rows


def _list_week_scores(
    responses: Sequence[GoldResponse], right: np.ndarray, evidence_by_answer: np.ndarray
) -> list[dict[str, float]]:
    """Return a row for each week: how often the rater was right, and the evidence at its end.

    ``right`` (N,): whether each response is right; ``evidence_by_answer`` (N,): the evidence after
    it.
    """
    weeks = compute_start_days(np.array([response.day for response in responses]), "week")
    rows = []
    for start in np.unique(weeks).tolist():
        of_week = np.flatnonzero(weeks == start)
        n, n_right = int(of_week.size), int(right[of_week].sum())
        low, high = wilson_interval(n_right, n)
        rows.append(
            {
                "start": start,
                "n": n,
                "right": n_right,
                "low": low,
                "high": high,
                "evidence": float(evidence_by_answer[of_week[-1]]),
            }
        )
    return rows


BATCH_SIZE = 500


def _compute_and_store_scores(state: GoldState) -> None:
    """Compute and store the raters' scores on the gold of a question."""
    started = time.monotonic()
    question = Question.objects.prefetch_related("categories").get(pk=state.question_id)
    services.override_resumed_pauses(question.pk)
    # Read the input version first: later changes must make the scores outdated again.
    current_version = get_input_versions(question.pk).get(question.pk, {})
    gold_scores, items, summary = compute_gold_results(question, state.pass_mark)
    state.input_version = current_version
    state.duration_seconds = time.monotonic() - started
    _store_results(state, gold_scores, items, summary)


def compute_gold_results(
    question: Question, pass_mark: float
) -> tuple[list[GoldScore], list[GoldItem], dict[str, int]]:
    """Return (a score for each rater, a row for each gold answer, {name: total of the question}).

    ``pass_mark``: the accuracy that a rater must reach.
    """
    scale = QuestionScale.for_question(question)
    gold_of_item = answers.get_current_gold(question, scale)
    responses = [
        response
        for response in answers.list_gold_responses(question, scale)
        if response.item in gold_of_item
    ]
    items = suspected_answers.build_gold_items(
        gold_of_item,
        responses,
        scale,
        question_id=question.pk,
        pass_mark=pass_mark,
        passed_exam_answers=answers.get_passed_exam_answers(question),
    )
    suspected_items = {item.item_id for item in items if item.suspected}
    evidence_starts = services.get_evidence_starts(question.pk)
    gold_scores = []
    for rater, rater_responses in group_scored_responses(
        responses, gold_of_item, excluded_items=suspected_items
    ).items():
        gold_scores.append(
            compute_gold_score(
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
        "n_check_answers": sum(
            response.is_check and not response.is_exam for response in responses
        ),
    }


@transaction.atomic
def _store_results(
    row: GoldState, gold_scores: list[GoldScore], items: list[GoldItem], summary: dict[str, int]
) -> None:
    """Replace all stored results of the question, and create the interventions that they call for.

    Raises LeaseLost if the lease was lost.
    """
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
    services.create_interventions(row.question, row.rule, gold_scores)


RECOMPUTATION = Recomputation(
    "gold scores",
    GoldState,
    _compute_and_store_scores,
    list_outdated_questions,
    pause_factor=1.5,
    max_pause=datetime.timedelta(minutes=10),
    lease=datetime.timedelta(minutes=10),
)
sweep = RECOMPUTATION.sweep
recompute_question = RECOMPUTATION.recompute
