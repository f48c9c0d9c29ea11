"""One import in its wizard: columns, check, import, summary."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from projects.models import Member
from projects.permissions import get_project
from ratings.imports import leases, services
from ratings.imports.mapping.import_mapping import Mapping
from ratings.imports.problems import Unreadable, in_words
from ratings.models import ImportRun

from .forms import ReadingForm
from .matching_form import MatchingForm
from .run_pages import PAGES, address, check_page, columns_page, context, say_if_late

State = ImportRun.State


def get_run(request: HttpRequest, run_id: int, project_id: int | None) -> ImportRun:
    """The run that this user may work on, or 404; 403 for a member of its project who is no
    lead."""
    runs = ImportRun.objects.select_related("project", "question", "by")
    if project_id is not None:
        project = get_project(request.user, project_id, role=Member.Role.LEAD)
        run = runs.filter(project=project, pk=run_id).first()
    else:
        project = None
        run = runs.filter(project=None, by_id=request.user.pk, pk=run_id).first()
    if run is None:
        raise Http404(_("No such import."))
    run.project = project  # with the user's role
    return run


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def import_run(request: HttpRequest, run_id: int, project_id: int | None = None) -> HttpResponse:
    """One import, at whatever step it is; POST takes a step, named by ``do``."""
    run = get_run(request, run_id, project_id)
    if request.method == "POST":
        step = STEPS.get(request.POST.get("do", ""))
        if step is None:
            raise BadRequest
        return step(request, run)
    return PAGES[State(run.state)](request, run)


@login_required
@require_safe
def import_progress(
    request: HttpRequest, run_id: int, project_id: int | None = None
) -> HttpResponse:
    """The fragment that an open page asks for every second; when the step is over, the page is to
    load itself anew."""
    run = get_run(request, run_id, project_id)
    response = render(request, "ratings/imports/_progress.html", context(run))
    if run.state not in leases.WORKING:
        response["HX-Refresh"] = "true"
    return response


def _read_anew(request: HttpRequest, run: ImportRun) -> HttpResponse:
    """Look at the columns with another kind of file, encoding or delimiter."""
    mapping = Mapping.of(run)
    form = ReadingForm(request.POST, mapping=mapping)
    if not form.is_valid():
        return columns_page(request, run, posted=request.POST)
    found = form.cleaned_data
    try:
        went = services.read_anew(
            run=run,
            encoding=found.get("encoding", mapping.encoding),
            delimiter=found.get("delimiter", ""),
            source=found.get("source", ""),
        )
    except Unreadable as error:
        messages.error(request, in_words(error))
    else:
        say_if_late(request, went)
    return redirect(address(run))


def _choose_columns(request: HttpRequest, run: ImportRun) -> HttpResponse:
    if run.state != State.MAPPING:
        return redirect(address(run))
    mapping = Mapping.of(run)
    others = {"source": mapping.source}
    # A source without a delimiter has none to choose.
    if mapping.encoding and mapping.delimiter:
        others["delimiter"] = mapping.delimiter
    if any(request.POST.get(name, chosen) != chosen for name, chosen in others.items()):
        # The columns that were chosen are those of another reading.
        return _read_anew(request, run)
    return columns_page(request, run, posted=request.POST)


def _reopen(request: HttpRequest, run: ImportRun) -> HttpResponse:
    say_if_late(request, services.reopen_columns(run=run))
    return redirect(address(run))


def _match(request: HttpRequest, run: ImportRun) -> HttpResponse:
    if run.state not in (State.CHECKED, State.REFUSED):
        return redirect(address(run))
    mapping = Mapping.of(run)
    form = MatchingForm(request.POST, run=run, mapping=mapping)
    if not form.is_valid():
        return check_page(request, run, matching_form=form)
    say_if_late(request, services.match(run=run, mapping=form.chosen(mapping)))
    return redirect(address(run))


def _check_again(request: HttpRequest, run: ImportRun) -> HttpResponse:
    say_if_late(request, services.check_again(run=run))
    return redirect(address(run))


def _start(request: HttpRequest, run: ImportRun) -> HttpResponse:
    return (
        check_page(request, run, posted=request.POST)
        if run.state == State.CHECKED
        else redirect(address(run))
    )


def _discard(request: HttpRequest, run: ImportRun) -> HttpResponse:
    if not services.discard(run=run):
        say_if_late(request, False)
        return redirect(address(run))
    messages.success(request, _("The file is discarded; nothing was imported."))
    return redirect("data", run.project_id) if run.project_id else redirect("/")


STEPS: dict[str, Callable[[HttpRequest, ImportRun], HttpResponse]] = {
    "read": _read_anew,
    "columns": _choose_columns,
    "reopen": _reopen,
    "again": _check_again,
    "match": _match,
    "start": _start,
    "discard": _discard,
}
