"""Lists beside the desk: a rater's own ratings, and for the lead what raters set aside."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from projects.access import get_project
from projects.models import Member
from ratings.models import Assignment

from . import content, own, progress
from .forms import questions_of

RATINGS_A_PAGE = 50


@login_required
@never_cache
@require_GET
def my_ratings(request: HttpRequest, project_id: int) -> HttpResponse:
    """The rater's own ratings, latest first."""
    project = get_project(request.user, project_id, role=Member.Role.ANNOTATOR)
    rater = own.rater_of(project, request.user)
    page = Paginator(own.listed(rater), RATINGS_A_PAGE).get_page(request.GET.get("page"))
    questions = questions_of(project)
    labels = {
        (c.question_id, c.code): c.label
        for question in questions
        for c in question.categories.all()
    }
    rows = [
        {
            "rating": rating,
            "label": labels.get((rating.question_id, rating.code)),
            "excerpt": content.excerpt(rating.item.body),
        }
        for rating in own.fetched(page)
    ]
    done = progress.of_rater(rater) if rater else None
    context = {
        "project": project,
        "rater": rater,
        "page": page,
        "rows": rows,
        "progress": done,
        "examined": rater is not None and rater.exams.exists(),
        "several_questions": len(questions) > 1,
    }
    return render(request, "ratings/my_ratings.html", context)


@login_required
@never_cache
@require_GET
def set_aside(request: HttpRequest, project_id: int) -> HttpResponse:
    """For the lead: what raters skipped, and why, and what they flagged."""
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    rows = (
        Assignment.objects.set_aside_in(project)
        .select_related("item", "rater")
        .order_by("-closed_at", "-id")
    )
    page = Paginator(rows, RATINGS_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "project": project,
        "page": page,
        "rows": [(row, content.excerpt(row.item.body)) for row in page],
    }
    return render(request, "ratings/rate_set_aside.html", context)
