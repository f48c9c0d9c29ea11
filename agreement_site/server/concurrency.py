"""What a request needs before it is worked on: all of its body, and a seat.

A thread of the web server belongs to its client until the answer is sent, so a client that sends
half a body, or reads its answer slowly, keeps a thread for as long as it likes. Threads are many
and cost next to nothing while they wait. Seats are few: each has a connection to the database, and
nobody sits who waits for a client.
"""

from __future__ import annotations

import io
import queue
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any
from wsgiref.util import FileWrapper

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections

SMALL = (
    1 << 20
)  # bytes; a larger body is read by its page, which may refuse it before a byte is read
CHUNK = 1 << 16  # bytes of a file that are sent at a time
LONGEST_WAIT = 30.0  # seconds that a large body waits for its turn

Request = dict[str, Any]  # WSGI's environment
Answer = Iterable[bytes]
StartResponse = Callable[..., Any]


class Seats:
    """Django's WSGI application ``site``, at work on ``number`` requests at a time; others wait.

    Large bodies are read while they sit, so they get half of the seats at most.
    """

    def __init__(self, site: Callable[..., Any], number: int) -> None:
        self._site = site
        self._large = threading.BoundedSemaphore(max(1, number // 2))
        # The seat left last is taken first: connections that nobody needs are never opened.
        self._free: queue.LifoQueue[Any] = queue.LifoQueue()
        for _ in range(number):
            connection = connections.create_connection(DEFAULT_DB_ALIAS)
            connection.inc_thread_sharing()  # one thread after the other
            self._free.put(connection)

    def __call__(self, request: Request, start_response: StartResponse) -> Answer:
        length = int(request.get("CONTENT_LENGTH") or 0)
        if length > SMALL:
            return self._answer_large(request, start_response)
        if length:
            body = request["wsgi.input"].read(length)
            if len(body) < length:
                text = "The request ended before its body did.\n"
                return _refuse(start_response, "400 Bad Request", text)
            request["wsgi.input"] = io.BytesIO(body)
        return self._answer(request, start_response)

    def _answer_large(self, request: Request, start_response: StartResponse) -> Answer:
        if not self._large.acquire(timeout=LONGEST_WAIT):
            text = "Too many large requests at the moment. Try again later.\n"
            return _refuse(start_response, "503 Service Unavailable", text)
        try:
            return self._answer(request, start_response)
        finally:
            self._large.release()

    def _answer(self, request: Request, start_response: StartResponse) -> Answer:
        """Whole when this returns, or a file: nothing of it needs the database any more."""
        said: list[Any] = []
        with self._seat():
            response = self._site(request, lambda *parts: said.extend(parts))
            status, headers = said
            if not response.streaming:
                with closing(response):
                    answer: Answer = [*response]
            elif response.has_header("Content-Length"):
                answer = response
            else:
                file, length = _written_down(response)
                headers = [*headers, ("Content-Length", str(length))]
                answer = FileWrapper(file, CHUNK)
        start_response(status, headers)
        return answer

    @contextmanager
    def _seat(self) -> Iterator[None]:
        connection = self._free.get()
        connections[DEFAULT_DB_ALIAS] = connection
        try:
            yield
        finally:
            del connections[DEFAULT_DB_ALIAS]
            self._free.put(connection)


def _written_down(response: Any) -> tuple[Any, int]:
    """What is made piece by piece, as a file with its length in bytes. Raises what the making
    raises.

    The web server ends an answer that breaks off as if it were whole; a file is sent whole or not
    at all.
    """
    with ExitStack() as if_it_fails:
        folder = settings.FILE_UPLOAD_TEMP_DIR
        file = tempfile.SpooledTemporaryFile(SMALL, dir=folder)  # noqa: SIM115 - closed when sent
        if_it_fails.callback(file.close)
        with closing(response):
            for piece in response:
                file.write(piece)
        length = file.tell()
        file.seek(0)
        if_it_fails.pop_all()
    return file, length


def _refuse(start_response: StartResponse, status: str, text: str) -> Answer:
    content = text.encode()
    headers = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(content)))]
    start_response(status, headers)
    return [content]
