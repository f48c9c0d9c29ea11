"""Logging: formatters, filters, context of requests and tasks, and one line per request.

Each record carries the current request (its ID, user and project) or task. Text from outside
cannot start a line of its own: both formats escape line breaks.
"""

from __future__ import annotations

import datetime
import json
import logging
import math
import re
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from celery import Task
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject

from agreement_site.middleware.base import BaseMiddleware
from core import security_log, telemetry

logger = logging.getLogger("concord")

POLL_HEADER = "X-Shown-Version"  # of the requests of open pages (metrics.views.common.live_updates)
VALID_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
MAX_PATH_LENGTH = 300
COUNTED_METHODS = ("GET", "HEAD", "POST", "PATCH")  # others are counted together
# The last part of an invitation link, a mailed link or a link to a shared view is a secret.
SECRET_LINK = re.compile(
    r"(invitations/+[^/]*/+|password/+forgotten/+|account/+address/+|shared/+)[^/]+",
    re.IGNORECASE,  # no page has such an address in capitals, but people type them
)

LogContext = dict[str, Any]  # fields of a log line, of any type that JSON takes
_current_request: ContextVar[HttpRequest | None] = ContextVar("request", default=None)
_work_context: ContextVar[LogContext] = ContextVar("work", default={})  # noqa: B039 - never changed, only replaced


# --- the context of a record


def get_log_context() -> LogContext:
    """Return the fields of this thread's task or request; empty elsewhere."""
    request = _current_request.get()
    return dict(_work_context.get()) if request is None else _build_request_context(request)


