"""Planned numbers of items: how many studies reach the wanted half-width.

    python benchmarks/planning_assurance.py [--studies 2000] [--pilots 300]

Before data: studies of two raters from the assumed table. After data: a pilot of 60 items, then as
many more items as the plan demands; the half-width is that of the interval shown, of all items.
"expected": planned without assurance.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from metrics.agreement import sample_size
from metrics.agreement.coefficients import cohen, fleiss

PILOT_ITEMS = 60
DESIGNS: tuple[tuple[float, list[float], float], ...] = (  # kappa, shares, half-width
    (0.7, [0.3, 0.7], 0.1),
    (0.4, [0.5, 0.5], 0.05),
    (0.8, [0.05, 0.95], 0.1),
    (0.0, [0.2, 0.8], 0.1),
    (0.9, [0.2, 0.8], 0.05),
    (0.6, [0.5, 0.3, 0.2], 0.08),
)


def build_table(kappa: float, shares: list[float]) -> np.ndarray:
    p = np.array(shares)
    return kappa * np.diag(p) + (1 - kappa) * np.outer(p, p)


def compute_share_before(table: np.ndarray, items: int, half_width: float, studies: int) -> float:
    """Return the share of studies of ``items`` items whose half-width is small enough.

    ``table``: probabilities (k, k) of the answers of two raters.
    """
    tables = np.random.default_rng(1).multinomial(items, table.ravel(), size=studies)
    kappa = cohen.kappa(tables.reshape(-1, *table.shape))
    return float(((kappa.high - kappa.low) / 2 <= half_width).mean())


def compute_share_after(
    table: np.ndarray, half_width: float, pilots: int, *, assured: bool
) -> float:
    """Return the share of pilots after which the planned items give the half-width.

    ``table``: probabilities (k, k) of the answers of two raters. Pilots that need no more items are
    left out.
    """
    rng = np.random.default_rng(2)
    identity = np.eye(len(table), dtype=int)
    patterns = (identity[:, None] + identity[None]).reshape(-1, len(table))
    outcomes = []
    for _ in range(pilots):
        pilot = rng.multinomial(PILOT_ITEMS, table.ravel())
        error = sample_size.compute_planning_error(fleiss.fleiss_kappa(patterns, pilot).to_value())
        if error is None:
            continue
        log_se_sd = sample_size.estimate_log_se_sd(patterns, pilot) if assured else 0.0
        needed = sample_size.compute_items_needed(
            error, PILOT_ITEMS, half_width, log_se_sd=log_se_sd
        )
        if not needed.additional:
            continue
        items = pilot + rng.multinomial(needed.additional, table.ravel())
        kappa = fleiss.fleiss_kappa(patterns, items)
        outcomes.append(float(kappa.high - kappa.low) / 2 <= half_width)
    return float(np.mean(outcomes))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=2_000)
    parser.add_argument("--pilots", type=int, default=300)
    options = parser.parse_args()
    print(
        "| kappa | shares | half-width | items expected | with assurance | reached, expected "
        "| goal | measured | after a pilot, expected | goal | measured |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for kappa, shares, half_width in DESIGNS:
        table = build_table(kappa, shares)
        items = [
            sample_size.compute_items_needed_before(
                kappa, shares, half_width, with_assurance=with_assurance
            )
            for with_assurance in (False, True)
        ]
        before = [
            compute_share_before(table, number, half_width, options.studies) for number in items
        ]
        after = [
            compute_share_after(table, half_width, options.pilots, assured=assured)
            for assured in (False, True)
        ]
        cells = [f"{kappa:g}", ", ".join(f"{share:g}" for share in shares), f"±{half_width:g}"]
        cells += [f"{number:,}" for number in items]
        for expected, assured in (before, after):
            cells += [f"{100 * expected:.0f}%", ">= 90%", f"{100 * assured:.0f}%"]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
