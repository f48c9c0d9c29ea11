"""Compute consensus labels of items from their votes, by the question's method.

Votes are ratings, and codes fixed by decisions and gold answers.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from metrics.agreement import consensus
from metrics.question_scale import QuestionScale
from projects.models import GoldAnswer, Question, Rater
from quality.models import ConsensusMethod, Decision
from ratings.models import Rating

CHUNK_SIZE = 20_000

VOTE_DTYPE = np.dtype([("item", "i8"), ("rater", "i8"), ("code", "i8")])


@dataclass(frozen=True)
class FixedCodes:
    """Codes of items that decisions and gold answers fix, each as {item id: code}."""

    decided: dict[int, int]
    gold: dict[int, int]

    @property
    def codes(self) -> dict[int, int]:
        """Return {item id: code} of all fixed items; decisions take precedence over gold."""
        return self.gold | self.decided


def load_votes(question: Question, *, with_models: bool) -> np.ndarray:
    """Return the question's current ratings as an array (M,) of VOTE_DTYPE, by item and rater.

    Sorted by item id, then rater id. ``with_models``: include the ratings by models; otherwise only
    those by people.
    """
    ratings = Rating.objects.current().filter(question=question)
    if not with_models:
        ratings = ratings.filter(rater__kind=Rater.Kind.HUMAN)
    rows = ratings.order_by("item_id", "rater_id").values_list("item_id", "rater_id", "code")
    return np.fromiter(rows.iterator(chunk_size=CHUNK_SIZE), dtype=VOTE_DTYPE)


def get_fixed_codes(question: Question, *, moment: datetime.datetime | None = None) -> FixedCodes:
    """Return the codes that decisions and gold answers fix, now (None) or at ``moment``."""
    return FixedCodes(
        decided=get_decided_codes(question.pk, moment), gold=get_gold_codes(question.pk, moment)
    )


def get_gold_codes(question_id: int, moment: datetime.datetime | None = None) -> dict[int, int]:
    """Return {item id: code} of gold answers that allow one category.

    They are those of now, or of ``moment`` if it is given.
    """
    gold = GoldAnswer.objects
    answers = gold.in_force() if moment is None else gold.in_force_at(moment)
    codes = {}
    rows = answers.filter(question_id=question_id).values_list("item_id", "answer")
    for item_id, answer in rows:
        if isinstance(answer, list) and len(answer) == 1:
            codes[item_id] = answer[0]
    return codes


def get_decided_codes(question_id: int, moment: datetime.datetime | None = None) -> dict[int, int]:
    """Return {item id: code} of each item's newest decision, now (None) or as of ``moment``.

    Items whose newest decision was a withdrawal are left out.
    """
    rows = Decision.objects.filter(question_id=question_id).order_by("number")
    if moment is not None:
        rows = rows.filter(created_at__lte=moment)
    newest: dict[int, int | None] = {}
    for item_id, code in rows.values_list("item_id", "code"):
        newest[item_id] = code
    return {item_id: code for item_id, code in newest.items() if code is not None}


def get_items_decided_since(question_id: int, decision_id: int) -> set[int]:
    """Return the ids of items with a decision newer than the one with this id."""
    newer = Decision.objects.filter(question_id=question_id, pk__gt=decision_id)
    return set(newer.values_list("item_id", flat=True))


TIED = "tied"
CONFIDENCE_LEVELS = (
    0.5,
    0.6,
    0.7,
    0.8,
    0.9,
    0.95,
    0.99,
)  # confidence levels for which labels are counted


@dataclass(frozen=True)
class ConfusionEstimate:
    """Estimated errors of one rater, with the fields of RaterConfusion.

    ``confusion`` and ``expected_counts`` are empty where only a majority was computed; ``bias``
    is None there and on nominal scales.
    """

    rater: int
    impact: float
    accuracy: float
    confusion: list[list[float]] = field(default_factory=list)
    expected_counts: list[float] = field(default_factory=list)
    bias: float | None = None


@dataclass(frozen=True)
class ConsensusLabels:
    """Labels of a question's items, from ratings alone.

    ``item`` (N,): ids, ascending; ``label`` (N,): indexes of declared categories, -1 for no label;
    ``confidence`` (N,) or None; ``shares`` (N, k): in declared order; ``mean`` (N,) or None;
    ``ratings`` (N,): numbers of ratings.
    """

    item: np.ndarray
    label: np.ndarray
    confidence: np.ndarray | None
    shares: np.ndarray
    mean: np.ndarray | None
    ratings: np.ndarray
    reason: str = ""
    confusions: list[ConfusionEstimate] = field(default_factory=list)
    model: dict[str, object] = field(default_factory=dict)
    calibration: list[dict[str, object]] = field(default_factory=list)

    @property
    def expected_errors(self) -> float | None:
        """Return the expected number of wrong labels; None if the labels have no confidence."""
        return None if self.confidence is None else float((1 - self.confidence).sum())

    def list_confidence_levels(self) -> list[dict[str, float]]:
        """Return how many labels reach each of CONFIDENCE_LEVELS, and how many may be wrong.

        Empty if the labels have no confidence.
        """
        if self.confidence is None:
            return []
        levels = []
        for min_confidence in CONFIDENCE_LEVELS:
            certain = self.confidence[self.confidence >= min_confidence]
            levels.append(
                {
                    "min_confidence": min_confidence,
                    "n_items": certain.size,
                    "expected_errors": float((1 - certain).sum()),
                }
            )
        return levels


def _build_empty_labels(k: int) -> ConsensusLabels:
    empty = np.zeros(0, np.int64)
    return ConsensusLabels(empty, empty, None, np.zeros((0, k)), None, empty)


def fit_labels(
    votes: np.ndarray, scale: QuestionScale, fixed: FixedCodes, *, method: str, tolerance: float = 0
) -> ConsensusLabels:
    """Return the labels of the items, computed from their votes by the given method.

    ``votes``: an array (M,) of VOTE_DTYPE, sorted by item and rater; ``method``: a ConsensusMethod.
    With Dawid and Skene's model, a label is the median of the posterior on ordered scales, else its
    mode. If the model cannot be estimated, labels are those of the majority, and ``reason`` of the
    result says why. ``tolerance``: how far a rating may be from the label without counting as an
    error of its rater.
    """
    indexes = scale.get_code_indices(votes["code"])
    votes, indexes = votes[indexes >= 0], indexes[indexes >= 0]
    if not votes.size:
        return _build_empty_labels(scale.k)
    fixed_codes = _to_fixed_arrays(fixed.codes, scale)
    disagreement = scale.build_disagreement_matrix(tolerance=tolerance)
    majority_labels = _compute_majority(
        votes, indexes, scale, method=method, fixed=fixed_codes, disagreement=disagreement
    )
    if method != ConsensusMethod.DAWID_SKENE or scale.k < 2:
        return majority_labels
    ordered = scale.type.ordered
    columns = votes["item"], votes["rater"], indexes, scale.k
    estimate = consensus.fit_dawid_skene(*columns, fixed=fixed_codes)
    if estimate.reason is not None:
        return replace(majority_labels, reason=estimate.reason)
    posterior, model, bins = _calibrate(columns, fixed, scale, estimate)
    label, probability = consensus.select_labels(posterior, ordered=ordered)
    errors = _estimate_errors(votes, indexes, posterior, disagreement)
    return replace(
        majority_labels,
        label=label,
        confidence=probability,
        shares=posterior,
        mean=None if scale.values is None else posterior @ scale.values,
        confusions=_add_matrices(errors, estimate, ordered=ordered),
        model=model,
        calibration=bins,
    )


def _calibrate(
    columns: tuple[np.ndarray, np.ndarray, np.ndarray, int],
    fixed: FixedCodes,
    scale: QuestionScale,
    estimate: consensus.DawidSkene,
) -> tuple[np.ndarray, dict[str, object], list[dict[str, object]]]:
    """Calibrate the model's probabilities: on gold if there is enough, else on held-out ratings.

    ``columns``: items, raters and category indexes of the votes (M,), and the number of
    categories k. Returns the probabilities (N, k) of the N items, a description of the model,
    and the bins of held-out ratings.
    """
    all_fixed, gold, decided = (
        _to_fixed_arrays(codes, scale) for codes in (fixed.codes, fixed.gold, fixed.decided)
    )
    calibration = consensus.calibrate(*columns, fixed=all_fixed)
    ordered = scale.type.ordered
    gold_calibration = consensus.calibrate_on_gold(
        *columns, gold=gold, fixed=decided, ordered=ordered
    )
    if gold_calibration:
        posterior = gold_calibration.apply(estimate.posterior, ordered=ordered)
    else:
        posterior = calibration.apply(estimate.posterior)
    is_fixed = np.isin(estimate.items, all_fixed[0])
    posterior[is_fixed] = estimate.posterior[is_fixed]
    model = _describe_model(estimate, calibration, gold_calibration)
    return posterior, model, [vars(calibration_bin) for calibration_bin in calibration.bins]


def _to_fixed_arrays(
    codes: Mapping[int, int], scale: QuestionScale
) -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays (M,): ids of the fixed items, and the indexes of their categories."""
    items = np.array(sorted(codes), np.int64)
    indexes = scale.get_code_indices(np.array([codes[item] for item in items.tolist()], np.int64))
    return items[indexes >= 0], indexes[indexes >= 0]


