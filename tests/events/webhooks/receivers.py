"""A receiver of webhooks in a thread of its own, which verifies signatures with a public library."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks import Webhook


class Receiver:
    """Keeps verified messages. ``respond(handler, body)`` may answer in another way than by 200."""

    def __init__(self) -> None:
        self.secret = ""
        self.messages: list[tuple[str, dict[str, Any]]] = []  # (webhook-id, body)
        self.headers: list[dict[str, str]] = []
        self.bodies: list[bytes] = []
        self.url = ""
        self.respond: Callable[[BaseHTTPRequestHandler, bytes], object] = self.accept

    def accept(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        answer(handler, 200, b"thanks")

    def receive(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        headers = dict(handler.headers.items())
        self.headers.append(headers)
        self.bodies.append(body)
        if self.secret:
            message = Webhook(self.secret).verify(body, headers)
            self.messages.append((headers["webhook-id"], message))
        self.respond(handler, body)

    @property
    def ids(self) -> list[str]:
        return [message_id for message_id, _body in self.messages]


def answer(handler: BaseHTTPRequestHandler, status: int, body: bytes = b"", **headers: str) -> None:
    """Answer a request."""
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@contextmanager
def start_receiver(*, wrap_socket: Callable[[Any], Any] | None = None) -> Iterator[Receiver]:
    """Run a receiver on a free port. ``wrap_socket`` adds TLS."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            receiver.receive(self)

        def log_message(self, *arguments: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that went away is no error of the test."""

    server = Server(("127.0.0.1", 0), Handler)
    if wrap_socket is not None:
        server.socket = wrap_socket(server.socket)
    receiver.url = f"http://127.0.0.1:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever, args=[0.01], daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
