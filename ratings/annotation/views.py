"""The annotator's desk. Pages for a browser without JavaScript; rate.js asks for the sheet of one
item instead (header ``X-Desk: sheet``) and lays the next one ready before this one is done."""

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

from projects.models import Item, Member, Rater
from projects.permissions import get_project
from ratings.models import Exam
from ratings.services import permissions
from ratings.services.judgement import UnknownCode

from . import rate_page, rater_work, submission
from .assignments import queue
from .forms import AnswerForm, SkipForm, questions_of
from .progress import rater_progress
from .progress.next_project import next_project
from .undo import take_back

REFUSALS = {
    permissions.NotAsked: (404, _lazy("This item was never given to you.")),
    submission.NoPlaceLeft: (
        409,
        _lazy(
            "Your time for this item was over and others have rated it meanwhile, so your answer"
            " was not stored. Please go on with the next one."
        ),
    ),
    permissions.NotExamined: (403, _lazy("You have an exam to pass before you rate here.")),
    permissions.ExamStands: (403, _lazy("Answers of an exam stay as they were given.")),
    submission.ExamSkipped: (409, _lazy("In an exam every item is answered.")),
    permissions.CorrectionsClosed: (
        403,
        _lazy("Ratings cannot be changed in this project any more. What you said before stands."),
    ),
    permissions.Archived: (403, _lazy("This project is archived: nobody rates in it.")),
    submission.AlreadyRated: (
        409,
        _lazy("You have rated this item; it cannot be skipped any more."),
    ),
}


@login_required
@never_cache
@require_http_methods(["GET", "POST"])
def rate(request: HttpRequest, project_id: int) -> HttpResponse:
    """The next item. POST makes the user a rater of the project (a lead's "Rate as yourself")."""
    project = get_project(request.user, project_id, role=Member.Role.ANNOTATOR)
    if request.method == "POST":
        submission.begin(project, request.user)
        return redirect("rate", project_id)
    rater = rater_work.rater_of(project, request.user)
    if rater is None or rater.paused or project.archived_at or not questions_of(project):
        return render(request, "ratings/rate_closed.html", _closed(request, project, rater))
    item = queue.next_item(rater)
    return rate_page.page(request, rater, item)


