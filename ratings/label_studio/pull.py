"""Read connections: at first as an import that the lead confirms, then only what has changed."""

from __future__ import annotations

import datetime
import json
import logging
import tempfile
import time
from typing import IO, Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from core.encryption import UndecryptableError, decrypt_text
from core.jobs.lease import (
    LeaseLost,
    claim_row,
    get_leased_rows,
    release_lease,
    update_leased_row,
)
from ratings.imports import services as imports
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.problems import UnreadableFileError
from ratings.imports.readers.tools.base import Fields
from ratings.label_studio.client import LabelStudioError
from ratings.models import ImportRun, LabelStudioConnection, LabelStudioObject
from ratings.services.permissions import ProjectArchived

from . import remote_tasks
from .client import Client, TaskPage
from .recording import LEASE_SECONDS, record_tasks
from .services import AFTER_PULL

logger = logging.getLogger(__name__)

State = LabelStudioConnection.State
Kind = LabelStudioObject.Kind
WORKING_STATES = (State.READING, State.MAPPING, State.ACTIVE)

PULL_INTERVAL = datetime.timedelta(seconds=60)
CONFIRMATION_INTERVAL = datetime.timedelta(seconds=10)  # while the lead confirms the import
OVERLAP = datetime.timedelta(seconds=120)  # longer than a request to Label Studio takes
COMPARISON_HOUR = 2  # in the project's time zone
MAX_RETRY_DELAY = datetime.timedelta(hours=1)
# Reading, comparing and writing may each take this long in one run, then other connections have
# their turn. Each does one step at least, so that a slow server does not keep any of them from
# working.
STAGE_SECONDS = 20.0
MAX_MISSING_TASKS = 100  # looked up, with their objects, before the cursor moves on
# What an import needs of a task.
TASK_FIELDS = ("id", "data", "meta", "annotations", "predictions")


def pull_due_connections() -> None:
    """Import the new annotations of every connection that is due."""
    due = LabelStudioConnection.objects.filter(
        state__in=WORKING_STATES, next_at__lte=timezone.now()
    )
    for connection_id in list(due.values_list("pk", flat=True)):
        pull_connection(connection_id)


def pull_connection(connection_id: int) -> None:
    """Read a connection if it is due and no other worker is reading it."""
    connection = claim_row(
        LabelStudioConnection.objects.select_related("project", "created_by", "import_run"),
        connection_id,
        Q(state__in=WORKING_STATES, next_at__lte=timezone.now()),
        leased_until=_get_lease_end(),
    )
    if connection is None:
        return
    try:
        _run_due_work(connection)
    except LeaseLost:
        logger.info("connection %s was claimed by another worker, or changed", connection_id)
    finally:
        release_lease(connection)


def _get_lease_end() -> datetime.datetime:
    return timezone.now() + datetime.timedelta(seconds=LEASE_SECONDS)


def _run_due_work(connection: LabelStudioConnection) -> None:
    """Do the work that the connection's state requires, and store when it is due again.

    A failure is stored; only LeaseLost is raised.
    """
    try:
        delay = _do_work(connection)
    except LeaseLost:
        raise
    except LabelStudioError as error:
        _store_failure(connection, error)
    except ProjectArchived:
        _store_failure(connection, LabelStudioError("archived"))
    except Exception:
        logger.exception("connection %s failed; the sweep tries again", connection.pk)
        _store_failure(connection, LabelStudioError("internal"))
    else:
        _finish_run(connection, delay, error={}, failures=0)


def _store_failure(connection: LabelStudioConnection, error: LabelStudioError) -> None:
    logger.warning("connection %s: %s", connection.pk, error)
    failures = min(connection.failures + 1, 100)
    delay = min(PULL_INTERVAL * 2 ** min(failures - 1, 10), MAX_RETRY_DELAY)
    delay = max(delay, datetime.timedelta(seconds=error.retry_seconds))
    _finish_run(connection, delay, error=error.to_json(), failures=failures)


def _finish_run(
    connection: LabelStudioConnection, delay: datetime.timedelta, **columns: Any
) -> None:
    """Store the outcome of a run, and when the next one is due.

    If a person has requested a run meanwhile, the requested time stays.
    """
    _update_connection(connection, **columns)
    unchanged = get_leased_rows(connection).filter(next_at=connection.next_at)
    unchanged.update(next_at=timezone.now() + delay)


