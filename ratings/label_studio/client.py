"""Client of Label Studio's API, and the errors of a connection.

Requests are those of events.webhooks.http_client. An error is stored as a kind with values, and
shown in plain words.
"""

from __future__ import annotations

import datetime
import email.utils
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.text import has_more_parts, is_nested_deeper
from events.webhooks import http_client
from ratings.imports.problems import describe_write_failure, format_problem
from ratings.imports.readers.tools.base import Fields

ERROR_TEXTS = {
    "url": gettext_lazy("Start the address with https:// and a host."),
    "not_found": gettext_lazy("The host is unknown. Check the address."),
    "not_allowed": gettext_lazy(
        "The host is in a private network. See CONNECTIONS_TO_PRIVATE_NETWORKS."
    ),
    "certificate": gettext_lazy("The certificate is invalid."),
    "timeout": gettext_lazy("No response in time."),
    "connection": gettext_lazy("The connection failed."),
    "too_large": gettext_lazy("Label Studio’s response is too large."),
    "no_json": gettext_lazy("Not Label Studio's API. Use the address in your browser."),
    "redirect": gettext_lazy("This redirects to %(location)s. Use that address."),
    "token": gettext_lazy("Label Studio rejected the token. Enter another."),
    "token_key": gettext_lazy("SECRET_KEY changed. Enter the token again."),
    "forbidden": gettext_lazy("The token's user can't open the project."),
    "no_project": gettext_lazy("The token's user can't open the project."),
    "status": gettext_lazy("Label Studio responded with status %(status)s."),
    "busy": gettext_lazy("Label Studio responded with status %(status)s."),
    "no_tasks": gettext_lazy("The project has no tasks."),
    "import_gone": gettext_lazy("Import discarded. Read the project again."),
    "import_failed": gettext_lazy("Import failed. Read the project again."),
    "archived": gettext_lazy("Project archived."),
    "internal": gettext_lazy("The import failed. See the server log."),
}


class LabelStudioError(Exception):
    """A connection cannot be read or written; `format_error` explains each ``kind``.

    ``retry_seconds``: seconds after which Label Studio may be called again; 0 if it did not say.
    """

    def __init__(self, kind: str, *, retry_seconds: int = 0, **values: Any) -> None:
        super().__init__(f"{kind} {values}" if values else kind)
        self.kind = kind
        self.values = values
        self.retry_seconds = retry_seconds

    def to_json(self) -> Fields:
        return {"kind": self.kind, "values": self.values}


def format_error(error: Mapping[str, Any]) -> str:
    """Return a stored error in the user's language, or an empty text for none."""
    if not error:
        return ""
    kind, values = error["kind"], error["values"]
    if kind == "problem":  # of a task, whose number is the line
        problem = values["problem"]
        text = format_problem(problem)
        if problem["line"] is None:
            return text
        return _("Task %(task)s: %(problem)s") % {"task": problem["line"], "problem": text}
    if kind == "stopped":
        return str(describe_write_failure(values["reason"], values["value"]))
    return str(ERROR_TEXTS[kind]) % values


TIMEOUT_SECONDS = 30.0  # of one request
MAX_BYTES = 64 * 1024 * 1024  # of one response
MAX_PARTS = 2_000_000  # objects, lists and commas of one response
MAX_DEPTH = 100  # objects and lists inside each other
MAX_FORM_LENGTH = 1_000_000  # characters
PAGE_SIZE = 100  # tasks
MAX_ID = 2**63 - 1
MAX_RETRY_SECONDS = 3600


@dataclass(frozen=True)
class RemoteProject:
    """A project: title, labeling form as XML, and the form's controls (name -> description)."""

    title: str
    form: str
    controls: Mapping[str, Fields]


@dataclass(frozen=True)
class TaskPage:
    """A page of tasks in the order of their IDs; ``is_last``: no further tasks follow."""

    tasks: list[Fields]
    is_last: bool


