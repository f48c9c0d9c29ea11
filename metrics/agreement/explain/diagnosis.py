"""Diagnoses: reasons why statistics of the same ratings differ, as sentences with figures.

    prevalence_paradox    high observed agreement, low kappa: one category takes most ratings, so
                          much agreement is expected by chance (Feinstein & Cicchetti 1990, J. Clin.
                          Epidemiol. 43, 543-549)
    rater_bias            raters use the categories unequally often (Stuart-Maxwell, Bonferroni over
                          pairs)
    single_ratings        items with one rating count for chance, not for agreement: Fleiss' kappa
                          with and without them differs by > 0.05
    unequal_numbers       items have unequal numbers of two or more ratings and the two definitions
                          of Fleiss' kappa differ by > 0.01
    few_items             fewer than 30 items have two or more ratings
    little_overlap        less than half of the rated items have two or more ratings
    definitions_apart     Fleiss' kappa with chance by rating, with chance by item, and alpha differ
                          by > 0.05: the value depends on the definition
    rare_category         fewer than 10 items have an answer besides the most frequent one
    confused_categories   many comparisons that differ are between two of three or more categories,
                          and clearly more than their frequencies give (confusions.py; the idea of
                          Roberts & McNamee 1998, Statistics in Medicine 17, 471-488)
    consistency_only      raters order items alike but on other levels or with other spreads: high
                          correlation, low agreement

The thresholds are conventions, named here, and reported with the figures.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from metrics.agreement.coefficients import cohen, correlation, marginal_tests
from metrics.agreement.counts.pattern_sums import PatternSums, build_pattern_sums
from metrics.agreement.counts.tally import PairTables
from metrics.agreement.estimate import to_finite_float
from metrics.agreement.scale_coefficients import pattern_coefficients
from metrics.agreement.weights import quadratic_weights, score_weights

from .confusions import find_confused_pair

HIGH_AGREEMENT = 0.8
PARADOX_GAP = 0.2  # AC1 less kappa
UNEQUAL_GAP = 0.01  # between the two definitions of Fleiss' kappa
SINGLES_GAP = 0.05  # between Fleiss' kappa with and without items with one rating
MIN_ITEMS = 30
MIN_OVERLAP_SHARE = 0.5  # of the rated items
# Definitions of one quantity that differ in the chance agreement.
DEFINITIONS = ("fleiss_kappa", "fleiss_kappa_gwet", "krippendorff_alpha_nominal")
DEFINITIONS_GAP = 0.05  # between definitions, from which none of them is the value
MIN_RARE_ITEMS = 10  # with an answer besides the most frequent one
# Findings that forbid a word for the value: it is based on too little, or on a choice.
FINDINGS_WITHOUT_BAND = ("definitions_apart", "rare_category")
SIGNIFICANCE_LEVEL = (
    0.01  # after Bonferroni: many questions are tested, few findings should be false
)
CONSISTENCY_GAP = 0.2  # Pearson less quadratic kappa


@dataclass(frozen=True)
class DiagnosticFinding:
    """A diagnosis that applies: its name, a sentence in English, and the figures in it."""

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
) -> list[DiagnosticFinding]:
    """Return the diagnoses that apply to patterns (P, k) with numbers of items (P,).

    pairs: pair tables, None where raters are unknown; ordered: whether the categories have an
    order; values (k,): numbers of the categories, ranks when None.
    """
    names = ("percent_agreement", "gwet_ac1", *DEFINITIONS)
    estimates = pattern_coefficients(counts, n_items, scale="nominal", names=names, interval=False)
    value = {name: to_finite_float(estimate.value) for name, estimate in estimates.items()}
    sums = build_pattern_sums(counts, n_items)
    findings = [
        _diagnose_prevalence(value, sums),
        _diagnose_single_ratings(value["fleiss_kappa"], counts, n_items),
        _diagnose_unequal_numbers(counts, n_items),
        _diagnose_few_items(sums.n2),
        _diagnose_overlap(sums.n, sums.n2),
    ]
    if sums.n2 > 1:  # of one item nothing more can be said
        findings += [
            _diagnose_definitions(value),
            _diagnose_rare_category(np.asarray(counts, float), np.asarray(n_items, float)),
        ]
    findings.append(_diagnose_confusion(np.asarray(counts, float), np.asarray(n_items, float)))
    if pairs is not None and len(pairs):
        findings.append(_diagnose_rater_bias(pairs))
        if ordered:
            findings.append(_diagnose_consistency(pairs, values))
    return _drop_repeated_finding([finding for finding in findings if finding is not None])


def _drop_repeated_finding(findings: list[DiagnosticFinding]) -> list[DiagnosticFinding]:
    """Drop "unequal_numbers", which repeats a part of "definitions_apart", if both are found."""
    names = {finding.name for finding in findings}
    if "definitions_apart" not in names:
        return findings
    return [finding for finding in findings if finding.name != "unequal_numbers"]


def is_band_withheld(counts: npt.ArrayLike, n_items: npt.ArrayLike) -> bool:
    """Return whether a finding forbids naming a band for patterns (P, k), n_items (P,) of each."""
    return any(finding.name in FINDINGS_WITHOUT_BAND for finding in diagnose(counts, n_items))


def _diagnose_prevalence(
    value: dict[str, float | None], sums: PatternSums
) -> DiagnosticFinding | None:
    kappa, ac1 = value["fleiss_kappa"], value["gwet_ac1"]
    if value["percent_agreement"] is None or kappa is None or ac1 is None:
        return None
    observed, comparisons = _compute_agreeing_share(sums)
    agreement = min(observed, value["percent_agreement"])  # of comparisons, and of items
    if agreement < HIGH_AGREEMENT or ac1 - kappa < PARADOX_GAP:
        return None
    category = int(np.argmax(sums.totals))
    share = float(sums.totals[category] / sums.totals.sum())
    return DiagnosticFinding(
        "prevalence_paradox",
        f"Raters agree in {observed:.0%} of comparisons, but {share:.0%} of all ratings are in one "
        "category, so much of that agreement is expected by chance: "
        f"kappa is {kappa:.2f}, AC1 is {ac1:.2f}.",
        {
            "percent_agreement": observed,
            "fleiss_kappa": kappa,
            "gwet_ac1": ac1,
            "category": category,
            "share": share,
            "comparisons": comparisons,
        },
    )


def _compute_agreeing_share(sums: PatternSums) -> tuple[float, int]:
    """Return the share of agreeing pairs among the pairs of ratings of an item, and their number.

    Percent agreement differs from this share where items have unequal numbers of ratings, because
    it counts items equally.
    """
    counts = np.asarray(sums.counts, float)
    comparisons = float((sums.n_items @ (sums.sizes * (sums.sizes - 1))).item()) / 2
    agreeing = float((sums.n_items @ (counts * (counts - 1)).sum(axis=1)).item()) / 2
    return agreeing / comparisons, round(comparisons)


def _diagnose_definitions(value: dict[str, float | None]) -> DiagnosticFinding | None:
    values = {name: value[name] for name in DEFINITIONS}
    defined = [number for number in values.values() if number is not None]
    if len(defined) < len(DEFINITIONS) or max(defined) - min(defined) <= DEFINITIONS_GAP:
        return None
    by_rating, by_item, alpha = defined
    return DiagnosticFinding(
        "definitions_apart",
        f"The value depends on the definition: unweighted, Fleiss' kappa is {by_rating:.2f} with "
        f"chance by rating and {by_item:.2f} with chance by item, alpha is {alpha:.2f}.",
        values,
    )


def _diagnose_rare_category(
    counts: npt.NDArray[np.float64], n_items: npt.NDArray[np.float64]
) -> DiagnosticFinding | None:
    compared = n_items * (counts.sum(axis=1) >= 2)
    totals = compared @ counts
    if not compared.sum():
        return None
    frequent = int(np.argmax(totals))
    n_rare = int(compared[counts[:, frequent] < counts.sum(axis=1)].sum())
    if not 0 < n_rare < MIN_RARE_ITEMS:
        return None
    return DiagnosticFinding(
        "rare_category",
        f"Only {n_rare} of {int(compared.sum())} items have an answer besides the most frequent "
        "one: too few to show how well raters agree on these.",
        {"category": frequent, "rare_items": n_rare, "shared_items": int(compared.sum())},
    )


def _diagnose_single_ratings(
    pooled: float | None, counts: npt.ArrayLike, n_items: npt.ArrayLike
) -> DiagnosticFinding | None:
    n_items = np.asarray(n_items)
    sizes = np.asarray(counts).sum(axis=1)
    singles = int(n_items[sizes == 1].sum())
    without_singles = _compute_fleiss_kappas(counts, np.where(sizes >= 2, n_items, 0))[
        "fleiss_kappa"
    ]
    if (
        not singles
        or pooled is None
        or without_singles is None
        or abs(pooled - without_singles) <= SINGLES_GAP
    ):
        return None
    return DiagnosticFinding(
        "single_ratings",
        f"{singles} items have a single rating, which counts for chance but not for agreement: "
        f"Fleiss' kappa is {pooled:.2f} with them and {without_singles:.2f} without.",
        {"single_items": singles, "fleiss_kappa": pooled, "fleiss_kappa_paired": without_singles},
    )


def _compute_fleiss_kappas(
    counts: npt.ArrayLike, n_items: npt.ArrayLike
) -> dict[str, float | None]:
    """Return name -> Fleiss' kappa by each of the two definitions, None if undefined."""
    names = ("fleiss_kappa", "fleiss_kappa_gwet")
    estimates = pattern_coefficients(counts, n_items, scale="nominal", names=names, interval=False)
    return {name: to_finite_float(estimate.value) for name, estimate in estimates.items()}


