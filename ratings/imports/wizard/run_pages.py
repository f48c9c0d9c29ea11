"""What the wizard shows of an import, by its state."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from core.api.errors import BadRequest as BadRequestRows
from core.jobs.lease import Lost
from projects.services.project_validation import Refused, time_zones
from projects.services.question_validation import InvalidQuestions
from ratings.files.upload_limits import View
from ratings.imports import services, uploads
from ratings.imports.mapping.import_mapping import Mapping
from ratings.imports.messages import MESSAGES
from ratings.imports.problems import Unreadable, in_words, message, why_stopped
from ratings.imports.readers import SOURCES
from ratings.imports.skipped_rows import REASONS
from ratings.models import ImportRun

from . import preview
from .column_form import ColumnsForm
from .forms import FileForm, ReadingForm
from .matching_form import MatchingForm
from .start_form import StartForm

State = ImportRun.State


def address(run: ImportRun, page: str = "run", *more: int) -> str:
    """Where a run lives: in its project, or by itself while it has none."""
    if run.project_id is None:
        return reverse(f"import_project_{page}", args=[run.pk, *more])
    return reverse(f"import_{page}", args=[run.project_id, run.pk, *more])


def say_if_late(request: HttpRequest, went: bool) -> None:
    if not went:
        messages.warning(request, _("The import has gone on meanwhile; this is where it is now."))


def context(run: ImportRun, **more: Any) -> dict[str, Any]:
    return {
        "run": run,
        "project": run.project,
        "here": address(run),
        "progress": address(run, "progress"),
        **more,
    }


def columns_page(request: HttpRequest, run: ImportRun, *, posted: Any = None) -> HttpResponse:
    mapping = Mapping.of(run)
    source = SOURCES[mapping.source]
    reading = ReadingForm(posted, mapping=mapping)
    readable = posted is None or reading.is_valid()
    if posted is not None and readable:
        mapping.encoding = reading.cleaned_data.get("encoding", "")
    found = context(
        run, reading=reading, not_utf8=run.summary.get("not_utf8"), source_name=source.name
    )
    try:
        seen = source.look(uploads.absolute(run.path), mapping)
    except Unreadable as error:
        found["trouble"] = in_words(error)
    else:
        form: FileForm
        if seen is None:
            form = FileForm(posted, run=run, mapping=mapping)
        else:
            form = ColumnsForm(posted, run=run, mapping=mapping, look=seen)
            found["unguessed"] = not mapping.columns and not mapping.parts
        if posted is not None and form.is_valid() and readable:
            say_if_late(request, services.choose_columns(run=run, mapping=form.chosen()))
            return redirect(address(run))
        found |= {"form": form, "look": seen}
        if run.project is None:
            found["zones"] = time_zones()
    return render(
        request, "ratings/imports/columns.html", found, status=200 if posted is None else 400
    )


def progress_page(request: HttpRequest, run: ImportRun) -> HttpResponse:
    return render(request, "ratings/imports/progress.html", context(run))


def check_page(
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
            project = services.start(
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
            say_if_late(request, False)
            return redirect(address(run))
        else:
            return redirect("import_run", project.pk, run.pk)
    matching = matching_form or MatchingForm(None, run=run, mapping=Mapping.of(run))
    problems = [{**problem, "message": message(problem)} for problem in run.problems]
    kinds = [(MESSAGES[kind][0], count) for kind, count in run.summary.get("kinds", {}).items()]
    total = sum(count for _kind, count in kinds)
    found = context(
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
    return render(request, "ratings/imports/check.html", found, status=status)


def _answered(run: ImportRun) -> list[tuple[str, list[tuple[str, int]]]]:
    """(key, the labels that were given with their counts) of the questions that the file
    answers."""
    found = []
    for key, told in services.answered(run):
        given = [(label, count) for label, count in told["labels"].items() if count]
        if given:
            found.append((key, given))
    return found


def _left_out(run: ImportRun) -> list[tuple[Any, dict[str, Any]]]:
    return [(REASONS[reason], told) for reason, told in run.summary.get("left_out", {}).items()]


def summary_page(request: HttpRequest, run: ImportRun) -> HttpResponse:
    stopped = run.summary.get("stopped")
    found = context(
        run,
        outcome=run.summary.get("outcome", {}),
        left_out=_left_out(run),
        stopped=stopped and why_stopped(*stopped),
    )
    return render(request, "ratings/imports/summary.html", found)


PAGES: dict[ImportRun.State, View] = {
    State.MAPPING: columns_page,
    State.CHECKING: progress_page,
    State.REFUSED: check_page,
    State.CHECKED: check_page,
    State.WRITING: progress_page,
    State.DONE: summary_page,
    State.FAILED: summary_page,
}
