"""Page of the raters of all projects that a user leads."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from core.web.tables import get_page_size
from metrics.views.common.selection import get_choice, get_page_number

from . import site_raters

RATERS_PER_PAGE = 50
MAX_SEARCH_LENGTH = 200


@login_required
@require_safe
def show_all_raters(request: HttpRequest) -> HttpResponse:
    """Show the people who rate in projects that the user leads, worst status first."""
    search = (request.GET.get("search") or "").strip()
    if "\0" in search or len(search) > MAX_SEARCH_LENGTH:
        raise BadRequest(_("Use a shorter search."))
    choices = [*site_raters.SORT_KEYS, *(f"-{name}" for name in site_raters.SORT_KEYS)]
    sort = get_choice(request.GET, "sort", choices) or "status"
    results = site_raters.query_results(request.user, search)
    people = site_raters.list_people(results, sort)
    paginator = Paginator(people, get_page_size(RATERS_PER_PAGE))
    number = get_page_number(request)
    if number > paginator.num_pages:
        raise Http404(_("Page not found."))
    page = paginator.page(number)
    shown_people = list(page.object_list)
    site_raters.add_question_results(shown_people, results)
    context = {"page": page, "people": shown_people, "search": search, "sorted_by": sort}
    return render(request, "quality/rater_status/all_raters.html", context)
