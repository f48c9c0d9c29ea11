"""Pages of a question's raters (list, funnel chart, bulk actions), and of those of all projects."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import get_list_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from core.web.tables import get_page_size
from metrics.filters import RatingFilter, join_keys
from metrics.question_scale import get_weighted_name
from metrics.results.question_agreement import load_question_agreement
from metrics.results.stored_values import Value
from metrics.views.common import display_names, live_updates, vega_lite
from metrics.views.common.selection import (
    Selection,
    get_choice,
    get_page_number,
    get_selection,
)
from metrics.views.common.sources.filtered import FilteredProjectSource
from projects.models import Member, Project, Rater
from projects.permissions import get_project
from projects.selectors import build_selection_error
from projects.services.rater_changes import set_raters_paused
from quality.alerts.kinds import get_brief_text
from quality.alerts.services import mark_raters_checked
from quality.models import Alert, GoldIntervention
from quality.rater_status.comparison import MIN_ITEMS
from quality.rater_status.status import RaterSummary, list_rater_summaries

from . import funnel_plot, raters_of_led_projects, status_texts
from .message_views import build_message_url
from .rater_list import (
    ITEM_COUNTS,
    SORT_KEYS,
    RaterFilter,
    RaterList,
    RaterListEntry,
    parse_rater_ids,
)

LEAD = Member.Role.LEAD
RATERS_PER_PAGE = 50
MAX_SITE_SEARCH_LENGTH = 200  # of the search in all projects
KEPT_PARAMETERS = (
    "question",
    "show",
    "min_ratings",
    "search",
    "sort",
    "page",
    "exclude",
)  # query parameters of the list that an action keeps


@dataclass(frozen=True)
class RaterTableRow:
    """A row of the table: the listed rater, the summary (``card``), texts and alerts.

    ``other_reasons``: texts of the reasons that the alerts do not state themselves; ``note``: text
    of the summary's note.
    """

    listed: RaterListEntry
    card: RaterSummary
    status: str
    reasons: list[str]
    other_reasons: list[str]
    note: str
    alerts: list[tuple[Alert, str]]
    interventions: list[GoldIntervention]


@login_required
@require_safe
def show_raters(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show a page of the raters, by default those with the most severe status first.

    Models have no status: with ``kind=model``, redirect to the table of the statistics.
    """
    if request.GET.get("kind") == Rater.Kind.MODEL:
        address = reverse("project_statistics", args=[project_id])
        return redirect(f"{address}?{request.GET.urlencode()}#raters")
    return render_raters(request, get_project(request.user, project_id, role=Member.Role.VIEWER))


def render_raters(request: HttpRequest, project: Project) -> HttpResponse:
    """Render the list for a project that the caller has checked (also for shared views)."""
    selection = get_selection(request, project)
    sort_choices = [*SORT_KEYS, *(f"-{name}" for name in SORT_KEYS)]
    sort = get_choice(request.GET, "sort", sort_choices) or "-status"
    rater_filter = RaterFilter.from_query(request.GET)
    rater_list = RaterList(selection.question)
    if live_updates.is_live_request(request):
        return live_updates.build_pending_response(pending=rater_list.is_pending)
    listed = rater_list.select(rater_filter, sort)
    paginator = Paginator(listed, RATERS_PER_PAGE)
    if (number := get_page_number(request)) > paginator.num_pages:
        raise Http404(_("Page not found."))
    page = paginator.page(number)
    rows = _build_rows(selection, rater_list, list(page.object_list))
    context = {
        "project": selection.project,
        "selection": selection,
        "rater_list": rater_list,
        "is_pending": rater_list.is_pending,
        "rater_filter": rater_filter,
        "filter_chips": rater_list.list_filter_chips(),
        "page": page,
        "rows": rows,
        "n_lines": len(listed),
        "has_diamonds": any("same_answer" in rater.flags for rater in listed),
        "has_squares": len(listed) > funnel_plot.MAX_POINTS,
        "sorted_by": sort,
        "min_items": MIN_ITEMS if sort.removeprefix("-") in ITEM_COUNTS else 0,
        "most_ratings": 200,
        "columns": {
            "gold": bool(rater_list.gold_values),
            "repeats": bool(rater_list.repeat_values),
            "seconds": any(row.card.seconds is not None for row in rows),
        },
        "list_query": _build_kept_query(request.GET),
        "just_paused": _list_just_paused(request, selection.project),
        "comparison": _build_comparison(request, selection),
    }
    return render(request, "quality/rater_status/rater_list.html", context)


