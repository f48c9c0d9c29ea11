"""Views of the annotation page.

The pages work without JavaScript; rate.js requests the sheet of one item instead (header
``X-Annotation: sheet``) and prefetches the next one before this one is done.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.text import describe_whole_range, parse_id
from projects.models import Item, Member, Rater
from projects.permissions import get_project
from ratings.models import Exam
from ratings.services import permissions
from ratings.services.judgement import UnknownCode

from . import rate_page, rater_progress, rater_selectors, remaining_items, submission
from .assignments import queue
from .forms import AnswerForm, SkipForm, get_questions
from .rater_progress import get_next_project
from .submission import undo_submission

MAX_SHOWN_ITEMS = 20  # ids that a request may name as shown

ERROR_RESPONSES = {
    permissions.ItemNotAssigned: (404, _lazy("This item was deleted or isn't yours.")),
    submission.NoSlotLeft: (
        409,
        _lazy("Your time ran out. Others rated this item: continue with the next."),
    ),
    permissions.ExamRequired: (403, _lazy("Pass the exam first.")),
    permissions.ExamAnswersFinal: (403, _lazy("Exam answers are final.")),
    submission.ExamItemNotSkippable: (409, _lazy("You can't skip items in an exam.")),
    permissions.CorrectionsClosed: (
        403,
        _lazy("Ratings here are final. Your earlier answer is kept."),
    ),
    permissions.ProjectArchived: (
        403,
        _lazy("Archived projects accept no ratings."),
    ),
    submission.AlreadyRated: (
        409,
        _lazy("You've already rated this item."),
    ),
}


@login_required
@never_cache
@require_http_methods(["GET", "POST"])
def rate(request: HttpRequest, project_id: int) -> HttpResponse:
    """Show the next item. POST creates the user's rater if needed (a lead's "Rate as yourself")."""
    project = get_project(request.user, project_id, role=Member.Role.ANNOTATOR)
    if request.method == "POST":
        submission.get_or_create_rater(project, request.user)
        return redirect("rate", project_id)
    rater = rater_selectors.get_rater(project, request.user)
    if rater is None or rater.paused or project.archived_at or not get_questions(project):
        return render(
            request, "ratings/rate_closed.html", _build_closed_context(request, project, rater)
        )
    item = queue.get_next_item(rater)
    return rate_page.render_page(request, rater, item)


def require_rater(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Decorate a view to get the user's rater; it raises Http404 if there is none.

    A paused rater gets a page that says so (403). rate.js gets a fragment instead of each error.
    """

    @login_required
    @never_cache
    @functools.wraps(view)
    def with_rater(request: HttpRequest, project_id: int, **url_kwargs: Any) -> HttpResponse:
        is_sheet_request = rate_page.is_sheet_request(request)
        try:
            project = get_project(request.user, project_id, role=Member.Role.ANNOTATOR)
            rater = rater_selectors.get_rater(project, request.user)
            if rater is None:
                raise Http404
        except (Http404, PermissionDenied):
            if not is_sheet_request:
                raise
            return _render_access_lost(request, project_id)
        try:
            permissions.validate_not_paused(rater.paused, rater.gold_notice)
        except permissions.RaterPaused:
            template = "_rate_paused" if is_sheet_request else "rate_closed"
            context = _build_closed_context(request, project, rater)
            return render(request, f"ratings/{template}.html", context, status=403)
        try:
            response = view(request, rater, **url_kwargs)
        except Http404:  # an item that was deleted while it was open
            if not is_sheet_request:
                raise
            message = _("This item was deleted or isn't yours.")
            response = _render_not_stored(request, rater, 404, message)
        if is_sheet_request:  # also for a response without a sheet (204)
            response["X-Guidelines"] = str(rater.project.guidelines_version)
        return response

    return with_rater


def _render_access_lost(request: HttpRequest, project_id: int) -> HttpResponse:
    """Render for rate.js that access to the project was lost (404), even if it never existed."""
    context = {"next_project": get_next_project(request.user, exclude_project_id=project_id)}
    return render(request, "ratings/_rate_access_lost.html", context, status=404)


