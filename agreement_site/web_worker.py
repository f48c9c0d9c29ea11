"""Gunicorn's threaded worker, whose threads wait a moment for the next request of the client that they have answered.

Gunicorn gives each connection back to its one main thread between two requests. For a client that sends one rating
after the other that is two changes of threads a request, and a good part of the processor time of a rating.
"""

from __future__ import annotations

import select
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

MOMENT = 5  # milliseconds that a thread with nothing else to do waits for its client


class Worker(ThreadWorker):
    def handle(self, conn: Any) -> Any:
        """Answer requests of the connection until it ends, its client pauses, or somebody else needs the thread."""
        kept = super().handle(conn)
        # True: the answer promised to keep the connection. Whatever else it is, is the main thread's to interpret.
        while kept is True and self.alive and self.tpool._work_queue.empty() and _sends(conn.sock):
            kept = super().handle(conn)
        return kept


def _sends(socket: Any) -> bool:
    poll = select.poll()
    poll.register(socket, select.POLLIN)
    return bool(poll.poll(MOMENT))
