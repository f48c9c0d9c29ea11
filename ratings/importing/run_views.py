"""One import in its wizard: columns, check, import, summary."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from groundwork.rest.errors import BadRequest as BadRequestRows
from groundwork.work.lease import Lost
from projects.access import get_project
from projects.models import Member
from projects.setup.project_rules import Refused
from projects.setup.question_rules import InvalidQuestions
from ratings.files.bounds import View
from ratings.models import ImportRun

from . import files, leases, preview, steps
from .column_form import ColumnsForm
from .forms import FileForm, ReadingForm
from .left_out import REASONS
from .mapping import Mapping
from .matching_form import MatchingForm
from .problem_words import MESSAGES
from .problems import Unreadable, in_words, message, why_stopped
from .sources import SOURCES
from .start_form import StartForm

State = ImportRun.State


def address(run: ImportRun, page: str = "run", *more: int) -> str:
    """Where a run lives: in its project, or by itself while it has none."""
    if run.project_id is None:
        return reverse(f"import_project_{page}", args=[run.pk, *more])
    return reverse(f"import_{page}", args=[run.project_id, run.pk, *more])


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
    response = render(request, "ratings/_import_progress.html", _context(run))
    if run.state not in leases.WORKING:
        response["HX-Refresh"] = "true"
    return response


# --- pages, by the run's state


def _context(run: ImportRun, **more: Any) -> dict[str, Any]:
    return {
        "run": run,
        "project": run.project,
        "here": address(run),
        "progress": address(run, "progress"),
        **more,
    }


def _columns_page(request: HttpRequest, run: ImportRun, *, posted: Any = None) -> HttpResponse:
    mapping = Mapping.of(run)
    source = SOURCES[mapping.source]
    reading = ReadingForm(posted, mapping=mapping)
    readable = posted is None or reading.is_valid()
    if posted is not None and readable:
        mapping.encoding = reading.cleaned_data.get("encoding", "")
    context = _context(
        run, reading=reading, not_utf8=run.summary.get("not_utf8"), source_name=source.name
    )
    try:
        seen = source.look(files.absolute(run.path), mapping)
    except Unreadable as error:
        context["trouble"] = in_words(error)
    else:
        form: FileForm
        if seen is None:
            form = FileForm(posted, run=run, mapping=mapping)
        else:
            form = ColumnsForm(posted, run=run, mapping=mapping, look=seen)
            context["unguessed"] = not mapping.columns and not mapping.parts
        if posted is not None and form.is_valid() and readable:
            _go(request, steps.choose_columns(run=run, mapping=form.chosen()))
            return redirect(address(run))
        context |= {"form": form, "look": seen}
    return render(
        request, "ratings/import_columns.html", context, status=200 if posted is None else 400
    )


def _progress_page(request: HttpRequest, run: ImportRun) -> HttpResponse:
    return render(request, "ratings/import_progress.html", _context(run))


def _check_page(
    request: HttpRequest,
    run: ImportRun,
    *,
    posted: Any = None,
    matching_form: MatchingForm | None = None,
) -> HttpResponse:
    """The problems, or what would be imported and what is left to decide."""
    form = StartForm(posted, run=run, mapping=Mapping.of(run))
    if posted is not None and form.is_valid():
        try:
            project = steps.start(
                run=run,
                stands=form.cleaned_data.get("stands", "last"),
                new=form.scales(),
                by=request.user,
            )
        except Refused as refused:
            form.refuse(refused.fields)
        except BadRequestRows as refused:
            form.refuse(refused.fields)
        except InvalidQuestions as refused:
            form.refuse(refused.problems)
        except Lost:
            _go(request, False)
            return redirect(address(run))
        else:
            return redirect("import_run", project.pk, run.pk)
    matching = matching_form or MatchingForm(None, run=run, mapping=Mapping.of(run))
    problems = [{**problem, "message": message(problem)} for problem in run.problems]
    kinds = [(MESSAGES[kind][0], count) for kind, count in run.summary.get("kinds", {}).items()]
    total = sum(count for _kind, count in kinds)
    context = _context(
        run,
        form=form,
        problems=problems,
        kinds=kinds,
        total=total,
        questions=_answered(run),
        left_out=_left_out(run),
        items=preview.items(run, address=partial(address, run, "file")),
        mapping=Mapping.of(run),
        matching=matching,
        known_questions=run.project.questions.all() if run.project else [],
    )
    status = 400 if form.errors or matching.errors else 200
    return render(request, "ratings/import_check.html", context, status=status)


def _answered(run: ImportRun) -> list[tuple[str, list[tuple[str, int]]]]:
    """(key, the labels that were given with their counts) of the questions that the file
    answers."""
    found = []
    for key, told in steps.answered(run):
        given = [(label, count) for label, count in told["labels"].items() if count]
        if given:
            found.append((key, given))
    return found


def _left_out(run: ImportRun) -> list[tuple[Any, dict[str, Any]]]:
    return [(REASONS[reason], told) for reason, told in run.summary.get("left_out", {}).items()]


def _summary_page(request: HttpRequest, run: ImportRun) -> HttpResponse:
    stopped = run.summary.get("stopped")
    context = _context(
        run,
        outcome=run.summary.get("outcome", {}),
        left_out=_left_out(run),
        stopped=stopped and why_stopped(*stopped),
    )
    return render(request, "ratings/import_summary.html", context)


PAGES: dict[ImportRun.State, View] = {
    State.MAPPING: _columns_page,
    State.CHECKING: _progress_page,
    State.REFUSED: _check_page,
    State.CHECKED: _check_page,
    State.WRITING: _progress_page,
    State.DONE: _summary_page,
    State.FAILED: _summary_page,
}


# --- steps


def _read_anew(request: HttpRequest, run: ImportRun) -> HttpResponse:
    """Look at the columns with another kind of file, encoding or delimiter."""
    mapping = Mapping.of(run)
    form = ReadingForm(request.POST, mapping=mapping)
    if not form.is_valid():
        return _columns_page(request, run, posted=request.POST)
    found = form.cleaned_data
    try:
        went = steps.read_anew(
            run=run,
            encoding=found.get("encoding", mapping.encoding),
            delimiter=found.get("delimiter", ""),
            source=found.get("source", ""),
        )
    except Unreadable as error:
        messages.error(request, in_words(error))
    else:
        _go(request, went)
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
    return _columns_page(request, run, posted=request.POST)


def _reopen(request: HttpRequest, run: ImportRun) -> HttpResponse:
    _go(request, steps.reopen_columns(run=run))
    return redirect(address(run))


def _match(request: HttpRequest, run: ImportRun) -> HttpResponse:
    if run.state not in (State.CHECKED, State.REFUSED):
        return redirect(address(run))
    mapping = Mapping.of(run)
    form = MatchingForm(request.POST, run=run, mapping=mapping)
    if not form.is_valid():
        return _check_page(request, run, matching_form=form)
    _go(request, steps.match(run=run, mapping=form.chosen(mapping)))
    return redirect(address(run))


def _check_again(request: HttpRequest, run: ImportRun) -> HttpResponse:
    _go(request, steps.check_again(run=run))
    return redirect(address(run))


def _start(request: HttpRequest, run: ImportRun) -> HttpResponse:
    return (
        _check_page(request, run, posted=request.POST)
        if run.state == State.CHECKED
        else redirect(address(run))
    )


def _discard(request: HttpRequest, run: ImportRun) -> HttpResponse:
    if not steps.discard(run=run):
        _go(request, False)
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


def _go(request: HttpRequest, went: bool) -> None:
    if not went:
        messages.warning(request, _("The import has gone on meanwhile; this is where it is now."))