def for_raters(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Give the view the rater that the user is. 404 without one; who is paused, or rates here no
    more, is told so at once, whatever they were doing."""

    @login_required
    @never_cache
    @functools.wraps(view)
    def with_rater(request: HttpRequest, project_id: int, **place: Any) -> HttpResponse:
        try:
            project = get_project(request.user, project_id, role=Member.Role.ANNOTATOR)
            rater = rater_work.rater_of(project, request.user)
            if rater is None:
                raise Http404
        except (Http404, PermissionDenied):
            if not rate_page.wants_sheet(request):
                raise
            # Alike for whatever is not theirs.
            context = {"next_project": next_project(request.user, besides=project_id)}
            return render(request, "ratings/_rate_access_lost.html", context, status=404)
        try:
            permissions.refuse_paused(rater.paused, rater.told)
        except permissions.Paused:
            template = "_rate_paused" if rate_page.wants_sheet(request) else "rate_closed"
            context = _closed(request, project, rater)
            return render(request, f"ratings/{template}.html", context, status=403)
        try:
            response = view(request, rater, **place)
        except Http404:  # an item that was deleted while it was on the desk
            if not rate_page.wants_sheet(request):
                raise
            response = _not_stored(
                request, rater, 404, _("This item is gone, or was never given to you.")
            )
        if rate_page.wants_sheet(request):  # also of an answer without a sheet (204)
            response["X-Guidelines"] = str(rater.project.guidelines_version)
        return response

    return with_rater


@require_GET
@for_raters
def rate_next(request: HttpRequest, rater: Rater) -> HttpResponse:
    """The sheet of the item after the one on the desk (``?showing=``), for laying ready; 204 when
    there is none."""
    return _ahead(
        request, rater, queue.next_item(rater, besides=_number(request.GET.get("showing")))
    )


@require_http_methods(["GET", "POST"])
@for_raters
def rate_last(request: HttpRequest, rater: Rater) -> HttpResponse:
    """Undo: the item answered or skipped last, or before the one on the desk (``before``). POST
    takes back what was said of it; where that is not possible, and with GET, it is shown."""
    given = request.POST if request.method == "POST" else request.GET
    item = submission.item_before(rater, _number(given.get("before")))
    if item is None:
        if rate_page.wants_sheet(request):
            return HttpResponse(status=204)
        messages.info(request, _("There is nothing to take back yet."))
        return redirect("rate", rater.project_id)
    if request.method == "POST":
        try:
            codes = take_back(rater=rater, item=item, by=request.user)
        except permissions.Refused:
            pass  # the page of the item says how it stands
        else:
            rater_progress.forget(rater)
            return _taken_back(request, rater, item, codes)
    if rate_page.wants_sheet(request):
        return rate_page.sheet(request, rater, item)
    return redirect("rate_item", rater.project_id, item.pk)


@require_http_methods(["GET", "POST"])
@for_raters
def rate_item(request: HttpRequest, rater: Rater, item_id: int) -> HttpResponse:
    """One item that was given to the rater, or rated by them: see it, answer it, correct it."""
    item = _my_item(rater, item_id)
    if request.method == "GET":
        return rate_page.page(request, rater, item)
    form = AnswerForm(questions_of(rater.project), request.POST)
    if not form.is_valid():
        return rate_page.page(request, rater, item, form=form, status=400)
    try:
        ended = submission.answer(
            rater=rater,
            item=item,
            codes=form.codes(),
            comment=form.cleaned_data["comment"],
            flagged=form.cleaned_data["flagged"],
            by=request.user,
            shown=submission.Shown(
                guidelines=_number(request.POST.get("guidelines")),
                item_version=_number(request.POST.get("item_version")),
                said=request.POST.get("said"),
            ),
        )
    except UnknownCode:
        form.add_error(
            None, _("The answers of this question were changed just now. Please choose again.")
        )
        return rate_page.page(request, rater, item, form=form, status=400)
    except submission.AnsweredElsewhere:
        return rate_page.page(request, rater, item, form=form, elsewhere=True, status=409)
    except permissions.Refused as refusal:
        return _refused(request, rater, refusal)
    return _go_on(request, rater, ended=ended)


@require_POST
@for_raters
def rate_skip(request: HttpRequest, rater: Rater, item_id: int) -> HttpResponse:
    item = _my_item(rater, item_id)
    form = SkipForm(request.POST)
    if not form.is_valid():
        return rate_page.page(request, rater, item, skip_form=form, status=400)
    try:
        submission.skip(rater=rater, item=item, reason=form.cleaned_data["reason"])
    except permissions.Refused as refusal:
        return _refused(request, rater, refusal)
    return _go_on(request, rater)


# --- who and what


def _closed(request: HttpRequest, project: Any, rater: Rater | None) -> dict[str, Any]:
    """A desk without an item: what a lead wrote, and where else there is something to do."""
    return {
        "project": project,
        "rater": rater,
        "message": rater_work.unread_message(rater) if rater else None,
        "next_project": next_project(request.user, besides=project.pk),
    }


def _my_item(rater: Rater, item_id: int) -> Item:
    """An item that was given to the rater or rated by them; all others do not exist for them."""
    item = rater_work.item_of(rater, item_id)
    if item is None:
        raise Http404
    return item


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else None


def _ahead(request: HttpRequest, rater: Rater, item: Item | None) -> HttpResponse:
    return HttpResponse(status=204) if item is None else rate_page.sheet(request, rater, item)


def _go_on(request: HttpRequest, rater: Rater, *, ended: Exam | None = None) -> HttpResponse:
    """After something was stored: the next page; or for rate.js the item after the one that it
    shows already. After an exam its result."""
    if ended is not None:
        if not rate_page.wants_sheet(request):
            return redirect("exam", rater.project_id)
        context = rate_page.context(rater, None) | rate_page.without_item(request, rater)
        context |= {"ended": ended}
        return render(request, "ratings/_rate_sheet.html", context)
    if not rate_page.wants_sheet(request):
        return redirect("rate", rater.project_id)
    showing = _number(request.POST.get("showing"))
    item = queue.next_item(rater, besides=showing)
    return (
        rate_page.sheet(request, rater, item) if showing is None else _ahead(request, rater, item)
    )


def _taken_back(
    request: HttpRequest, rater: Rater, item: Item, codes: dict[int, int]
) -> HttpResponse:
    """The item again, with what was said of it chosen: to send it once more is to redo it."""
    said = rater_work.labels(questions_of(rater.project), codes) or [_("skipped")]
    words = _("%(item)s: %(said)s, taken back.") % {"item": item.key, "said": "; ".join(said)}
    if rate_page.wants_sheet(request):
        return rate_page.sheet(request, rater, item, chosen=codes, taken_back=words)
    messages.info(request, words)
    return redirect("rate_item", rater.project_id, item.pk)


def _refused(request: HttpRequest, rater: Rater, refusal: permissions.Refused) -> HttpResponse:
    return _not_stored(request, rater, *REFUSALS[type(refusal)])


def _not_stored(
    request: HttpRequest, rater: Rater, status: int, message: str | Promise
) -> HttpResponse:
    template = (
        "ratings/_rate_not_stored.html"
        if rate_page.wants_sheet(request)
        else "ratings/rate_not_stored.html"
    )
    return render(request, template, {"project": rater.project, "message": message}, status=status)
