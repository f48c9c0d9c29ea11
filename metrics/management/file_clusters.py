"""Intervals of clusters of items for `manage.py agreement --cluster COLUMN`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from metrics.agreement.all_statistics import ReportDict
from metrics.agreement.counts.clusters import MIN_CLUSTERS
from metrics.agreement.explain.missing_ratings import MissingDataPolicy
from metrics.agreement.headline import COHEN, get_unweighted_name
from metrics.management.file_headline import ROW
from metrics.management.file_statistics import PairStatistics
from metrics.management.rating_file import RatingFile
from metrics.question_scale import QuestionScale, get_weighted_name
from metrics.results.clusters import ClusterDescription, QuestionClusters

GROUPS = ("headline", "people", "models", "people_models")


def compute_cluster_effects(
    ratings: RatingFile, scale: QuestionScale, column: str, *, models: Sequence[str]
) -> QuestionClusters:
    """Compute the design effects of a file, of the people where models rated, too."""
    rows = np.empty(len(ratings.item), ROW)
    rows["item"], rows["rater"], rows["code"] = ratings.item, ratings.rater, ratings.code
    is_model = np.isin(rows["rater"], [ratings.raters.index(model) for model in models])
    displayed = ~is_model if is_model.any() and not is_model.all() else np.ones(len(rows), bool)
    numbers = ratings.get_cluster_numbers()
    return QuestionClusters.compute(rows[displayed], numbers[displayed], scale, column)


def widen_report(report: ReportDict, clusters: QuestionClusters) -> ReportDict:
    """Return the report with the intervals shown (NAME.low, NAME.high) widened for clusters.

    The published intervals (NAME.ci_low, NAME.ci_high) stay as other programs print them. Those of
    intraclass correlations, which have no others, are widened.
    """
    widened = dict(report)
    for name, value in report.items():
        for ends in (("low", "high"), ("ci_low", "ci_high")):
            low, high = (report.get(f"{name}.{end}") for end in ends)
            if low is None or high is None or (ends[0] == "ci_low" and f"{name}.low" in report):
                continue
            estimate = {"value": value, "low": low, "high": high}
            estimate |= {"n_items": report["n_pairable_items"]}
            wide = clusters.widen_interval(name, estimate)
            widened |= {f"{name}.{ends[0]}": wide["low"], f"{name}.{ends[1]}": wide["high"]}
    return widened


def widen_headline(file_headline: ReportDict, clusters: QuestionClusters) -> ReportDict:
    """Return the headline and the values of people and models, widened for clusters."""
    name = file_headline["headline"]["name"]
    widened = {key: clusters.widen_interval(name, file_headline[key]) for key in GROUPS}
    unweighted = file_headline["headline"]["unweighted"]
    widened["headline"]["unweighted"] = clusters.widen_interval(
        get_unweighted_name(name), unweighted
    )
    return file_headline | widened


def widen_rules(
    rules: list[MissingDataPolicy], clusters: QuestionClusters
) -> list[MissingDataPolicy]:
    """Return the rules about missing ratings with the intervals of clusters."""
    return [
        replace(rule, estimate=clusters.widen_interval(rule.coefficient, rule.estimate))
        for rule in rules
    ]


def widen_pair(pair: PairStatistics, clusters: QuestionClusters) -> PairStatistics:
    """Return the statistics of two raters with the intervals of clusters."""
    kappas = {
        weighting: clusters.widen_interval(get_weighted_name(COHEN, weighting), value)
        for weighting, value in pair["kappas"].items()
    }
    categories = {
        label: clusters.widen_interval(COHEN, value) for label, value in pair["categories"].items()
    }
    coefficients = clusters.widen_all(pair["coefficients"])
    return {
        **pair, "kappas": kappas, "coefficients": coefficients, "categories": categories,
    }  # fmt: skip


def format_cluster(cluster: ClusterDescription) -> list[str]:
    """Return the lines of text on the clusters."""
    lines = [
        "",
        f"intervals take into account that items with the same {cluster['attribute']} are alike: "
        f"{cluster['n_items']} items in {cluster['n_clusters']} clusters (design effect "
        f"{cluster['design_effect']:.1f})",
    ]
    if not cluster["reliable"]:
        lines.append(
            f"with fewer than {MIN_CLUSTERS} clusters no interval can be relied on: it may be too "
            "narrow"
        )
    return lines
