"""Template context of the overview of a question: state, next actions, raters and progress."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from zoneinfo import ZoneInfo

from django.utils import timezone
from django.utils.functional import Promise

from core.hooks import Hook
from metrics.results import rater_periods
from metrics.results.rater_results import RaterAgreement
from metrics.views.common import getting_started, headline_texts
from metrics.views.common.live_updates import LiveSettings
from metrics.views.common.rater_columns import SORTABLE_COLUMNS
from metrics.views.common.selection import Selection
from metrics.views.common.sources.base import ProjectSource
from metrics.views.common.trends import trend_points
from projects.models import Rater

from . import dashboard_context
from .recommendation import NextAction, build_recommendation
from .tables import summarize_coverage

MAX_RATERS = 5  # in the card; the page of raters lists all
RECENT_DAYS = 7  # today and the days before it

LIVE = LiveSettings(
    seconds=1,
    summary=True,
    fragments=("getting-started", "headline-state", "do-next", "raters", "progress", "trend-table"),
)


@dataclass(frozen=True)
class OverviewRater:
    """A rater on the card of raters.

    ``status``: label of the status among all ratings; ``needs_check``: whether it calls for an
    action, ``is_severe``: for an immediate one; ``agreement``: estimate of kappa with the other
    raters, in the selection; ``note``: a sentence on what the status does not show, or "".
    """

    key: str
    name: str
    status: str | Promise
    needs_check: bool
    is_severe: bool
    is_paused: bool
    agreement: Mapping[str, object] | None
    note: str = ""


@dataclass(frozen=True)
class OverviewRaters:
    """The raters of a question by status, worst first, and actions on the question.

    ``n_raters``, ``n_to_check``: numbers of all raters, and of those whose status is not fine;
    ``only_model_ratings``: number of ratings if the filter selects a single model, else None;
    ``pending``: the first statuses have still to be computed.
    """

    lines: Sequence[OverviewRater]
    n_raters: int
    n_to_check: int
    actions: Sequence[NextAction]
    only_model_ratings: int | None = None
    pending: bool = False


# {rater id: agreement with the others} of the raters with filtered ratings; None without a filter.
FilteredAgreements = Mapping[int, Mapping[str, object] | None]
# Functions that select the raters of a selection, at most this number of lines. Packages above
# register theirs at startup.
OVERVIEW_RATERS: Hook[Callable[[Selection, int, FilteredAgreements | None], OverviewRaters]] = Hook(
    "overview_raters"
)


@dataclass(frozen=True)
class Progress:
    """Numbers of complete and of all items, and of recent ratings.

    ``n_recent``: ratings given in the last RECENT_DAYS, by all raters; 0 with a filter, or if some
    of them have the time of their import.
    """

    complete: int
    total: int
    overlap: int
    n_recent: int


def build_overview_context(selection: Selection, source: ProjectSource) -> dict[str, object]:
    """Return the template context of the four cards."""
    context = dashboard_context.HeadlineContext.build(selection, source)
    result = source.agreement
    trend = source.get_table_trend(selection.coefficient)
    (points,) = trend.lines
    can_draw = trend_points.is_drawable(points)
    steps = [] if selection.filter else getting_started.list_steps(selection.project, result)
    has_started = bool(result) or not steps
    fragment_key = f"{'trend' if can_draw else ''}{'' if has_started else '-first'}"
    overview_raters = select_overview_raters(selection, source)
    return vars(context) | {
        # The interval is on the page of all statistics.
        "unweighted": headline_texts.describe_unweighted(
            result.get_unweighted(context.headline_name) if result else None, with_interval=False
        ),
        "overview_raters": overview_raters,
        "is_counting": source.freshness.is_counting or overview_raters.pending,
        "recommendation": build_recommendation(
            selection,
            source,
            context.headline_name,
            context.headline,
            actions=overview_raters.actions,
            pending=overview_raters.pending,
        ),
        "steps": steps,
        "begun": has_started,
        "trend_note": dashboard_context.get_trend_note(selection, result),
        "period": trend.period,
        "points": points,
        "is_drawn": can_draw,
        "older": trend.n_older,
        "progress": _measure_progress(selection, source),
        # Key of the charts on the page; when it changes, the page is reloaded.
        "fragment_key": "starting" if steps and result is None else fragment_key,
    }


def select_overview_raters(selection: Selection, source: ProjectSource) -> OverviewRaters:
    """Return the raters by status; with a filter, only those who gave any of its ratings."""
    agreements = None
    if selection.filter:
        refs = source.list_rater_refs(SORTABLE_COLUMNS["rater"], descending=False)
        results = source.load_raters(refs)
        if selection.filter.kind == Rater.Kind.MODEL:
            return _list_models(selection, results)
        agreements = {
            result.rater.pk: result.coefficients.get(selection.vs_peers) for result in results
        }
    for select_raters in OVERVIEW_RATERS:
        overview_raters = select_raters(selection, MAX_RATERS, agreements)
        # Before the first results there is nothing to derive a status from.
        return replace(
            overview_raters, pending=overview_raters.pending and source.agreement is not None
        )
    return OverviewRaters([], 0, 0, [])


def _list_models(selection: Selection, results: Sequence[RaterAgreement]) -> OverviewRaters:
    """Return the models of a selection, which have no status, by key."""
    lines = [
        OverviewRater(
            result.rater.key,
            str(result.rater),
            Rater.Kind.MODEL.label,
            False,
            False,
            result.rater.paused,
            result.coefficients.get(selection.vs_peers),
        )
        for result in results
    ]
    only = results[0].n_ratings if len(results) == 1 else None
    return OverviewRaters(lines[:MAX_RATERS], len(lines), 0, [], only_model_ratings=only)


def _measure_progress(selection: Selection, source: ProjectSource) -> Progress:
    coverage = summarize_coverage(selection, source.agreement, source.count_items())
    today = timezone.localdate(timezone=ZoneInfo(selection.project.time_zone))
    since = today - datetime.timedelta(days=RECENT_DAYS - 1)
    return Progress(
        coverage.n_complete_items,
        coverage.total,
        selection.project.overlap,
        0 if selection.filter else rater_periods.count_ratings_since(selection.question, since),
    )
