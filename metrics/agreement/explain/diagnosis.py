"""Why statistics of the same ratings disagree, in plain words, each with the figures it rests on.

    prevalence_paradox    high observed agreement, low kappa: one category takes most ratings, so
                          much agreement is expected by chance (Feinstein & Cicchetti 1990, J. Clin.
                          Epidemiol. 43, 543-549)
    rater_bias            raters use the categories unequally often (Stuart-Maxwell, Bonferroni over
                          pairs)
    single_ratings        items with one rating tell nothing of agreement, but much of how often a
                          category is used: Fleiss' kappa with and without them parts by > 0.05
    unequal_numbers       items have unequal numbers of two or more ratings and the two definitions
                          of Fleiss' kappa part by > 0.01
    few_items             fewer than 30 items have two or more ratings
    little_overlap        less than half of the rated items have two or more ratings
    confused_categories   most disagreement is between two of three or more categories (the
                          coincidence matrix)
    consistency_only      raters order items alike but not on the same level: high correlation, low
                          agreement

The thresholds are conventions, named here, and given with the figures.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from metrics.agreement.batch import pattern_coefficients
from metrics.agreement.coefficients import cohen, correlation, marginal_tests
from metrics.agreement.counts.sums import pattern_sums
from metrics.agreement.counts.tally import PairTables
from metrics.agreement.estimate import number
from metrics.agreement.weights import quadratic, scored

HIGH_AGREEMENT = 0.8
PARADOX_GAP = 0.2  # AC1 less kappa
UNEQUAL_GAP = 0.01  # between the two definitions of Fleiss' kappa
SINGLES_GAP = 0.05  # between Fleiss' kappa with and without items with one rating
FEW_ITEMS = 30
SMALL_SHARE = 0.5  # of the rated items
CONFUSED_SHARE = 0.4  # of all disagreement, between one pair of categories
CONFUSED_TIMES = 1.5  # as much as if all pairs of categories were confused alike
SIGNIFICANT = 0.01  # after Bonferroni: many questions are looked at, few alarms should be false
CONSISTENCY_GAP = 0.2  # Pearson less quadratic kappa


@dataclass(frozen=True)
class Finding:
    """One diagnosis that applies: its name, a sentence in English, and the figures (plain
    numbers)."""

    name: str
    sentence: str
    figures: dict[str, Any]


def diagnose(
    counts: npt.ArrayLike,
    n_items: npt.ArrayLike,
    *,
    pairs: PairTables | None = None,
    ordered: bool = False,
    values: npt.ArrayLike | None = None,
) -> list[Finding]:
    """Patterns (P, k) and n_items (P,), pair tables where raters are known -> what applies."""
    names = ("percent_agreement", "fleiss_kappa", "gwet_ac1")
    found = pattern_coefficients(counts, n_items, scale="nominal", names=names, interval=False)
    value = {name: number(estimate.value) for name, estimate in found.items()}
    sums = pattern_sums(counts, n_items)
    findings = [
        _paradox(value, sums.totals),
        _singles(value["fleiss_kappa"], counts, n_items),
        _unequal(counts, n_items),
        _few(sums.n2),
        _overlap(sums.n, sums.n2),
    ]
    findings.append(_confused(np.asarray(counts, float), np.asarray(n_items, float)))
    if pairs is not None and len(pairs):
        findings.append(_bias(pairs))
        if ordered:
            findings.append(_consistency(pairs, values))
    return [finding for finding in findings if finding is not None]


def _paradox(value: dict[str, float | None], totals: npt.NDArray[np.float64]) -> Finding | None:
    observed, kappa, ac1 = value["percent_agreement"], value["fleiss_kappa"], value["gwet_ac1"]
    if (
        observed is None
        or kappa is None
        or ac1 is None
        or observed < HIGH_AGREEMENT
        or ac1 - kappa < PARADOX_GAP
    ):
        return None
    category = int(np.argmax(totals))
    share = float(totals[category] / totals.sum())
    return Finding(
        "prevalence_paradox",
        f"Raters agree on {observed:.0%} of comparisons, but {share:.0%} of all ratings are in one "
        "category, so that much agreement is expected by chance: "
        f"kappa is {kappa:.2f}, AC1 is {ac1:.2f}.",
        {
            "percent_agreement": observed,
            "fleiss_kappa": kappa,
            "gwet_ac1": ac1,
            "category": category,
            "share": share,
        },
    )


def _singles(pooled: float | None, counts: npt.ArrayLike, n_items: npt.ArrayLike) -> Finding | None:
    n_items = np.asarray(n_items)
    sizes = np.asarray(counts).sum(axis=1)
    singles = int(n_items[sizes == 1].sum())
    paired = _fleiss(counts, np.where(sizes >= 2, n_items, 0))["fleiss_kappa"]
    if not singles or pooled is None or paired is None or abs(pooled - paired) <= SINGLES_GAP:
        return None
    return Finding(
        "single_ratings",
        f"{singles} items have one rating. They tell how often a category is used, and so what "
        f"chance gives, but nothing of agreement: Fleiss' kappa is {pooled:.2f} with them and "
        f"{paired:.2f} without.",
        {"single_items": singles, "fleiss_kappa": pooled, "fleiss_kappa_paired": paired},
    )


def _fleiss(counts: npt.ArrayLike, n_items: npt.ArrayLike) -> dict[str, float | None]:
    """Fleiss' kappa after both definitions."""
    names = ("fleiss_kappa", "fleiss_kappa_gwet")
    found = pattern_coefficients(counts, n_items, scale="nominal", names=names, interval=False)
    return {name: number(estimate.value) for name, estimate in found.items()}


