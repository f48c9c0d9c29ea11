"""Bootstrap intervals that do not depend on the number of items: resampling patterns, and cells of
pair tables.

Drawing N items with replacement is drawing how often each distinct pattern comes up: a multinomial
over the patterns with their shares as probabilities. The two are the same distribution, so nothing
is lost, and 10,000 replicates of a million items cost 10,000 draws over some hundred patterns. For
a pair of raters the patterns are its table's cells.

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

from .estimate import LEVEL, Estimate, Floats

METHODS = ("percentile", "bca")
_CELLS = 1 << 22  # drawn at once: bounds the memory

Statistic = Callable[[Floats], Estimate]  # numbers (..., P) -> Estimate (...)


@dataclass(frozen=True)
class Bootstrap:
    """Interval, standard error and mean of the defined replicates, None where there are none; share
    undefined."""

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
    level: float = LEVEL,
) -> dict[str, Bootstrap]:
    """Numbers of items (P,) and name -> statistic, e.g. lambda n: fleiss_kappa(counts, n,
    interval=False).

    All statistics are computed on the same replicates.
    """
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}; one of {', '.join(METHODS)}")
    observed = np.asarray(n_items, np.int64)
    drawn: dict[str, list[Floats]] = {name: [] for name in statistics}
    for sample in _resampled(observed, replicates, np.random.default_rng(seed)):
        for name, statistic in statistics.items():
            drawn[name].append(statistic(sample.astype(float)).value)
    found = {}
    for name, statistic in statistics.items():
        values = np.concatenate(drawn[name]) if drawn[name] else np.zeros(0)
        tails = np.array([(1 - level) / 2, (1 + level) / 2])
        if method == "bca":
            tails = _bca_tails(values, observed, statistic, tails)
        found[name] = _summary(values, tails)
    return found


def bootstrap_tables(
    tables: npt.ArrayLike,
    statistic: Callable[[Floats], Estimate],
    *,
    replicates: int = 2000,
    seed: int = 0,
    level: float = LEVEL,
) -> list[Bootstrap]:
    """Tables (P, k, k) of pairs and a statistic of tables, e.g. cohen.kappa -> percentile interval
    of each pair."""
    counts = np.asarray(tables, np.int64)
    k = counts.shape[-1]
    rng = np.random.default_rng(seed)
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    found = []
    for table in counts:
        samples = _resampled(table.ravel(), replicates, rng)
        values = [statistic(sample.reshape(-1, k, k).astype(float)).value for sample in samples]
        found.append(_summary(np.concatenate(values) if values else np.zeros(0), tails))
    return found


def _resampled(
    counts: npt.NDArray[np.int64], replicates: int, rng: np.random.Generator
) -> Iterator[npt.NDArray[np.int64]]:
    """Chunks (B, P) of replicates; cells that are 0 stay 0 and are not drawn."""
    total, used = int(counts.sum()), counts > 0
    if total == 0:
        return
    share = counts[used] / total
    step = max(1, _CELLS // max(counts.size, 1))
    for start in range(0, replicates, step):
        sample = np.zeros((min(step, replicates - start), counts.size), np.int64)
        sample[:, used] = rng.multinomial(total, share, size=len(sample))
        yield sample


def _summary(values: Floats, tails: Floats) -> Bootstrap:
    defined = values[np.isfinite(values)]
    undefined = 1 - defined.size / values.size if values.size else 1.0
    if defined.size == 0 or not np.isfinite(tails).all():
        return Bootstrap(None, None, None, None, undefined, values.size)
    low, high = np.quantile(defined, tails)
    se = float(defined.std(ddof=1)) if defined.size > 1 else None
    return Bootstrap(float(low), float(high), se, float(defined.mean()), undefined, values.size)


def _bca_tails(
    values: Floats, observed: npt.NDArray[np.int64], statistic: Statistic, tails: Floats
) -> Floats:
    """Where the quantiles are taken: Phi(z0 + (z0 + z) / (1 - a (z0 + z)))."""
    point = float(statistic(observed.astype(float)).value)
    defined = values[np.isfinite(values)]
    if defined.size == 0 or not np.isfinite(point):
        return np.full(2, np.nan)
    below = ((defined < point).sum() + (defined == point).sum() / 2) / defined.size
    z0 = special.ndtri(np.clip(below, 0.5 / defined.size, 1 - 0.5 / defined.size))
    a = _acceleration(observed, statistic)
    z = z0 + special.ndtri(tails)
    shifted: Floats = special.ndtr(z0 + z / (1 - a * z))
    return shifted


def _acceleration(observed: npt.NDArray[np.int64], statistic: Statistic) -> float:
    """From the values without one item of each pattern, each counting as often as the pattern has
    items."""
    used = np.flatnonzero(observed)
    values, times = [], observed[used].astype(float)
    step = max(1, _CELLS // max(observed.size, 1))
    for start in range(0, used.size, step):
        some = used[start : start + step]
        without = np.tile(observed, (some.size, 1))
        without[np.arange(some.size), some] -= 1
        values.append(statistic(without.astype(float)).value)
    left_out = np.concatenate(values)
    defined = np.isfinite(left_out)
    if not defined.any():
        return 0.0
    left_out, times = left_out[defined], times[defined]
    difference = np.average(left_out, weights=times) - left_out
    spread = (times * difference**2).sum()
    return float((times * difference**3).sum() / (6 * spread**1.5)) if spread > 0 else 0.0
