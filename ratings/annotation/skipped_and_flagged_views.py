"""The list of skipped and flagged items, for leads."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from core.web.tables import get_page_size
from projects.models import Member
from projects.permissions import get_project
from ratings.items import content
from ratings.models import Assignment

from . import skipped_and_flagged

ITEMS_PER_PAGE = 50


@login_required
@never_cache
@require_GET
def show_skipped_and_flagged_items(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show leads the items that raters skipped or flagged, with the reasons."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    rows = (
        Assignment.objects.skipped_or_flagged_in(project)
        .select_related("item", "rater")
        .order_by("-closed_at", "-id")
    )
    page = Paginator(rows, get_page_size(ITEMS_PER_PAGE)).get_page(request.GET.get("page"))
    context = {
        "project": project,
        "page": page,
        "rows": [
            (entry.assignment, content.render_inline(entry.assignment.item.body), entry.reasons)
            for entry in skipped_and_flagged.build_entries_with_reasons(list(page))
        ],
    }
    return render(request, "ratings/skipped_and_flagged.html", context)
