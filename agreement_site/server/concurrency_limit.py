"""Limit of the requests that the site works on at a time; bodies are received before.

A thread of the web server belongs to its client until the response is sent, so a client that
sends half a body, or reads slowly, occupies a thread for as long. There are many threads, and they
cost little while they wait. Slots are few: each has a database connection. A request that waits
for its client occupies no slot, except while a body of more than MAX_BUFFERED_BYTES is read.
"""

from __future__ import annotations

import io
import queue
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any
from wsgiref.types import WSGIEnvironment
from wsgiref.util import FileWrapper

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections

# Bytes. The view itself reads a larger body, and may reject it before any of it is read.
MAX_BUFFERED_BYTES = 1 << 20
CHUNK_BYTES = 1 << 16  # bytes of a file that are sent at a time
MAX_WAIT_SECONDS = 30.0  # seconds that a request with a large body waits for a slot

ResponseBody = Iterable[bytes]
StartResponse = Callable[..., Any]


class ConcurrencyLimiter:
    """WSGI wrapper that lets the site work on ``number`` requests at a time; others wait.

    Requests with large bodies, which are read while the site works on them, get at most half of
    these slots.
    """

    def __init__(self, site: Callable[..., Any], number: int) -> None:
        self._site = site
        self._large_slots = threading.BoundedSemaphore(max(1, number // 2))
        # The slot released last is reused first: connections that are not needed stay closed.
        self._free_connections: queue.LifoQueue[Any] = queue.LifoQueue()
        for _ in range(number):
            connection = connections.create_connection(DEFAULT_DB_ALIAS)
            connection.inc_thread_sharing()  # used by one thread at a time
            self._free_connections.put(connection)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> ResponseBody:
        length = int(environ.get("CONTENT_LENGTH") or 0)
        if length > MAX_BUFFERED_BYTES:
            return self._respond_large(environ, start_response)
        if length:
            body = environ["wsgi.input"].read(length)
            if len(body) < length:
                message = "The request ended before its body did.\n"
                return _reject_request(start_response, "400 Bad Request", message)
            environ["wsgi.input"] = io.BytesIO(body)
        return self._respond(environ, start_response)

    def _respond_large(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> ResponseBody:
        if not self._large_slots.acquire(timeout=MAX_WAIT_SECONDS):
            message = "Too many large requests at the moment. Try again later.\n"
            return _reject_request(start_response, "503 Service Unavailable", message)
        try:
            return self._respond(environ, start_response)
        finally:
            self._large_slots.release()

    def _respond(self, environ: WSGIEnvironment, start_response: StartResponse) -> ResponseBody:
        """Return a complete body or a file: nothing in it needs the database any more."""
        start_arguments: list[Any] = []
        with self._acquire_slot():
            response = self._site(environ, lambda *parts: start_arguments.extend(parts))
            status, headers = start_arguments
            if not response.streaming:
                with closing(response):
                    body: ResponseBody = [*response]
            elif response.has_header("Content-Length"):
                body = response
            else:
                file, length = _spool_response(response)
                headers = [*headers, ("Content-Length", str(length))]
                body = FileWrapper(file, CHUNK_BYTES)
        start_response(status, headers)
        return body

    @contextmanager
    def _acquire_slot(self) -> Iterator[None]:
        connection = self._free_connections.get()
        connections[DEFAULT_DB_ALIAS] = connection
        try:
            yield
        finally:
            del connections[DEFAULT_DB_ALIAS]
            self._free_connections.put(connection)


def _spool_response(response: Any) -> tuple[Any, int]:
    """Write a streamed response to a file; return the file and its length in bytes.

    Raises what the generator raises. The web server would end an interrupted stream as if it were
    complete; a file is sent complete or not at all.
    """
    with ExitStack() as cleanup:
        folder = settings.FILE_UPLOAD_TEMP_DIR
        file = tempfile.SpooledTemporaryFile(MAX_BUFFERED_BYTES, dir=folder)  # noqa: SIM115 - closed when sent
        cleanup.callback(file.close)
        with closing(response):
            for chunk in response:
                file.write(chunk)
        length = file.tell()
        file.seek(0)
        cleanup.pop_all()
    return file, length


def _reject_request(start_response: StartResponse, status: str, message: str) -> ResponseBody:
    content = message.encode()
    headers = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(content)))]
    start_response(status, headers)
    return [content]