def _unequal(counts: npt.ArrayLike, n_items: npt.ArrayLike) -> Finding | None:
    """Among items with two or more ratings: what those with one do is told by itself."""
    all_sizes = np.asarray(counts).sum(axis=1)
    kept = np.where(all_sizes >= 2, np.asarray(n_items), 0)
    value = _fleiss(counts, kept)
    pooled, by_item = value["fleiss_kappa"], value["fleiss_kappa_gwet"]
    if pooled is None or by_item is None or abs(pooled - by_item) <= UNEQUAL_GAP:
        return None
    sizes = all_sizes[kept > 0]
    least, most = int(sizes.min()), int(sizes.max())
    if least == most:
        return None
    return Finding(
        "unequal_numbers",
        f"Items have {least} to {most} ratings, and it matters how often each category is used, "
        f"from which chance is reckoned: Fleiss' kappa is {pooled:.3f} when all ratings count "
        f"alike in that and {by_item:.3f} when all items do. Harder items may have got more "
        "ratings.",
        {
            "fleiss_kappa": pooled,
            "fleiss_kappa_gwet": by_item,
            "fewest_ratings": least,
            "most_ratings": most,
        },
    )


def _few(n2: npt.NDArray[np.float64]) -> Finding | None:
    shared = int(n2)
    if not 0 < shared < FEW_ITEMS:
        return None
    return Finding(
        "few_items",
        f"Agreement rests on {shared} items: with fewer than {FEW_ITEMS} the value may be far off.",
        {"shared_items": shared},
    )


def _overlap(n: npt.NDArray[np.float64], n2: npt.NDArray[np.float64]) -> Finding | None:
    rated, shared = int(n), int(n2)
    if shared >= SMALL_SHARE * rated:
        return None
    return Finding(
        "little_overlap",
        f"Only {shared} of {rated} rated items have two or more ratings: "
        "everything about agreement rests on these.",
        {"rated_items": rated, "shared_items": shared},
    )


