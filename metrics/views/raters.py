"""The page of a rater, versions of a model, and columns of raters' results for the list of people.

Prompt versions of a model are raters, for their comparison. The columns of the project's list of
people (projects.selectors) are read from stored results: number of ratings, agreement and seconds
per item of the first question, and the time of the last change in any question.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from django.contrib.auth.decorators import login_required
from django.db.models import OuterRef, Subquery
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from metrics import periods
from metrics.agreement.registry import MEAN_PAIRWISE
from metrics.filters import join_keys
from metrics.models import PeriodUnit, RaterResult
from metrics.question_scale import QuestionScale, get_weighted_name
from metrics.results import disputed_items, rater_periods
from metrics.results.headline.trends import get_headline_weighting
from metrics.results.rater_results import RaterAgreement
from metrics.views.common import live_updates, vega_lite
from metrics.views.common.filter_bar import FilterBar
from metrics.views.common.live_updates import LiveSettings
from metrics.views.common.selection import Selection, get_by_key, get_permitted_selection
from metrics.views.common.sources import get_sources
from metrics.views.common.sources.base import RaterSource
from metrics.views.common.trends import trend_points
from metrics.views.common.trends.trend_points import MAX_POINTS
from projects.models import Project, Question, Rater
from projects.selectors import PeopleColumn, ProvidedColumns
from ratings.models import Rating

MAX_VERSIONS = 12  # the newest


@dataclass(frozen=True)
class ModelVersion:
    """A prompt version of a model: its rater and all-time result."""

    rater: Rater
    result: RaterResult | None  # of all time

    @property
    def label(self) -> str:
        return self.rater.prompt_version or _("no version")


def list_prompt_versions(question: Question, rater: Rater) -> list[ModelVersion]:
    """Return the newest prompt versions of the rater's model, oldest first; [] for fewer than 2."""
    if not rater.model:
        return []
    version_raters = Rater.objects.filter(project=rater.project_id, model=rater.model).order_by(
        "-pk"
    )
    raters = list(version_raters[:MAX_VERSIONS])[::-1]
    if len(raters) < 2:
        return []
    rows = RaterResult.objects.filter(question=question, rater__in=raters)
    results = {row.rater_id: row for row in rows}
    return [ModelVersion(version_rater, results.get(version_rater.pk)) for version_rater in raters]


def choose_period(requested: str | None) -> str:
    """Return the period of the trends, week or month; week unless the URL requests months.

    Days have too few items.
    """
    return requested if requested in (PeriodUnit.WEEK, PeriodUnit.MONTH) else PeriodUnit.WEEK.value


def build_chart_rows(
    question: Question, model_versions: list[ModelVersion], span: str, name: str
) -> list[vega_lite.Row]:
    """Return the chart rows of all versions' trends, without points that have no value.

    ``span``: period of the trends; ``name``: coefficient.
    """
    labels = {version.rater.pk: version.label for version in model_versions}
    scale = QuestionScale.for_question(question)
    rows = rater_periods.list_newest_periods_of_raters(
        question, list(labels), span, name, scale=scale, number=MAX_POINTS
    )
    chart_points = []
    for rater, start, estimate in rows:
        if estimate["value"] is None:
            continue
        estimate_values = {key: estimate[key] for key in ("value", "low", "high", "n_items")}
        chart_points.append(
            {
                "version": labels[rater],
                "start": start.isoformat(),
                "end": periods.get_end_date(start, span).isoformat(),
                **estimate_values,
                "enough_items": (estimate["n_items"] or 0) >= periods.MIN_ITEMS,
            }
        )
    return chart_points


def build_columns(project: Project, raters: Collection[int]) -> ProvidedColumns:
    """Return the columns on these raters, in five queries however many they are."""
    questions = list(project.questions.prefetch_related("categories"))
    if not questions:
        return ProvidedColumns([])
    question = questions[0]
    name = get_weighted_name(
        "vs_peers", get_headline_weighting(question, QuestionScale.for_question(question))
    )
    rater_results = RaterResult.objects.filter(question=question, rater__in=raters)
    rows = rater_results.values_list("rater_id", "n_ratings", "seconds", f"coefficients__{name}")
    n_ratings, seconds, agreement = {}, {}, {}
    for rater, n, median, kappa in rows:
        n_ratings[rater], seconds[rater], agreement[rater] = n, median, kappa
    # One index lookup for each rater, in one query.
    newest = Rating.objects.filter(rater=OuterRef("pk")).order_by("-changed_at")
    people = Rater.objects.filter(pk__in=raters)
    last_changes = dict(people.values_list("pk", Subquery(newest.values("changed_at")[:1])))
    for rater, last_change in last_changes.items():
        if last_change is None:
            agreement[rater] = {"value": None, "reason": "no_ratings"}
    columns = [
        PeopleColumn(_("Ratings"), "count", n_ratings),
        PeopleColumn(_("Kappa with peers"), "estimate", agreement, about="vs_peers"),
        PeopleColumn(_("Seconds per item"), "tenths", seconds, about="seconds"),
        PeopleColumn(_("Ratings last changed"), "moment", last_changes),
    ]
    if len(questions) == 1:
        return ProvidedColumns(columns)
    note = _("Ratings, kappa and seconds: question “%(question)s”")
    return ProvidedColumns(columns, note % {"question": question})