def _build_request_context(request: HttpRequest) -> LogContext:
    match = request.resolver_match
    fields = {
        "request_id": getattr(request, "id", None),
        "user_id": _get_user_id(request),
        "project_id": match.kwargs.get("project_id") if match else None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _get_user_id(request: HttpRequest) -> int | None:
    """Return the user's id if it is already loaded, else None.

    Loading it would cost a database query for each log line.
    """
    user = vars(request).get("user")
    # a page's user is lazy: loaded once something has used the session
    if isinstance(user, SimpleLazyObject):
        user = vars(request).get("_cached_user")
    return getattr(user, "pk", None)


def get_client_address() -> str:
    """Return the client address of this thread's request; empty elsewhere."""
    request = _current_request.get()
    return "" if request is None else security_log.get_client_address(request)


@contextmanager
def log_context(**fields: Any) -> Iterator[None]:
    """Add these fields to the log records that this thread writes inside the block."""
    token = _work_context.set({**_work_context.get(), **fields})
    try:
        yield
    finally:
        _work_context.reset(token)


# --- a line for each request and each task


class RequestLogMiddleware(BaseMiddleware):
    """Give each request an ID, and log one line when it is answered. Must be the outermost.

    A proxy's X-Request-ID is used if it has the form of an ID, so that both logs can be compared.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        proxy_id = request.headers.get("X-Request-ID", "")
        request_id = proxy_id if VALID_REQUEST_ID.fullmatch(proxy_id) else uuid.uuid4().hex
        request.id = request_id  # type: ignore[attr-defined]
        token = _current_request.set(request)
        try:
            with telemetry.start_span("server", str(request.method), request.headers) as span:
                response = self.get_response(request)
                _set_span_attributes(span, request, response.status_code)
            response["X-Request-ID"] = request_id
            milliseconds = round((time.perf_counter() - started) * 1000, 1)
            fields = {
                "method": request.method,
                "path": redact_path(request),
                "status": response.status_code,
                "ms": milliseconds,
                "address": security_log.get_client_address(request),
            }
            # An open page polls every second or so: that would be most lines of the log.
            is_poll = POLL_HEADER in request.headers and response.status_code < 400
            level = logging.DEBUG if is_poll else logging.INFO
            logger.log(level, "request", extra={"fields": fields})
            _observe_request(request, response.status_code, milliseconds / 1000)
            return response
        finally:
            _current_request.reset(token)


def _set_span_attributes(span: telemetry.Span, request: HttpRequest, status: int) -> None:
    """Describe the request in its trace span, without names or texts of people."""
    route = _get_route(request)
    span.update_name(f"{request.method} {route}")
    for name, value in {
        "http.request.method": request.method,
        "http.route": route,
        "http.response.status_code": status,
        "concord.request_id": request.id,  # type: ignore[attr-defined]
    }.items():
        span.set_attribute(name, value)


def _get_route(request: HttpRequest) -> str:
    """Return the namespace of the request's route, such as admin, else the name of its URL."""
    match = request.resolver_match
    return "none" if match is None else match.namespace or match.url_name or "none"


def _observe_request(request: HttpRequest, status: int, seconds: float) -> None:
    route = _get_route(request)
    method = request.method if request.method in COUNTED_METHODS else "other"
    telemetry.REQUESTS.labels(route, method, status).inc()
    telemetry.REQUEST_SECONDS.labels(route).observe(seconds)


def redact_path(request: HttpRequest) -> str:
    """Return the path without query and with *** for the secret of a one-time link, truncated."""
    # Matched by its shape: in a mistyped URL no route matches, yet the secret is valid.
    return SECRET_LINK.sub(r"\1***", request.path)[:MAX_PATH_LENGTH]


class RedactPathsFilter(logging.Filter):
    """Redact secrets in the paths of Django's own records.

    Records of failed requests without a traceback are dropped: each request has its own line.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        request = getattr(record, "request", None)
        if isinstance(request, HttpRequest) and isinstance(record.args, tuple):
            safe_path = redact_path(request)
            record.args = tuple(
                safe_path if argument == request.path else argument for argument in record.args
            )
        return record.name != "django.request" or bool(record.exc_info)


class DatabaseErrorFilter(logging.Filter):
    """Log at most one database error a second, without its traceback.

    While the database is down, each request fails in the same way. The line has the number of
    errors that were left out.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._logged_at = -math.inf
        self._suppressed = 0

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        argument = record.args[0] if isinstance(record.args, tuple) and record.args else None
        for candidate in (error, argument):
            if isinstance(candidate, OperationalError | InterfaceError):
                return self._should_log(record, candidate)
        return True

    def _should_log(self, record: logging.LogRecord, error: Exception) -> bool:
        with self._lock:
            now = time.monotonic()
            if now - self._logged_at < 1:
                self._suppressed += 1
                return False
            suppressed, self._suppressed = self._suppressed, 0
            self._logged_at = now
        record.msg, record.args = "the database failed: %s", (str(error).strip(),)
        record.exc_info = record.exc_text = None
        if suppressed:
            record.fields = {**getattr(record, "fields", {}), "suppressed": suppressed}
        return True


class LoggedTask(Task):
    """Base class of all tasks: log one line when a task ends.

    Celery logs the traceback of a failure.
    """

    abstract = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        started, status = time.perf_counter(), "failed"
        with log_context(task_id=self.request.id, task=self.name, arguments=list(args)):
            try:
                with telemetry.start_span("consumer", self.name):
                    result = self.run(*args, **kwargs)
                status = "done"
                return result
            except Exception:
                telemetry.TASKS_FAILED.labels(self.name).inc()
                raise
            finally:
                milliseconds = round((time.perf_counter() - started) * 1000, 1)
                telemetry.TASK_SECONDS.labels(self.name).observe(milliseconds / 1000)
                logger.info("task", extra={"fields": {"status": status, "ms": milliseconds}})


# --- formatters


class JsonFormatter(logging.Formatter):
    """Format a record as one line of ASCII JSON, with its context and any traceback."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(
                timespec="milliseconds"
            ),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **get_log_context(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=True)


class PlainFormatter(logging.Formatter):
    """Format a record for people: fields after the message, and the traceback indented below."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {**getattr(record, "fields", {}), **get_log_context()}
        text = " ".join(
            [record.getMessage(), *(f"{name}={value}" for name, value in fields.items())]
        )
        prefix = f"{self.formatTime(record)} {record.levelname} {record.name}"
        line = f"{prefix} {_escape_unprintable(text)}"
        if record.exc_info:
            trace = self.formatException(record.exc_info).splitlines()
            line = "\n".join(
                [line, *(f"    {_escape_unprintable(trace_line)}" for trace_line in trace)]
            )
        return line


def _escape_unprintable(text: str) -> str:
    """Escape every character that could end a line or control a terminal."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )
