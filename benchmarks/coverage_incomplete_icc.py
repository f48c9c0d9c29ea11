"""Coverage of the intervals of intraclass correlations where not every rater rates every item.

    python benchmarks/coverage_incomplete_icc.py --studies 300

Each study has new items and raters with normal effects; the shares of items and raters in the
variance are .3 and .05, .3 and .3, .7 and .15, .9 and .05. A row is a design; its figures are those
of its worst share. *Grades*: values rounded to whole standard deviations.
"""

from __future__ import annotations

import argparse

import numpy as np

from metrics.agreement.coefficients.intraclass.incomplete_icc import compute_incomplete_icc

DESIGNS = (  # items, raters, ratings an item (None: each rater with probability 1/2), grades
    (20, 5, 2, False),
    (20, 5, 3, False),
    (50, 4, 2, False),
    (50, 10, 3, False),
    (50, 10, 3, True),
    (50, 30, 2, False),
    (50, 6, None, False),
    (200, 10, 2, False),
    (200, 50, 3, False),
)
SHARES = ((0.3, 0.05), (0.3, 0.3), (0.7, 0.15), (0.9, 0.05))
FORMS = ("agreement", "consistency", "agreement_mean", "shared_mean")
GOAL = 0.90


def draw_design(
    rng: np.random.Generator, n: int, raters: int, per_item: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the items and raters of the ratings (M,); each item has a rating."""
    is_rated = rng.random((n, raters)).argsort(axis=1) < (
        per_item or np.maximum(rng.binomial(raters, 0.5, (n, 1)), 1)
    )
    item, rater = np.nonzero(is_rated)
    return item, np.unique(rater, return_inverse=True)[1]


def measure_coverage(
    design: tuple[int, int, int | None, bool], shares: tuple[float, float], studies: int
) -> tuple[np.ndarray, float]:
    """Return the coverage of each form (4,), and the mean width of the interval of ICC(A,1)."""
    n, n_raters, per_item, has_grades = design
    item_share, rater_share = shares
    rest = 1 - item_share - rater_share
    rng = np.random.default_rng(1)
    covered, widths = np.zeros(4), []
    for _study in range(studies):
        item, rater = draw_design(rng, n, n_raters, per_item)
        value = np.sqrt(item_share) * rng.normal(size=n)[item]
        value += np.sqrt(rater_share) * rng.normal(size=n_raters)[rater]
        value += np.sqrt(rest) * rng.normal(size=item.size)
        result = compute_incomplete_icc(item, rater, np.round(value) if has_grades else value)
        assert result.k is not None
        assert result.q is not None
        # Rounding to whole numbers adds 1/12 to the variance of the rest.
        error = rest + (1 / 12 if has_grades else 0)
        errors = (
            rater_share + error,
            error,
            (rater_share + error) / result.k,
            result.q * rater_share + error / result.k,
        )
        for form, name in enumerate(FORMS):
            icc = getattr(result, name)
            covered[form] += icc.ci_low <= item_share / (item_share + errors[form]) <= icc.ci_high
        low, high = result.agreement.ci_low, result.agreement.ci_high
        assert low is not None and high is not None
        widths.append(high - low)
    return covered / studies, float(np.mean(widths))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--studies", type=int, default=300)
    options = parser.parse_args()
    print(
        "| items | raters | ratings an item | values | goal | ICC(A,1) | ICC(C,1) | ICC(A,k) ",
        end="",
    )
    print("| ICC(Q,k) | width of ICC(A,1) |\n|---|---|---|---|---|---|---|---|---|---|")
    for design in DESIGNS:
        rows = [measure_coverage(design, shares, options.studies) for shares in SHARES]
        worst = np.min([coverage for coverage, _width in rows], axis=0)
        n, raters, per_item, has_grades = design
        cells = [n, raters, per_item or "half of the raters", "grades" if has_grades else "normal"]
        cells += [f">= {GOAL:.2f}", *(f"{value:.3f}" for value in worst)]
        cells.append(" to ".join(f"{width:.2f}" for width in sorted(w for _c, w in rows)[::3]))
        print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