def confusions(counts: npt.ArrayLike, n_items: npt.ArrayLike) -> list[tuple[int, int, float]]:
    """Patterns (P, k) and n_items (P,) -> (category, other category, their share of all
    disagreement), the largest first, those that nobody confuses left out: what stands above the
    diagonal of the coincidence matrix (Krippendorff 2011, Computing alpha-reliability). None of two
    categories, which have one pair, and where there is too little disagreement to tell."""
    apart = _apart(np.asarray(counts, float), np.asarray(n_items, float))
    total = apart.sum()
    if len(apart) < 3 or total < FEW_ITEMS:
        return []
    order = np.argsort(-apart, axis=None, kind="stable")
    pairs = [divmod(int(place), apart.shape[1]) for place in order]
    return [(a, b, float(apart[a, b] / total)) for a, b in pairs if apart[a, b]]


def _apart(counts: npt.NDArray[np.float64], n_items: npt.NDArray[np.float64]) -> Any:
    """The coincidence matrix above its diagonal (k, k), in items times ratings."""
    sizes = counts.sum(axis=1)
    shared = sizes >= 2
    weighted = counts[shared] * (n_items[shared] / (sizes[shared] - 1))[:, None]
    return np.triu(weighted.T @ counts[shared], 1)


def _confused(counts: npt.NDArray[np.float64], n_items: npt.NDArray[np.float64]) -> Finding | None:
    found, k = confusions(counts, n_items), counts.shape[1]
    if not found:
        return None
    a, b, share = found[0]
    if share < max(CONFUSED_SHARE, CONFUSED_TIMES * 2 / (k * (k - 1))):
        return None
    return Finding(
        "confused_categories",
        f"{share:.0%} of all disagreement is between two categories: the guidelines should draw "
        "the line between them more clearly.",
        {"category_a": a, "category_b": b, "share": share},
    )


def _bias(pairs: PairTables) -> Finding | None:
    test = marginal_tests.stuart_maxwell(pairs.tables)
    tested = int(np.isfinite(test.p).sum())
    if tested == 0 or np.nanmin(test.p) * tested >= SIGNIFICANT:
        return None
    worst = int(np.nanargmin(test.p))
    table = pairs.tables[worst]
    difference = (table.sum(axis=1) - table.sum(axis=0)) / table.sum()
    category = int(np.argmax(np.abs(difference)))
    differing = int((test.p * tested < SIGNIFICANT).sum())
    a, b = int(pairs.rater_a[worst]), int(pairs.rater_b[worst])
    return Finding(
        "rater_bias",
        f"{differing} of {tested} pairs of raters use the categories unequally often. The clearest "
        f"pair differs by {abs(difference[category]):.0%} of its items in one category.",
        {
            "differing_pairs": differing,
            "tested_pairs": tested,
            "rater_a": a,
            "rater_b": b,
            "category": category,
            "difference": float(difference[category]),
            "p": float(test.p[worst]),
        },
    )


def _consistency(pairs: PairTables, values: npt.ArrayLike | None) -> Finding | None:
    k = pairs.tables.shape[-1]
    weights = quadratic(k) if values is None else scored(values)
    kappa = cohen.kappa(pairs.tables, weights, interval=False).value
    r = correlation.pearson(pairs.tables, values).value
    both = np.isfinite(kappa) & np.isfinite(r)
    items = pairs.tables.sum(axis=(1, 2))[both]
    if not both.any():
        return None
    mean_r, mean_kappa = (float(np.average(part[both], weights=items)) for part in (r, kappa))
    if mean_r < HIGH_AGREEMENT or mean_r - mean_kappa < CONSISTENCY_GAP:
        return None
    return Finding(
        "consistency_only",
        f"Raters put items in nearly the same order (mean correlation {mean_r:.2f}) but on "
        f"different levels (mean quadratic kappa {mean_kappa:.2f}): "
        "they are consistent without agreeing.",
        {"mean_pearson": mean_r, "mean_quadratic_kappa": mean_kappa, "pairs": int(both.sum())},
    )
