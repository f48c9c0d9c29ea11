"""Actions on a connection with Label Studio: connect, change, pause, end, request a reading."""

from __future__ import annotations

import datetime
import re
import secrets
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _

from core import security_log
from core.encryption import encrypt_text
from core.hooks import Hook
from core.jobs.dispatch import start_task
from core.jobs.lease import generate_lease
from core.web.forms import InvalidFields
from projects.models import Member, Project
from projects.permissions import get_project
from ratings.imports.readers.tools.base import Fields
from ratings.label_studio.client import LabelStudioError, format_error
from ratings.models import LabelStudioConnection

from .client import MAX_ID, Client

# Called by the worker that holds the lease of an active connection, after it has read everything.
# Work that is not finished at the deadline (a monotonic time) goes on in the next run: a function
# does one step at least, and returns whether it has finished.
AFTER_PULL: Hook[Callable[[LabelStudioConnection, Client, float], bool]] = Hook("after_pull")

State = LabelStudioConnection.State

MAX_TOKEN_LENGTH = 2_000
MAX_CONNECTIONS = 10  # of a project
FORM_SECONDS = 10.0  # longest wait of a form for a response
# Pause between a hint and the pull, so that many hints are one.
HINT_INTERVAL = datetime.timedelta(seconds=5)
# The address of a page of a project, as it is in the browser.
PROJECT_PAGE = re.compile(r"(https?://.+?)/projects/([0-9]{1,18})(?:[/?#].*)?")


class InvalidConnection(InvalidFields):
    """Entries for a connection are invalid, or Label Studio cannot be reached with them."""


def list_connections(project: Project) -> QuerySet[LabelStudioConnection]:
    return LabelStudioConnection.objects.filter(project=project).select_related("import_run")


def get_connection(
    user: Any, project_id: int, connection_id: int, *, token: Any = None
) -> LabelStudioConnection:
    """Return a connection that the user may manage, with its project and the user's role in it.

    ``token`` is the API token of the call, None on pages. Raises Http404 or PermissionDenied.
    """
    project = get_project(user, project_id, role=Member.Role.LEAD, token=token)
    connection = list_connections(project).filter(pk=connection_id).first()
    if connection is None:
        raise Http404(_("Page not found."))
    connection.project = project
    return connection


def create_connection(
    *, project: Project, address: str, remote_project: int | None, token: str, by: Any
) -> LabelStudioConnection:
    """Connect with a project of Label Studio; a worker then reads it as an import.

    ``address`` may be the URL of a page of the project, which contains its number;
    ``remote_project`` may then be None. Raises InvalidConnection, having stored nothing, if an
    entry is invalid or the token has no access to the project.
    """
    address, remote_project = split_address(address, remote_project)
    if remote_project is None or not 0 < remote_project <= MAX_ID:
        raise InvalidConnection(remote_project=_("Enter the number in the project's URL."))
    _validate_state(project, address, remote_project)
    title = _validate_access(address, remote_project, token)
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        _validate_state(project, address, remote_project)
        now = timezone.now()
        connection = LabelStudioConnection.objects.create(
            project=project,
            address=address,
            remote_project=remote_project,
            title=title,
            token=encrypt_text(token),
            hint_secret=secrets.token_urlsafe(32),
            next_at=now,
            created_by=by,
            created_at=now,
        )
        _log_change("connection_created", connection, by, after=_build_log_values(connection))
        start_pull_on_commit(connection)
    return connection


def split_address(address: str, remote_project: int | None) -> tuple[str, int | None]:
    """Return (address of the server, number of the project or None) from a user's entries."""
    address = address.strip().rstrip("/")
    if match := PROJECT_PAGE.fullmatch(address):
        return match[1], remote_project or int(match[2])
    return address, remote_project


def _validate_state(project: Project, address: str, remote_project: int) -> None:
    if project.archived_at is not None:
        raise InvalidConnection(address=_("Project archived."))
    connections = list_connections(project)
    if connections.filter(address=address, remote_project=remote_project).exists():
        raise InvalidConnection(remote_project=_("This project is connected already."))
    if connections.count() >= MAX_CONNECTIONS:
        raise InvalidConnection(
            address=_("At most %(n)s are allowed. Remove one first.") % {"n": MAX_CONNECTIONS}
        )