class Client:
    """Calls the API of one Label Studio server. Its methods raise LabelStudioError.

    ``before_request`` is called before each request and may raise an exception to stop. ``seconds``
    is the timeout of a request.
    """

    def __init__(
        self,
        address: str,
        token: str,
        *,
        before_request: Callable[[], None] = lambda: None,
        seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self.address = address.rstrip("/")
        self.token = token
        self.before_request = before_request
        self.seconds = seconds
        self.access_token = ""
        # The time of the server when it sent the last response; this host's time if that has no
        # date.
        self.server_time = timezone.now()

    # --- what is read

    def get_project(self, project: int) -> RemoteProject:
        fields = self._get_object(f"/api/projects/{project}/", missing="no_project")
        controls = fields.get("parsed_label_config")
        title = fields.get("title")
        form = str(fields.get("label_config") or "")
        if len(form) > MAX_FORM_LENGTH:
            raise LabelStudioError("too_large")
        return RemoteProject(
            title if isinstance(title, str) else "",
            form,
            {name: value for name, value in controls.items() if isinstance(value, dict)}
            if isinstance(controls, dict)
            else {},
        )

    def list_tasks(
        self,
        project: int,
        *,
        after: int = 0,
        since: datetime.datetime | None = None,
        only: Sequence[int] = (),
    ) -> TaskPage:
        """Return the next page of tasks with annotations and predictions, ordered by ID.

        ``after``: only tasks with a greater ID; ``since``: only tasks updated at this time or later
        (None: all); ``only``: if not empty, only tasks with these IDs. Raises LabelStudioError,
        also for a page that does not follow ``after``.
        """
        query = _build_task_query(after, since, only)
        path = (
            f"/api/tasks?project={project}&fields=all&resolve_uri=false&page=1"
            f"&page_size={PAGE_SIZE}&query={quote(json.dumps(query))}"
        )
        fields = self._get_object(path, missing="no_project")
        tasks = fields.get("tasks")
        if not isinstance(tasks, list) or not all(_is_task(task) for task in tasks):
            raise LabelStudioError("no_json")
        ids = [task["id"] for task in tasks]
        if ids != sorted(set(ids)) or (ids and ids[0] <= after):
            raise LabelStudioError("no_json")  # it ignores the query: reading would never end
        total = fields.get("total")
        return TaskPage(tasks, not tasks or (isinstance(total, int) and total <= len(tasks)))

    def iter_tasks(self, project: int) -> Iterator[Fields]:
        """Yield all tasks of a project."""
        after, is_last = 0, False
        while not is_last:
            page = self.list_tasks(project, after=after)
            yield from page.tasks
            is_last = page.is_last
            after = page.tasks[-1]["id"] if page.tasks else after

    def get_users(self) -> dict[int, Fields]:
        """Return ID -> user; empty if the token may not list users."""
        try:
            status, users = self._call("GET", "/api/users/")
        except LabelStudioError as error:
            if error.kind == "forbidden":
                return {}
            raise
        if status != 200 or not isinstance(users, list):
            return {}
        return {
            user["id"]: user for user in users if isinstance(user, dict) and is_id(user.get("id"))
        }

    def has_object(self, kind: str, object_id: int) -> bool:
        """Return whether there is a task, annotation or prediction with this ID."""
        return self._reach_object("GET", kind, object_id)

    # --- what is written

    def create_prediction(self, task: int, content: Fields) -> int:
        return self._create("/api/predictions/", {"task": task, **content})

    def create_annotation(self, task: int, content: Fields) -> int:
        return self._create(f"/api/tasks/{task}/annotations/", content)

    def update_object(self, kind: str, object_id: int, content: Fields) -> bool:
        """Change a prediction or annotation; return False if it was deleted in Label Studio."""
        return self._reach_object("PATCH", kind, object_id, content)

    def _reach_object(
        self, method: str, kind: str, object_id: int, content: Fields | None = None
    ) -> bool:
        """Send a request about an object; return False if Label Studio has none with this ID."""
        status, _body = self._call(method, f"/api/{kind}s/{object_id}/", content)
        if status not in (200, 404):
            raise _build_status_error(status)
        return status == 200

    def _create(self, path: str, content: Fields) -> int:
        """Create an object and return its ID. Raises LabelStudioError."""
        status, body = self._call("POST", path, content)
        if status not in (200, 201):
            raise _build_status_error(status)
        if not isinstance(body, dict) or not is_id(body.get("id")):
            raise LabelStudioError("no_json")
        return int(body["id"])

    # --- requests

    def _get_object(self, path: str, *, missing: str) -> Fields:
        status, body = self._call("GET", path)
        if status == 404:
            raise LabelStudioError(missing)
        if status != 200:
            raise _build_status_error(status)
        if not isinstance(body, dict):
            raise LabelStudioError("no_json")
        return body

    def _call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Send a request, renewing the access token if needed; return (status, JSON)."""
        if self._has_refresh_token and not self.access_token:
            self._renew_access_token()
        status, content = self._request(method, path, body, self._build_authorization())
        if status == 401 and self._has_refresh_token:
            self._renew_access_token()
            status, content = self._request(method, path, body, self._build_authorization())
        if status == 401:
            raise LabelStudioError("token")
        return status, content

    @property
    def _has_refresh_token(self) -> bool:
        return self.token.count(".") == 2  # a JSON Web Token; legacy tokens are hexadecimal

    def _build_authorization(self) -> str:
        return f"Bearer {self.access_token}" if self._has_refresh_token else f"Token {self.token}"

    def _renew_access_token(self) -> None:
        status, content = self._request("POST", "/api/token/refresh/", {"refresh": self.token})
        access = content.get("access") if isinstance(content, dict) else None
        if status != 200 or not isinstance(access, str) or not access.isascii():
            raise LabelStudioError("token")
        self.access_token = access

    def _request(
        self, method: str, path: str, body: Any = None, authorization: str = ""
    ) -> tuple[int, Any]:
        """Send one request; return (status, JSON). Raises LabelStudioError."""
        self.before_request()
        target, ip = self._resolve_address()
        headers = {"Accept": "application/json", "User-Agent": "Concord"}
        if authorization:
            headers["Authorization"] = authorization
        encoded = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            encoded = json.dumps(body).encode()
        response = http_client.send(
            method,
            replace(target, path=f"{target.path.rstrip('/')}{path}"),
            ip,
            body=encoded,
            headers=headers,
            seconds=self.seconds,
            max_bytes=MAX_BYTES,
        )
        if response.status is None or response.error:
            raise LabelStudioError(response.error)
        self._raise_for_status(response)
        self.server_time = _parse_http_date(response.headers.get("date", "")) or timezone.now()
        return response.status, _parse_body(response)

    def _resolve_address(self) -> tuple[http_client.Target, str]:
        allows_private = settings.CONNECTIONS_TO_PRIVATE_NETWORKS
        try:
            target = http_client.parse_url(self.address, allows_private=allows_private)
            return target, http_client.resolve_host(target, allows_private=allows_private)
        except http_client.InvalidUrl:
            raise LabelStudioError("url") from None
        except http_client.AddressNotFound:
            raise LabelStudioError("not_found") from None
        except http_client.AddressNotAllowed:
            raise LabelStudioError("not_allowed") from None

    def _raise_for_status(self, response: http_client.Response) -> None:
        status = response.status or 0
        if 300 <= status < 400:
            raise LabelStudioError("redirect", location=response.headers.get("location", "")[:200])
        if status == 403:
            raise LabelStudioError("forbidden")
        if status == 429 or status >= 500:
            seconds = response.headers.get("retry-after", "")
            retry = int(seconds) if seconds.isascii() and seconds.isdigit() else 0
            raise LabelStudioError(
                "busy", status=status, retry_seconds=min(retry, MAX_RETRY_SECONDS)
            )


def is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_ID


def _build_task_query(after: int, since: datetime.datetime | None, only: Sequence[int]) -> Fields:
    """Return filters and order of ``list_tasks`` as Label Studio's parameter ``query``."""
    filters: list[tuple[str, str, str, int | str]] = [("id", "greater", "Number", after)]
    if since is not None:
        text = since.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        filters.append(("updated_at", "greater_or_equal", "Datetime", text))
    items = [
        {"filter": f"filter:tasks:{name}", "operator": operator, "type": kind, "value": value}
        for name, operator, kind, value in filters
    ]
    query: Fields = {
        "filters": {"conjunction": "and", "items": items},
        "ordering": ["tasks:id"],
    }
    if only:
        query["selectedItems"] = {"all": False, "included": list(only)}
    return query


def _is_task(task: Any) -> bool:
    return (
        isinstance(task, dict)
        and is_id(task.get("id"))
        and all(
            isinstance(task.get(name), list)
            and all(isinstance(entry, dict) and is_id(entry.get("id")) for entry in task[name])
            for name in ("annotations", "predictions")
        )
    )


def _build_status_error(status: int) -> LabelStudioError:
    return LabelStudioError("status", status=status)


def _parse_body(response: http_client.Response) -> Any:
    """Return the JSON of a response, or None if it has none.

    Raises LabelStudioError if it has too many parts, or is not JSON (or nested too deeply) although
    the request succeeded.
    """
    if not response.content or response.status == 204:
        return None
    try:
        text = response.content.decode("utf-8-sig")
        if has_more_parts(text, MAX_PARTS):
            raise LabelStudioError("too_large")
        if is_nested_deeper(text, MAX_DEPTH):
            raise ValueError("nested too deeply")
        # NaN and Infinity are not valid JSON; they become None.
        return json.loads(text, parse_constant=lambda _name: None)
    except ValueError:
        if response.status in (200, 201):
            raise LabelStudioError("no_json") from None
        return None


def _parse_http_date(text: str) -> datetime.datetime | None:
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
