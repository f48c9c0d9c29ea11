"""Keeps a few programs running, and leaves none behind, whatever happens to itself.

Each program leads a process group of its own, so that its children end with it. A program that
ends is started again, after a pause that grows while it keeps failing. A shell of one megabyte
holds the reading end of a pipe: when the supervisor is gone, even by kill -9, the pipe closes and
the shell ends the groups. That works alike on Linux and macOS.
"""

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType

FIRST_PAUSE = 0.2  # seconds before a program that ended is started again; doubles with each failure
LONGEST_PAUSE = 30.0
SETTLED = 10.0  # seconds after which a running program counts as healthy
READY_PATIENCE = 10.0  # seconds that a program may take until the next one is started
LOOK_EVERY = 1.0  # seconds between two looks when nothing was signalled

# Reads lines of process groups and remembers the last one; at the end of the pipe, ends them.
WATCHER = """
trap '' TERM INT HUP
while read -r line; do groups=$line; done
for group in $groups; do kill -TERM "-$group" 2>/dev/null; done
for second in 1 2 3 4 5; do
    left=
    for group in $groups; do kill -0 "-$group" 2>/dev/null && left=yes; done
    [ -n "$left" ] || exit 0
    sleep 1
done
for group in $groups; do kill -KILL "-$group" 2>/dev/null; done
"""


def say(text: str) -> None:
    """Nobody may hear it: who follows the log is gone, or the disk where it is kept is full."""
    with contextlib.suppress(OSError):
        print(text, flush=True)


@dataclass(frozen=True)
class Program:
    """What to run. `ready` is asked until it is true before the next program is started."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    stop_patience: float = 10.0  # seconds between SIGTERM and SIGKILL
    ready: Callable[[], bool] | None = None


class Child:
    """A program with its process, or with the time of its next start."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.process: subprocess.Popen[bytes] | None = None
        self.started_at = 0.0
        self.start_at = 0.0
        self.failures = 0

    def start(self) -> None:
        self.started_at = time.monotonic()
        self.process = subprocess.Popen(
            self.program.command,
            env={**os.environ, **self.program.environment},
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    def has_ended(self) -> bool:
        """True once, when the process has ended: what is left of its group is killed, the next
        start planned."""
        if self.process is None or self.process.poll() is None:
            return False
        self.signal_group(signal.SIGKILL)
        lived = time.monotonic() - self.started_at
        self.failures = 0 if lived >= SETTLED else self.failures + 1
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** max(0, self.failures - 1))
        self.start_at = time.monotonic() + pause
        say(
            f"{self.program.name} ended ({ending(self.process.returncode)}); it is started again "
            f"in {pause:g} s."
        )
        self.process = None
        return True

    def signal_group(self, number: signal.Signals) -> None:
        if self.process is not None:
            try:
                os.killpg(self.process.pid, number)
            except (ProcessLookupError, PermissionError):  # macOS says EPERM for a group of zombies
                return

    def stop(self, hurry: Callable[[], bool]) -> None:
        """SIGTERM, and SIGKILL for the whole group when the patience is over or `hurry` says so."""
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + self.program.stop_patience
        while self.process.poll() is None and time.monotonic() < deadline and not hurry():
            time.sleep(0.02)
        self.signal_group(signal.SIGKILL)
        self.process.wait()
        self.process = None


class Watcher:
    """A shell that ends process groups when this process is gone; see WATCHER."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", WATCHER],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self.process.stdin is not None
        self.pipe = self.process.stdin

    def tell(self, groups: Sequence[int]) -> None:
        """The groups to end; replaces what was told before."""
        try:
            self.pipe.write((" ".join(map(str, groups)) + "\n").encode())
            self.pipe.flush()
        except BrokenPipeError:
            print(
                "The watcher is gone: after a kill -9 of this process programs may stay.",
                file=sys.stderr,
            )

    def dismiss(self) -> None:
        self.tell([])
        self.pipe.close()
        self.process.wait()


def ending(returncode: int) -> str:
    """An exit status in words."""
    if returncode >= 0:
        return f"exit status {returncode}"
    try:
        return signal.Signals(-returncode).name
    except ValueError:
        return f"signal {-returncode}"


class Supervisor:
    """Starts the programs in order, restarts what ends, and stops them in reverse order.

    With `end_with_parent` it also stops when the process that started it is gone (`make run` killed
    with -9).
    """

    def __init__(self, programs: Sequence[Program], *, end_with_parent: bool = False) -> None:
        self.children = [Child(program) for program in programs]
        self.parent = os.getppid() if end_with_parent else None
        self.stop_requests = 0
        self.bell, self.ring = socket.socketpair()
        self.watcher = Watcher()

    def run(self) -> int:
        """Works until SIGTERM, SIGINT or SIGHUP. Returns the exit status."""
        self._listen_to_signals()
        try:
            for child in self.children:
                self._start(child)
                self._wait_until_ready(child)
            while not self._should_stop():
                self._look_after_children()
                self._sleep()
        finally:
            self.stop()
        return 0

    def stop(self) -> None:
        """Stops the programs, the one started last first; a second signal skips the waiting."""
        say("Stopping ...")
        for child in reversed(self.children):
            child.stop(hurry=lambda: self.stop_requests > 1)
        self.watcher.dismiss()
        say("Stopped.")

    def _listen_to_signals(self) -> None:
        for end in (self.bell, self.ring):
            end.setblocking(False)
        signal.set_wakeup_fd(self.ring.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._note_stop_request)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)  # only to ring the bell

    def _note_stop_request(self, number: int, frame: FrameType | None) -> None:
        self.stop_requests += 1

    def _should_stop(self) -> bool:
        orphaned = self.parent is not None and os.getppid() != self.parent
        return self.stop_requests > 0 or orphaned

    def _tell_watcher(self) -> None:
        self.watcher.tell([child.process.pid for child in self.children if child.process])

    def _start(self, child: Child) -> None:
        child.start()
        self._tell_watcher()

    def _wait_until_ready(self, child: Child) -> None:
        deadline = time.monotonic() + READY_PATIENCE
        ready = child.program.ready
        while ready is not None and not ready():
            if self._should_stop() or child.has_ended() or time.monotonic() > deadline:
                return
            time.sleep(0.02)

    def _look_after_children(self) -> None:
        for child in self.children:
            child.has_ended()
            if child.process is None and time.monotonic() >= child.start_at:
                self._start(child)

    def _sleep(self) -> None:
        """Until a signal arrives, a program is due for its start, or a second has gone."""
        due = [
            child.start_at - time.monotonic() for child in self.children if child.process is None
        ]
        timeout = max(0.0, min([LOOK_EVERY, *due]))
        if select.select([self.bell], [], [], timeout)[0]:
            self.bell.recv(4096)
