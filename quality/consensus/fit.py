"""Ratings -> the label of each item, by the method that the project has chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from metrics.agreement import consensus
from metrics.scale import QuestionScale
from quality.models import Method

from .votes import Fixed

TIED = "tied"
LEAST = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)  # certainties by which labels are chosen


@dataclass(frozen=True)
class Confusion:
    """One rater's estimated habits: see models.RaterConfusion."""

    rater: int
    confusion: list[list[float]]
    rests_on: list[float]
    accuracy: float
    bias: float | None


@dataclass(frozen=True)
class Labels:
    """What a question's ratings come to.

    item (N,) ids, ascending; label (N,) places of the declared categories, -1 where there is none;
    confidence (N,) or None; shares (N, k) in declared order; mean (N,) or None; ratings (N,).
    """

    item: np.ndarray
    label: np.ndarray
    confidence: np.ndarray | None
    shares: np.ndarray
    mean: np.ndarray | None
    ratings: np.ndarray
    reason: str = ""
    confusions: list[Confusion] = field(default_factory=list)
    model: dict[str, object] = field(default_factory=dict)
    calibration: list[dict[str, object]] = field(default_factory=list)

    @property
    def expected_errors(self) -> float | None:
        """How many of the labels are expected to be wrong."""
        return None if self.confidence is None else float((1 - self.confidence).sum())

    def sure(self) -> list[dict[str, float]]:
        """Of the labels at least so sure, for each of LEAST: how many, and the expected errors."""
        if self.confidence is None:
            return []
        found = []
        for least in LEAST:
            kept = self.confidence[self.confidence >= least]
            found.append({"least": least, "items": kept.size, "errors": float((1 - kept).sum())})
        return found


def fit(votes: np.ndarray, scale: QuestionScale, fixed: Fixed, *, method: str) -> Labels:
    """Array of votes.VOTE, ordered by item and rater -> Labels.

    Of Dawid and Skene's model the label is the posterior's median on ordered scales, its most
    probable category on nominal ones. With a single rater, or no item with two ratings, nothing can
    be estimated: then each has its majority and no certainty, and ``reason`` says so.
    """
    places = scale.places(votes["code"])
    votes, places = votes[places >= 0], places[places >= 0]
    if not votes.size:
        nothing = np.zeros(0, np.int64)
        return Labels(nothing, nothing, None, np.zeros((0, scale.k)), None, nothing)
    counted = _majority(votes, places, scale, method)
    if method != Method.DAWID_SKENE or scale.k < 2:
        return counted
    known = _known(fixed.codes, scale)
    found = consensus.dawid_skene(votes["item"], votes["rater"], places, scale.k, fixed=known)
    if found.reason is not None:
        return replace(counted, reason=found.reason)
    checked = consensus.calibrate(votes["item"], votes["rater"], places, scale.k, fixed=known)
    posterior = found.posterior
    if checked.tau < 1:
        posterior = consensus.tempered(posterior, checked.tau)
    label = consensus.medians(posterior) if scale.type.ordered else consensus.modes(posterior)
    chosen = np.take_along_axis(posterior, np.maximum(label, 0)[:, None], axis=1)[:, 0]
    return replace(
        counted,
        label=label,
        confidence=np.where(label >= 0, chosen, posterior.max(axis=1)),
        shares=posterior,
        mean=None if scale.values is None else posterior @ scale.values,
        confusions=_confusions(found, ordered=scale.type.ordered),
        model={
            "classes": found.classes.tolist(),
            "pooled": found.pooled.tolist(),
            "tempering": checked.tau,
            "rounds": found.rounds,
            "converged": found.converged,
        },
        calibration=[vars(one) for one in checked.bins],
    )


def _known(codes: Mapping[int, int], scale: QuestionScale) -> tuple[np.ndarray, np.ndarray]:
    items = np.array(sorted(codes), np.int64)
    places = scale.places(np.array([codes[item] for item in items.tolist()], np.int64))
    return items[places >= 0], places[places >= 0]


def _majority(votes: np.ndarray, places: np.ndarray, scale: QuestionScale, method: str) -> Labels:
    if method == Method.WEIGHTED:
        found = consensus.weighted_majority(votes["item"], votes["rater"], places, scale.k)
    else:
        found = consensus.majority(votes["item"], places, scale.k)
    index = np.searchsorted(found.items, votes["item"])
    cells = np.bincount(index * scale.k + places, minlength=found.items.size * scale.k)
    counts = cells.reshape(found.items.size, scale.k)
    ratings = counts.sum(axis=1)
    shares = counts / np.maximum(ratings, 1)[:, None]
    return Labels(
        item=found.items,
        label=found.code,
        confidence=None,
        shares=shares,
        mean=None if scale.values is None else shares @ scale.values,
        ratings=ratings,
    )


def _confusions(found: consensus.DawidSkene, *, ordered: bool) -> list[Confusion]:
    rows = zip(
        found.raters.tolist(),
        found.confusion.tolist(),
        found.expected.tolist(),
        found.accuracy.tolist(),
        found.bias.tolist(),
        strict=True,
    )
    each = []
    for rater, confusion, rests_on, accuracy, bias in rows:
        each.append(Confusion(rater, confusion, rests_on, accuracy, bias if ordered else None))
    return each
