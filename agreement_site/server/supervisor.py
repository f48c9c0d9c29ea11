"""Supervisor: start programs in order, restart those that end, and stop all at the end.

Each program leads a process group of its own, so that its children end with it. A program that
ends is restarted, after a pause that grows while it keeps failing. A small shell holds the
reading end of a pipe: when the supervisor ends, even by kill -9, the pipe closes and the shell
ends the groups. This works on Linux and macOS alike.

A program may first run as a fork of the supervisor, which shares the memory of the modules that
both have loaded. A restart executes its command: it then runs the code that is installed by now.
"""

import contextlib
import multiprocessing
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType

INITIAL_PAUSE_SECONDS = 0.2  # seconds before a restart; doubles with each failure
MAX_PAUSE_SECONDS = 30.0
HEALTHY_AFTER_SECONDS = 10.0  # seconds after which a running program counts as healthy
READY_TIMEOUT_SECONDS = 10.0  # seconds to wait for a program before the next one is started
CHECK_INTERVAL_SECONDS = 1.0  # seconds between two checks when no signal arrives
CAN_FORK = sys.platform == "linux"  # libraries of macOS do not survive a fork
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

# Reads lines of process groups, remembers the last line, and ends its groups when the pipe closes.
WATCHER_SCRIPT = """
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


def print_message(text: str) -> None:
    """Print a line and ignore failures: the log's reader may be gone, or its disk full."""
    with contextlib.suppress(OSError):
        print(text, flush=True)


@dataclass(frozen=True)
class Program:
    """A program to run.

    ``ready`` is polled before the next program is started, until it returns True or
    READY_TIMEOUT_SECONDS have passed. ``function`` does the same as ``command``, in a fork of the
    supervisor.
    """

    name: str
    command: Sequence[str]
    function: Callable[[], None] | None = None
    stop_timeout: float = 10.0  # seconds between SIGTERM and SIGKILL
    ready: Callable[[], bool] | None = None


class ForkedProcess:
    """A function run in a fork of this process, with the part of Popen's interface that is used."""

    def __init__(self, function: Callable[[], None]) -> None:
        self._process = multiprocessing.get_context("fork").Process(
            target=self._run, args=[function]
        )
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid
        with contextlib.suppress(PermissionError, ProcessLookupError):
            os.setpgid(self.pid, self.pid)  # here and in the child, whichever comes first

    @staticmethod
    def _run(function: Callable[[], None]) -> None:
        with contextlib.suppress(PermissionError):
            os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        function()

    @property
    def returncode(self) -> int:
        """The exit status, negative for a signal, of a process that has ended."""
        assert self._process.exitcode is not None
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self) -> None:
        self._process.join()

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


class Child:
    """A program with its process, or with the time of its next start."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.process: subprocess.Popen[bytes] | ForkedProcess | None = None
        self.started_at = 0.0
        self.start_at = 0.0
        self.failures = 0

    def start(self) -> None:
        """Start the program, as a fork if possible; as a command when it is restarted."""
        is_restart, self.started_at = self.started_at > 0, time.monotonic()
        if self.program.function and CAN_FORK and not is_restart:
            self.process = ForkedProcess(self.program.function)
        else:
            self.process = subprocess.Popen(
                self.program.command, stdin=subprocess.DEVNULL, start_new_session=True
            )

    def handle_end(self) -> bool:
        """Kill the group of a process that has ended, and plan its restart.

        Return True if the process had ended; otherwise nothing is done.
        """
        if self.process is None or self.process.poll() is None:
            return False
        self.signal_group(signal.SIGKILL)
        run_seconds = time.monotonic() - self.started_at
        self.failures = 0 if run_seconds >= HEALTHY_AFTER_SECONDS else self.failures + 1
        pause = min(MAX_PAUSE_SECONDS, INITIAL_PAUSE_SECONDS * 2 ** max(0, self.failures - 1))
        self.start_at = time.monotonic() + pause
        print_message(
            f"{self.program.name} ended ({describe_exit(self.process.returncode)}); "
            f"it is started again in {pause:g} s."
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
        """Send SIGTERM to the process, then SIGKILL to its group.

        SIGKILL follows when the process has ended, at the timeout, or when `hurry` returns True.
        """
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + self.program.stop_timeout
        while self.process.poll() is None and time.monotonic() < deadline and not hurry():
            time.sleep(0.02)
        self.signal_group(signal.SIGKILL)
        self.process.wait()
        self.process = None


class ProcessGroupGuard:
    """A shell that ends process groups when this process is gone; see WATCHER_SCRIPT."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", WATCHER_SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self.process.stdin is not None
        self.pipe = self.process.stdin
        os.register_at_fork(after_in_child=self.pipe.close)  # or it would outlive this process

    def set_groups(self, groups: Sequence[int]) -> None:
        """Set the groups to end; replaces the previous ones."""
        try:
            self.pipe.write((" ".join(map(str, groups)) + "\n").encode())
            self.pipe.flush()
        except BrokenPipeError:
            print(
                "The guard of the processes has ended: after a kill -9 of this process, "
                "programs may keep running.",
                file=sys.stderr,
            )

    def close(self) -> None:
        self.set_groups([])
        self.pipe.close()
        self.process.wait()