def _validate_access(address: str, remote_project: int, token: str) -> str:
    """Return the title of the project in Label Studio.

    Raises InvalidConnection if the server or the project cannot be reached with this token.
    """
    if not token.isascii() or not token.isprintable() or not token:
        raise InvalidConnection(token=_("Copy the token from Label Studio."))
    try:
        client = Client(address, token, seconds=FORM_SECONDS)
        return client.get_project(remote_project).title[:200]
    except LabelStudioError as error:
        field = {"token": "token", "forbidden": "token", "no_project": "remote_project"}.get(
            error.kind, "address"
        )
        raise InvalidConnection(**{field: format_error(error.to_json())}) from None


def change_connection(
    *, connection: LabelStudioConnection, token: str, write_back: str, by: Any
) -> None:
    """Set a new token, unless it is empty, and what is written back.

    Raises InvalidConnection if the token has no access to the project.
    """
    if token:
        _validate_access(connection.address, connection.remote_project, token)
    columns: Fields = {"token": encrypt_text(token)} if token else {}
    if write_back != connection.write_back:
        columns |= {"write_back": write_back, "written_since": None}
        columns |= {"written_task": 0, "write_started_at": None}
    if columns:
        _change_state(connection, by=by, next_at=timezone.now(), **columns)


def pause_connection(*, connection: LabelStudioConnection, by: Any) -> None:
    """Pause reading and writing; a worker that is running stores nothing more."""
    if connection.state == State.ACTIVE:
        _change_state(connection, by=by, state=State.PAUSED)


def resume_connection(*, connection: LabelStudioConnection, by: Any) -> None:
    """Continue reading and writing a paused connection."""
    if connection.state == State.PAUSED:
        _change_state(connection, by=by, state=State.ACTIVE, error={}, failures=0)
        request_pull(connection)


def restart_connection(*, connection: LabelStudioConnection, by: Any) -> None:
    """Read the project again as an import for the lead to confirm; only before one is confirmed."""
    if connection.state in (State.READING, State.MAPPING):
        _change_state(connection, by=by, state=State.READING, import_run=None, error={}, failures=0)
        request_pull(connection)


@transaction.atomic
def _change_state(connection: LabelStudioConnection, *, by: Any, **columns: Any) -> None:
    """Set columns with a new lease, so that a running worker stops, and log the change."""
    before = _build_log_values(connection)
    columns |= {"lease": generate_lease(), "leased_until": None}
    LabelStudioConnection.objects.filter(pk=connection.pk).update(**columns)
    for name, value in columns.items():
        setattr(connection, name, value)
    after = _build_log_values(connection)
    _log_change("connection_changed", connection, by, before=before, after=after)


@transaction.atomic
def delete_connection(*, connection: LabelStudioConnection, by: Any) -> None:
    """Delete the connection; its items and ratings are kept."""
    _log_change("connection_deleted", connection, by, before=_build_log_values(connection))
    connection.delete()


def request_pull(connection: LabelStudioConnection) -> None:
    """Make the connection due now, and let a worker read it after the commit."""
    LabelStudioConnection.objects.filter(pk=connection.pk).update(next_at=timezone.now())
    start_pull_on_commit(connection)


def receive_hint(connection_id: int, secret: str) -> bool:
    """Let a worker read an active connection soon; return False if the secret is wrong.

    A hint has no other effect, and none while the connection fails. The connection is due after
    HINT_INTERVAL, and a periodic task reads it then, so that hints within this interval cause one
    reading.
    """
    connection = LabelStudioConnection.objects.filter(pk=connection_id).first()
    if connection is None or not constant_time_compare(connection.hint_secret, secret):
        return False
    now = timezone.now()
    waiting = LabelStudioConnection.objects.filter(
        pk=connection.pk, state=State.ACTIVE, failures=0, next_at__gt=now + HINT_INTERVAL
    )
    waiting.update(next_at=now + HINT_INTERVAL)
    return True


def start_pull_on_commit(connection: LabelStudioConnection) -> None:
    """Start the task that reads the connection after the commit.

    If the task cannot be sent, a periodic task reads the connection later.
    """
    connection_id = connection.pk
    transaction.on_commit(
        lambda: start_task("ratings.tasks.pull_connection", connection_id), robust=True
    )


def _build_log_values(connection: LabelStudioConnection) -> Fields:
    return {"state": str(connection.state), "write_back": str(connection.write_back)}


def _log_change(action: str, connection: LabelStudioConnection, by: Any, **fields: Any) -> None:
    security_log.log_event(
        action,
        project_id=connection.project_id,
        by=None if by is None else by.pk,
        connection=connection.pk,
        host=urlsplit(connection.address).hostname or "",
        remote_project=connection.remote_project,
        **fields,
    )
