"""Coverage of the 95% intervals shown, on simulated studies whose true value is known.

It prints the rows of docs/statistics.md. The ratings of an item are draws from an urn
(Dirichlet-multinomial, beta-binomial for two categories), so that any two ratings of an item have
the same kappa, whatever the number of ratings. One category has the share `prevalence`, the others
share the rest equally. Studies in which a coefficient is undefined are left out.
"""

import argparse
import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy import special

from metrics.agreement import estimate_coefficient
from metrics.agreement.coefficients import cohen, groups
from metrics.agreement.coefficients.cohen import PairKappas, mean_kappa_weighted_by_items
from metrics.agreement.counts.tally import count_pair_tables, count_patterns
from metrics.agreement.estimate import Estimate
from metrics.agreement.weights import build_weightings

Floats = npt.NDArray[np.float64]

ITEMS = (10, 20, 50, 200)
GOAL_MEAN, GOAL_SIDE, GOAL_WIDTH = 0.94, 0.12, 1.25
GOAL_WORST = {10: 0.80, 20: 0.85, 50: 0.85, 200: 0.85}


@dataclass(frozen=True)
class Design:
    """A cell of the grid.

    ``n``: number of items; ``raters``: ratings of an item; ``k``: number of categories;
    ``prevalence``: share of the first one; ``kappa``: the true kappa.
    """

    n: int
    raters: int
    k: int
    prevalence: float
    kappa: float

    @property
    def shares(self) -> Floats:
        """The true shares of the categories (k,)."""
        shares = np.full(self.k, (1 - self.prevalence) / (self.k - 1))
        shares[0] = self.prevalence
        return shares


@dataclass(frozen=True)
class StudyEstimates:
    """Estimates of studies that were computed one by one; all (S,)."""

    value: Floats
    low: Floats
    high: Floats
    ci_low: Floats
    ci_high: Floats


@dataclass
class Coverage:
    """Results of the studies of a design: shares of studies, and median widths."""

    design: Design
    coverage: float
    one_side: float
    without_width: float
    width: float
    published_width: float
    undefined: float


def iter_designs() -> Iterator[Design]:
    """Yield every cell of the grid."""
    grid = itertools.product(ITEMS, (2, 3, 5), (2, 5), (0.05, 0.2, 0.5), (0, 0.4, 0.8, 0.95))
    for n, raters, k, prevalence, kappa in grid:
        yield Design(n, raters, k, prevalence, kappa)


def list_patterns(design: Design) -> Floats:
    """Return every pattern of the ratings of an item (P, k)."""
    counts = itertools.product(range(design.raters + 1), repeat=design.k)
    return np.array([row for row in counts if sum(row) == design.raters], float)


def compute_probabilities(counts: Floats, design: Design) -> Floats:
    """Return the probability of each pattern (P,) under the urn."""
    m = design.raters
    ways = special.gammaln(m + 1) - special.gammaln(counts + 1).sum(axis=1)
    if design.kappa == 0:
        logs = ways + counts @ np.log(design.shares)
    else:
        size = (1 - design.kappa) / design.kappa
        a = size * design.shares
        logs = ways + special.gammaln(size) - special.gammaln(size + m)
        logs += (special.gammaln(counts + a) - special.gammaln(a)).sum(axis=1)
    probabilities: Floats = np.exp(logs)
    return probabilities / probabilities.sum()


