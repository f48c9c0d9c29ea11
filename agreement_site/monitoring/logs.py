"""One line a record, whatever it says: JSON for programs, or plain words for people.

What is being worked on stands in every record that is made meanwhile: the request (its id, user and
project) or the task. Text from outside cannot begin a line of its own: JSON escapes it, and so does
the plain form.
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

from agreement_site.middleware.base import Around
from core.security_log import address_of
from core.web import prometheus, tracing

logger = logging.getLogger("concord")

SANE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
LONGEST_PATH = 300
METHODS = ("GET", "HEAD", "POST", "PATCH")  # others are counted together
# What stands behind an invitation's first part is its secret, and so it is in a mailed link, and
# in a link to a view.
LINK = re.compile(r"(invitations/+[^/]*/+|password/+forgotten/+|account/+address/+|shared/+)[^/]+")

_request: ContextVar[HttpRequest | None] = ContextVar("request", default=None)
_work: ContextVar[dict[str, Any]] = ContextVar("work", default={})  # noqa: B039 - never changed, only replaced


# --- what is known while a record is made


def known() -> dict[str, Any]:
    """The task or the request that this thread works on; empty elsewhere."""
    request = _request.get()
    return dict(_work.get()) if request is None else _of_request(request)


def _of_request(request: HttpRequest) -> dict[str, Any]:
    match = request.resolver_match
    found = {
        "request_id": getattr(request, "id", None),
        "user_id": _user_id(request),
        "project_id": match.kwargs.get("project_id") if match else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _user_id(request: HttpRequest) -> int | None:
    """Who asks, where that is known already: to write a line is no reason to ask the database."""
    user = vars(request).get("user")
    # a page's: known once something has looked at the session
    if isinstance(user, SimpleLazyObject):
        user = vars(request).get("_cached_user")
    return getattr(user, "pk", None)


def address() -> str:
    """Where the request comes from that this thread works on; empty elsewhere."""
    request = _request.get()
    return "" if request is None else address_of(request)


@contextmanager
def working_on(**names: Any) -> Iterator[None]:
    """Records that are made inside carry these names."""
    token = _work.set({**_work.get(), **names})
    try:
        yield
    finally:
        _work.reset(token)


# --- a line for each request and each task


class RequestLog(Around):
    """The outermost middleware: gives each request its id, and one line when it is answered.

    A proxy's X-Request-ID is taken when it is a plain one, so that its log and ours can be read
    side by side.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        given = request.headers.get("X-Request-ID", "")
        request_id = given if SANE_ID.fullmatch(given) else uuid.uuid4().hex
        request.id = request_id  # type: ignore[attr-defined]
        token = _request.set(request)
        try:
            with tracing.span("server", str(request.method), request.headers) as span:
                response = self.get_response(request)
                _tell(span, request, response.status_code)
            response["X-Request-ID"] = request_id
            spent = round((time.perf_counter() - started) * 1000, 1)
            said = {
                "method": request.method,
                "path": safe_path(request),
                "status": response.status_code,
                "ms": spent,
                "address": address_of(request),
            }
            logger.info("request", extra={"fields": said})
            _measure(request, response.status_code, spent / 1000)
            return response
        finally:
            _request.reset(token)


def _tell(span: tracing.Span, request: HttpRequest, status: int) -> None:
    """What a trace knows of a request: neither names nor texts of people."""
    route = _route(request)
    span.update_name(f"{request.method} {route}")
    for name, value in {
        "http.request.method": request.method,
        "http.route": route,
        "http.response.status_code": status,
        "concord.request_id": request.id,  # type: ignore[attr-defined]
    }.items():
        span.set_attribute(name, value)


def _route(request: HttpRequest) -> str:
    match = request.resolver_match
    return "none" if match is None else match.namespace or match.url_name or "none"


def _measure(request: HttpRequest, status: int, seconds: float) -> None:
    route = _route(request)
    method = request.method if request.method in METHODS else "other"
    prometheus.REQUESTS.labels(route, method, status).inc()
    prometheus.REQUEST_SECONDS.labels(route).observe(seconds)


def safe_path(request: HttpRequest) -> str:
    """The path without its query and without the secret of a one-time link."""
    # By its shape, for the address may be mistyped: then no route matched, and the link is good.
    return LINK.sub(r"\1***", request.path)[:LONGEST_PATH]


class SafePaths(logging.Filter):
    """Django names the path of a request that failed: here without secrets, and not again where
    there is no trace."""

    def filter(self, record: logging.LogRecord) -> bool:
        request = getattr(record, "request", None)
        if isinstance(request, HttpRequest) and isinstance(record.args, tuple):
            shown = safe_path(request)
            record.args = tuple(shown if part == request.path else part for part in record.args)
        return record.name != "django.request" or bool(record.exc_info)


class OnceASecond(logging.Filter):
    """While the database is away each request fails in the same way: one line a second says so,
    with how many were left out and without a trace."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._said_at = -math.inf
        self._left_out = 0

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        told = record.args[0] if isinstance(record.args, tuple) and record.args else None
        for found in (error, told):
            if isinstance(found, OperationalError | InterfaceError):
                return self._is_due(record, found)
        return True

    def _is_due(self, record: logging.LogRecord, error: Exception) -> bool:
        with self._lock:
            now = time.monotonic()
            if now - self._said_at < 1:
                self._left_out += 1
                return False
            left_out, self._left_out = self._left_out, 0
            self._said_at = now
        record.msg, record.args = "the database failed: %s", (str(error).strip(),)
        record.exc_info = record.exc_text = None
        if left_out:
            record.fields = {**getattr(record, "fields", {}), "left_out": left_out}
        return True


class LoggedTask(Task):
    """The base of all tasks: one line each when it ends. A failure's trace is Celery's to tell."""

    abstract = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        started, status = time.perf_counter(), "failed"
        with working_on(task_id=self.request.id, task=self.name, arguments=list(args)):
            try:
                with tracing.span("consumer", self.name):
                    result = self.run(*args, **kwargs)
                status = "done"
                return result
            except Exception:
                prometheus.TASKS_FAILED.labels(self.name).inc()
                raise
            finally:
                spent = round((time.perf_counter() - started) * 1000, 1)
                prometheus.TASK_SECONDS.labels(self.name).observe(spent / 1000)
                logger.info("task", extra={"fields": {"status": status, "ms": spent}})


# --- the two forms of a line


class JsonLines(logging.Formatter):
    """{"time", "level", "logger", "message", what is known, "trace"?} as one line of ASCII."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(
                timespec="milliseconds"
            ),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **known(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=True)


class PlainLines(logging.Formatter):
    """The same for people: names behind the message, and a trace on lines of its own, set off by a
    margin."""

    def format(self, record: logging.LogRecord) -> str:
        names = {**getattr(record, "fields", {}), **known()}
        said = " ".join(
            [record.getMessage(), *(f"{name}={value}" for name, value in names.items())]
        )
        line = f"{self.formatTime(record)} {record.levelname} {record.name} {_printable(said)}"
        if record.exc_info:
            trace = self.formatException(record.exc_info).splitlines()
            line = "\n".join([line, *(f"    {_printable(part)}" for part in trace)])
        return line


def _printable(text: str) -> str:
    """The text with everything that could end a line, or steer a terminal, shown as an escape."""
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )
