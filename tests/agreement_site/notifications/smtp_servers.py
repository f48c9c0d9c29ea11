"""A mail server in a thread of its own, which keeps what it accepted."""

from __future__ import annotations

import email
import email.policy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller


class SmtpServer:
    """Keeps messages. ``respond(message)`` may return another answer than 250, or do something."""

    def __init__(self) -> None:
        self.messages: list[EmailMessage] = []
        self.port = 0
        self.respond: Callable[[EmailMessage], str] = lambda _message: "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        message: Any = email.message_from_bytes(envelope.content, policy=email.policy.default)
        self.messages.append(message)
        return self.respond(message)


class _FreePortController(Controller):
    def _trigger_server(self) -> None:
        server: Any = self.server
        self.port = server.sockets[0].getsockname()[1]
        super()._trigger_server()


@contextmanager
def start_smtp_server() -> Iterator[SmtpServer]:
    """Run a mail server on a free port."""
    server = SmtpServer()
    controller = _FreePortController(server, hostname="127.0.0.1", port=0)
    controller.start()
    server.port = controller.port
    try:
        yield server
    finally:
        controller.stop()
