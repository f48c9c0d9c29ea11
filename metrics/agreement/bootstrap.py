"""Bootstrap intervals by multinomial counts of patterns: the cost is independent of items.

Resampling patterns, or the cells of pair tables: drawing N items with replacement amounts to
drawing how often each distinct pattern occurs, a multinomial over the patterns with their shares as
probabilities. The distribution is the same, so nothing is lost, and 10,000 replicates of a million
items cost 10,000 draws over some hundred patterns. For a pair of raters the patterns are the cells
of its table.

    percentile  the 2.5 % and 97.5 % quantiles of the defined replicates (Efron & Tibshirani 1993,
                ch. 13)
    bca         bias-corrected and accelerated: the quantiles move by the share of replicates below
                the value (z0) and by the skewness of the leave-one-out values (a) (Efron 1987,
                JASA 82, 171-185)

Replicates where a coefficient is undefined are dropped; their share is reported. The same seed
gives the same interval.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from .estimate import CONFIDENCE_LEVEL, Estimate, Floats

METHODS = ("percentile", "bca")
_MAX_CELLS = 1 << 22  # cells drawn at once: bounds the memory

Statistic = Callable[[Floats], Estimate]  # numbers (..., P) -> Estimate (...)


@dataclass(frozen=True)
class BootstrapInterval:
    """Bootstrap interval, standard error and mean, from the replicates with a defined value.

    low, high, se and mean are None where no replicate is defined, or a BCa interval is not; se also
    with a single replicate. undefined_share: share of the replicates where the coefficient is
    undefined.
    """

    low: float | None
    high: float | None
    se: float | None
    mean: float | None
    undefined_share: float
    replicates: int


def bootstrap_patterns(
    n_items: npt.ArrayLike,
    statistics: Mapping[str, Statistic],
    *,
    replicates: int = 2000,
    seed: int = 0,
    method: str = "percentile",
    level: float = CONFIDENCE_LEVEL,
) -> dict[str, BootstrapInterval]:
    """Return name -> bootstrap interval of each statistic; n_items (P,): items of each pattern.

    statistics: name -> function, e.g. lambda n: fleiss_kappa(counts, n, interval=False). All are
    computed on the same replicates. Raises ValueError for an unknown method.
    """
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}; one of {', '.join(METHODS)}")
    observed = np.asarray(n_items, np.int64)
    replicate_values: dict[str, list[Floats]] = {name: [] for name in statistics}
    for sample in _iter_replicates(observed, replicates, np.random.default_rng(seed)):
        for name, statistic in statistics.items():
            replicate_values[name].append(statistic(sample.astype(float)).value)
    intervals = {}
    for name, statistic in statistics.items():
        values = np.concatenate(replicate_values[name]) if replicate_values[name] else np.zeros(0)
        tails = np.array([(1 - level) / 2, (1 + level) / 2])
        if method == "bca":
            tails = _compute_bca_tails(values, observed, statistic, tails)
        intervals[name] = _summarize_replicates(values, tails)
    return intervals


def _iter_replicates(
    counts: npt.NDArray[np.int64], replicates: int, rng: np.random.Generator
) -> Iterator[npt.NDArray[np.int64]]:
    """Yield replicates in chunks (B, P); patterns without items are not drawn and stay 0."""
    total, used = int(counts.sum()), counts > 0
    if total == 0:
        return
    share = counts[used] / total
    step = max(1, _MAX_CELLS // max(counts.size, 1))
    for start in range(0, replicates, step):
        sample = np.zeros((min(step, replicates - start), counts.size), np.int64)
        sample[:, used] = rng.multinomial(total, share, size=len(sample))
        yield sample


def _summarize_replicates(values: Floats, tails: Floats) -> BootstrapInterval:
    defined = values[np.isfinite(values)]
    undefined = 1 - defined.size / values.size if values.size else 1.0
    if defined.size == 0 or not np.isfinite(tails).all():
        return BootstrapInterval(None, None, None, None, undefined, values.size)
    low, high = np.quantile(defined, tails)
    se = float(defined.std(ddof=1)) if defined.size > 1 else None
    return BootstrapInterval(
        float(low), float(high), se, float(defined.mean()), undefined, values.size
    )


def _compute_bca_tails(
    values: Floats, observed: npt.NDArray[np.int64], statistic: Statistic, tails: Floats
) -> Floats:
    """Return the quantile levels of a BCa interval, corrected for bias and acceleration.

    The levels are Phi(z0 + (z0 + z) / (1 - a (z0 + z))).
    """
    point = float(statistic(observed.astype(float)).value)
    defined = values[np.isfinite(values)]
    if defined.size == 0 or not np.isfinite(point):
        return np.full(2, np.nan)
    below = ((defined < point).sum() + (defined == point).sum() / 2) / defined.size
    z0 = special.ndtri(np.clip(below, 0.5 / defined.size, 1 - 0.5 / defined.size))
    a = _compute_acceleration(observed, statistic)
    z = z0 + special.ndtri(tails)
    shifted: Floats = special.ndtr(z0 + z / (1 - a * z))
    return shifted


def _compute_acceleration(observed: npt.NDArray[np.int64], statistic: Statistic) -> float:
    """Return the acceleration a of a BCa interval, from the leave-one-out values.

    One item of each pattern is left out; its value is weighted by the pattern's number of items. 0
    where all values are equal or undefined.
    """
    used = np.flatnonzero(observed)
    values, times = [], observed[used].astype(float)
    step = max(1, _MAX_CELLS // max(observed.size, 1))
    for start in range(0, used.size, step):
        rows = used[start : start + step]
        without = np.tile(observed, (rows.size, 1))
        without[np.arange(rows.size), rows] -= 1
        values.append(statistic(without.astype(float)).value)
    leave_one_out = np.concatenate(values)
    defined = np.isfinite(leave_one_out)
    if not defined.any():
        return 0.0
    leave_one_out, times = leave_one_out[defined], times[defined]
    difference = np.average(leave_one_out, weights=times) - leave_one_out
    spread = (times * difference**2).sum()
    return float((times * difference**3).sum() / (6 * spread**1.5)) if spread > 0 else 0.0
