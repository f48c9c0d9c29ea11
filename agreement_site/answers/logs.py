"""One line a record, whatever it says: JSON for programs, or plain words for people.

What is being worked on stands in every record that is made meanwhile: the request (its id, user and
project) or the task. Text from outside cannot begin a line of its own: JSON escapes it, and so does
the plain form.
"""

from __future__ import annotations

import datetime
import json
import logging
import re
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from celery import Task
from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject

logger = logging.getLogger("concord")

SANE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
LONGEST_PATH = 300

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


@contextmanager
def working_on(**names: Any) -> Iterator[None]:
    """Records that are made inside carry these names."""
    token = _work.set({**_work.get(), **names})
    try:
        yield
    finally:
        _work.reset(token)


# --- a line for each request and each task


class RequestLog:
    """The outermost middleware: gives each request its id, and one line when it is answered.

    A proxy's X-Request-ID is taken when it is a plain one, so that its log and ours can be read
    side by side.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        given = request.headers.get("X-Request-ID", "")
        request_id = given if SANE_ID.fullmatch(given) else uuid.uuid4().hex
        request.id = request_id  # type: ignore[attr-defined]
        token = _request.set(request)
        try:
            response = self.get_response(request)
            response["X-Request-ID"] = request_id
            spent = round((time.perf_counter() - started) * 1000, 1)
            said = {
                "method": request.method,
                "path": safe_path(request),
                "status": response.status_code,
                "ms": spent,
            }
            logger.info("request", extra={"fields": said})
            return response
        finally:
            _request.reset(token)


def safe_path(request: HttpRequest) -> str:
    """The path without its query and without the secret of a one-time link."""
    path: str = request.path
    match = request.resolver_match
    secret = match.kwargs.get("token") if match else None
    if secret:
        path = path.replace(str(secret), "***")
    return path[:LONGEST_PATH]


class SafePaths(logging.Filter):
    """Django names the path of a request that failed: here without secrets, and not again where
    there is no trace."""

    def filter(self, record: logging.LogRecord) -> bool:
        request = getattr(record, "request", None)
        if isinstance(request, HttpRequest) and isinstance(record.args, tuple):
            shown = safe_path(request)
            record.args = tuple(shown if part == request.path else part for part in record.args)
        return record.name != "django.request" or bool(record.exc_info)


class LoggedTask(Task):
    """The base of all tasks: one line each when it ends. A failure's trace is Celery's to tell."""

    abstract = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        started, status = time.perf_counter(), "failed"
        with working_on(task_id=self.request.id, task=self.name, arguments=list(args)):
            try:
                result = self.run(*args, **kwargs)
                status = "done"
                return result
            finally:
                spent = round((time.perf_counter() - started) * 1000, 1)
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
