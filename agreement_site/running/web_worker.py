"""Gunicorn's threaded worker, for clients that keep their connection and send one rating after the
other.

Gunicorn gives each connection back to its one main thread between two requests: two changes of
threads a request, and a good part of the processor time of a rating. Here a thread waits a moment
for the next request of the client that it has answered.

A kept connection stays with the process that took it. When many clients come at once, whichever
process is quicker by a hair takes two thirds of them, and theirs wait twice as long as the others'
from then on. Here a process that has more of them than another one steps back for a moment.
"""

from __future__ import annotations

import mmap
import select
import time
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

# Milliseconds that a thread with nothing else to do waits for its client, and how often, while
# nobody needs the thread.
MOMENT, MOMENTS = 5, 5
# seconds that a process with more connections leaves to the others to take the next one
REST = 0.004
SLOTS = 64

# The connections of each process, and one more; 0 where there is no process. Made before they are
# forked, so theirs together.
_shared = memoryview(mmap.mmap(-1, 4 * SLOTS)).cast("i")


def forget(worker: Any) -> None:
    """The process has ended."""
    _shared[worker.age % SLOTS] = 0


class Worker(ThreadWorker):
    _rests_until = 0.0
    _rested = False

    @property
    def nr_conns(self) -> int:
        return self._connections

    @nr_conns.setter
    def nr_conns(self, number: int) -> None:
        self._connections = number
        _shared[self.age % SLOTS] = number + 1

    def accept(self, listener: Any) -> None:
        """Take a connection; who has two more than another process, only when nobody took it during
        a rest."""
        self._rested = not self._rested and self._connections > min(filter(None, _shared))
        if self._rested:
            self._rests_until = time.monotonic() + REST
        else:
            super().accept(listener)

    def set_accept_enabled(self, enabled: bool) -> None:
        super().set_accept_enabled(enabled and self._rest() <= 0)

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        self.set_accept_enabled(self._accepting)
        rest = self._rest()
        super().wait_for_and_dispatch_events(min(timeout, rest) if rest > 0 else timeout)

    def _rest(self) -> float:
        return self._rests_until - time.monotonic()

    def handle(self, conn: Any) -> Any:
        """Answer requests of the connection until it ends, its client pauses, or somebody else
        needs the thread."""
        kept = super().handle(conn)
        # True: the answer promised to keep the connection. Whatever else it is, is the main
        # thread's to interpret.
        while kept is True and self._sends(conn.sock):
            kept = super().handle(conn)
        return kept

    def _sends(self, socket: Any) -> bool:
        poll = select.poll()
        poll.register(socket, select.POLLIN)
        for _ in range(MOMENTS):
            if not self.alive or not self.tpool._work_queue.empty():
                return False
            if poll.poll(MOMENT):
                return True
        return False
