"""Template context of the statistics of a question, and the part that the overview shares."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from metrics.agreement import registry
from metrics.agreement.explain import bands
from metrics.agreement.headline import LEAD_CHOICE
from metrics.filters import ALL_RATINGS, RANDOM_SAMPLE
from metrics.question_scale import get_weighted_name, list_headline_coefficients
from metrics.results import pair_results
from metrics.results.headline import trends
from metrics.results.question_agreement import QuestionAgreement
from metrics.results.stored_values import Value, get_number
from metrics.views.common import display_names, headline_texts, heat_maps
from metrics.views.common.headline_texts import build_cluster_note
from metrics.views.common.insights import build_confusions
from metrics.views.common.live_updates import LiveSettings
from metrics.views.common.selection import Selection
from metrics.views.common.sources.base import ProjectSource
from metrics.views.common.trends.period_comparison import RecentChange
from metrics.views.reports.cautions_and_methods import MIN_ITEMS
from projects.models import Rater

from .tables import (
    build_matrix_rows,
    build_rater_table,
    compare_weightings,
    list_other_statistics,
    summarize_coverage,
)

MAX_INSIGHTS = 3  # shown at once; the others are folded

STATISTICS_LIVE = LiveSettings(
    seconds=1,
    summary=True,
    fragments=(
        "headline",
        "beside",
        "findings",
        "missing",
        "pairs-table",
        "raters",
        "categories",
        "disputes",
        "sensitivity",
    ),
)


@dataclass(frozen=True)
class HeadlineContext:
    """The headline and its notes, which the overview and the statistics share.

    ``headline``: its estimate, or that of the requested coefficient; ``unweighted``: the sentence
    on its value without weights, or ""; ``single_ratings``: the sentence on ratings that enter only
    its expected agreement, or ""; ``is_band_withheld``: whether the findings forbid naming a band
    for the value.
    """

    agreement: QuestionAgreement | None
    headline: Value | None
    headline_name: str
    unweighted: str
    single_ratings: str
    sample: RandomSampleNote | None
    is_band_withheld: bool
    changes: list[RecentChange]

    @classmethod
    def build(cls, selection: Selection, source: ProjectSource) -> Self:
        agreement = source.agreement
        headline = get_headline_estimate(selection, agreement)
        sample = get_random_sample_note(selection, agreement)
        name = selection.requested_coefficient or selection.headline["name"]
        unweighted = agreement.get_unweighted(name) if agreement else None
        # Changes are those of all ratings: with a random sample, a fall may only be due to ratings
        # that were requested for uncertain items.
        change = None if sample else source.find_last_change()
        return cls(
            agreement,
            headline,
            name,
            headline_texts.describe_unweighted(unweighted),
            headline_texts.describe_single_ratings(
                count_ratings_for_chance_only(agreement, name, headline)
            ),
            sample,
            source.diagnosis.is_band_withheld,
            [] if change is None else [change],
        )


def _build_matrix_context(
    selection: Selection, source: ProjectSource, busiest: list[Rater]
) -> dict[str, object]:
    """Return the template context of the heat map of rater pairs."""
    choice = selection.heat_map_choice
    raters = source.list_heat_map_raters(choice) if choice else busiest
    matrix = source.list_pairs_among(raters)
    raters = pair_results.sort_by_agreement(raters, matrix)
    return {
        "matrix_raters": raters,
        "matrix_size": heat_maps.get_matrix_height(len(raters))[0],
        "pairwise_name": get_weighted_name(registry.MEAN_PAIRWISE, selection.weights),
        "matrix": build_matrix_rows(raters, matrix),
        "has_pairs": bool(matrix),
        # Key of the charts on the page; when it changes, the page is reloaded.
        "fragment_key": str(len(raters)) if matrix else "",
    }


def build_statistics_context(
    request: HttpRequest, selection: Selection, source: ProjectSource
) -> dict[str, object]:
    """Return the template context of the sections of the statistics."""
    context = HeadlineContext.build(selection, source)
    agreement = source.agreement
    busiest = source.list_heat_map_raters()
    table = build_rater_table(request, selection, source)
    insights = [RecentChange(insight, "") for insight in source.build_insights(busiest)]
    insights = [*context.changes, *insights]  # the change first
    confusions = build_confusions(selection.question, source.diagnosis.confusions)
    other_statistics = list_other_statistics(selection, agreement)
    cluster_note = ""
    if agreement:
        name = context.headline_name
        cluster_note = build_cluster_note(selection.project, agreement.clusters, name)
    weighted_name, weighted_estimates = compare_weightings(agreement, source, busiest)
    return vars(context) | {
        "why": get_headline_reason(selection, agreement),
        "cluster_note": cluster_note,
        "groups": build_group_rows(selection, agreement, source),
        "period": source.get_table_trend(selection.coefficient).period,
        "trends": list_trend_choices(selection),
        "pooled": selection.question.headline_pooled,
        "compared_statistics": compare_statistics(selection, agreement),
        "insights": insights[:MAX_INSIGHTS],
        "more_insights": insights[MAX_INSIGHTS:],
        "beside": other_statistics,
        "missing": summarize_coverage(selection, agreement, source.count_items()),
        **_build_matrix_context(selection, source, busiest),
        "n_raters": table.n_raters,
        "rater_page": table,
        "confusions": confusions,
        "disputes": source.disputed_items,
        "sensitivity_name": weighted_name,
        "sensitivity": weighted_estimates,
    }


@dataclass(frozen=True)
class ComparedStatistics:
    """Kappa, alpha and AC1 without weights.

    ``agree``: whether they lie in the same or adjacent bands; None if one of them is undefined.
    """

    kappa: float | None
    alpha: float | None
    ac1: float | None
    agree: bool | None


def compare_statistics(
    selection: Selection, agreement: QuestionAgreement | None
) -> ComparedStatistics:
    """Return kappa, alpha and AC1, whose models of chance differ, and whether their bands agree."""
    coefficients = agreement.displayed_coefficients if agreement else {}
    names = "fleiss_kappa", "krippendorff_alpha_nominal", "gwet_ac1"
    values = kappa, alpha, ac1 = [get_number(coefficients, name) for name in names]
    agree = None
    if None not in values:
        agree = bands.are_in_adjacent_bands(values, selection.project.band_scheme)
    return ComparedStatistics(kappa, alpha, ac1, agree)


def list_trend_choices(selection: Selection) -> list[tuple[str, str]]:
    """Return (URL value, coefficient) of the trends to choose from.

    The URL value is empty for a headline of two raters, which the URL does not name.
    """
    choices = [(name, name) for name in list_headline_coefficients(selection.scale)]
    if selection.filter or not trends.is_two_rater_coefficient(
        selection.headline["displayed_coefficient"]
    ):
        return choices
    return [("", selection.headline["displayed_coefficient"]), *choices]


def get_trend_note(selection: Selection, agreement: QuestionAgreement | None) -> str:
    """Return a note if the trend has other ratings, or another coefficient, than the headline.

    Empty otherwise, and for a coefficient that the URL names.
    """
    if agreement is not None and "sample" in agreement.headline:
        return _("The trend includes ratings requested for uncertain items.")
    if selection.requested_coefficient:
        return ""
    headline = agreement.headline if agreement is not None else selection.headline
    trend_name, name = selection.coefficient, headline.get("name")
    if name in {trend_name, None}:
        return ""
    return _("The trend shows %(shown)s, not %(headline)s.") % {
        "headline": display_names.get_coefficient_name(name),
        "shown": display_names.get_coefficient_name(trend_name),
    }


def get_headline_estimate(
    selection: Selection, agreement: QuestionAgreement | None
) -> Value | None:
    """Return the estimate of the requested coefficient, or else of the headline.

    None without an agreement, or if it has no such coefficient.
    """
    if agreement is None:
        return None
    if selection.requested_coefficient:
        return agreement.displayed_coefficients.get(selection.requested_coefficient)
    return agreement.headline.get("value")


def has_headline(selection: Selection, agreement: QuestionAgreement | None) -> bool:
    """Return whether the headline has a value."""
    headline = get_headline_estimate(selection, agreement)
    return headline is not None and headline["value"] is not None


def count_ratings_for_chance_only(
    agreement: QuestionAgreement | None, name: str, estimate: Value | None
) -> int:
    """Return the number of single ratings that enter the expected agreement of ``name``.

    0 for a coefficient that ignores them, and where their number is unknown: in a random sample of
    people's ratings, if models are left out.
    """
    is_based_on_singles = name.startswith(headline_texts.CHANCE_WITH_SINGLES)
    if agreement is None or estimate is None or not is_based_on_singles:
        return 0
    if sample := agreement.headline.get("sample"):
        n_ratings = 0 if agreement.is_of_people_only else sample["n_ratings"]
    elif agreement.is_of_people_only:
        n_ratings = sum(category["ratings"] for category in agreement.details.get("categories", ()))
    else:
        return agreement.details.get("by_ratings", {}).get("1", 0)
    return max(n_ratings - (estimate["n_ratings"] or n_ratings), 0)


def get_headline_reason(selection: Selection, agreement: QuestionAgreement | None) -> str | Promise:
    """Return why this coefficient is the headline; empty if the URL names it."""
    if agreement is None or selection.requested_coefficient or not agreement.headline:
        return ""
    if agreement.headline["why"] == LEAD_CHOICE:
        return _("Chosen for this question: %(note)s") % {"note": selection.question.headline_note}
    return display_names.get_headline_reason(agreement.headline["why"], agreement.headline["name"])


def has_ratings(agreement: QuestionAgreement | None) -> bool:
    categories = agreement.details.get("categories", ()) if agreement else ()
    return any(category["ratings"] for category in categories)


@dataclass(frozen=True)
class RandomSampleNote:
    """Note that the headline is based on the random sample only.

    ``pooled``: the estimate of all ratings; ``all_query``, ``sample_query``: query strings of the
    dashboards of all ratings and of the sample (metrics.results.headline.random_sample).
    """

    n_left_out: int
    pooled_name: str
    pooled: Value | None
    is_small: bool
    all_query: str
    sample_query: str


def get_random_sample_note(
    selection: Selection, agreement: QuestionAgreement | None
) -> RandomSampleNote | None:
    """Return the note on the random sample; None when the headline is based on all ratings."""
    sample = agreement.headline.get("sample") if agreement else None
    if agreement is None or sample is None:
        return None
    pooled, headline = agreement.headline["pooled"], get_headline_estimate(selection, agreement)
    return RandomSampleNote(
        sample["left_out"],
        selection.requested_coefficient or pooled["name"],
        agreement.population_coefficients.get(selection.requested_coefficient)
        if selection.requested_coefficient
        else pooled["value"],
        not headline or headline["value"] is None or (headline["n_items"] or 0) < MIN_ITEMS,
        replace(selection, filter=replace(selection.filter, sample=ALL_RATINGS)).query,
        replace(selection, filter=replace(selection.filter, sample=RANDOM_SAMPLE)).query,
    )


@dataclass(frozen=True)
class GroupRow:
    """A row of the panel of people and models: label, estimate and trend."""

    label: str | Promise
    estimate: Value
    values: list[float | None]


def build_group_rows(
    selection: Selection, agreement: QuestionAgreement | None, source: ProjectSource
) -> list[GroupRow]:
    """Return three rows: agreement among people, between people and models, and among models.

    Empty where all raters are of one kind.
    """
    if agreement is None or "between" not in agreement.headline:
        return []
    group_values = source.get_population_trends()
    return [
        GroupRow(
            display_names.RATER_GROUP_NAMES[name],
            agreement.headline[name],
            group_values.get(name, []),
        )
        for name in ("people", "between", "models")
    ]