def _update_connection(connection: LabelStudioConnection, **columns: Any) -> None:
    """Set columns of the connection.

    Raises LeaseLost if another worker has the lease or a person has changed the connection.
    """
    update_leased_row(connection, get_leased_rows(connection), **columns)


def _do_work(connection: LabelStudioConnection) -> datetime.timedelta:
    """Do the work that is due; return the time until the next run.

    Raises LabelStudioError if Label Studio cannot be read, LeaseLost and ProjectArchived.
    """
    if connection.state == State.MAPPING and not _activate_if_confirmed(connection):
        return CONFIRMATION_INTERVAL
    client = build_client(
        connection,
        before_request=lambda: _update_connection(connection, leased_until=_get_lease_end()),
    )
    if connection.state == State.READING:
        _start_import(connection, client)
        return CONFIRMATION_INTERVAL
    is_finished = _read_changes(connection, client, _get_stage_end())
    is_finished = is_finished and _compare_all_task_ids(connection, client, _get_stage_end())
    _update_connection(connection, pulled_at=timezone.now())
    is_finished = is_finished and all(AFTER_PULL.call(connection, client, _get_stage_end()))
    return PULL_INTERVAL if is_finished else datetime.timedelta()


def _get_stage_end() -> float:
    return time.monotonic() + STAGE_SECONDS


def build_client(connection: LabelStudioConnection, **options: Any) -> Client:
    """Return the client of a connection. Raises LabelStudioError."""
    try:
        return Client(connection.address, decrypt_text(connection.token), **options)
    except UndecryptableError:
        raise LabelStudioError("token_key") from None


# --- the first time


def _start_import(connection: LabelStudioConnection, client: Client) -> None:
    """Read the whole project into a file, and start its check as an import.

    Raises LabelStudioError if the project has no tasks, or cannot be imported.
    """
    project = client.get_project(connection.remote_project)
    with tempfile.TemporaryFile() as file:
        _write_tasks(connection, client, file)
        with transaction.atomic():
            try:
                run = imports.create_run(
                    file=file,
                    name=f"Label Studio {connection.remote_project}.json",
                    project=connection.project,
                    by=connection.created_by,
                    source=remote_tasks.SOURCE_NAME,
                )
            except UnreadableFileError as error:
                raise LabelStudioError("problem", problem=error.problem.to_json()) from None
            mapping = ImportMapping.from_run(run)
            mapping.declared_labels = remote_tasks.get_declared_labels(
                project.form, project.controls
            )
            mapping.key_prefix = remote_tasks.build_key_prefix(connection.remote_project)
            imports.start_check(run=run, mapping=mapping)
            _update_connection(
                connection, state=State.MAPPING, import_run=run, title=project.title[:200]
            )


def _write_tasks(connection: LabelStudioConnection, client: Client, file: IO[bytes]) -> None:
    """Write all tasks in the form of an export, with the annotators' details.

    Raises LabelStudioError if there are no tasks, or too many for an import.
    """
    users: dict[int, Any] | None = None
    n_tasks = 0
    for task in client.iter_tasks(connection.remote_project):
        if users is None:
            users = client.get_users()
        expanded = remote_tasks.expand_raters(remote_tasks.remove_written(task), users)
        row = {name: expanded[name] for name in TASK_FIELDS if name in expanded}
        file.write(b",\n" if n_tasks else b"[")
        file.write(json.dumps(row, ensure_ascii=True).encode())
        n_tasks += 1
        if file.tell() > settings.IMPORT_MAX_BYTES:
            raise LabelStudioError("too_large")
    if not n_tasks:
        raise LabelStudioError("no_tasks")
    file.write(b"]")
    file.seek(0)


def _activate_if_confirmed(connection: LabelStudioConnection) -> bool:
    """Activate the connection with the lead's choices if the import is done; return whether it is.

    Raises LabelStudioError if the import has failed or was deleted.
    """
    run = connection.import_run
    if run is None:
        raise LabelStudioError("import_gone")
    if run.state == ImportRun.State.FAILED:
        raise LabelStudioError("import_failed")
    if run.state != ImportRun.State.DONE:
        return False
    mapping = ImportMapping.from_run(run)
    if not mapping.use_file_questions and run.question is not None:
        mapping.question_id = run.question.pk
    _update_connection(connection, state=State.ACTIVE, mapping=mapping.to_json())
    return True


# --- then