@require_GET
@require_rater
def rate_next(request: HttpRequest, rater: Rater) -> HttpResponse:
    """Return the sheet of the next item, excluding the items in ``?showing=1,2``; 204 if none."""
    item = _get_prefetched_item(rater, _parse_ids(request.GET.get("showing")))
    if item is None:
        return HttpResponse(status=204)
    return rate_page.render_sheet(request, rater, item)


@require_http_methods(["GET", "POST"])
@require_rater
def rate_undo(request: HttpRequest, rater: Rater) -> HttpResponse:
    """Return to the item that the rater answered or skipped last, or before the item ``before``.

    POST withdraws the rater's answers to it; with GET, or if they cannot be withdrawn, the item is
    only shown. Without such an item, the response is 204 to rate.js, else a redirect.
    """
    data = request.POST if request.method == "POST" else request.GET
    item = submission.get_previous_item(rater, parse_id(data.get("before")))
    if item is None:
        if rate_page.is_sheet_request(request):
            return HttpResponse(status=204)
        messages.info(request, _("No earlier answer."))
        return redirect("rate", rater.project_id)
    if request.method == "POST":
        try:
            codes = undo_submission(rater=rater, item=item, by=request.user)
        except permissions.RatingNotAllowed:
            pass  # the item's page shows its state
        else:
            rater_progress.clear_rated_count(rater)
            return _respond_after_undo(request, rater, item, codes)
    if rate_page.is_sheet_request(request):
        return rate_page.render_sheet(request, rater, item)
    return redirect("rate_item", rater.project_id, item.pk)


@require_http_methods(["GET", "POST"])
@require_rater
def rate_item(request: HttpRequest, rater: Rater, item_id: int) -> HttpResponse:
    """Show one item that was assigned to the rater or rated by them; POST stores their answers."""
    item = _get_item_or_404(rater, item_id)
    if request.method == "GET":
        return rate_page.render_page(request, rater, item)
    questions = rate_page.list_asked_questions(rater, item, is_exam_item="exam" in request.POST)
    form = AnswerForm(questions, request.POST)
    if not form.is_valid():
        return rate_page.render_page(request, rater, item, form=form, status=400)
    try:
        ended_exam = submission.submit_answers(
            rater=rater,
            item=item,
            codes=form.get_codes(),
            comment=form.cleaned_data["comment"],
            flagged=form.cleaned_data["flagged"],
            by=request.user,
            page_versions=submission.PageVersions(
                guidelines=parse_id(request.POST.get("guidelines")),
                item_version=parse_id(request.POST.get("item_version")),
                answers=request.POST.get("answer_version"),
                is_delayed="delayed" in request.POST,
            ),
        )
    except UnknownCode:
        form.add_error(None, _("The answers have changed. Choose again."))
        return rate_page.render_page(request, rater, item, form=form, status=400)
    except submission.AnsweredInOtherWindow:
        return rate_page.render_page(request, rater, item, form=form, is_conflict=True, status=409)
    except permissions.RatingNotAllowed as error:
        return _respond_not_allowed(request, rater, error)
    return _respond_after_submit(request, rater, ended_exam=ended_exam)


@require_POST
@require_rater
def rate_goal(request: HttpRequest, rater: Rater) -> HttpResponse:
    """Set the rater's goal of items a day (``goal``); empty or 0 removes it."""
    text = request.POST.get("goal", "").strip()
    goal = parse_id(text or "0")
    if goal is None or goal > rater_progress.MAX_DAILY_GOAL:
        message = describe_whole_range(1, rater_progress.MAX_DAILY_GOAL)
        messages.error(request, message)
    else:
        rater_progress.set_daily_goal(rater, goal or None)
    return redirect("rate", rater.project_id)


@require_POST
@require_rater
def rate_skip(request: HttpRequest, rater: Rater, item_id: int) -> HttpResponse:
    """Skip an item with a reason."""
    item = _get_item_or_404(rater, item_id)
    form = SkipForm(request.POST)
    if not form.is_valid():
        return rate_page.render_page(request, rater, item, skip_form=form, status=400)
    try:
        submission.skip_item(rater=rater, item=item, reason=form.cleaned_data["reason"])
    except permissions.RatingNotAllowed as error:
        return _respond_not_allowed(request, rater, error)
    return _respond_after_submit(request, rater)


