"""Reports on a question as of a moment: names and figures as plain JSON, without text.

A page requests a report, a worker computes it from the history of the ratings, and a row stores it
(core.jobs.on_demand). Everything is based on the ratings at a moment, on the scale declared then,
and on which raters were models, so the same moment always gives the same facts. Current settings
are stored with it: the scheme of verbal bands, and the target.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NotRequired, TypedDict

import numpy as np
from django.utils import timezone
from django.utils.translation import gettext as _

from core.jobs.on_demand import OnDemandJob
from metrics.agreement import registry
from metrics.agreement.counts import tally
from metrics.agreement.counts.additive_counts import PatternCounts
from metrics.agreement.estimate import Value
from metrics.agreement.weights import get_weighted_name
from metrics.models import Report
from metrics.question_scale import QuestionScale
from metrics.results import findings, intervals
from metrics.results.findings import DisplayedRatings, Findings
from metrics.results.headline import random_sample
from metrics.results.headline.headline_computation import RaterGroup, build_headline_from_ratings
from metrics.results.intervals import ClusterDescription
from metrics.results.patterns import GroupedPatterns
from metrics.results.question_agreement import QuestionAgreement
from metrics.results.question_results import compute_details
from metrics.results.stored_values import HeadlineResult, ResultDetails, Values
from projects.models import Item, Project, Question, ScaleVersion
from ratings.models import ImportRun

from .rating_history import HistoricalRatings, get_ratings_at

FORMAT = 1


class BasisFacts(TypedDict):
    """Numbers of ratings and raters that a report is based on, and their time range."""

    n_ratings: int
    n_items: int
    n_rated: int
    n_people: int
    n_models: int
    models: list[str]  # keys
    rated_from_to: list[str]  # times of the first and of the last rating
    has_untimed_ratings: bool  # these have the time of their import


class ResultFacts(TypedDict):
    """The headline, all coefficients of its group of raters, details and findings."""

    cluster: ClusterDescription | None
    headline: HeadlineResult
    coefficients: Values
    other_coefficients: list[str]
    details: ResultDetails
    findings: Findings
    outlying: NotRequired[OutlyingFacts]  # not in reports of older releases


class OutlyingFacts(TypedDict):
    """Number of outlying raters, who agree less with the others than the others with each other.

    Only the same items are compared. ``without``: the headline's coefficient without them; None if
    there are none.
    """

    n_raters: int
    without: Value | None


class ReportFacts(BasisFacts, ResultFacts):
    """The facts of a report as they are stored (models.Report.facts)."""

    format: int
    project: ReportProject
    question: ReportQuestion
    as_of: str
    hash: str
    scale_version: int
    declared: Mapping[str, Any]
    guidelines: int  # number of the version; 0: none
    band_scheme: str
    bar: float | None


class ReportProject(TypedDict):
    id: int
    name: str


class ReportQuestion(TypedDict):
    key: str
    text: str


def compute_report_facts(question: Question, moment: datetime.datetime) -> ReportFacts:
    """Return the facts of a report on a question as of a past moment."""
    ratings = get_ratings_at(question, moment)
    version, declared = ScaleVersion.get_version_at(question, moment)
    scale = QuestionScale.from_declaration(declared)
    project = question.project
    return {
        "format": FORMAT,
        "project": {"id": project.pk, "name": project.name},
        "question": {"key": question.key, "text": question.text},
        "as_of": moment.isoformat(),
        "hash": ratings.compute_digest(),
        "scale_version": version,
        "declared": declared,
        "guidelines": _get_guidelines_version(question, moment),
        "band_scheme": project.band_scheme,
        "bar": project.target_agreement,
        **_build_basis_facts(question, moment, ratings),
        **_compute_result_facts(ratings, scale, project),
    }


def _get_guidelines_version(question: Question, moment: datetime.datetime) -> int:
    """Return the number of the guidelines version at that moment; 0 if there was none."""
    versions = question.project.guideline_versions.filter(created_at__lte=moment)
    number: int = versions.order_by("-number").values_list("number", flat=True).first() or 0
    return number


def _build_basis_facts(
    question: Question, moment: datetime.datetime, ratings: HistoricalRatings
) -> BasisFacts:
    """Return how many ratings of how many raters the report is based on, and their time range."""
    n_items = Item.objects.filter(project=question.project_id, created_at__lte=moment).count()
    raters = sorted(ratings.raters.values(), key=lambda rater: rater.key)
    models = [rater.key for rater in raters if rater.pk in ratings.models]
    rated = ratings.rows["rated"]
    ends = [rated.min(), rated.max()] if rated.size else []
    return {
        "n_ratings": len(ratings.rows),
        "n_items": max(n_items, len(ratings.items)),
        "n_rated": len(ratings.items),
        "n_people": len(raters) - len(models),
        "n_models": len(models),
        "models": models,
        "rated_from_to": [
            datetime.datetime.fromtimestamp(timestamp, tz=datetime.UTC).isoformat()
            for timestamp in ends
        ],
        "has_untimed_ratings": ImportRun.has_untimed_ratings(question.project_id, until=moment),
    }


@dataclass(frozen=True)
class AgreementFacts:
    """The headline (Result.headline) and all coefficients of ratings, with their intervals.

    They are of the headline's group of raters, and of its random sample where there is one.
    `patterns`: of the group; `question_clusters`: None where the project has none;
    `of_independent_items`: the same for all ratings of the group, with intervals as if there were
    no clusters.
    """

    headline: HeadlineResult
    coefficients: Values
    patterns: PatternCounts
    question_clusters: intervals.QuestionClusters | None
    of_independent_items: QuestionAgreement
    group: RaterGroup
    scale: QuestionScale

    def widen_intervals(self, question_clusters: intervals.QuestionClusters) -> AgreementFacts:
        """Return the facts with intervals widened for clusters of items."""
        return replace(
            self,
            headline=question_clusters.widen_headline(self.headline),
            coefficients=question_clusters.widen_all(self.coefficients),
            question_clusters=question_clusters,
        )

    def get_value(self, name: str) -> Value:
        """Return the Value of a coefficient by name, with its interval.

        It is computed if it is neither the headline nor among ``coefficients``.
        """
        if name == self.headline["name"]:
            return self.headline["value"]
        if name in self.coefficients:
            return self.coefficients[name]
        value = self.group.get_value(name, self.scale)
        return (
            self.question_clusters.widen_interval(name, value) if self.question_clusters else value
        )


def compute_agreement_facts(
    rows: np.ndarray,
    is_model: np.ndarray,
    scale: QuestionScale,
    project: Project,
    *,
    with_requested: bool = False,
) -> AgreementFacts:
    """Return the headline and the coefficients of ratings (M,) as ROW, codes in declared order.

    ``is_model`` (M,): a mask; ``with_requested``: ratings requested for uncertain items count, too.
    """
    builder, row = build_headline_from_ratings(rows, is_model, scale)
    headline = builder.build_headline(row)
    headline.pop("coefficients", None)
    group_ratings, coefficients = rows, row.pooled
    if row.people is not None and not scale.pooled:
        group_ratings, coefficients = rows[~is_model], row.people
    patterns = tally.count_patterns(group_ratings["item"], group_ratings["code"], scale.k)
    coefficients = intervals.add_headline_intervals(headline, coefficients, patterns, scale)
    coefficients |= headline["values"]
    of_independent_items = QuestionAgreement(coefficients, headline, {}, {})
    if not with_requested:
        is_excluded = random_sample.build_targeted_mask(project.pk, rows)
        headline = random_sample.replace_by_sample_headline(
            headline, rows, is_model=is_model, is_excluded=is_excluded, scale=scale
        )
    if "sample" in headline:
        coefficients = headline["sample"].pop("coefficients", {}) | headline["values"]
    group = builder.raters.build_groups(builder.patterns, builder.n_items, row)[builder.group_name]
    facts = AgreementFacts(
        headline, coefficients, patterns, None, of_independent_items, group=group, scale=scale
    )
    if not project.cluster_attribute:
        return facts
    numbers = intervals.get_cluster_numbers(rows["item"], project)
    attribute = project.cluster_attribute
    return facts.widen_intervals(
        intervals.compute_headline_clusters(rows, numbers, is_model, scale, attribute=attribute)
    )


def _compute_result_facts(
    ratings: HistoricalRatings, scale: QuestionScale, project: Project
) -> ResultFacts:
    """Return the headline, all coefficients of its group of raters, details and findings."""
    rows = convert_codes(ratings.rows, scale)
    is_model = np.isin(rows["rater"], list(ratings.models))
    facts = compute_agreement_facts(rows, is_model, scale, project)
    counts, n_items = facts.patterns.counts, facts.patterns.n_items
    displayed = DisplayedRatings(counts, n_items, _build_empty_pairs(scale), rows)
    details = compute_details(GroupedPatterns(counts, scale.k), n_items[None], scale)[0]
    if facts.question_clusters is not None:
        details = facts.question_clusters.widen_details(details)
    return {
        "cluster": intervals.describe_clusters(
            project, facts.question_clusters, facts.headline["name"]
        ),
        "headline": facts.headline,
        "coefficients": facts.coefficients,
        "other_coefficients": _list_other_coefficients(facts.headline, facts.coefficients, scale),
        "details": details,
        "findings": findings.sort_and_filter_findings(
            [
                *findings.diagnose_patterns(displayed, scale),
                *findings.find_coefficient_differences(facts.of_independent_items, scale),
            ]
        ),
        "outlying": _compute_outlying_facts(rows, is_model, facts, project),
    }


def _compute_outlying_facts(
    rows: np.ndarray, is_model: np.ndarray, facts: AgreementFacts, project: Project
) -> OutlyingFacts:
    """Return how many raters of the headline's group are outlying, and the value without them.

    ``rows`` (M,): ratings with codes in declared order; ``is_model`` (M,): a mask of ``rows``.
    """
    headline = facts.headline
    group_rows = rows[~is_model] if headline["population"] == "people" else rows
    displayed = DisplayedRatings(
        facts.patterns.counts,
        facts.patterns.n_items,
        _build_empty_pairs(facts.scale),
        group_rows,
        intervals.get_cluster_numbers(group_rows["item"], project)
        if project.cluster_attribute
        else None,
    )
    raters = findings.diagnose_outlying_raters(displayed, facts.scale, headline["weights"])
    ids = [*findings.get_outlying_raters(raters)]
    if not ids:
        return {"n_raters": 0, "without": None}
    is_kept = ~np.isin(rows["rater"], ids)
    without = compute_agreement_facts(rows[is_kept], is_model[is_kept], facts.scale, project)
    return {"n_raters": len(ids), "without": without.get_value(headline["name"])}


def convert_codes(rows: np.ndarray, scale: QuestionScale) -> np.ndarray:
    """Return those of the ratings (M,) whose category is declared, with its index as code.

    Indices are positions in the declared order of the categories.
    """
    converted = rows.copy()
    converted["code"] = scale.get_code_indices(rows["code"])
    return converted[converted["code"] >= 0]


def _build_empty_pairs(scale: QuestionScale) -> tally.PairTables:
    empty = np.zeros(0, np.int64)
    return tally.PairTables(empty, empty, np.zeros((0, scale.k, scale.k), np.int64))


def _list_other_coefficients(
    headline: HeadlineResult, coefficients: Values, scale: QuestionScale
) -> list[str]:
    """Return the names of the coefficients that are shown next to the headline."""
    names = [
        get_weighted_name("fleiss_kappa", headline["weights"]),
        *headline["companions"],
        *registry.list_secondary_names(scale.kind),
    ]
    other_names = [name for name in dict.fromkeys(names) if name != headline["name"]]
    return [name for name in other_names if name in coefficients]


class ReportDateInFuture(ValueError):
    """The report date is in the future, so its ratings are unknown."""


def get_or_request_report(
    question: Question, *, as_of: datetime.datetime | None, by: Any
) -> Report:
    """Return the report on a question as of a moment (now when None), or request it.

    ``by``: the user who requests it. Raises ReportDateInFuture for a later moment.
    """
    now = timezone.now()
    if as_of is not None and as_of > now:
        raise ReportDateInFuture(_("This time is in the future."))
    row, _is_new = REPORT_JOB.get_or_start(
        question=question, as_of=as_of or now, defaults={"created_by": by}
    )
    return row


def _compute_stored_fields(row: Report) -> dict[str, object]:
    return {"facts": compute_report_facts(row.question, row.as_of)}


REPORT_JOB = OnDemandJob(
    rows=Report.objects.select_related("question__project").defer("facts"),
    result_field="facts",
    task_name="metrics.tasks.compute_report",
    compute_result=_compute_stored_fields,
    min_cooldown=datetime.timedelta(0),
)