LIVE = LiveSettings(
    seconds=2,
    fragments=(
        "stats",
        "rater-trend-table",
        "rater-bias-table",
        "rater-confusion-table",
        "use",
        "rater-pairs",
        "differences",
    ),
)


def build_context(selection: Selection, source: RaterSource) -> dict[str, object]:
    """Return the template context of a rater's page from the source."""
    result = source.agreement
    trend = source.get_table_trend(selection.vs_peers, "vs_peers_bias")
    points, bias_points = trend.lines
    use_rows = compute_category_use(result, selection.scale)
    pairwise = get_weighted_name(MEAN_PAIRWISE, selection.weights)
    can_draw = trend_points.is_drawable(points)
    can_draw_bias = trend_points.is_drawable(bias_points)
    parts_shown = (source.pending, bool(result), can_draw, can_draw_bias, bool(use_rows))
    return {
        "whole": result,
        "pending": source.pending,
        "period": trend.period,
        "points": points,
        "is_drawn": can_draw,
        "bias_is_drawn": can_draw_bias,
        "bias_points": bias_points,
        "older": trend.n_older,
        "pairs": source.list_pairs(),
        "fragment_key": "-".join(str(is_there) for is_there in parts_shown),
        "peers": result and result.coefficients.get(selection.vs_peers),
        "pairwise_name": pairwise,
        "pairwise": result and result.coefficients.get(pairwise),
        "use": use_rows,
        "confusion": list(zip(selection.scale.labels, get_confusion_table(result), strict=False)),
        "column_sums": [sum(column) for column in zip(*get_confusion_table(result), strict=True)],
    }


def get_confusion_table(agreement: RaterAgreement | None) -> list[list[int]]:
    """Return the (k, k) table of a rater's answers (rows) by the peers' answers to the same items.

    Empty for None, before the rater has an agreement.
    """
    return agreement.table if agreement else []


@dataclass(frozen=True)
class CategoryUse:
    """Shares of a category in the rater's and in the peers' ratings of the shared items."""

    label: str
    own: float
    peers: float

    @property
    def difference(self) -> float:
        return self.own - self.peers


def compute_category_use(
    agreement: RaterAgreement | None, scale: QuestionScale
) -> list[CategoryUse]:
    """Return how often the rater and the peers choose each category on shared items.

    Empty without shared items, and for None.
    """
    table = np.array(get_confusion_table(agreement), np.int64)
    total = table.sum()
    if not total:
        return []
    own = (table.sum(axis=1) / total).tolist()
    peers = (table.sum(axis=0) / total).tolist()
    rows = zip(scale.labels, own, peers, strict=True)
    return [CategoryUse(*row) for row in rows]


@login_required
@require_safe
def show_rater(request: HttpRequest, project_id: int, key: str) -> HttpResponse:
    """Show one rater against the others: trend, confusion, bias, pairs, recent differences."""
    selection = get_permitted_selection(request, project_id, filtered=True)
    selected_rater = get_by_key(Rater, selection.project, key)
    source = get_sources(selection).for_rater(selected_rater)
    unchanged = live_updates.get_unchanged_response(
        request, selection.project, source.freshness, LIVE
    )
    if unchanged is not None:
        return unchanged
    differences = disputed_items.list_recent_differences(
        selection.question, selected_rater, selection.scale, rating_filter=selection.filter
    )
    context = build_context(selection, source) | {
        "project": selection.project,
        "selection": selection,
        "fresh": source.freshness,
        "live": LIVE,
        "filter_bar": FilterBar.from_request(request, selection),
        "rater": selected_rater,
        "without": join_keys([selected_rater.key]),
        "versions": []
        if selection.filter
        else list_prompt_versions(selection.question, selected_rater),
        "differences": differences,
    }
    return live_updates.render_live_page(request, "metrics/raters/rater.html", context)
