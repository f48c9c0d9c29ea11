"""Pages beside the annotation page: a rater's own ratings; items skipped or flagged, for leads."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from core.text import parse_id
from core.web.tables import get_page_size
from projects.models import Member, Question, Rater
from projects.permissions import MAX_ID, get_project
from ratings.annotation import rater_messages, rater_selectors, skipped_and_flagged
from ratings.items import content
from ratings.models import Assignment, CheckAnswer, RaterMessage

from . import rater_progress
from .forms import get_questions

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


@login_required
@require_POST
def resolve_skip_or_flag(request: HttpRequest, project_id: int) -> HttpResponse:
    """Resolve the skip or flag of the posted ``assignment``, which may be resolved already.

    Raises Http404 without an id.
    """
    project = get_project(request.user, project_id, role=Member.Role.LEAD)
    assignment_id = parse_id(request.POST.get("assignment"))
    if assignment_id is None:
        raise Http404
    skipped_and_flagged.resolve_skip_or_flag(project=project, assignment_id=assignment_id)
    return redirect("skipped_and_flagged", project.pk)


MAX_READ_MESSAGES = 50  # latest messages that were read
MAX_SEARCH_LENGTH = 255
SKIPPED, EXAM = "skipped", "exam"
LIST_FILTERS = {  # labels of rater_selectors.LIST_FILTERS and SKIPPED
    "flagged": gettext_lazy("flagged"),
    "comment": gettext_lazy("with a comment"),
    "changed": gettext_lazy("edited"),
    SKIPPED: gettext_lazy("skipped"),
    EXAM: gettext_lazy("in an exam"),
}


@login_required
@never_cache
@require_GET
def show_own_ratings(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show the rater's own answers by item, the latest first."""
    project = get_project(request.user, project_id, role=Member.Role.ANNOTATOR)
    rater = rater_selectors.get_rater(project, request.user)
    search = request.GET.get("search", "").replace("\0", "")[:MAX_SEARCH_LENGTH].strip()
    show = request.GET.get("show", "")
    show = show if show in LIST_FILTERS else ""
    is_skipped_list = show == SKIPPED
    entries = (
        rater_selectors.list_skipped(rater, search=search)
        if is_skipped_list
        else rater_selectors.list_rated_items(rater, search=search, show=show)
    )
    page = Paginator(entries, ITEMS_PER_PAGE).get_page(request.GET.get("page"))
    questions = get_questions(project)
    has_exams = rater is not None and rater.exams.exists()
    sent_messages = (
        RaterMessage.objects.filter(rater=rater).select_related("sender").order_by("-pk")
    )
    context = {
        "project": project,
        "rater": rater,
        "unread": sent_messages.filter(read_at=None).order_by("pk") if rater else [],
        "read": sent_messages.exclude(read_at=None)[:MAX_READ_MESSAGES] if rater else [],
        "page": page,
        "rows": _build_rows(rater, page, questions) if rater and not is_skipped_list else [],
        "skipped": [(row, content.render_inline(row.item.body)) for row in page if is_skipped_list],
        "search": search,
        "show": show,
        "list_filters": [
            list_filter
            for list_filter in LIST_FILTERS.items()
            if has_exams or list_filter[0] != EXAM
        ],
        "has_exams": has_exams,
        **(_get_counts(rater) if rater else {}),
        "several_questions": len(questions) > 1,
    }
    return render(request, "ratings/my_ratings.html", context)


@login_required
@require_POST
def mark_message_read(request: HttpRequest, project_id: int, message_id: int) -> HttpResponse:
    """Mark a message as read, also for a paused rater, and return to the page it was read on.

    That is the posted ``item``, My ratings (``back``) or the annotation page. rate.js, which keeps
    its page open, gets an empty response (204). Raises Http404 if the user has no such message.
    """
    project = get_project(request.user, project_id, role=Member.Role.ANNOTATOR)
    rater = rater_selectors.get_rater(project, request.user)
    if rater is None or not rater_messages.mark_read(
        rater=rater, message_id=min(message_id, MAX_ID)
    ):
        raise Http404
    if request.headers.get("X-Annotation") == "sheet":
        return HttpResponse(status=204)
    if request.POST.get("back") == "my_ratings":
        return redirect("my_ratings", project.pk)
    item_id = parse_id(request.POST.get("item"))
    if item_id is not None:
        return redirect("rate_item", project.pk, item_id)
    return redirect("rate", project.pk)


def _get_counts(rater: Rater) -> dict[str, object]:
    return {
        "progress": rater_progress.compute_progress(rater),
        "days": rater_progress.list_daily_figures(rater),
        "n_repeated": rater_selectors.count_repeated_items(rater),
        "n_exam_items": rater_selectors.count_answered_exam_items(rater),
    }


def _build_rows(rater: Rater, page: Any, questions: list[Question]) -> list[dict[str, object]]:
    """Return the listed items with the rater's answers in the order of the project's questions."""
    labels = {
        (category.question_id, category.code): category.label
        for question in questions
        for category in question.categories.all()
    }
    position_by_question = {question.pk: position for position, question in enumerate(questions)}
    answers_by_item = rater_selectors.fetch_answers(rater, page)
    flagged, changed = rater_selectors.get_flagged_and_changed(
        rater, [rating for ratings in answers_by_item for rating in ratings]
    )
    rows = []
    for ratings in answers_by_item:
        ratings.sort(
            key=lambda rating: position_by_question.get(
                rating.question_id, len(position_by_question)
            )
        )
        item = ratings[0].item
        answers = [
            {
                "rating": rating,
                "label": labels.get((rating.question_id, rating.code)),
                "changed": (isinstance(rating, CheckAnswer), rating.pk) in changed,
            }
            for rating in ratings
        ]
        row = {
            "item": item,
            "excerpt": content.render_inline(item.body),
            "answers": answers,
            "last": max(rating.changed_at for rating in ratings),
            "flagged": item.pk in flagged,
            "in_exam": getattr(ratings[0], "kind", "") == Assignment.Kind.EXAM,
        }
        rows.append(row)
    return rows