def _diagnose_unequal_numbers(
    counts: npt.ArrayLike, n_items: npt.ArrayLike
) -> DiagnosticFinding | None:
    """Return the finding that the two definitions of Fleiss' kappa differ, or None.

    They are compared on items with two or more ratings. The effect of items with one rating is a
    diagnosis of its own.
    """
    all_sizes = np.asarray(counts).sum(axis=1)
    pairable_items = np.where(all_sizes >= 2, np.asarray(n_items), 0)
    value = _compute_fleiss_kappas(counts, pairable_items)
    pooled, by_item = value["fleiss_kappa"], value["fleiss_kappa_gwet"]
    if pooled is None or by_item is None or abs(pooled - by_item) <= UNEQUAL_GAP:
        return None
    sizes = all_sizes[pairable_items > 0]
    fewest, most = int(sizes.min()), int(sizes.max())
    if fewest == most:
        return None
    return DiagnosticFinding(
        "unequal_numbers",
        f"Items have {fewest} to {most} ratings, so the definition of chance matters: Fleiss' "
        f"kappa is {pooled:.3f} if all ratings count equally and {by_item:.3f} if all items do.",
        {
            "fleiss_kappa": pooled,
            "fleiss_kappa_gwet": by_item,
            "fewest_ratings": fewest,
            "most_ratings": most,
        },
    )


