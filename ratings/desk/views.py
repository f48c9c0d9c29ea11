"""The annotator's desk. Pages for a browser without JavaScript; rate.js asks for the sheet of one
item instead (header ``X-Desk: sheet``) and lays the next one ready before this one is done."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import prefetch_related_objects
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from projects.access import get_project
from projects.models import Item, Member, Project, Question, Rater
from ratings.models import Assignment, Rating
from ratings.recording.judgement import UnknownCode

from . import answering, content, own, progress, queue
from .forms import AnswerForm, SkipForm

RATINGS_A_PAGE = 50

REFUSALS = {
    answering.NotAsked: (404, _lazy("This item was never given to you.")),
    answering.NoPlaceLeft: (
        409,
        _lazy(
            "Your time for this item was over and others have rated it meanwhile, so your answer"
            " was not stored. Please go on with the next one."
        ),
    ),
    answering.CorrectionsClosed: (
        403,
        _lazy("Ratings cannot be changed in this project any more. What you said before stands."),
    ),
    answering.AlreadyRated: (
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
        answering.begin(project, request.user)
        return redirect("rate", project_id)
    rater = own.rater_of(project, request.user)
    if rater is None or rater.paused or not _questions(project):
        return render(request, "ratings/rate_closed.html", {"project": project, "rater": rater})
    item = queue.next_item(rater)
    return _page(request, rater, item)


@login_required
@never_cache
@require_GET
def rate_next(request: HttpRequest, project_id: int) -> HttpResponse:
    """The sheet of the item after the one on the desk (``?showing=``), for laying ready; 204 when
    there is none."""
    rater = _my_rater(request, project_id)
    return _ahead(
        request, rater, queue.next_item(rater, besides=_number(request.GET.get("showing")))
    )


@login_required
@never_cache
@require_GET
def rate_last(request: HttpRequest, project_id: int) -> HttpResponse:
    """Undo: the item answered or skipped last, or before the one on the desk (``?before=``), with
    what was said."""
    rater = _my_rater(request, project_id)
    item = answering.item_before(rater, _number(request.GET.get("before")))
    if item is None:
        if _wants_sheet(request):
            return HttpResponse(status=204)
        messages.info(request, _("There is nothing to take back yet."))
        return redirect("rate", project_id)
    if _wants_sheet(request):
        return _sheet(request, rater, item)
    return redirect("rate_item", project_id, item.pk)


@login_required
@never_cache
@require_http_methods(["GET", "POST"])
def rate_item(request: HttpRequest, project_id: int, item_id: int) -> HttpResponse:
    """One item that was given to the rater, or rated by them: see it, answer it, correct it."""
    rater = _my_rater(request, project_id)
    item = _my_item(rater, item_id)
    if request.method == "GET":
        return _page(request, rater, item)
    form = AnswerForm(_questions(rater.project), request.POST)
    if not form.is_valid():
        return _page(request, rater, item, form=form, status=400)
    try:
        answering.answer(
            rater=rater,
            item=item,
            codes=form.codes(),
            comment=form.cleaned_data["comment"],
            flagged=form.cleaned_data["flagged"],
            guidelines=_number(request.POST.get("guidelines")),
            by=request.user,
        )
    except UnknownCode:
        form.add_error(
            None, _("The answers of this question were changed just now. Please choose again.")
        )
        return _page(request, rater, item, form=form, status=400)
    except answering.Refused as refusal:
        return _refused(request, rater, refusal)
    return _go_on(request, rater)


@login_required
@never_cache
@require_POST
def rate_skip(request: HttpRequest, project_id: int, item_id: int) -> HttpResponse:
    rater = _my_rater(request, project_id)
    item = _my_item(rater, item_id)
    form = SkipForm(request.POST)
    if not form.is_valid():
        return _page(request, rater, item, skip_form=form, status=400)
    try:
        answering.skip(rater=rater, item=item, reason=form.cleaned_data["reason"])
    except answering.Refused as refusal:
        return _refused(request, rater, refusal)
    return _go_on(request, rater)


@login_required
@never_cache
@require_GET
def my_ratings(request: HttpRequest, project_id: int) -> HttpResponse:
    """The rater's own ratings, latest first."""
    project = get_project(request.user, project_id, role=Member.Role.ANNOTATOR)
    rater = own.rater_of(project, request.user)
    mine = (
        Rating.objects.filter(rater=rater, question__project=project).standing()
        if rater
        else Rating.objects.none()
    )
    pages = Paginator(
        mine.select_related("item", "question").order_by("-changed_at", "-id"), RATINGS_A_PAGE
    )
    page = pages.get_page(request.GET.get("page"))
    questions = _questions(project)
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
        for rating in page
    ]
    done = progress.of_rater(rater) if rater else None
    context = {
        "project": project,
        "rater": rater,
        "page": page,
        "rows": rows,
        "progress": done,
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


# --- who and what


def _my_rater(request: HttpRequest, project_id: int) -> Rater:
    """The rater that the user is, able to rate now. 404 without one, 403 when paused."""
    rater = own.rater_of(
        get_project(request.user, project_id, role=Member.Role.ANNOTATOR), request.user
    )
    if rater is None:
        raise Http404
    if rater.paused:
        raise PermissionDenied(_("The lead has paused your rating. What you rated is kept."))
    return rater


def _my_item(rater: Rater, item_id: int) -> Item:
    """An item that was given to the rater or rated by them; all others do not exist for them."""
    item = own.item_of(rater, item_id)
    if item is None:
        raise Http404
    return item


def _questions(project: Project) -> list[Question]:
    """The project's questions with their categories, fetched once for a request."""
    prefetch_related_objects([project], "questions__categories")
    return list(project.questions.all())


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else None


# --- answers


def _wants_sheet(request: HttpRequest) -> bool:
    return request.headers.get("X-Desk") == "sheet"


def _page(
    request: HttpRequest, rater: Rater, item: Item | None, *, status: int = 200, **forms: Any
) -> HttpResponse:
    """The whole desk with this item on it, or its sheet alone."""
    context = _context(rater, item, **forms)
    if _wants_sheet(request):
        return render(request, "ratings/_rate_sheet.html", context, status=status)
    return render(request, "ratings/rate.html", context, status=status)


def _sheet(request: HttpRequest, rater: Rater, item: Item | None) -> HttpResponse:
    return render(request, "ratings/_rate_sheet.html", _context(rater, item))


def _ahead(request: HttpRequest, rater: Rater, item: Item | None) -> HttpResponse:
    return HttpResponse(status=204) if item is None else _sheet(request, rater, item)


def _go_on(request: HttpRequest, rater: Rater) -> HttpResponse:
    """After something was stored: the next page; or for rate.js the item after the one that it
    shows already."""
    if not _wants_sheet(request):
        return redirect("rate", rater.project_id)
    showing = _number(request.POST.get("showing"))
    item = queue.next_item(rater, besides=showing)
    return _sheet(request, rater, item) if showing is None else _ahead(request, rater, item)


def _refused(request: HttpRequest, rater: Rater, refusal: answering.Refused) -> HttpResponse:
    status, message = REFUSALS[type(refusal)]
    template = (
        "ratings/_rate_refused.html" if _wants_sheet(request) else "ratings/rate_refused.html"
    )
    return render(request, template, {"project": rater.project, "message": message}, status=status)


def _context(
    rater: Rater,
    item: Item | None,
    *,
    form: AnswerForm | None = None,
    skip_form: SkipForm | None = None,
) -> dict[str, Any]:
    context: dict[str, Any] = {
        "project": rater.project,
        "rater": rater,
        "progress": progress.of_rater(rater),
        "lease_minutes": settings.LEASE_SECONDS // 60,
    }
    if item is None:
        return context
    questions = _questions(rater.project)
    mine, ratings = own.said_of(rater, item)
    if form is None:
        standing = {rating.question_id: rating for rating in ratings}
        initial = AnswerForm.initial_of(standing, questions)
        initial["flagged"] = mine is not None and mine.flagged
        form = AnswerForm(questions, initial=initial)
    context |= {
        "item": item,
        "blocks": content.blocks(item.body),
        "form": form,
        "skip_form": skip_form or SkipForm(),
        "mine": mine,
        "is_new": mine is not None and mine.state == Assignment.State.OPEN,
        "is_rated": mine is None or mine.state == Assignment.State.DONE,
    }
    return context