def describe_exit(returncode: int) -> str:
    """Describe an exit status: "exit status 1" or the name of a signal."""
    if returncode >= 0:
        return f"exit status {returncode}"
    try:
        return signal.Signals(-returncode).name
    except ValueError:
        return f"signal {-returncode}"


class Supervisor:
    """Start programs in order, restart those that end, and stop them in reverse order.

    With `end_with_parent` it also stops when the process that started it is gone (`make run` killed
    with -9).
    """

    def __init__(self, programs: Sequence[Program], *, end_with_parent: bool = False) -> None:
        self.children = [Child(program) for program in programs]
        self.parent = os.getppid() if end_with_parent else None
        self.stop_requests = 0
        self.wakeup_reader, self.wakeup_writer = socket.socketpair()
        self.guard = ProcessGroupGuard()

    def run(self, when_started: Callable[[], None] = lambda: None) -> int:
        """Run the programs until SIGTERM, SIGINT or SIGHUP; return the exit status 0.

        ``when_started`` is called once, after the last fork; it may start threads.
        """
        self._install_signal_handlers()
        try:
            for child in self.children:
                self._start(child)
                self._wait_until_ready(child)
            when_started()
            while not self._should_stop():
                self._restart_ended_children()
                self._sleep()
        finally:
            self.stop()
        return 0

    def stop(self) -> None:
        """Stop the programs, the last one first; a second signal skips the waiting."""
        print_message("Stopping ...")
        for child in reversed(self.children):
            child.stop(hurry=lambda: self.stop_requests > 1)
        self.guard.close()
        print_message("Stopped.")

    def _install_signal_handlers(self) -> None:
        for wakeup_socket in (self.wakeup_reader, self.wakeup_writer):
            wakeup_socket.setblocking(False)
        signal.set_wakeup_fd(self.wakeup_writer.fileno(), warn_on_full_buffer=False)
        for number in STOP_SIGNALS:
            signal.signal(number, self._count_stop_request)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)  # only to wake the main loop

    def _count_stop_request(self, number: int, frame: FrameType | None) -> None:
        self.stop_requests += 1

    def _should_stop(self) -> bool:
        orphaned = self.parent is not None and os.getppid() != self.parent
        return self.stop_requests > 0 or orphaned

    def _pass_groups_to_guard(self) -> None:
        self.guard.set_groups([child.process.pid for child in self.children if child.process])

    def _start(self, child: Child) -> None:
        child.start()
        self._pass_groups_to_guard()

    def _wait_until_ready(self, child: Child) -> None:
        deadline = time.monotonic() + READY_TIMEOUT_SECONDS
        ready = child.program.ready
        while ready is not None and not ready():
            if self._should_stop() or child.handle_end() or time.monotonic() > deadline:
                return
            time.sleep(0.02)

    def _restart_ended_children(self) -> None:
        for child in self.children:
            child.handle_end()
            if child.process is None and time.monotonic() >= child.start_at:
                self._start(child)

    def _sleep(self) -> None:
        """Wait for a signal, the next start of a program, or CHECK_INTERVAL_SECONDS."""
        delays = [
            child.start_at - time.monotonic() for child in self.children if child.process is None
        ]
        timeout = max(0.0, min([CHECK_INTERVAL_SECONDS, *delays]))
        if select.select([self.wakeup_reader], [], [], timeout)[0]:
            self.wakeup_reader.recv(4096)