def _diagnose_few_items(n2: npt.NDArray[np.float64]) -> DiagnosticFinding | None:
    shared = int(n2)
    if not 0 < shared < MIN_ITEMS:
        return None
    return DiagnosticFinding(
        "few_items",
        f"Agreement is based on {shared} items; with fewer than {MIN_ITEMS} it may be far off.",
        {"shared_items": shared},
    )


def _diagnose_overlap(
    n: npt.NDArray[np.float64], n2: npt.NDArray[np.float64]
) -> DiagnosticFinding | None:
    rated, shared = int(n), int(n2)
    if shared >= MIN_OVERLAP_SHARE * rated:
        return None
    return DiagnosticFinding(
        "little_overlap",
        f"Only {shared} of {rated} rated items have two or more ratings: "
        "everything about agreement is based on these.",
        {"rated_items": rated, "shared_items": shared},
    )


def _diagnose_confusion(
    counts: npt.NDArray[np.float64], n_items: npt.NDArray[np.float64]
) -> DiagnosticFinding | None:
    pair = find_confused_pair(counts, n_items, SIGNIFICANCE_LEVEL)
    if pair is None:
        return None
    return DiagnosticFinding(
        "confused_categories",
        f"{pair.share:.0%} of the comparisons that differ are between two categories, where their "
        f"frequencies alone would give {pair.expected_share:.0%}. Check whether the guidelines "
        "distinguish them clearly.",
        {
            "category_a": pair.a,
            "category_b": pair.b,
            "share": pair.share,
            "expected_share": pair.expected_share,
            "differing_pairs": pair.n_comparisons,
        },
    )


def _diagnose_rater_bias(pairs: PairTables) -> DiagnosticFinding | None:
    test = marginal_tests.stuart_maxwell(pairs.tables)
    tested = int(np.isfinite(test.p).sum())
    if tested == 0 or np.nanmin(test.p) * tested >= SIGNIFICANCE_LEVEL:
        return None
    worst = int(np.nanargmin(test.p))
    table = pairs.tables[worst]
    difference = (table.sum(axis=1) - table.sum(axis=0)) / table.sum()
    category = int(np.argmax(np.abs(difference)))
    differing = int((test.p * tested < SIGNIFICANCE_LEVEL).sum())
    a, b = int(pairs.rater_a[worst]), int(pairs.rater_b[worst])
    return DiagnosticFinding(
        "rater_bias",
        f"{differing} of {tested} pairs of raters differ in how often they use the categories. "
        f"The clearest pair differs by {abs(difference[category]):.0%} of its {int(table.sum())} "
        "items in one category.",
        {
            "differing_pairs": differing,
            "tested_pairs": tested,
            "rater_a": a,
            "rater_b": b,
            "category": category,
            "difference": float(difference[category]),
            "shared_items": int(table.sum()),
            "p": float(test.p[worst]),
        },
    )


def _diagnose_consistency(
    pairs: PairTables, values: npt.ArrayLike | None
) -> DiagnosticFinding | None:
    k = pairs.tables.shape[-1]
    weights = quadratic_weights(k) if values is None else score_weights(values)
    kappa = cohen.kappa(pairs.tables, weights, interval=False).value
    r = correlation.pearson(pairs.tables, values).value
    n_items = pairs.tables.sum(axis=(1, 2))
    # Of a few items, the order is the same by chance.
    is_defined = np.isfinite(kappa) & np.isfinite(r) & (n_items >= MIN_ITEMS)
    items = n_items[is_defined]
    if not is_defined.any():
        return None
    mean_r, mean_kappa = (
        float(np.average(values_of_pairs[is_defined], weights=items))
        for values_of_pairs in (r, kappa)
    )
    if mean_r < HIGH_AGREEMENT or mean_r - mean_kappa < CONSISTENCY_GAP:
        return None
    return DiagnosticFinding(
        "consistency_only",
        f"Raters put items in nearly the same order (mean correlation {mean_r:.2f}), but on "
        f"different levels or with different spreads (mean quadratic kappa {mean_kappa:.2f}). They "
        "are consistent but do not agree.",
        {
            "mean_pearson": mean_r,
            "mean_quadratic_kappa": mean_kappa,
            "pairs": int(is_defined.sum()),
        },
    )