def _read_changes(connection: LabelStudioConnection, client: Client, deadline: float) -> bool:
    """Read the changed tasks page by page; return False if the deadline passed before the end.

    ``deadline`` is a monotonic time.
    """
    while True:
        page = client.list_tasks(
            connection.remote_project, after=connection.read_task, since=connection.read_since
        )
        started = connection.read_started_at or client.server_time
        columns: Fields = {"read_started_at": started}
        if page.is_last:
            columns = {"read_started_at": None, "read_task": 0, "read_since": started - OVERLAP}
            if connection.read_since is None:
                columns["compared_at"] = timezone.now()
        else:
            columns["read_task"] = page.tasks[-1]["id"]
        ids = {task["id"] for task in page.tasks}
        missing = _list_missing(connection, page).filter(task__in=ids)
        deleted_objects = _select_deleted(client, missing, ids)
        record_tasks(
            connection, page.tasks, deleted=deleted_objects, get_users=client.get_users, **columns
        )
        if page.is_last:
            return True
        if time.monotonic() > deadline:
            return False


def _compare_all_task_ids(
    connection: LabelStudioConnection, client: Client, deadline: float
) -> bool:
    """Find deleted objects by comparing all IDs, if that is due.

    Returns False if ``deadline``, a monotonic time, passed before the end; the next run continues.
    """
    if connection.compared_task is None:
        if not _is_comparison_due(connection):
            return True
        _update_connection(connection, compared_task=0)
    while True:
        after = connection.compared_task or 0
        page = client.list_tasks(connection.remote_project, after=after)
        missing = _list_missing(connection, page).filter(task__gt=after)
        last_id = None if page.is_last else page.tasks[-1]["id"]
        if last_id is not None:
            missing = missing.filter(task__lte=last_id)
        # Where very many tasks are gone, the comparison continues after some of them.
        tasks = missing.order_by("task").values_list("task", flat=True).distinct()
        if len(first_tasks := list(tasks[: MAX_MISSING_TASKS + 1])) > MAX_MISSING_TASKS:
            last_id = first_tasks[-2]
            missing = missing.filter(task__lte=last_id)
        present = [task for task in page.tasks if last_id is None or task["id"] <= last_id]
        deleted_objects = _select_deleted(client, missing, {task["id"] for task in present})
        columns: Fields = {"compared_task": last_id}
        if last_id is None:
            columns["compared_at"] = timezone.now()
        record_tasks(
            connection, present, deleted=deleted_objects, get_users=client.get_users, **columns
        )
        if last_id is None:
            return True
        if time.monotonic() > deadline:
            return False


def _is_comparison_due(connection: LabelStudioConnection) -> bool:
    """Return whether no comparison has finished since the last COMPARISON_HOUR.

    The hour is that of the project's time zone.
    """
    if connection.compared_at is None:
        return True
    now = timezone.now().astimezone(ZoneInfo(connection.project.time_zone))
    night = now.replace(hour=COMPARISON_HOUR, minute=0, second=0, microsecond=0)
    if night > now:
        night -= datetime.timedelta(days=1)
    return connection.compared_at < night


def _list_missing(connection: LabelStudioConnection, page: TaskPage) -> QuerySet[LabelStudioObject]:
    """Return the stored tasks, annotations and predictions that are not on the page."""
    rows = LabelStudioObject.objects.filter(
        connection=connection, kind__in=(Kind.TASK, Kind.ANNOTATION, Kind.PREDICTION)
    )
    for kind, ids in (
        (Kind.TASK, [task["id"] for task in page.tasks]),
        (Kind.ANNOTATION, [row["id"] for task in page.tasks for row in task["annotations"]]),
        (Kind.PREDICTION, [row["id"] for task in page.tasks for row in task["predictions"]]),
    ):
        rows = rows.exclude(kind=kind, remote_id__in=ids)
    return rows


def _select_deleted(
    client: Client, missing: QuerySet[LabelStudioObject], present_tasks: set[int]
) -> list[LabelStudioObject]:
    """Return those of the missing objects that were deleted; each is looked up by its ID.

    Annotations and predictions of a deleted task were deleted with it and are not looked up.
    """
    has_task = dict.fromkeys(present_tasks, True)
    deleted_objects = []
    for row in missing.select_related("rater").order_by("task", "pk"):
        if row.kind == Kind.TASK or row.task not in has_task:
            has_task[row.task] = row.task in present_tasks or client.has_object("task", row.task)
        if not has_task[row.task] or (
            row.kind != Kind.TASK and not client.has_object(row.kind, row.remote_id)
        ):
            deleted_objects.append(row)
    return deleted_objects
