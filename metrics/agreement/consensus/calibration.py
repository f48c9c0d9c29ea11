"""Calibration of the model's confidences: one rating of each item is held out and predicted.

Of every item with three ratings or more one rating is held out, selected by the item's key, so that
the same ratings give the same selection in any order. The model fitted to the rest predicts

    P(rating = l) = sum_j T_ij pi_g(j, l)

Where many raters make the same errors, T is too certain; then T^tau with tau < 1 predicts better.

Held-out ratings share the errors that all raters make, so that they show a part of it only. With
gold answers of MIN_GOLD_ITEMS items or more, T of a model that does not know them is calibrated on
them: it becomes the mean of

    (1 - e) T^tau + e / k

over tau (temperature scaling: Guo, Pleiss, Sun & Weinberger 2017, ICML) and the share e of items
that mislead all raters, however sure they are; each as probable as the gold answers make it
(Bayesian model averaging; log tau is uniform before, e exponential with mean 0.1: with a uniform e
one or two wrong gold answers made every label of good data uncertain). The probability of a label
above 1/2 is limited to what the gold answers show: the largest level L for which, among the gold
items whose labels have a probability of L or more, the lower 75% limit of the share of right labels
is at least L (Jeffreys' interval; Brown, Cai & DasGupta 2001, Statistical Science 16, 101-133). The
other categories get the rest in proportion. It holds for items of the same kind as the gold items.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from metrics.agreement.counts.grouping import Ints, index_distinct, validate_ratings
from metrics.agreement.estimate import Floats

from .dawid_skene import DawidSkene, fit_dawid_skene
from .labels import raise_to_power, select_labels

TEMPERATURES = (0.8, 0.6, 0.5, 0.4, 0.3)
GOLD_TEMPERATURES = np.geomspace(1.0, 0.01, 24)
MISLEADING_SHARES = (np.arange(60) + 0.5) / 120  # e, from 0 to 1/2
MEAN_MISLEADING_SHARE = 0.1  # of e before the gold answers are seen
FALSE_LEVEL_RATE = 0.25  # probability that a lower limit exceeds the true share of right labels
MIN_LIMITED_PROBABILITY = 0.51  # so that a limited label remains the most probable category
MIN_GOLD_ITEMS = 30  # items with a gold answer and two ratings or more
BINS = 5
_MIN_RATINGS = 3  # ratings an item needs for one of them to be held out


@dataclass(frozen=True)
class CalibrationBin:
    """Predicted probabilities from low to high: their number, mean, and the share that came true.

    predicted and observed are None for an empty bin.
    """

    low: float
    high: float
    n: int
    predicted: float | None
    observed: float | None


@dataclass(frozen=True)
class Calibration:
    """Calibration of a model's confidences on held-out ratings.

    n: ratings held out, 0 with the reason where none could be; bins: of the predictions with T^tau;
    tau: 1 unless a smaller one predicts better by more than 2 standard errors; log_loss: its mean;
    gain, gain_se: by how much this is less than with tau = 1, and its standard error, both in nats
    per rating; None with tau = 1.
    """

    n: int
    bins: list[CalibrationBin]
    tau: float
    log_loss: float | None
    gain: float | None
    gain_se: float | None
    reason: str | None = None

    def apply(self, posterior: npt.ArrayLike) -> Floats:
        """Return the calibrated posterior T^tau (N, k), normalised, of a posterior T (N, k)."""
        return raise_to_power(posterior, self.tau)


def select_held_out(item: npt.ArrayLike, rater: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Return a mask (M,) with one rating of each item that has three ratings or more.

    item, rater (M,): integer keys.
    """
    keys = np.asarray(item, np.int64)
    _, index = index_distinct(keys)
    order = np.lexsort((np.asarray(rater, np.int64), index))
    sizes = np.bincount(index)
    first = np.cumsum(sizes) - sizes
    position = np.empty(keys.size, np.int64)
    position[order] = np.arange(keys.size) - first[index[order]]
    size = sizes[index]
    selected: npt.NDArray[np.bool_] = position == (
        _hash_keys(keys) % size.astype(np.uint64)
    ).astype(np.int64)
    return selected & (size >= _MIN_RATINGS)


