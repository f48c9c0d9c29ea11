"""Actions on exports to files: start and delete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from core import security_log
from core.api.errors import BadRequest
from core.jobs.dispatch import start_task
from projects.models import Project
from ratings.files import export_files, parquet_file, shared_folders
from ratings.models import ExportRun, Rating

from .documents import EXPORT_KINDS, INVALID_EXPORT, build_run_document

MAX_UNFINISHED = 3  # exports of a project that are pending or written at the same time
MAX_FINISHED = 10  # exports of a project that are stored; the oldest are deleted for a new one
# A file with more rows is offered by way of a worker: the download of so many takes a web server's
# slot for a second, and a download that breaks starts again.
MAX_DIRECT_ROWS = 100_000


class TooManyExports(Exception):
    """The project has MAX_UNFINISHED unfinished exports."""


@transaction.atomic
def start_export(
    *, project: Project, kind: str, file_format: str, parameters: Mapping[str, str], by: Any
) -> ExportRun:
    """Create an export and start its task. It has the rows that exist now.

    ``parameters``: question and filters, as in the query of a direct download. Raises BadRequest
    for an invalid kind, format, question or filter, and TooManyExports if MAX_UNFINISHED are under
    way.
    """
    if kind not in EXPORT_KINDS:
        raise BadRequest(INVALID_EXPORT, fields={"kind": "unknown"})
    export_kind = EXPORT_KINDS[kind]
    if file_format not in export_kind.formats:
        message = f"one of {', '.join(export_kind.formats)}"
        raise BadRequest(INVALID_EXPORT, fields={"format": message})
    parquet_file.require_parquet_support(file_format)
    questions, filters = export_kind.parse_request(project, parameters)
    if project.exports.filter(state__in=ExportRun.UNFINISHED).count() >= MAX_UNFINISHED:
        raise TooManyExports
    _delete_oldest_exports(project)
    run = ExportRun(
        project=project,
        by=by,
        kind=kind,
        file_format=file_format,
        question_ids=[question.pk for question in questions],
        filters=filters,
        last_id=export_kind.get_last_id(),
        folder=shared_folders.get_or_create_folder_token(shared_folders.EXPORTS),
    )
    document = build_run_document(run)
    run.file_name, run.content_type = document.file_name, document.content_type
    run.save()
    question = {"question": questions[0].key} if "question" in parameters else {}
    security_log.log_event(
        "export", project_id=project.pk, by=by.pk, exported=kind, kind=file_format, **question
    )
    transaction.on_commit(lambda: start_task("ratings.tasks.run_export", run.pk))
    return run


def _delete_oldest_exports(project: Project) -> None:
    """Make room for an export: leave the newest MAX_FINISHED - 1 of those that have ended."""
    ended = project.exports.exclude(state__in=ExportRun.UNFINISHED).order_by("-pk")
    oldest = list(ended.values_list("pk", flat=True)[MAX_FINISHED - 1 :])
    export_files.delete_exports(ExportRun.objects.filter(pk__in=oldest))


@transaction.atomic
def delete_export(*, run: ExportRun) -> None:
    """Delete an export and its file. A worker that is writing it stops at the next piece."""
    export_files.delete_exports(ExportRun.objects.filter(pk=run.pk))


def can_delete(run: ExportRun, project: Any, user: Any) -> bool:
    """Return whether the user may delete an export: its starter, or a lead."""
    return run.by_id == user.pk or bool(project.can_manage)


def has_many_ratings(project: Project) -> bool:
    """Return whether the project has more ratings than a direct download should have."""
    ratings = Rating.objects.current().filter(question__project=project)
    return ratings[: MAX_DIRECT_ROWS + 1].count() > MAX_DIRECT_ROWS