# --- helpers


def _build_closed_context(
    request: HttpRequest, project: Any, rater: Rater | None
) -> dict[str, object]:
    """Return the context of a page without an item: a message from a lead, and the next project.

    A user without a rater (None) has no message.
    """
    return {
        "project": project,
        "rater": rater,
        "message": rater_selectors.get_unread_message(rater) if rater else None,
        "next_project": get_next_project(request.user, exclude_project_id=project.pk),
    }


def _get_item_or_404(rater: Rater, item_id: int) -> Item:
    """Return an item that was assigned to the rater or rated by them; otherwise raise Http404."""
    item = rater_selectors.get_item(rater, item_id)
    if item is None:
        raise Http404
    return item


def _parse_ids(text: str | None) -> list[int]:
    """Return the ids in a comma-separated list, each once; parts that are no ids are left out.

    Without a text, there are none; after MAX_SHOWN_ITEMS parts, the rest is left out.
    """
    parts = (text or "").split(",", MAX_SHOWN_ITEMS)[:MAX_SHOWN_ITEMS]
    ids = [item_id for part in parts if (item_id := parse_id(part)) is not None]
    return list(dict.fromkeys(ids))


def _get_prefetched_item(rater: Rater, shown_item_ids: list[int]) -> Item | None:
    """Return another item than those on the page; None if none is left or the page has enough."""
    # The first item after the one on the screen needs no further permission.
    n_shown = len(shown_item_ids)
    if n_shown > 1 and n_shown > remaining_items.get_max_prefetched_items(rater):
        return None
    return queue.get_next_item(rater, exclude_item_ids=shown_item_ids)


def _respond_after_submit(
    request: HttpRequest, rater: Rater, *, ended_exam: Exam | None = None
) -> HttpResponse:
    """Redirect to the next item after a submission; for rate.js, return the sheet of another item.

    If the submission ended an exam (``ended_exam``), its result is shown instead.
    """
    if ended_exam is not None:
        if not rate_page.is_sheet_request(request):
            return redirect("own_exam", rater.project_id)
        return rate_page.render_sheet(request, rater, None, ended_exam=ended_exam)
    if not rate_page.is_sheet_request(request):
        return redirect("rate", rater.project_id)
    shown_item_ids = _parse_ids(request.POST.get("showing"))
    if shown_item_ids:
        item = _get_prefetched_item(rater, shown_item_ids)
        if item is None:
            return rate_page.render_progress(request, rater)
        return rate_page.render_sheet(request, rater, item)
    return rate_page.render_sheet(request, rater, queue.get_next_item(rater))


def _respond_after_undo(
    request: HttpRequest, rater: Rater, item: Item, codes: dict[int, int]
) -> HttpResponse:
    """Show the item again with the withdrawn answers (question id -> code) preselected.

    Submitting them unchanged redoes what was undone.
    """
    labels = rater_selectors.get_labels(get_questions(rater.project), codes) or [_("skipped")]
    message = _("Undone: %(said)s") % {"said": _("; ").join(labels)}
    if rate_page.is_sheet_request(request):
        return rate_page.render_sheet(
            request, rater, item, selected_codes=codes, undone_message=message
        )
    messages.info(request, message)
    return redirect("rate_item", rater.project_id, item.pk)


def _respond_not_allowed(
    request: HttpRequest, rater: Rater, error: permissions.RatingNotAllowed
) -> HttpResponse:
    return _render_not_stored(request, rater, *ERROR_RESPONSES[type(error)])


def _render_not_stored(
    request: HttpRequest, rater: Rater, status: int, message: str | Promise
) -> HttpResponse:
    template = (
        "ratings/_rate_not_stored.html"
        if rate_page.is_sheet_request(request)
        else "ratings/rate_not_stored.html"
    )
    return render(request, template, {"project": rater.project, "message": message}, status=status)