def _hash_keys(keys: Ints) -> npt.NDArray[np.uint64]:
    """Return pseudo-random 64-bit hashes (M,) of integer keys (M,), also of consecutive ones.

    Source: the finaliser of splitmix64.
    """
    x = keys.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def calibrate(
    item: npt.ArrayLike, rater: npt.ArrayLike, code: npt.ArrayLike, k: int, **options: Any
) -> Calibration:
    """Return how well a model's confidences predict held-out ratings, and the best power tau.

    item, rater, code (M,): ratings in long form; options: keyword arguments of fit_dawid_skene,
    which is called once, without the held-out ratings.
    """
    items, codes = validate_ratings(item, code, k)
    raters = np.asarray(rater, np.int64)
    held_out_mask = select_held_out(items, raters)
    fit = fit_dawid_skene(
        items[~held_out_mask], raters[~held_out_mask], codes[~held_out_mask], k, **options
    )
    if fit.reason is not None or not held_out_mask.any():
        return Calibration(0, [], 1.0, None, None, None, fit.reason or "too_few_items")
    # A rater without other ratings is predicted by the pooled confusion.
    row = np.searchsorted(fit.items, items[held_out_mask])
    confusion = _get_confusion(fit, raters[held_out_mask])
    observed = codes[held_out_mask]
    predicted = {}
    for tau in (1.0, *TEMPERATURES):
        posterior = fit.posterior if tau == 1.0 else raise_to_power(fit.posterior, tau)
        predicted[tau] = np.einsum("ij,ijl->il", posterior[row], confusion)
    rows = np.arange(observed.size)
    loss = {tau: -np.log(np.maximum(p[rows, observed], 1e-300)) for tau, p in predicted.items()}
    tau, gain, se = _select_temperature(loss)
    return Calibration(
        observed.size, _build_bins(predicted[tau], observed), tau, float(loss[tau].mean()), gain, se
    )


@dataclass(frozen=True)
class GoldCalibration:
    """Calibration of posteriors on n gold answers, as in the module's formulas.

    weights (24,): of T^tau for each of GOLD_TEMPERATURES; misleading: the mean of e, which is 1
    less the sum of the weights; levels (L,): probabilities of the labels of gold items, ascending;
    limits (L,): lower limit of the share of right labels among those with at least this
    probability.
    """

    weights: Floats
    misleading: float
    n: int
    levels: Floats
    limits: Floats

    @property
    def tau(self) -> float:
        """The mean of tau over GOLD_TEMPERATURES by `weights`."""
        return float(self.weights @ GOLD_TEMPERATURES / self.weights.sum())

    def bound(self, probability: npt.ArrayLike) -> Floats:
        """Return the largest probability (N,) that the gold answers support for each label.

        probability (N,): that of each label before this limit.
        """
        p = np.asarray(probability, float)
        below = np.concatenate(([0.0], self.levels[:-1]))
        bounded = np.minimum(self.levels, self.limits)
        reached = np.maximum.accumulate(np.where(bounded > below, bounded, 0.0))
        reached_below = np.concatenate(([0.0], reached))
        # The gold items that are as probable are those from this level on; above the last, none.
        position = np.searchsorted(self.levels, p)
        own = np.minimum(p, np.concatenate((self.limits, [0.0]))[position])
        own = np.where(own > np.concatenate((below, [1.0]))[position], own, 0.0)
        return np.maximum(own, reached_below[position])

    def apply(self, posterior: npt.ArrayLike, *, ordered: bool = False) -> Floats:
        """Return the calibrated probabilities (N, k) of a posterior T (N, k).

        ordered: whether labels are medians, otherwise modes. No label changes.
        """
        shares = _average_powers(np.asarray(posterior, float), self.weights)
        labels, probability = select_labels(shares, ordered=ordered)
        limit = np.maximum(self.bound(probability), MIN_LIMITED_PROBABILITY)
        limited = np.flatnonzero(probability > limit)
        shares[limited] *= ((1 - limit) / (1 - probability))[limited, None]
        shares[limited, labels[limited]] = limit[limited]
        return shares