def _build_rows(
    selection: Selection, rater_list: RaterList, listed: list[RaterListEntry]
) -> list[RaterTableRow]:
    ids = [rater.pk for rater in listed]
    summaries = list_rater_summaries(
        selection.question,
        scale_is_ordered=selection.ordered,
        rater_ids=ids,
        comparison=rater_list.comparison,
    )
    summary_of = {summary.rater.pk: summary for summary in summaries}
    # Only for leads: raters must not learn which items have gold answers, and a viewer may be a
    # rater of another project.
    proposed = GoldIntervention.objects.filter(
        question=selection.question, state=GoldIntervention.State.PROPOSED
    )
    interventions = (
        list(proposed.filter(rater__in=ids))
        if getattr(selection.project, "role", "") == LEAD
        else []
    )
    return [
        RaterTableRow(
            listed=rater,
            card=summary,
            status=status_texts.get_status_label(summary.status, summary.note),
            reasons=status_texts.list_reason_texts(summary),
            other_reasons=status_texts.list_other_reason_texts(summary),
            note=status_texts.describe_note(summary.note, rater.pk),
            interventions=[
                intervention for intervention in interventions if intervention.rater_id == rater.pk
            ],
            alerts=[
                (alert, get_brief_text(alert, rater.pk, is_reversed=summary.is_reversed))
                for alert in summary.alerts
            ],
        )
        for rater in listed
        if (summary := summary_of.get(rater.pk)) is not None
    ]


def _build_kept_query(query: QueryDict) -> str:
    """Return the query string of the current list, for the redirect after an action."""
    return urlencode({name: query[name] for name in KEPT_PARAMETERS if query.get(name)})


def _list_just_paused(request: HttpRequest, project: Project) -> list[Rater]:
    """Return the raters that the last action paused and nobody resumed, for the undo button."""
    if not project.can_manage or "paused" not in request.GET:
        return []
    ids = parse_rater_ids(request.GET["paused"].split(","))
    return list(project.raters.filter(pk__in=ids, paused=True))


@dataclass(frozen=True)
class ExclusionComparison:
    """The headline of all ratings, and that without some raters: None while it is computed."""

    keys: tuple[str, ...]
    name: str
    unfiltered: Value | None
    without: Value | None
    is_pending: bool
    query: str


def _build_comparison(request: HttpRequest, selection: Selection) -> ExclusionComparison | None:
    """Return the comparison without the raters of the query's ``exclude``; None without any.

    A worker computes it (metrics.filtered.filtered_jobs).
    """
    query_params = QueryDict(mutable=True)
    query_params["exclude"] = request.GET.get("exclude", "")
    filters = RatingFilter.from_query(query_params)
    if not filters:
        return None
    filtered_project = FilteredProjectSource(selection.select_ratings(filters))
    agreement = load_question_agreement(selection.question)
    name, unfiltered, without = "", None, None
    if agreement is not None and agreement.headline:
        name, unfiltered = agreement.headline["name"], agreement.headline["value"]
    if filtered_project.agreement is not None:
        headline = filtered_project.agreement.headline
        without = filtered_project.agreement.displayed_coefficients.get(name)
        without = headline["value"] if headline.get("name") == name else without
    query = urlencode({"question": selection.question.key, **filters.parameters})
    return ExclusionComparison(
        filters.excluded_raters, name, unfiltered, without, filtered_project.pending, query
    )


@login_required
@require_safe
def export_funnel(request: HttpRequest, project_id: int, file_format: str) -> HttpResponse:
    """Return the funnel chart of the listed raters as JSON (``file_format`` must be json)."""
    project = get_project(request.user, project_id, role=Member.Role.VIEWER)
    if file_format != "json":
        raise Http404(_("Page not found."))
    return render_funnel(request, project)


def render_funnel(request: HttpRequest, project: Project) -> HttpResponse:
    """Return the funnel chart for a project that the caller has checked (also for shared views)."""
    selection = get_selection(request, project)
    rater_list = RaterList(selection.question)
    url = reverse("rater", args=[selection.project.pk, "KEY"])
    query = urlencode({"question": selection.question.key})
    raters = rater_list.select(RaterFilter.from_query(request.GET))
    rows = funnel_plot.list_chart_rows(raters, rater_list.comparison.funnel, f"{url}?{query}")
    spec = funnel_plot.build_spec(
        title=str(
            display_names.get_coefficient_name(
                get_weighted_name("vs_peers", rater_list.comparison.weights)
            )
        )
    )
    return JsonResponse({"spec": spec, "rows": rows, "locale": vega_lite.build_locale()})


