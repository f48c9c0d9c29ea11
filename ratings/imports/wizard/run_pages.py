"""Pages of the import wizard, by the state of the run."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from core.api.errors import BadRequest as BadRequestRows
from core.jobs.lease import LeaseLost
from projects.services.project_validation import InvalidProjectChange
from projects.services.question_validation import InvalidQuestions
from ratings.files.upload_limits import View
from ratings.imports import services, uploads, zip_archives
from ratings.imports.interpretation import FileInterpretation, format_doubt
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.problems import (
    UnreadableFileError,
    describe_write_failure,
    format_error,
    group_problems,
)
from ratings.imports.readers import SOURCES
from ratings.imports.records import SKIPPED_RECORD_REASONS, StoredSkippedRecords
from ratings.imports.staging.queries import open_staged_rows
from ratings.imports.values.label_order import guess_order
from ratings.imports.zip_archives import MediaArchive
from ratings.items import content
from ratings.models import ImportRun

from .check_forms import LabelsForm, MatchingForm, StartForm
from .column_form import ColumnsForm
from .forms import ImportOptionsForm, ReadingForm

State = ImportRun.State
MAX_PREVIEW_ITEMS = 5


def get_run_url(run: ImportRun, page: str = "run", *args: int) -> str:
    """Return the URL of a page of a run, in its project or, for a new project, without one.

    ``page`` is the end of the URL's name: run, progress or file; a file also has its index.
    """
    if run.project_id is None:
        return reverse(f"import_project_{page}", args=[run.pk, *args])
    return reverse(f"import_{page}", args=[run.project_id, run.pk, *args])


def warn_if_not_applied(request: HttpRequest, succeeded: bool) -> None:
    """Add a warning unless a step succeeded; it does not if the run is in a later state."""
    if not succeeded:
        messages.warning(request, _("This step was already done."))


def build_context(run: ImportRun, **extra: Any) -> dict[str, Any]:
    """Return the template context that all pages of a run need."""
    return {
        "run": run,
        "project": run.project,
        "run_url": get_run_url(run),
        "progress_url": get_run_url(run, "progress"),
        **extra,
    }


def render_columns_or_start_check(
    request: HttpRequest, run: ImportRun, *, data: Any = None
) -> HttpResponse:
    """Render the form for the roles of columns; with valid ``data`` start the check instead."""
    mapping = ImportMapping.from_run(run)
    source = SOURCES[mapping.source]
    reading_form = ReadingForm(data, mapping=mapping)
    is_readable = data is None or reading_form.is_valid()
    if data is not None and is_readable:
        mapping.encoding = reading_form.cleaned_data.get("encoding", "")
    encoding_problem = run.summary.get("encoding_problem")
    context = build_context(
        run,
        reading=reading_form,
        encoding_problems=group_problems([encoding_problem] if encoding_problem else [], {}),
        source_name=source.name,
    )
    try:
        head = source.read_head(uploads.ensure_local_file(run), mapping)
    except UnreadableFileError as error:
        context["error"] = format_error(error)
    else:
        form: ImportOptionsForm
        if head is None:
            form = ImportOptionsForm(data, run=run, mapping=mapping)
        else:
            form = ColumnsForm(data, run=run, mapping=mapping, head=head)
            context["understood"] = FileInterpretation.from_mapping(mapping, head)
            if mapping.doubt:
                context["doubt"] = format_doubt(mapping, head)
            context["has_no_guess"] = (mapping.encoding or not source.has_encoding) and {
                "name", "content", "pattern", "user"
            }.isdisjoint(mapping.reasons.values())  # fmt: skip
        if data is not None and form.is_valid() and is_readable:
            was_started = services.start_check(run=run, mapping=form.apply_to_mapping())
            warn_if_not_applied(request, was_started)
            return redirect(get_run_url(run))
        context |= {"form": form, "head": head}
    return render(
        request, "ratings/imports/columns.html", context, status=200 if data is None else 400
    )


def render_progress_page(request: HttpRequest, run: ImportRun) -> HttpResponse:
    """Render the progress of a check or of the writing."""
    return render(request, "ratings/imports/progress.html", build_context(run))


def render_check_or_start_writing(
    request: HttpRequest,
    run: ImportRun,
    *,
    data: Any = None,
    invalid_form: MatchingForm | LabelsForm | None = None,
) -> HttpResponse:
    """Render the problems of a checked file, or its numbers and the remaining choices.

    With valid ``data``, start the writing and redirect instead. ``invalid_form`` is a submitted
    form of this page that has errors, None if there is none.
    """
    mapping = ImportMapping.from_run(run)
    form = StartForm(data, run=run, mapping=mapping)
    if data is not None and form.is_valid() and (response := _start_writing(request, run, form)):
        return response
    matching = invalid_form if isinstance(invalid_form, MatchingForm) else None
    labels = invalid_form if isinstance(invalid_form, LabelsForm) else None
    matching = matching or MatchingForm(None, run=run, mapping=mapping)
    labels = labels or LabelsForm(None, run=run, mapping=mapping)
    problems = group_problems(run.problems, run.summary.get("problem_counts", {}))
    context = build_context(
        run,
        form=form,
        problems=problems,
        total=sum(problem.count for problem in problems),
        questions=_list_question_counts(run),
        skipped_records=_list_skipped_records(run),
        items=_build_item_previews(run, get_url=partial(get_run_url, run, "file")),
        mapping=mapping,
        matching=matching,
        labels_form=labels,
        known_questions=run.project.questions.all() if run.project else [],
    )
    status = 400 if form.errors or matching.errors or labels.errors else 200
    return render(request, "ratings/imports/check.html", context, status=status)


def _start_writing(request: HttpRequest, run: ImportRun, form: StartForm) -> HttpResponse | None:
    """Start the writing with the valid form and redirect; return None after adding errors to it."""
    try:
        project = services.start_writing(
            run=run,
            duplicate_policy=form.cleaned_data.get("duplicate_policy", "last"),
            new_scales=form.get_new_scales(),
            by=request.user,
        )
    except (InvalidProjectChange, BadRequestRows) as error:
        form.add_rule_errors(error.fields)
    except InvalidQuestions as error:
        form.add_rule_errors(error.problems)
    except LeaseLost:
        warn_if_not_applied(request, False)
        return redirect(get_run_url(run))
    else:
        return redirect("import_run", project.pk, run.pk)
    return None


def _list_question_counts(run: ImportRun) -> list[tuple[str, list[tuple[str, int]]]]:
    """Return (key, [(label, number of ratings)]) of the questions that the file answers."""
    questions = []
    for key, details in services.list_questions(run):
        counts = details["labels"]
        ordered_labels = guess_order(counts).labels
        label_counts = [(label, counts[label]) for label in ordered_labels if counts[label]]
        if label_counts:
            questions.append((key, label_counts))
    return questions


def _list_skipped_records(run: ImportRun) -> list[tuple[str | Promise, StoredSkippedRecords]]:
    """Return (reason text, skipped records) of the records that are not imported."""
    return [
        (SKIPPED_RECORD_REASONS[reason], skipped)
        for reason, skipped in run.summary.get("skipped_records", {}).items()
    ]


def render_summary_page(request: HttpRequest, run: ImportRun) -> HttpResponse:
    """Render the outcome of a finished or failed import."""
    stop_reason = run.summary.get("stop_reason")
    context = build_context(
        run,
        outcome=run.summary.get("outcome", {}),
        skipped_records=_list_skipped_records(run),
        stop_reason=stop_reason and describe_write_failure(*stop_reason),
    )
    return render(request, "ratings/imports/summary.html", context)


RENDERERS: dict[ImportRun.State, View] = {
    State.MAPPING: render_columns_or_start_check,
    State.CHECKING: render_progress_page,
    State.INVALID: render_check_or_start_writing,
    State.CHECKED: render_check_or_start_writing,
    State.WRITING: render_progress_page,
    State.DONE: render_summary_page,
    State.FAILED: render_summary_page,
}


def _build_item_previews(run: ImportRun, *, get_url: Callable[[int], str]) -> list[dict[str, Any]]:
    """Return key, blocks (ratings.items.content) and attributes of the first items with content.

    Empty unless the run is checked and its staging database exists. ``get_url`` returns the URL of
    a file by its index in the archive.
    """
    if run.state != ImportRun.State.CHECKED:
        return []
    try:
        with open_staged_rows(
            uploads.ensure_local_file(run, uploads.STAGING_SUFFIX, refresh=True), lambda: None
        ) as staged_rows:
            contents = staged_rows.list_first_content(MAX_PREVIEW_ITEMS)
    except FileNotFoundError:
        return []
    bodies = {content_row.item: json.loads(content_row.body or "{}") for content_row in contents}
    _set_archive_urls(run, bodies, get_url)
    zip_archives.replace_names_by_urls(run.project, bodies)
    previews = []
    for content_row in contents:
        attributes = json.loads(content_row.attributes or "{}")
        blocks = content.build_blocks(bodies[content_row.item])
        previews.append({"key": content_row.item, "blocks": blocks, "attributes": attributes})
    return previews


def _set_archive_urls(
    run: ImportRun, bodies: dict[str, dict[str, Any]], get_url: Callable[[int], str]
) -> None:
    """Replace names of files in the archive, in the bodies, by URLs for the preview."""
    archive = MediaArchive.for_manifest(uploads.get_absolute_path(run.path))
    for body in bodies.values() if archive else ():
        for kind, name in zip_archives.iter_file_references(body):
            file = archive.find_file(name, kind) if archive else None
            if archive and file:
                body[kind] = get_url(archive.get_index(file))