def calibrate_on_gold(
    item: npt.ArrayLike,
    rater: npt.ArrayLike,
    code: npt.ArrayLike,
    k: int,
    *,
    gold: tuple[npt.ArrayLike, npt.ArrayLike],
    ordered: bool = False,
    **options: Any,
) -> GoldCalibration | None:
    """Return the calibration on gold answers, None for fewer than MIN_GOLD_ITEMS or a failed fit.

    item, rater, code (M,): ratings; gold: items and codes (G,) of items with two ratings or more;
    ordered: whether labels are medians; options: of fit_dawid_skene, `fixed` gold is not used.
    """
    items, codes = validate_ratings(item, code, k)
    gold_items, gold_codes = (np.asarray(part, np.int64) for part in gold)
    keys, index = index_distinct(items)
    is_usable = np.isin(gold_items, keys[np.bincount(index, minlength=keys.size) >= 2])
    if options.get("fixed") is not None:
        is_usable &= ~np.isin(gold_items, np.asarray(options["fixed"][0], np.int64))
    gold_items, gold_codes = gold_items[is_usable], gold_codes[is_usable]
    if gold_items.size < MIN_GOLD_ITEMS:
        return None
    fit = fit_dawid_skene(items, rater, codes, k, **options)
    if fit.reason is not None:
        return None
    posterior = fit.posterior[np.searchsorted(fit.items, gold_items)]
    rows = np.arange(gold_items.size)
    # Logarithms of the probability of the gold answers by tau and e (24, 60).
    logs = np.array(
        [_compute_log_probability(raise_to_power(posterior, tau)[rows, gold_codes], k)
         for tau in GOLD_TEMPERATURES]
    )  # fmt: skip
    logs -= MISLEADING_SHARES / MEAN_MISLEADING_SHARE
    weights = special.softmax(logs) @ (1 - MISLEADING_SHARES)
    shares = _average_powers(posterior, weights)
    labels, probability = select_labels(shares, ordered=ordered)
    levels, limits = _limit_right_shares(probability, labels == gold_codes)
    return GoldCalibration(weights, 1 - float(weights.sum()), int(gold_items.size), levels, limits)


def _compute_log_probability(probability: Floats, k: int) -> Floats:
    """Return the log probability of all gold answers for each e (60,).

    probability (G,): of each gold answer under T^tau.
    """
    misleading = MISLEADING_SHARES[:, None]
    logs: Floats = np.log((1 - misleading) * probability + misleading / k).sum(axis=1)
    return logs


def _average_powers(posterior: Floats, weights: Floats) -> Floats:
    """Return the mean (N, k) of the powers T^tau of a posterior T (N, k), with weights (24,).

    The uniform distribution 1 / k has the remaining weight.
    """
    mean = np.full(posterior.shape, (1 - weights.sum()) / posterior.shape[1])
    for tau, weight in zip(GOLD_TEMPERATURES, weights, strict=True):
        mean += weight * raise_to_power(posterior, tau)
    return mean


def _limit_right_shares(
    probability: Floats, is_right: npt.NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Return distinct probabilities of labels (L,), and lower limits of their right shares (L,).

    A limit is for the labels with at least this probability. is_right: whether each label is right.
    """
    levels, index = np.unique(probability, return_inverse=True)
    n = np.bincount(index)[::-1].cumsum()[::-1]
    right = np.bincount(index, is_right)[::-1].cumsum()[::-1]
    return levels, special.betaincinv(right + 0.5, n - right + 0.5, FALSE_LEVEL_RATE)


def _get_confusion(fit: DawidSkene, raters: Ints) -> Floats:
    """Return the confusion matrix (M, k, k) of each of the raters (M,), pooled for unknown ones."""
    position = np.minimum(np.searchsorted(fit.raters, raters), fit.raters.size - 1)
    is_fitted = fit.raters[position] == raters
    return np.where(is_fitted[:, None, None], fit.confusion[position], fit.pooled_confusion)


def _select_temperature(loss: dict[float, Floats]) -> tuple[float, float | None, float | None]:
    """Return the tau that predicts best, its gain in log loss and the gain's standard error.

    loss: tau -> log loss of each held-out rating. (1, None, None) where no smaller tau is better by
    more than 2 standard errors.
    """
    selected: tuple[float, float | None, float | None] = (1.0, None, None)
    largest_gain = 0.0
    for tau in TEMPERATURES:
        gain = loss[1.0] - loss[tau]
        if gain.size < 2:
            continue
        mean, se = float(gain.mean()), float(gain.std(ddof=1) / np.sqrt(gain.size))
        if mean > 2 * se and mean > largest_gain:
            selected, largest_gain = (tau, mean, se), mean
    return selected


def _build_bins(predicted: Floats, observed: Ints) -> list[CalibrationBin]:
    """Return the predicted probabilities and observed shares in BINS bins of equal width.

    predicted (H, k): for each held-out rating; observed (H,): its category.
    """
    is_observed = np.zeros(predicted.shape)
    is_observed[np.arange(observed.size), observed] = 1
    bin_index = np.minimum((predicted * BINS).astype(np.int64), BINS - 1).ravel()
    n = np.bincount(bin_index, minlength=BINS)
    total = np.bincount(bin_index, predicted.ravel(), BINS)
    hits = np.bincount(bin_index, is_observed.ravel(), BINS)
    bins = []
    for b in range(BINS):
        low, high, size = b / BINS, (b + 1) / BINS, int(n[b])
        if size == 0:
            bins.append(CalibrationBin(low, high, 0, None, None))
        else:
            bins.append(
                CalibrationBin(low, high, size, float(total[b] / size), float(hits[b] / size))
            )
    return bins
