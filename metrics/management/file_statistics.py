"""Statistics of a file for `manage.py agreement`: headline, missing ratings, pairs, and scores.

The headline follows the rules of the pages. `--cluster COLUMN` widens intervals for clusters.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from metrics.agreement.all_statistics import ReportDict
from metrics.agreement.counts import tally
from metrics.agreement.counts.wider_intervals import MIN_CLUSTERS
from metrics.agreement.explain.headline_differences import MissingDataPolicy
from metrics.agreement.headline import COHEN, get_unweighted_name
from metrics.agreement.weights import CUSTOM
from metrics.management.rating_file import RatingFile, RatingFileError
from metrics.question_scale import QuestionScale, get_weighted_name
from metrics.results import other_weights
from metrics.results.headline.headline_computation import (
    MODELS,
    PEOPLE,
    build_headline_from_ratings,
)
from metrics.results.intervals import ClusterDescription, QuestionClusters
from metrics.results.pair_results import PairDetails
from metrics.results.stored_values import Values, build_undefined_value

MAX_LISTED_CATEGORIES = 50


class PairStatistics(TypedDict):
    """All statistics of two raters: keys, table (the first in rows), values by name, and tests."""

    raters: list[str]
    table: list[list[int]]
    kappas: Values  # by weighting
    coefficients: Values
    categories: Values
    tests: list[Mapping[str, Any]]


def compute_pair_statistics(ratings: RatingFile, text: str, scale: QuestionScale) -> PairStatistics:
    """Return all statistics of the two raters that `text` names, separated by a comma.

    Raises ValueError unless it names two different raters of the file.
    """
    names = [part.strip() for part in text.split(",")]
    unknown = [name for name in names if name not in ratings.raters]
    if unknown or len(set(names)) != 2 or len(names) != 2:
        available = ", ".join(ratings.raters[:10])
        raise ValueError(
            f"--pair: two different raters of the file are needed; there is {available}"
        )
    index_a, index_b = (ratings.raters.index(name) for name in names)
    of_pair = (ratings.rater == index_a) | (ratings.rater == index_b)
    pair_tables = tally.count_pair_tables(
        ratings.item[of_pair],
        (ratings.rater[of_pair] == index_b).astype(int),
        ratings.code[of_pair],
        scale.k,
    )
    table = pair_tables.tables.sum(axis=0)
    details = PairDetails.from_table(table, scale)
    return {
        "raters": names,
        "table": table.tolist(),
        "kappas": details.kappas,
        "coefficients": details.other_coefficients,
        "categories": dict(details.categories),
        "tests": [vars(test) for test in details.tests],
    }


def compute_file_score_agreement(
    ratings: RatingFile, score_source: str
) -> other_weights.ScoredAgreement:
    """Return the agreement on scores: the categories' values, or scores of items from a file.

    The columns of the file are item and score. Raises RatingFileError if it cannot be read.
    """
    n_categories = len(ratings.categories)
    scores: np.ndarray | None = np.array(ratings.values, float)
    reason = None
    if score_source != other_weights.CATEGORY_VALUES:
        item_scores = np.array(_read_gold_scores(Path(score_source), ratings.items), float)
        scores, reason = other_weights.compute_category_scores(
            ratings.code, item_scores[ratings.item], n_categories
        )
    if scores is None:
        return other_weights.build_undefined_scores(reason or "no_scores")
    return other_weights.compute_score_agreement(ratings.item, ratings.rater, ratings.code, scores)


def _read_gold_scores(path: Path, items: list[str]) -> list[float]:
    """Return the score of each item, NaN for an item that is not in the file.

    Raises RatingFileError for a file without the columns, and for a score that is no number.
    """
    score_by_item: dict[str, float] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            if not {"item", "score"} <= set(reader.fieldnames or ()):
                raise RatingFileError(f"{path}: line 1: the columns item and score are needed.")
            for row in reader:
                score = float(row["score"] or "nan")
                if not np.isfinite(score):
                    raise RatingFileError(
                        f"{path}: line {reader.line_num}: {row['score']!r} is no number."
                    )
                score_by_item[row["item"].strip()] = score
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise RatingFileError(f"{path}: {error}") from None
    except ValueError:
        raise RatingFileError(f"{path}: line {reader.line_num}: the score is no number.") from None
    return [score_by_item.get(item, float("nan")) for item in items]


def format_score_agreement(
    scored: other_weights.ScoredAgreement, categories: list[str]
) -> list[str]:
    """Return the lines of text on agreement on scores."""
    if scored["reason"]:
        return ["", f"agreement on scores: undefined: {scored['reason']}"]
    category_scores = zip(categories, scored["scores"], strict=True)
    lines = [
        "",
        "agreement on scores "
        + ", ".join(f"{name} {score:.3g}" for name, score in category_scores),
    ]
    for name, value in scored["coefficients"].items():
        lines.append(f"  {name:<32} {format_value_with_interval(value)}")
    return lines


def format_missing_data_policies(rules: list[MissingDataPolicy]) -> list[str]:
    """Return the lines of text on the policies; [] if they leave nothing out."""
    if not any(rule.left_out_items or rule.single_items for rule in rules):
        return []
    lines = ["", "rules about missing ratings"]
    for rule in rules:
        excluded = f"{rule.left_out_items} items and {rule.left_out_ratings} ratings left out"
        name = f"{rule.name} ({rule.coefficient})"
        lines.append(f"  {name:<44} {format_value_with_interval(rule.estimate)}; {excluded}")
    return lines


def format_pair_statistics(pair: PairStatistics) -> list[str]:
    """Return the lines of text on two raters: table, kappas with chance agreement, and others."""
    lines = ["", f"{pair['raters'][0]} (rows) and {pair['raters'][1]}"]
    lines += ["  " + " ".join(f"{cell:>6}" for cell in row) for row in pair["table"]]
    for weights, value in pair["kappas"].items():
        text = format_value_with_interval(value)
        if value["value"] is not None:
            text += f"; P_o {value['observed']:.3f}, P_e {value['expected']:.3f}"
        lines.append(f"  {'cohen_kappa, ' + weights:<32} {text}")
    for name, value in pair["coefficients"].items():
        lines.append(f"  {name:<32} {format_value_with_interval(value)}")
    for label, value in pair["categories"].items():
        lines.append(f"  {'kappa of ' + label:<32} {format_value_with_interval(value)}")
    for test in pair["tests"]:
        if test["reason"]:
            lines.append(f"  {test['name']:<32} undefined: {test['reason']}")
            continue
        chi2 = "" if test["chi2"] is None else f"{test['chi2']:.3f}, df {test['df'] or 1}, "
        lines.append(f"  {test['name']:<32} {chi2}{format_p_value(test['p'])}")
    return lines


def format_value_with_interval(estimate: Any) -> str:
    """Return the text of a Value with its interval, or the reason why it is undefined."""
    if estimate["value"] is None:
        return f"undefined: {estimate['reason']}"
    value = format_number(estimate["value"])
    if estimate["low"] is None or estimate["high"] is None:
        return value
    return f"{value} [{format_number(estimate['low'])}, {format_number(estimate['high'])}]"


def format_number(value: float) -> str:
    """Return the text of a number with three decimals; 0 has no sign."""
    return f"{round(value, 3) + 0.0:.3f}"


def format_p_value(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def format_categories(categories: list[str]) -> str:
    """Return the categories, or the first and the last one of many."""
    if len(categories) <= MAX_LISTED_CATEGORIES:
        return ", ".join(categories)
    return f"{len(categories)}, from {categories[0]} to {categories[-1]}"


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is 1."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def format_test(test: str, report: ReportDict) -> str:
    """Return degrees of freedom and p of a test."""
    p = report[f"{test}.p"]
    return f"df {report.get(f'{test}.df', 1):.0f}, {format_p_value(p)}"


# Reasons for the choice of the headline (metrics.agreement.headline), as text.
REASON_TEXTS = {
    "two_raters": "two raters",
    "nominal": "categories without an order",
    "ordinal": "categories in an order",
    "complete": "numbers, and everybody rated every item",
    "incomplete": "numbers, and not everybody rated every item",
}
ROW = np.dtype([("item", "i8"), ("rater", "i8"), ("code", "i8")])


def build_scale(ratings: RatingFile, *, scale: str, weights: str, matrix: Any) -> QuestionScale:
    """Return the scale that a question with these settings would have.

    Raises ValueError for custom weights without a matrix.
    """
    if weights == CUSTOM and matrix is None:
        raise ValueError("--weights custom needs --matrix")
    n_categories = len(ratings.categories)
    return QuestionScale(
        kind=scale,
        codes=np.arange(n_categories),
        width=n_categories,
        labels=ratings.categories,
        values=np.array(ratings.values, float),
        matrix=None if matrix is None else np.array(matrix, float),
        # A matrix in the options counts as declared.
        weights=CUSTOM if matrix is not None else weights,
    )


def compute_file_headline(
    ratings: RatingFile, *, scale: str, weights: str, matrix: Any, models: Sequence[str]
) -> ReportDict:
    """Return `headline`, its coefficient by group of raters, and the numbers of people and models.

    The groups are `people`, `models` and `people_models`. Raises ValueError for a model that rated
    nothing, or custom weights without a matrix.
    """
    for model in models:
        if model not in ratings.raters:
            available = ", ".join(ratings.raters[:10])
            raise ValueError(f"--models: no rater {model!r} in the file; there is {available}")
    question_scale = build_scale(ratings, scale=scale, weights=weights, matrix=matrix)
    rows = np.empty(len(ratings.item), ROW)
    rows["item"], rows["rater"], rows["code"] = ratings.item, ratings.rater, ratings.code
    model_indices = [ratings.raters.index(model) for model in models]
    builder, row = build_headline_from_ratings(
        rows, np.isin(rows["rater"], model_indices), question_scale
    )
    headline = builder.build_headline(row)
    undefined_value = build_undefined_value("no_pairable_items")
    choice = {name: headline[name] for name in ("name", "why", "population")}
    return {
        "headline": {**headline["value"], **choice, "unweighted": headline.get("unweighted")},
        "n_people": headline["n_people"],
        "n_models": headline["n_models"],
        "people": headline.get(
            PEOPLE, headline["value"] if headline["population"] == PEOPLE else undefined_value
        ),
        "models": headline.get(
            MODELS, headline["value"] if headline["population"] == MODELS else undefined_value
        ),
        "people_models": headline.get("between", undefined_value),
    }


GROUPS = ("headline", "people", "models", "people_models")


def compute_cluster_effects(
    ratings: RatingFile, scale: QuestionScale, column: str, *, models: Sequence[str]
) -> QuestionClusters:
    """Compute the design effects of a file's clusters, for people only where models rated too."""
    rows = np.empty(len(ratings.item), ROW)
    rows["item"], rows["rater"], rows["code"] = ratings.item, ratings.rater, ratings.code
    is_model = np.isin(rows["rater"], [ratings.raters.index(model) for model in models])
    displayed = ~is_model if is_model.any() and not is_model.all() else np.ones(len(rows), bool)
    numbers = ratings.get_cluster_numbers()
    return QuestionClusters.compute(rows[displayed], numbers[displayed], scale, column)


def widen_report(report: ReportDict, clusters: QuestionClusters) -> ReportDict:
    """Return the report with the displayed intervals (NAME.low, NAME.high) widened for clusters.

    The published intervals (NAME.ci_low, NAME.ci_high) stay as other programs print them, except
    those of intraclass correlations, which are the displayed ones.
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
    """Return the policies for missing ratings with intervals widened for clusters."""
    return [
        replace(rule, estimate=clusters.widen_interval(rule.coefficient, rule.estimate))
        for rule in rules
    ]


def widen_pair(pair: PairStatistics, clusters: QuestionClusters) -> PairStatistics:
    """Return the statistics of two raters with intervals widened for clusters."""
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