def _compute_majority(
    votes: np.ndarray,
    indexes: np.ndarray,
    scale: QuestionScale,
    *,
    method: str,
    fixed: tuple[np.ndarray, np.ndarray],
    disagreement: np.ndarray,
) -> ConsensusLabels:
    """Return the labels of a majority vote, in which raters have weights if ``method`` says so.

    ``votes`` (M,), ``indexes`` (M,): their category indexes; ``disagreement`` (k, k): weight of a
    wrong rating. ``fixed``: (item ids, category indexes) of decisions and gold, with which raters
    are compared; it does not change the labels.
    """
    if method == ConsensusMethod.WEIGHTED:
        majority = consensus.weighted_majority_vote(votes["item"], votes["rater"], indexes, scale.k)
    else:
        majority = consensus.majority_vote(votes["item"], indexes, scale.k)
    index = np.searchsorted(majority.items, votes["item"])
    cells = np.bincount(index * scale.k + indexes, minlength=majority.items.size * scale.k)
    counts = cells.reshape(majority.items.size, scale.k)
    ratings = counts.sum(axis=1)
    shares = counts / np.maximum(ratings, 1)[:, None]
    probabilities = shares.copy()
    is_fixed = np.isin(majority.items, fixed[0])
    probabilities[is_fixed] = np.eye(scale.k)[
        fixed[1][np.searchsorted(fixed[0], majority.items[is_fixed])]
    ]
    return ConsensusLabels(
        item=majority.items,
        label=majority.code,
        confidence=None,
        shares=shares,
        mean=None if scale.values is None else shares @ scale.values,
        ratings=ratings,
        confusions=_estimate_errors(votes, indexes, probabilities, disagreement),
    )


