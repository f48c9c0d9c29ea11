"""Recompute the comparison of a question's raters when their results have changed.

Formulas: metrics.agreement.rater_quality. Scheduling and leases: quality.recomputation.
"""

from __future__ import annotations

import datetime
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from django.utils import timezone

from core.jobs.lease import LeaseLost, get_leased_rows
from metrics.agreement.rater_quality import between_raters
from metrics.models import CountState, RaterResult
from metrics.question_scale import QuestionScale, get_weighted_name
from metrics.results.headline.trends import get_headline_weighting
from metrics.results.intervals import QuestionClusters
from metrics.results.pair_results import load_tables_among
from metrics.results.stored_values import build_uncounted_value
from projects.models import Question, Rater
from quality import recomputation
from quality.models import StoredRaterComparison

from .comparison import BODY_FORMAT, ComparedRater

MAX_LEVEL_RATERS = 200  # raters whose pair tables are read (_select_level_raters)


def get_input_versions(only: int | None = None) -> recomputation.InputVersions:
    """Return {question id: input version}: results, scale and kinds of raters."""
    columns = ("version", "question__scale_version", "question__project__items_and_raters_version")
    rows = CountState.objects.filter(**recomputation.build_question_filter(only)).values_list(
        "question_id", *columns
    )
    names = "version", "scale", "items_and_raters"
    return {
        pk: {**dict(zip(names, versions, strict=True)), "format": BODY_FORMAT}
        for pk, *versions in rows
    }


def list_outdated_questions() -> list[int]:
    """Return ids of the questions whose comparison is outdated or missing, oldest first."""
    return recomputation.list_outdated(StoredRaterComparison, get_input_versions())


def _compute_and_store_comparison(row: StoredRaterComparison) -> None:
    """Compute and store the comparison of a question. Raises LeaseLost if the lease was lost."""
    started = time.monotonic()
    question = Question.objects.prefetch_related("categories").get(pk=row.question_id)
    # Read the input version first: later changes must make the result outdated again.
    input_version = get_input_versions(question.pk).get(question.pk, {})
    body = _compute_body(question, QuestionScale.for_question(question))
    metadata = {"input_version": input_version, "duration_seconds": time.monotonic() - started}
    if not get_leased_rows(row).update(body=body, **metadata, computed_at=timezone.now()):
        raise LeaseLost


class _Levels(NamedTuple):
    """Own levels of biased raters by id, and the ids of those whose answers are also scattered."""

    level_of: dict[int, between_raters.RaterLevel]
    scattered: set[int]


