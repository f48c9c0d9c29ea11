"""Lists beside the desk: a rater's own ratings, and for the lead what raters set aside."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from core.web.tables import a_page
from projects.models import Member, Question, Rater
from projects.permissions import LARGEST_ID, get_project
from ratings.items import content
from ratings.models import Apart, Assignment, RaterMessage

from . import rater_messages, rater_work, skips
from .forms import questions_of
from .progress import rater_progress

ITEMS_A_PAGE = 50
MESSAGES = 50  # of those that were read, the latest
LONGEST_SEARCH = 255
SKIPPED, EXAM = "skipped", "exam"
SHOWN = {  # of own.SHOWN, and SKIPPED
    "flagged": gettext_lazy("flagged"),
    "comment": gettext_lazy("with a comment"),
    "changed": gettext_lazy("changed later"),
    SKIPPED: gettext_lazy("skipped"),
    EXAM: gettext_lazy("in an exam"),
}


@login_required
@never_cache
@require_GET
def my_ratings(request: HttpRequest, project_id: int) -> HttpResponse:
    """What the rater said, item by item, the latest first."""
    project = get_project(request.user, project_id, role=Member.Role.ANNOTATOR)
    rater = rater_work.rater_of(project, request.user)
    search = request.GET.get("search", "").replace("\0", "")[:LONGEST_SEARCH].strip()
    show = request.GET.get("show", "")
    show = show if show in SHOWN else ""
    of_skipped = show == SKIPPED
    found = (
        rater_work.skipped(rater, search=search)
        if of_skipped
        else rater_work.listed(rater, search=search, show=show)
    )
    shown = Paginator(found, ITEMS_A_PAGE).get_page(request.GET.get("page"))
    questions = questions_of(project)
    has_exams = rater is not None and rater.exams.exists()
    written = RaterMessage.objects.filter(rater=rater).select_related("by").order_by("-pk")
    context = {
        "project": project,
        "rater": rater,
        "unread": written.filter(read_at=None).order_by("pk") if rater else [],
        "read": written.exclude(read_at=None)[:MESSAGES] if rater else [],
        "page": shown,
        "rows": _rows(rater, shown, questions) if rater and not of_skipped else [],
        "skipped": [(row, content.in_a_line(row.item.body)) for row in shown if of_skipped],
        "search": search,
        "show": show,
        "shown": [one for one in SHOWN.items() if has_exams or one[0] != EXAM],
        "has_exams": has_exams,
        **(_numbers(rater) if rater else {}),
        "several_questions": len(questions) > 1,
    }
    return render(request, "ratings/my_ratings.html", context)


@login_required
@require_POST
def read_message(request: HttpRequest, project_id: int, message_id: int) -> HttpResponse:
    """The rater has read it, also while they are paused. Then back to where it stood: the item
    (``item``), My ratings (``back``) or the desk; 204 for rate.js, which stays."""
    project = get_project(request.user, project_id, role=Member.Role.ANNOTATOR)
    rater = rater_work.rater_of(project, request.user)
    if rater is None or not rater_messages.mark_read(
        rater=rater, message_id=min(message_id, LARGEST_ID)
    ):
        raise Http404
    if request.headers.get("X-Desk") == "sheet":
        return HttpResponse(status=204)
    if request.POST.get("back") == "my_ratings":
        return redirect("my_ratings", project.pk)
    item = request.POST.get("item", "")
    if item.isascii() and item.isdigit() and len(item) < 19:
        return redirect("rate_item", project.pk, int(item))
    return redirect("rate", project.pk)


def _numbers(rater: Rater) -> dict[str, Any]:
    return {
        "progress": rater_progress.of_rater(rater),
        "asked_twice": rater_work.asked_twice(rater),
        "examined": rater_work.answered_in_exams(rater),
    }


def _rows(rater: Rater, shown: Any, questions: list[Question]) -> list[dict[str, Any]]:
    """The list item by item, what was said of it in the order of the questions at the desk."""
    labels = {
        (c.question_id, c.code): c.label
        for question in questions
        for c in question.categories.all()
    }
    places = {question.pk: place for place, question in enumerate(questions)}
    each = rater_work.fetched(rater, shown)
    flagged, changed = rater_work.marks_of(
        rater, [rating for ratings in each for rating in ratings]
    )
    rows = []
    for ratings in each:
        ratings.sort(key=lambda rating: places.get(rating.question_id, len(places)))
        item = ratings[0].item
        answers = [
            {
                "rating": rating,
                "label": labels.get((rating.question_id, rating.code)),
                "changed": (isinstance(rating, Apart), rating.pk) in changed,
            }
            for rating in ratings
        ]
        row = {
            "item": item,
            "excerpt": content.in_a_line(item.body),
            "answers": answers,
            "last": max(rating.changed_at for rating in ratings),
            "flagged": item.pk in flagged,
            "in_exam": getattr(ratings[0], "why", "") == Assignment.Why.EXAM,
        }
        rows.append(row)
    return rows


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
    page = Paginator(rows, a_page(ITEMS_A_PAGE)).get_page(request.GET.get("page"))
    context = {
        "project": project,
        "page": page,
        "rows": [
            (one.assignment, content.in_a_line(one.assignment.item.body), one.why)
            for one in skips.with_why(list(page))
        ],
    }
    return render(request, "ratings/skipped_and_flagged.html", context)