# Value of ``do`` -> role that may do it.
RATER_ACTIONS = {
    "checked": Member.Role.LEAD,
    "pause": Member.Role.LEAD,
    "resume": Member.Role.LEAD,
    "message": Member.Role.LEAD,
    "without": Member.Role.VIEWER,
    "csv": Member.Role.VIEWER,
}


@login_required
@require_POST
def run_rater_action(request: HttpRequest, project_id: int) -> HttpResponse:
    """Apply an action to the selected raters: ``do`` is one of RATER_ACTIONS."""
    action = request.POST.get("do", "")
    if action not in RATER_ACTIONS:
        raise BadRequest(_("Choose an action."))
    project = get_project(request.user, project_id, role=RATER_ACTIONS[action])
    ids = parse_rater_ids(request.POST.getlist("rater"))
    selected = list(project.raters.filter(pk__in=ids).order_by("key"))
    if len(selected) != len(set(ids)):
        raise build_selection_error()
    list_query = QueryDict(
        _build_kept_query(QueryDict(request.POST.get("list_query", ""))), mutable=True
    )
    if not selected:
        messages.error(request, _("Select at least one row."))
    elif action == "csv":
        list_query["rater"] = ",".join(str(rater.pk) for rater in selected)
        return redirect(f"{reverse('raters_file', args=[project.pk])}?{list_query.urlencode()}")
    elif action == "message":
        origin = request.POST.get("back", "")
        return redirect(
            build_message_url(project, selected, list_query=list_query.urlencode(), origin=origin)
        )
    elif action == "without":
        list_query["exclude"] = join_keys(rater.key for rater in selected)
    else:
        if action == "checked":
            _mark_checked(request, project, selected, list_query)
        else:
            _set_paused(request, selected, action == "pause", list_query)
        if request.POST.get("back") == "rater":
            url = reverse("rater", args=[project.pk, selected[0].key])
            return redirect(f"{url}?{urlencode({'question': list_query.get('question', '')})}")
    return redirect(f"{reverse('raters', args=[project.pk])}?{list_query.urlencode()}")


def _mark_checked(
    request: HttpRequest, project: Project, selected: list[Rater], list_query: QueryDict
) -> None:
    """Mark the raters as checked in the question of the list."""
    key = list_query.get("question")
    questions = project.questions.filter(key=key) if key else project.questions.all()
    question = get_list_or_404(questions)[0]
    ids = [rater.pk for rater in selected]
    mark_raters_checked(question_id=question.pk, rater_ids=ids, by=request.user)
    messages.success(request, status_texts.describe_checked_raters(len(selected)))


def _set_paused(
    request: HttpRequest, selected: list[Rater], paused: bool, list_query: QueryDict
) -> None:
    changed_raters = set_raters_paused(raters=selected, paused=paused, by=request.user)
    n = len(changed_raters)
    if paused:
        text = ngettext(
            "%(n)s rater paused.",
            "%(n)s raters paused.",
            n,
        )
        if changed_raters:
            list_query["paused"] = ",".join(str(rater.pk) for rater in changed_raters)
    else:
        text = ngettext("%(n)s rater resumed.", "%(n)s raters resumed.", n)
    messages.success(request, text % {"n": n})


@login_required
@require_safe
def show_all_raters(request: HttpRequest) -> HttpResponse:
    """Show the people who rate in projects that the user leads, worst status first."""
    search = (request.GET.get("search") or "").strip()
    if "\0" in search or len(search) > MAX_SITE_SEARCH_LENGTH:
        raise BadRequest(_("Use a shorter search."))
    choices = [
        *raters_of_led_projects.SORT_KEYS,
        *(f"-{name}" for name in raters_of_led_projects.SORT_KEYS),
    ]
    sort = get_choice(request.GET, "sort", choices) or "status"
    results = raters_of_led_projects.query_results(request.user, search)
    people = raters_of_led_projects.list_people(results, sort)
    paginator = Paginator(people, get_page_size(RATERS_PER_PAGE))
    number = get_page_number(request)
    if number > paginator.num_pages:
        raise Http404(_("Page not found."))
    page = paginator.page(number)
    shown_people = list(page.object_list)
    raters_of_led_projects.add_question_results(shown_people, results)
    context = {"page": page, "people": shown_people, "search": search, "sorted_by": sort}
    return render(request, "quality/rater_status/all_raters.html", context)
