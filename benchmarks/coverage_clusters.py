"""Coverage of the 95% intervals of items in clusters, and planned numbers of such items.

    python benchmarks/coverage_clusters.py [--documents 12 20 50] [--studies 400] [--pilots 100]

It prints the rows of docs/statistics.md. Documents have ten items each. They differ in how often
raters agree (`difficulty`), in the shares of the categories (`topic`), or in both; each of these
has the intraclass correlation `icc`. The ratings of an item are all equal to one draw from the
shares of its document, or independent draws from the common shares, so that kappa is known.
"""

import argparse
import itertools
import math
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from metrics.agreement import sample_size
from metrics.agreement.coefficients import fleiss
from metrics.agreement.counts.tally import PatternCounts, count_patterns
from metrics.agreement.counts.wider_intervals import compute_cluster_effects, widen_interval
from metrics.agreement.estimate import Value

ITEMS = 10  # of a document
GOAL = 0.93
KINDS = (("difficulty", 0.3), ("topic", 0.3), ("both", 0.3), ("difficulty", 0.6))
# Ratings of an item, and the shares of the categories.
RATINGS = ((2, (0.5, 0.5)), (2, (0.2, 0.8)), (3, (0.2,) * 5))


@dataclass(frozen=True)
class Design:
    """One cell: documents, ratings of an item, shares of the categories, kappa, dependence."""

    documents: int
    raters: int
    shares: tuple[float, ...]
    kappa: float
    kind: str
    icc: float


def draw_codes(design: Design, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return the codes (documents, ITEMS, raters) of one study."""
    k, size = len(design.shares), (1 - design.icc) / design.icc
    kappas = np.full(design.documents, design.kappa)
    shares = np.tile(design.shares, (design.documents, 1))
    if design.kind != "topic":
        kappas = rng.beta(design.kappa * size, (1 - design.kappa) * size, design.documents)
    if design.kind != "difficulty":
        shares = rng.dirichlet(np.array(design.shares) * size, design.documents)
    shape = (design.documents, ITEMS)
    thresholds = np.cumsum(shares, axis=1)[:, None, :-1]
    common = (rng.random(shape)[..., None] > thresholds).sum(axis=-1)
    fresh = rng.choice(k, (*shape, design.raters), p=design.shares)
    agree = rng.random(shape) < kappas[:, None]
    codes: npt.NDArray[np.int64] = np.where(agree[..., None], common[..., None], fresh)
    return codes


def estimate_kappa(codes: npt.NDArray[np.int64], k: int) -> tuple[Value, float]:
    """Return Fleiss' kappa with the interval of independent items, and the design effect."""
    documents, items, raters = codes.shape
    item = np.repeat(np.arange(documents * items), raters)
    by_cluster = count_patterns(item, codes.ravel(), k, day=item // items)

    def compute_kappa(counts: np.ndarray, n_items: np.ndarray) -> dict[str, np.ndarray]:
        return {"kappa": fleiss.fleiss_kappa(counts, n_items, interval=False).value}

    effects = compute_cluster_effects(by_cluster, compute_kappa).effects
    patterns: PatternCounts = by_cluster.sum_over_days()
    value = fleiss.fleiss_kappa(patterns.counts, patterns.n_items).to_value()
    return value, effects["kappa"][0]


def measure_coverage(
    design: Design, studies: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Return the coverage of independent items, that of clusters, and the mean design effect."""
    hits, sum_of_effects, defined = np.zeros(2), 0.0, 0
    for _study in range(studies):
        value, effect = estimate_kappa(draw_codes(design, rng), len(design.shares))
        if value["value"] is None:
            continue
        defined, sum_of_effects = defined + 1, sum_of_effects + effect
        for index, interval in enumerate((value, widen_interval(value, effect, design.documents))):
            low, high = interval["low"], interval["high"]
            assert low is not None and high is not None
            hits[index] += low - 1e-9 <= design.kappa <= high + 1e-9
    narrow, wide = hits / defined
    return float(narrow), float(wide), sum_of_effects / defined


def print_coverage(documents: list[int], studies: int, rng: np.random.Generator) -> None:
    """Print a row for each number of documents and kind of dependence."""
    print("| documents | dependence | independent items | goal | measured, mean | worst | effect |")
    print("|---|---|---|---|---|---|---|")
    for number, (kind, icc) in itertools.product(documents, KINDS):
        rows = [
            measure_coverage(Design(number, raters, shares, kappa, kind, icc), studies, rng)
            for (raters, shares), kappa in itertools.product(RATINGS, (0.4, 0.8))
        ]
        narrow, wide, effects = zip(*rows, strict=True)
        cells = [f"{number}", f"{kind}, ICC {icc:g}", f"{np.mean(narrow):.2f}", f">= {GOAL}"]
        cells += [f"{np.mean(wide):.3f}", f"{min(wide):.3f}", f"{np.mean(effects):.1f}"]
        print(f"| {' | '.join(cells)} |", flush=True)


def compute_share_assured(
    design: Design, half_width: float, pilots: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the share of pilots whose continuation reaches the half-width.

    The second part is the mean of the planned numbers of items.
    """
    outcomes, planned = [], []
    for _pilot in range(pilots):
        codes = draw_codes(design, rng)
        value, effect = estimate_kappa(codes, len(design.shares))
        se = widen_interval(value, effect, design.documents)["se"]
        counts = (
            np.eye(len(design.shares), dtype=int)[codes].sum(axis=2).reshape(-1, codes.max() + 1)
        )
        log_se_sd = sample_size.estimate_log_se_sd(counts, np.ones(len(counts)))
        needed = sample_size.compute_items_needed(
            se,
            design.documents * ITEMS,
            half_width,
            log_se_sd=log_se_sd,
            n_clusters=design.documents,
        )
        if not needed.additional or needed.items is None:
            continue
        further = Design(**{**vars(design), "documents": math.ceil(needed.additional / ITEMS)})
        all_codes = np.concatenate([codes, draw_codes(further, rng)])
        value, effect = estimate_kappa(all_codes, len(design.shares))
        final = widen_interval(value, effect, len(all_codes))
        assert final["low"] is not None and final["high"] is not None
        outcomes.append((final["high"] - final["low"]) / 2 <= half_width * 1.02)
        planned.append(needed.items)
    return float(np.mean(outcomes)), float(np.mean(planned))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, nargs="+", default=[12, 20, 50])
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--pilots", type=int, default=100)
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    print_coverage(options.documents, options.studies, rng)
    if not options.pilots:
        return
    print("\n| pilot | half-width | items | goal | measured |\n|---|---|---|---|---|")
    for documents in (12, 20):
        design = Design(documents, 2, (0.5, 0.5), 0.6, "difficulty", 0.3)
        reached, items = compute_share_assured(design, 0.06, options.pilots, rng)
        print(f"| {documents} documents | ±0.06 | {items:,.0f} | >= 90% | {reached:.0%} |")


if __name__ == "__main__":
    main()
