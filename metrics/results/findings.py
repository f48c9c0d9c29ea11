"""Findings on a question's disagreement: the diagnoses that apply, and the most disputed items.

They are stored as names and figures (models.Diagnosis); pages turn them into text in the reader's
language.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from metrics.agreement.counts.tally import PairTables
from metrics.agreement.explain import (
    confusions,
    diagnosis,
    headline_differences,
    outlying_raters,
)
from metrics.agreement.explain.diagnosis import DiagnosticFinding
from metrics.agreement.headline import COHEN, FLEISS
from metrics.agreement.registry import MEAN_BY_ITEMS
from metrics.agreement.weights import UNWEIGHTED, get_weighted_name
from metrics.models import Diagnosis, PeriodUnit, Result
from metrics.question_scale import QuestionScale
from metrics.results import disputed_items, pair_results
from metrics.results.disputed_items import StoredDisputes
from metrics.results.headline import trends
from metrics.results.intervals import get_cluster_numbers
from metrics.results.patterns import AllTimePatterns
from metrics.results.question_agreement import QuestionAgreement
from metrics.results.stored_values import Values, get_all_ratings_headline, get_number
from projects.models import Project, Question
from ratings.models import NO_CODE, Rating

Findings = list[Mapping[str, Any]]
Confusions = list[tuple[int, int, float]]  # two categories, their share of the disagreement

MAX_CONFUSIONS = 5  # pairs of categories

# Findings that pages show in sentences of their own.
OUTLYING_RATERS = "outlying_raters"
OTHER_RATERS = "other_raters"  # those that were tested, and are no outlying ones
RECENT_CHANGE = "recent_change"
WITHOUT_INSIGHT = (OUTLYING_RATERS, OTHER_RATERS, RECENT_CHANGE)


# Most important first: pages show the first three immediately.
ORDER = (
    "few_items",
    "definitions_apart",
    "rare_category",
    "single_ratings",
    "prevalence_paradox",
    "consistent_apart",
    "consistency_only",
    "fleiss_and_pairs",
    "weightings",
    "unequal_numbers",
    "little_overlap",
    "confused_categories",
    "rater_bias",
    OUTLYING_RATERS,
    OTHER_RATERS,
    RECENT_CHANGE,
)
# Ratings of the newest items from which outlying raters are found.
MAX_RATINGS_READ = 100_000


@dataclass(frozen=True)
class QuestionDiagnosis:
    """Findings on a question's disagreement, among all its ratings or those of a filter.

    The fields are those of models.Diagnosis.
    """

    findings: Findings
    confusions: Confusions
    disputes: StoredDisputes

    @property
    def outlying_rater_ids(self) -> list[int]:
        """The ids of outlying raters, those with the greatest impact first."""
        return list(get_outlying_raters(self.findings))

    @property
    def is_band_withheld(self) -> bool:
        """True if the findings forbid naming a band for the value."""
        return is_band_withheld(self.findings)


@dataclass(frozen=True)
class DisplayedRatings:
    """The ratings that findings are based on: without models, where these are separate.

    ``counts`` (P, k), ``n_items`` (P,): their patterns; ``tables``: those of the pairs of the heat
    map; ``ratings`` (M,): item, rater and code (index in declared order) of the newest items;
    ``clusters`` (M,): the number of the cluster of each rating's item, None without clusters.
    """

    counts: np.ndarray
    n_items: np.ndarray
    tables: PairTables
    ratings: np.ndarray
    clusters: np.ndarray | None = None


def load_diagnosis(question: Question) -> QuestionDiagnosis:
    """Return the stored diagnosis; an empty one if none is stored for the current scale."""
    row = Diagnosis.objects.select_related("question__count_state").filter(question=question)
    stored = row.first()
    if stored is None or stored.question.count_state.scale_version != stored.question.scale_version:
        return QuestionDiagnosis([], [], {})
    return QuestionDiagnosis(stored.findings, stored.confusions, stored.disputes)


def compute_question_diagnosis(all_time: AllTimePatterns, means: Values) -> QuestionDiagnosis:
    """Compute the findings, confusions and disputed items of all ratings of a question.

    They depend on the counts, the results and the counted ratings. ``means``: the mean pairwise
    kappas by shared items (results.pair_results).
    """
    return QuestionDiagnosis(
        find_question_findings(all_time, means),
        find_confusions(all_time.displayed_counts, all_time.n_items),
        disputed_items.find_newest_disputed(all_time),
    )


def find_question_findings(all_time: AllTimePatterns, means: Values) -> Findings:
    """Return the findings on all ratings of a question.

    Where models are separate, they are on the ratings of people, unless the lead pooled them.
    Findings on raters are based on the pairs of the heat map.
    """
    if not len(all_time.n_items):
        return []
    raters = list(
        pair_results.filter_most_active_results(all_time.question_id).values_list(
            "rater_id", flat=True
        )
    )
    if all_time.is_people_only:
        raters = [rater for rater in raters if rater not in all_time.model_raters]
    ratings = _read_newest_ratings(all_time)
    clusters = None
    if all_time.clusters is not None:
        project = Project.objects.get(questions=all_time.question_id)
        clusters = get_cluster_numbers(ratings["item"], project)
    displayed = DisplayedRatings(
        all_time.displayed_counts,
        all_time.n_items,
        pair_results.load_tables_among(all_time.question_id, raters, all_time.scale),
        ratings,
        clusters,
    )
    result = Result.objects.filter(
        question_id=all_time.question_id, period_unit=PeriodUnit.ALL
    ).first()
    if result is None:
        return diagnose_patterns(displayed, all_time.scale)
    agreement = QuestionAgreement(result.coefficients, result.headline, result.details, means)
    return sort_and_filter_findings(
        [
            *list_findings(agreement, displayed, all_time.scale),
            *trends.find_recent_change(all_time),
        ]
    )


def list_findings(
    agreement: QuestionAgreement, displayed: DisplayedRatings, scale: QuestionScale
) -> Findings:
    """Return the findings on an agreement and on the displayed ratings, unsorted."""
    return [
        *diagnose_patterns(displayed, scale),
        *find_coefficient_differences(agreement, scale),
        *diagnose_outlying_raters(displayed, scale, agreement.headline.get("weights", UNWEIGHTED)),
    ]


def _read_newest_ratings(all_time: AllTimePatterns) -> np.ndarray:
    """Return item, rater and code (index in declared order) of ratings of the newest items.

    They are the counted ratings, without models if only people's results are displayed.
    """
    rows = Rating.objects.filter(question_id=all_time.question_id).order_by("-item_id")
    columns = rows.values_list("item_id", "rater_id", "counted")[: MAX_RATINGS_READ + 1]
    dtype = [("item", np.int64), ("rater", np.int64), ("code", np.int64)]
    ratings = np.fromiter(columns.iterator(chunk_size=10_000), dtype)
    if len(ratings) > MAX_RATINGS_READ:  # the last item may be incomplete
        ratings = ratings[ratings["item"] != ratings["item"][-1]]
    ratings = ratings[ratings["code"] > NO_CODE]
    ratings["code"] = all_time.scale.get_code_indices(ratings["code"])
    ratings = ratings[ratings["code"] >= 0]
    if all_time.is_people_only:
        ratings = ratings[~np.isin(ratings["rater"], all_time.model_raters)]
    return ratings


def diagnose_outlying_raters(
    displayed: DisplayedRatings, scale: QuestionScale, headline_weights: str
) -> Findings:
    """Return the findings with the outlying raters and with the other tested raters, if any.

    An outlying rater agrees less with the others than the others do with each other, on the same
    items. ``headline_weights``: the weighting of the headline's kappa.
    """
    ratings = displayed.ratings
    tests = outlying_raters.compare_raters(
        ratings["item"],
        ratings["rater"],
        ratings["code"],
        scale.k,
        weights=scale.build_weight_matrices().get(headline_weights),
        clusters=displayed.clusters,
    )
    findings: Findings = []
    for name, is_below in ((OUTLYING_RATERS, True), (OTHER_RATERS, False)):
        rows = [
            [test.rater, test.difference, test.n_items, test.low, test.high]
            for test in tests
            if test.is_below == is_below
        ]
        if rows:
            findings.append({"name": name, "figures": {"raters": rows}})
    return findings


def is_band_withheld(findings: Findings) -> bool:
    """Return True if stored findings forbid naming a band for the value."""
    return any(finding["name"] in diagnosis.FINDINGS_WITHOUT_BAND for finding in findings)


class RaterDifference(NamedTuple):
    """Mean difference in kappa of a tested rater, the number of items, and the 95% interval.

    Results of older releases have no interval.
    """

    value: float
    n_items: int
    low: float | None = None
    high: float | None = None


TestedRaters = dict[int, RaterDifference]  # by rater id


def get_outlying_raters(findings: Findings) -> TestedRaters:
    """Return the outlying raters in stored findings, those with the greatest impact first."""
    return _get_tested_raters(findings, OUTLYING_RATERS)


def get_other_raters(findings: Findings) -> TestedRaters:
    """Return the raters in stored findings that were tested and are no outlying ones."""
    return _get_tested_raters(findings, OTHER_RATERS)


def _get_tested_raters(findings: Findings, name: str) -> TestedRaters:
    return {
        rater: RaterDifference(*figures)
        for finding in findings
        if finding["name"] == name
        for rater, *figures in finding["figures"]["raters"]
    }


def find_confusions(counts: np.ndarray, n_items: np.ndarray) -> Confusions:
    """Return the categories that are confused most: (a, b, share of the disagreement), sorted.

    ``counts`` (P, k) and ``n_items`` (P,): the patterns. At most MAX_CONFUSIONS, the largest share
    first.
    """
    return confusions.list_confusions(counts, n_items)[:MAX_CONFUSIONS] if len(n_items) else []


def diagnose_patterns(displayed: DisplayedRatings, scale: QuestionScale) -> Findings:
    """Return the findings on the patterns and the tables of pairs that apply, as stored."""
    results = diagnosis.diagnose(
        displayed.counts,
        displayed.n_items,
        pairs=displayed.tables if len(displayed.tables) else None,
        ordered=scale.type.ordered,
        values=scale.values,
    )
    return [{"name": finding.name, "figures": finding.figures} for finding in results]


def _compare_weightings(name: str, agreement: QuestionAgreement) -> DiagnosticFinding | None:
    if name.startswith(FLEISS):
        return headline_differences.compare_weightings(agreement.population_coefficients)
    if name.startswith(COHEN):  # of two raters, whose kappa is the mean of one pair
        return headline_differences.compare_weightings(
            agreement.pairwise_means, base=MEAN_BY_ITEMS, coefficient=COHEN
        )
    return None


def find_coefficient_differences(agreement: QuestionAgreement, scale: QuestionScale) -> Findings:
    """Return the findings on coefficients that differ from the headline, with the reason.

    Weightings are compared only on ordered scales of three categories or more: without an order,
    weights would depend on the order of declaration, and with two categories they change nothing.
    """
    headline = get_all_ratings_headline(agreement.headline)
    coefficients, means = agreement.population_coefficients, agreement.pairwise_means
    if not headline:
        return []
    findings: list[DiagnosticFinding | None] = []
    if scale.type.ordered and scale.k >= 3:
        findings.append(_compare_weightings(headline["name"], agreement))
    if headline["why"] != "two_raters":  # two raters have a single kappa, equal to its mean
        fleiss_value = coefficients.get(get_weighted_name("fleiss_kappa", headline["weights"]))
        pairwise_mean = get_number(means, get_weighted_name(MEAN_BY_ITEMS, headline["weights"]))
        if fleiss_value and fleiss_value["se"] is not None:  # not of a single item
            findings.append(
                headline_differences.compare_with_pair_mean(fleiss_value["value"], pairwise_mean)
            )
    if headline["values"]:
        absolute, consistency = (headline["values"][name] for name in ("icc2", "icc3"))
        n_items, n_ratings = absolute["n_items"] or 0, absolute["n_ratings"] or 0
        findings.append(
            headline_differences.compare_consistency(
                absolute["value"],
                consistency["value"],
                headline["spread_of_means"],
                n_items=n_items,
                n_raters=n_ratings // max(n_items, 1),
            )
        )
    return [
        {"name": finding.name, "figures": finding.figures}
        for finding in findings
        if finding is not None
    ]


def sort_and_filter_findings(findings: Findings) -> Findings:
    """Return the findings, most important first.

    "consistency_only" is left out where "consistent_apart" applies too.
    """
    names = {finding["name"] for finding in findings}
    if "consistent_apart" in names:
        findings = [finding for finding in findings if finding["name"] != "consistency_only"]
    return sorted(findings, key=lambda finding: ORDER.index(finding["name"]))