def draw_codes(design: Design, studies: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return codes (studies, n, raters): each rating copies an earlier one or is drawn anew."""
    size = np.inf if design.kappa == 0 else (1 - design.kappa) / design.kappa
    shape = (studies, design.n)
    fresh = rng.choice(design.k, (*shape, design.raters), p=design.shares)
    codes = fresh.copy()
    for g in range(1, design.raters):
        copied = rng.random(shape) < (0 if np.isinf(size) else g / (g + size))
        source = rng.integers(0, g, shape)
        earlier = np.take_along_axis(codes, source[..., None], axis=2)[..., 0]
        codes[..., g] = np.where(copied, earlier, fresh[..., g])
    return codes


def measure_coverage(design: Design, estimate: Estimate | StudyEstimates, truth: float) -> Coverage:
    """Return how the intervals of the studies (S,) of a design cover the true value."""
    defined = np.isfinite(estimate.value) & np.isfinite(estimate.low)
    low, high = estimate.low[defined], estimate.high[defined]
    above, below = float((low > truth + 1e-9).mean()), float((high < truth - 1e-9).mean())
    published = (estimate.ci_high - estimate.ci_low)[defined]
    return Coverage(
        design,
        1 - above - below,
        max(above, below),
        float((high - low < 1e-9).mean()),
        float(np.median(high - low)),
        float(np.median(published)),
        1 - float(defined.mean()),
    )


def measure_patterns(name: str, design: Design, studies: int, rng: np.random.Generator) -> Coverage:
    """Return the coverage of the coefficient ``name``, computed from the patterns of ratings."""
    counts = list_patterns(design)
    n_items = rng.multinomial(design.n, compute_probabilities(counts, design), size=studies)
    used = n_items.any(axis=0)
    p = design.shares
    truth = design.kappa
    agreement = truth + (1 - truth) * float(p @ p)
    if name == "percent_agreement":
        truth = agreement
    elif name == "gwet_ac1":
        chance = float((p * (1 - p)).sum()) / (design.k - 1)
        truth = (agreement - chance) / (1 - chance)
    return measure_coverage(
        design, estimate_coefficient(name, counts[used], n_items[:, used]), truth
    )


def measure_cohen(
    weighting: str, design: Design, studies: int, rng: np.random.Generator
) -> Coverage:
    """Return the coverage of Cohen's kappa of two raters."""
    p = design.shares
    cells = (1 - design.kappa) * np.outer(p, p) + design.kappa * np.diag(p)
    tables = rng.multinomial(design.n, cells.ravel(), size=studies)
    weights = build_weightings(design.k)[weighting]
    estimate = cohen.kappa(tables.reshape(-1, design.k, design.k), weights)
    return measure_coverage(design, estimate, design.kappa)


def measure_peers(design: Design, studies: int, rng: np.random.Generator) -> Coverage:
    """Return the coverage of the kappa of one rater with the others."""
    codes = draw_codes(design, studies, rng)
    own = np.eye(design.k)[codes[..., 0]]
    others = np.eye(design.k)[codes[..., 1:]].sum(axis=2)
    tables = np.einsum("snj,snl->sjl", own, others)
    moments = np.einsum("snj,snl,snq->sjlq", own, others, others, optimize=True)
    n_items = np.full(studies, design.n)
    return measure_coverage(design, groups.peer_kappa(tables, moments, n_items), design.kappa)


def measure_mean_pairwise(design: Design, studies: int, rng: np.random.Generator) -> Coverage:
    """Return the coverage of the mean pairwise kappa by shared items."""
    item, rater = (axis.ravel() for axis in np.indices((design.n, design.raters)))
    estimates = []
    for codes in draw_codes(design, studies, rng):
        pairs = count_pair_tables(item, rater, codes.ravel(), design.k)
        kappas = cohen.kappa(pairs.tables, interval=False).value
        tally = count_patterns(item, codes.ravel(), design.k)
        pair_kappas = PairKappas(
            pairs.rater_a, pairs.rater_b, pairs.tables.sum(axis=(1, 2)), kappas
        )
        estimates.append(mean_kappa_weighted_by_items(pair_kappas, tally.counts, tally.n_items)[0])
    columns = (
        np.array([float(getattr(estimate, column.name)) for estimate in estimates])
        for column in fields(StudyEstimates)
    )
    return measure_coverage(design, StudyEstimates(*columns), design.kappa)


def print_goals(rows: list[Coverage]) -> None:
    """Print a row "goal | measured" for each goal of the grid."""
    write = sys.stdout.write
    write("| items | goal | measured |\n|---|---|---|\n")
    for n in ITEMS:
        part = [row for row in rows if row.design.n == n]
        worst = min(part, key=lambda row: row.coverage)
        cell = worst.design
        mean = float(np.mean([row.coverage for row in part]))
        write(f"| {n} | mean coverage >= {GOAL_MEAN} | {mean:.3f} |\n")
        write(
            f"| {n} | worst coverage >= {GOAL_WORST[n]:.2f} | {worst.coverage:.3f} "
            f"({cell.raters} ratings, {cell.k} categories, share {cell.prevalence}, "
            f"kappa {cell.kappa}) |\n"
        )
        side = max(row.one_side for row in part)
        write(f"| {n} | false on one side <= {GOAL_SIDE} | {side:.3f} |\n")
        write(f"| {n} | without width: never | {max(row.without_width for row in part):.3f} |\n")
        if n == 50:
            ratio = np.median([row.width for row in part]) / np.median(
                [row.published_width for row in part]
            )
            write(f"| {n} | median width <= {GOAL_WIDTH} x published | {ratio:.2f} |\n")
    write(f"\nundefined in at most {max(row.undefined for row in rows):.0%} of a cell's studies\n")


def print_coefficient(label: str, rows: list[Coverage]) -> None:
    """Print a row on a coefficient at 10 items, and one from 20 items."""
    for items, part in (
        ("10", [row for row in rows if row.design.n == 10]),
        ("20, 50", [row for row in rows if row.design.n > 10]),
    ):
        mean = np.mean([row.coverage for row in part])
        sys.stdout.write(
            f"| {label} | {items} | {mean:.3f} | {min(row.coverage for row in part):.3f} | "
            f"{max(row.one_side for row in part):.3f} | "
            f"{max(row.without_width for row in part):.3f} |\n"
        )
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=2000, help="a cell of the grid")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    studies = options.studies
    designs = list(iter_designs())
    sys.stdout.write(f"fleiss_kappa, {len(designs)} cells, {studies} studies each\n\n")
    print_goals([measure_patterns("fleiss_kappa", cell, studies, rng) for cell in designs])
    sys.stdout.flush()
    sys.stdout.write("\n| coefficient | items | mean | worst | one side | no width |\n")
    sys.stdout.write("|---|---|---|---|---|---|\n")
    for items, n in (("10", 10), ("20, 50", 20)):
        sys.stdout.write(
            f"| goal | {items} | >= {GOAL_MEAN} | >= {GOAL_WORST[n]:.2f} | <= {GOAL_SIDE} | never |\n"
        )
    some = [cell for cell in designs if cell.n in {10, 20, 50} and cell.raters in {2, 3}]
    two, three = ([cell for cell in some if cell.raters == m] for m in (2, 3))
    few = max(studies // 10, 50)
    parts: list[tuple[str, list[Design], Callable[[Design], Coverage]]] = [
        (name, some, partial(measure_patterns, name, studies=studies, rng=rng))
        for name in (
            "fleiss_kappa_linear",
            "fleiss_kappa_gwet",
            "krippendorff_alpha_nominal",
            "krippendorff_alpha_interval",
            "gwet_ac1",
            "percent_agreement",
        )
    ]
    parts += [
        ("cohen_kappa", two, lambda cell: measure_cohen("none", cell, studies, rng)),
        ("cohen_kappa_linear", two, lambda cell: measure_cohen("linear", cell, studies, rng)),
        ("vs_peers", three, lambda cell: measure_peers(cell, studies, rng)),
        ("mean_pairwise_kappa_by_items", three, lambda cell: measure_mean_pairwise(cell, few, rng)),
    ]
    for label, cells, function in parts:
        print_coefficient(label, [function(cell) for cell in cells])


if __name__ == "__main__":
    main()