def _describe_model(
    estimate: consensus.DawidSkene,
    calibration: consensus.Calibration,
    gold: consensus.GoldCalibration | None,
) -> dict[str, object]:
    """Return the estimated model and its calibration as JSON values, for Consensus.model."""
    return {
        "classes": estimate.classes.tolist(),
        "pooled": estimate.pooled_confusion.tolist(),
        "tempering": (gold or calibration).tau,
        "gold_items": gold.n if gold else 0,
        "rounds": estimate.rounds,
        "converged": estimate.converged,
    }


def _estimate_errors(
    votes: np.ndarray, indexes: np.ndarray, probabilities: np.ndarray, disagreement: np.ndarray
) -> list[ConfusionEstimate]:
    """Return the impact and accuracy of each rater, in the order of their ids.

    ``votes`` (M,) of VOTE_DTYPE, ``indexes`` (M,): their category indexes; ``probabilities`` (N,
    k): of the categories of each item, in ascending order of item ids; ``disagreement`` (k, k):
    weight of a wrong rating, by true and rated category.
    """
    _items, item_index = np.unique(votes["item"], return_inverse=True)
    raters, rater_index = np.unique(votes["rater"], return_inverse=True)
    expected = (probabilities @ disagreement)[item_index, indexes]
    impact = np.bincount(rater_index, expected).clip(0.0)
    right = np.bincount(rater_index, probabilities[item_index, indexes].clip(0.0, 1.0))
    accuracy = right / np.bincount(rater_index)
    rows = zip(raters.tolist(), impact.tolist(), accuracy.tolist(), strict=True)
    return [ConfusionEstimate(*row) for row in rows]


def _add_matrices(
    errors: list[ConfusionEstimate], estimate: consensus.DawidSkene, *, ordered: bool
) -> list[ConfusionEstimate]:
    """Return the raters' errors with their confusion matrices and, on ordered scales, biases."""
    rows = zip(
        errors,
        estimate.confusion.tolist(),
        estimate.expected_counts.tolist(),
        estimate.bias.tolist(),
        strict=True,
    )
    return [
        replace(
            rater_errors,
            confusion=confusion,
            expected_counts=expected_counts,
            bias=bias if ordered else None,
        )
        for rater_errors, confusion, expected_counts, bias in rows
    ]
