"""Whether certainties are what they say: a rating of each item is held out, predicted and compared.

Of every item with three ratings or more one is held out, chosen by the item's key, so that the same
ratings give the same choice in any order. The model of the rest predicts

    P(said = l) = sum_j T_ij pi_g(j, l)

Where many raters err alike, T is too certain; then T^tau with tau < 1 predicts better.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from metrics.agreement.counts.grouping import Ints, checked, compact
from metrics.agreement.estimate import Floats

from .labels import tempered
from .model import DawidSkene, dawid_skene

TEMPERATURES = (0.8, 0.6, 0.5, 0.4, 0.3)
BINS = 5
_LEAST = 3  # ratings of an item from which one is held out


@dataclass(frozen=True)
class Bin:
    """Predictions between low and high: how many, their mean, and the share that was said."""

    low: float
    high: float
    n: int
    predicted: float | None
    said: float | None


@dataclass(frozen=True)
class Calibration:
    """n: ratings held out. bins: of the predictions with T^tau. tau: 1 unless a smaller one
    predicts better by more than 2 standard errors. gain: how much less its log loss is than that of
    tau = 1, in nats a rating, with its standard error."""

    n: int
    bins: list[Bin]
    tau: float
    log_loss: float | None
    gain: float | None
    gain_se: float | None
    reason: str | None = None


def held_out(item: npt.ArrayLike, rater: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """(M,): one rating of each item with three or more. Items and raters are integers."""
    keys = np.asarray(item, np.int64)
    _, index = compact(keys)
    order = np.lexsort((np.asarray(rater, np.int64), index))
    sizes = np.bincount(index)
    first = np.cumsum(sizes) - sizes
    place = np.empty(keys.size, np.int64)
    place[order] = np.arange(keys.size) - first[index[order]]
    size = sizes[index]
    chosen: npt.NDArray[np.bool_] = place == (_mixed(keys) % size.astype(np.uint64)).astype(
        np.int64
    )
    return chosen & (size >= _LEAST)


def _mixed(keys: Ints) -> npt.NDArray[np.uint64]:
    """The finaliser of splitmix64: neighbouring keys give unrelated numbers."""
    x = keys.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def calibrate(
    item: npt.ArrayLike, rater: npt.ArrayLike, code: npt.ArrayLike, k: int, **options: Any
) -> Calibration:
    """Ratings in long form (M,), options of dawid_skene -> Calibration; refits the model once."""
    items, codes = checked(item, code, k)
    raters = np.asarray(rater, np.int64)
    out = held_out(items, raters)
    fit = dawid_skene(items[~out], raters[~out], codes[~out], k, **options)
    if fit.reason is not None or not out.any():
        return Calibration(0, [], 1.0, None, None, None, fit.reason or "too_few_items")
    # a rater all of whose ratings were held out is predicted as the team
    row = np.searchsorted(fit.items, items[out])
    confusion = _confusion_of(fit, raters[out])
    said = codes[out]
    predicted = {}
    for tau in (1.0, *TEMPERATURES):
        posterior = fit.posterior if tau == 1.0 else tempered(fit.posterior, tau)
        predicted[tau] = np.einsum("ij,ijl->il", posterior[row], confusion)
    each = np.arange(said.size)
    loss = {tau: -np.log(np.maximum(p[each, said], 1e-300)) for tau, p in predicted.items()}
    tau, gain, se = _best(loss)
    return Calibration(
        said.size, _bins(predicted[tau], said), tau, float(loss[tau].mean()), gain, se
    )


def _confusion_of(fit: DawidSkene, raters: Ints) -> Floats:
    place = np.minimum(np.searchsorted(fit.raters, raters), fit.raters.size - 1)
    known = fit.raters[place] == raters
    return np.where(known[:, None, None], fit.confusion[place], fit.pooled)


def _best(loss: dict[float, Floats]) -> tuple[float, float | None, float | None]:
    """The tau with the largest gain of those better by more than 2 standard errors."""
    found: tuple[float, float | None, float | None] = (1.0, None, None)
    most = 0.0
    for tau in TEMPERATURES:
        gain = loss[1.0] - loss[tau]
        if gain.size < 2:
            continue
        mean, se = float(gain.mean()), float(gain.std(ddof=1) / np.sqrt(gain.size))
        if mean > 2 * se and mean > most:
            found, most = (tau, mean, se), mean
    return found


def _bins(predicted: Floats, said: Ints) -> list[Bin]:
    """All categories' predictions of all held-out ratings, in bins of equal width."""
    hit = np.zeros(predicted.shape)
    hit[np.arange(said.size), said] = 1
    place = np.minimum((predicted * BINS).astype(np.int64), BINS - 1).ravel()
    n = np.bincount(place, minlength=BINS)
    total = np.bincount(place, predicted.ravel(), BINS)
    hits = np.bincount(place, hit.ravel(), BINS)
    found = []
    for b in range(BINS):
        low, high, size = b / BINS, (b + 1) / BINS, int(n[b])
        if size == 0:
            found.append(Bin(low, high, 0, None, None))
        else:
            found.append(Bin(low, high, size, float(total[b] / size), float(hits[b] / size)))
    return found