@dataclass(frozen=True)
class _PeopleResults:
    """Stored results of the M people who rated the question, in the order of their ids."""

    rows: list[tuple[int, int, float | None]]  # id, number of ratings, median seconds
    peers: list[Mapping[str, Any]]  # agreement with the others
    quadratic: list[Mapping[str, Any]]  # that with quadratic weights
    biases: list[Mapping[str, Any]]  # mean differences, undefined on nominal scales
    own_counts: np.ndarray  # (M, k) answers
    other_counts: np.ndarray  # (M, k) answers of the others to the same items
    bias_variance_factor: float  # of clusters of items

    @classmethod
    def load(cls, question: Question, scale: QuestionScale, name: str) -> _PeopleResults:
        """Load the results. ``name``: coefficient of the agreement with the others."""
        results = RaterResult.objects.filter(question=question, rater__kind=Rater.Kind.HUMAN)
        names = (name, get_weighted_name("vs_peers", "quadratic"), "vs_peers_bias")
        paths = (*(f"coefficients__{path}" for path in names), "details__table")
        columns = ("rater_id", "n_ratings", "seconds", *paths)
        clusters = QuestionClusters.load(question.pk, question.project)
        rows, values, margins = [], [], []
        stored = results.order_by("rater").values_list(*columns)
        for *row, kappa, quadratic, bias, table in stored.iterator(500):
            rows.append(tuple(row))
            estimates = kappa, quadratic, scale.type.ordered and bias
            values.append(
                [_widen_interval(*pair, clusters) for pair in zip(estimates, names, strict=True)]
            )
            margins.append(_get_margins(table, scale.k))
        own, others = np.array(margins, np.int64).reshape(-1, 2, scale.k).transpose(1, 0, 2)
        factor = clusters.get_effect("vs_peers_bias") if clusters else 1.0
        peers, quadratics, biases = map(list, zip(*values, strict=True)) if values else ([], [], [])
        return cls(rows, peers, quadratics, biases, own, others, factor)

    @property
    def n_items(self) -> np.ndarray:
        return np.array([value["n_items"] or 0 for value in self.peers], np.int64)

    @cached_property
    def top_answers(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return arrays (M,): each rater's most frequent answer, and two shares of it.

        The first is its share in the rater's answers, the second in the others' answers to
        the same items.
        """
        answer = self.own_counts.argmax(axis=1)
        shares = [_compute_shares(part, answer) for part in (self.own_counts, self.other_counts)]
        return answer, shares[0], shares[1]

    @cached_property
    def repeats_answer(self) -> np.ndarray:
        """Return a mask (M,) of the raters who almost always give the same answer."""
        return between_raters.find_repeating_raters(*self.top_answers[1:], self.n_items)

    @cached_property
    def has_one_answer(self) -> np.ndarray:
        """Return the mask (M,) of ``repeats_answer``, also where the others hardly vary."""
        shares = self.top_answers[1:]
        return between_raters.find_repeating_raters(*shares, self.n_items, min_other_answers=0.0)

    def compare_levels(self, question_id: int, scale: QuestionScale) -> _Levels:
        """Return the own levels of the raters whose bias is more than chance.

        An own level is adjusted for the levels of the raters of the same items. Raters who
        repeat one answer are left out, also as a reference: how far they are from others
        depends on the items.
        """
        answer_sd = _compute_answer_sd(self.own_counts.sum(axis=0), scale)
        is_biased = between_raters.find_biased_raters(
            _to_array(bias["value"] for bias in self.biases),
            _to_array(bias["se"] for bias in self.biases),
            self.n_items,
            answer_sd,
        )
        is_biased &= ~self.repeats_answer
        if not is_biased.any():
            return _Levels({}, set())
        rows = [
            row for row, repeats in zip(self.rows, self.repeats_answer, strict=True) if not repeats
        ]
        references = _select_level_raters(rows, is_biased[~self.repeats_answer])
        tables = load_tables_among(question_id, references, scale)
        levels = between_raters.estimate_levels(
            tables, answer_sd, values=scale.values, variance_factor=self.bias_variance_factor
        )
        biased_ids = [self.rows[i][0] for i in np.flatnonzero(is_biased)]
        return _Levels(
            {rater: levels[rater] for rater in biased_ids if rater in levels},
            between_raters.select_scattered_raters(tables, biased_ids, values=scale.values),
        )

    def find_reversed(self, question_id: int, scale: QuestionScale) -> set[int]:
        """Return the ids of the raters whose answers are opposite to those of the others.

        Empty on nominal scales of more than two categories, which have no opposite.
        """
        if not (scale.type.ordered or scale.k == 2):
            return set()
        kappas, ses = (
            _to_array(value[field] for value in self.quadratic) for field in ("value", "se")
        )
        is_negative = between_raters.find_negative_kappas(kappas, ses, self.n_items)
        if not is_negative.any():
            return set()
        return between_raters.select_reversed_raters(
            load_tables_among(question_id, _select_level_raters(self.rows, is_negative), scale),
            [self.rows[index][0] for index in np.flatnonzero(is_negative)],
            values=scale.values,
        )

    def list_compared(self, question_id: int, scale: QuestionScale) -> list[ComparedRater]:
        levels, scattered_ids = self.compare_levels(question_id, scale)
        reversed_ids = self.find_reversed(question_id, scale)
        counts = (self.own_counts, self.other_counts)
        category, share, shares_of_others = self.top_answers
        contrast = _find_contrasts(*counts)
        contrast_shares = [_compute_shares(part, contrast).tolist() for part in counts]
        return [
            ComparedRater(
                rater=rater,
                n_ratings=n_ratings,
                n_items=peer["n_items"] or 0,
                value=peer["value"],
                low=peer["low"],
                high=peer["high"],
                se=peer["se"],
                bias=bias["value"],
                bias_low=bias["low"],
                bias_high=bias["high"],
                is_biased=rater in levels and levels[rater].is_distinct,
                seconds=seconds,
                category=int(category[i]),
                share=float(share[i]),
                peers=float(shares_of_others[i]),
                contrast=(int(contrast[i]), contrast_shares[0][i], contrast_shares[1][i]),
                level=levels[rater].distance if rater in levels else None,
                repeats_answer=bool(self.repeats_answer[i]),
                is_reversed=rater in reversed_ids,
                has_one_answer=bool(self.has_one_answer[i]),
                is_scattered=rater in scattered_ids,
            )
            for i, ((rater, n_ratings, seconds), peer, bias) in enumerate(
                zip(self.rows, self.peers, self.biases, strict=True)
            )
        ]


def _widen_interval(value: Any, name: str, clusters: QuestionClusters | None) -> Mapping[str, Any]:
    """Return the estimate with the interval for clusters of items; an undefined one for None.

    ``name``: its coefficient. The interval stays where the question has no clusters.
    """
    value = value or build_uncounted_value()
    return clusters.widen_interval(name, value) if clusters else value


def _compute_body(question: Question, scale: QuestionScale) -> dict[str, object]:
    """Compute the comparison of a question's raters, and return it in its stored form."""
    weights = get_headline_weighting(question, scale)
    people = _PeopleResults.load(question, scale, get_weighted_name("vs_peers", weights))
    kappas, ses = (_to_array(value[field] for value in people.peers) for field in ("value", "se"))
    shape = between_raters.build_funnel(kappas, ses, people.n_items)
    labels = [category.label for category in question.categories.all()]
    raters = people.list_compared(question.pk, scale)
    return {
        "format": BODY_FORMAT,
        "weights": weights,
        "middle": shape.center if shape else None,
        "spread": shape.item_sd if shape else None,
        "raters": raters,
        "labels": scale.labels,
        "has_findings": any(
            rater.is_biased or rater.repeats_answer or rater.is_reversed for rater in raters
        ),
        "higher_is_harsher": is_higher_harsher(labels),
    }


def _select_level_raters(rows: Sequence[Sequence[Any]], is_biased: np.ndarray) -> list[int]:
    """Return ids of at most MAX_LEVEL_RATERS raters: biased ones, then those with most ratings."""
    order = sorted(range(len(rows)), key=lambda index: (not is_biased[index], -rows[index][1]))
    return [rows[index][0] for index in order[:MAX_LEVEL_RATERS]]


def _compute_answer_sd(counts: np.ndarray, scale: QuestionScale) -> float:
    """Return the standard deviation of the answers, by counts (k,), in values or ranks."""
    values = np.arange(scale.k) if scale.values is None else scale.values
    total = max(counts.sum(), 1)
    mean = (counts @ values) / total
    return float(np.sqrt(counts @ (values - mean) ** 2 / total))


def _find_contrasts(own_counts: np.ndarray, other_counts: np.ndarray) -> np.ndarray:
    """Return (R,): the category of each rater whose own share and others' share differ most.

    ``own_counts``, ``other_counts`` (R, k): answers by category.
    """
    own, other = (
        counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        for counts in (own_counts, other_counts)
    )
    return np.abs(own - other).argmax(axis=1)


def _get_margins(table: list[list[int]] | None, k: int) -> np.ndarray:
    """Return counts (2, k) of a rater's own answers, and of the others' to the same items.

    ``table``: own category against those of the others. Zeros if it is None or of another
    scale.
    """
    if not table or len(table) != k:
        return np.zeros((2, k), np.int64)
    counts = np.array(table, np.int64)
    return np.stack([counts.sum(axis=1), counts.sum(axis=0)])


def _compute_shares(answers: np.ndarray, category: np.ndarray) -> np.ndarray:
    """Return (R,): share of ``category[i]`` in row i of ``answers`` (R, k); 0 for an empty row."""
    return answers[np.arange(len(answers)), category] / np.maximum(answers.sum(axis=1), 1)


def _to_array(values: Any) -> np.ndarray:
    """Return the values as floats, NaN for None."""
    return np.array([np.nan if value is None else value for value in values], float)


# --- direction of the scale

# Words of labels that grade faults, or poor quality.
_BAD_WORDS = frozenset({
    "minor", "major", "mild", "severe", "critical", "fatal", "blocker", "serious", "trivial",
    "toxic", "offensive", "hateful", "abusive", "harmful", "unsafe", "dangerous", "malicious",
    "malignant", "suspicious", "bad", "worse", "worst", "poor", "terrible", "awful", "wrong",
    "incorrect", "irrelevant", "unacceptable", "reject", "fail", "failed", "unhelpful", "useless",
    "inadequate", "leicht", "schwer", "gravierend", "kritisch", "schlecht", "mangelhaft", "falsch",
    "léger", "légère", "grave", "leve", "critique", "mauvais", "crítico", "crítica", "malo",
    "轻微", "严重", "重大", "致命", "轻度", "重度", "有害", "差", "很差", "较差", "错误", "不合格",
})  # fmt: skip
# Words of labels that grade good quality.
_GOOD_WORDS = frozenset({
    "good", "better", "best", "great", "excellent", "perfect", "outstanding", "correct", "relevant",
    "acceptable", "accept", "pass", "passed", "helpful", "useful", "adequate", "gut", "perfekt",
    "ausgezeichnet", "richtig", "bon", "bueno", "excelente", "好", "良好", "很好", "较好", "优秀",
    "完美", "正确", "合格",
})  # fmt: skip
_NEGATIONS = frozenset({"not", "no", "never", "nicht", "kein", "pas", "non"})


def is_higher_harsher(labels: Iterable[str]) -> bool | None:
    """Return whether harsh raters give the higher categories; None if the labels do not show it.

    ``labels``: in declared order. Words for bad quality must lie, on average, on one side of the
    middle of the scale, and words for good quality on the other side.
    """
    words_of_labels = [set(re.findall(r"\w+", label.casefold())) for label in labels]
    middle = (len(words_of_labels) - 1) / 2
    balance = 0.0
    for position, words in enumerate(words_of_labels):
        if words & _NEGATIONS:
            continue
        sign = bool(words & _BAD_WORDS) - bool(words & _GOOD_WORDS)
        balance += sign * (position - middle)
    return balance > 0 if balance else None


RECOMPUTATION = recomputation.Recomputation(
    "comparison of raters",
    StoredRaterComparison,
    _compute_and_store_comparison,
    list_outdated_questions,
    pause_factor=5,
    max_pause=datetime.timedelta(minutes=1),
    lease=datetime.timedelta(minutes=10),
)
sweep = RECOMPUTATION.sweep
recompute_question = RECOMPUTATION.recompute
