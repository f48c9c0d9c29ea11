"""Connections are shared fairly between the web processes. Two workers on one listening socket,
stepped by hand."""

from __future__ import annotations

import contextlib
import selectors
import socket
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from gunicorn.config import Config

from agreement_site.running import web_worker


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(web_worker, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


@pytest.fixture
def workers(
    listener: socket.socket, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[Any]]:
    taken: list[Any] = []
    monkeypatch.setattr(web_worker, "_shared", [0] * web_worker.SLOTS)
    monkeypatch.setattr(
        web_worker.Worker, "enqueue_req", lambda _worker, connection: taken.append(connection)
    )
    made = [web_worker.Worker(age, 1, [listener], None, 60, Config(), None) for age in (1, 2)]
    for worker in made:
        worker.poller = selectors.DefaultSelector()
        worker.set_accept_enabled(True)
    yield made
    for connection in taken:
        connection.sock.close()
    for worker in made:
        worker.poller.close()
        worker.tmp.close()


@pytest.fixture
def connect(listener: socket.socket) -> Iterator[Callable[[int], None]]:
    """``connect(number)``: so many clients come."""
    with contextlib.ExitStack() as clients:

        def come(number: int) -> None:
            for _ in range(number):
                clients.enter_context(socket.create_connection(listener.getsockname()))

        yield come


def step(worker: Any) -> None:
    """What the worker's main loop does between two looks at its clock."""
    worker.set_accept_enabled(worker.nr_conns < worker.worker_connections)
    worker.wait_for_and_dispatch_events(0.0)


def step_until_all_are_taken(workers: list[Any], clock: list[float], *, quick: int = 1) -> None:
    """A millisecond at a time, in which the first worker makes ``quick`` steps and the other
    one."""
    while sum(worker.nr_conns for worker in workers) < 16:
        for _ in range(quick):
            step(workers[0])
        step(workers[1])
        clock[0] += 0.001


def test_whichever_is_quicker_takes_no_more(
    workers: list[Any], connect: Any, clock: list[float]
) -> None:
    quick, slow = workers
    connect(16)
    step_until_all_are_taken(workers, clock, quick=20)
    assert abs(quick.nr_conns - slow.nr_conns) <= 1


def test_who_has_fewer_takes_the_next_ones(
    workers: list[Any], connect: Any, clock: list[float]
) -> None:
    many, few = workers
    many.nr_conns, few.nr_conns = 8, 0
    connect(8)
    step_until_all_are_taken(workers, clock)
    assert abs(many.nr_conns - few.nr_conns) <= 2


def test_one_with_more_takes_what_nobody_else_takes(
    workers: list[Any], connect: Any, clock: list[float]
) -> None:
    willing, _busy = workers
    connect(3)
    for _ in range(6):
        step(willing)
        clock[0] += web_worker.REST
    assert willing.nr_conns == 3


def test_a_process_alone_never_waits(workers: list[Any], connect: Any) -> None:
    alone, ended = workers
    web_worker.forget(ended)
    connect(30)
    for _ in range(30):
        step(alone)
    assert alone.nr_conns == 30


def test_one_that_stops_takes_none_and_does_not_spin(workers: list[Any], connect: Any) -> None:
    stopping, _other = workers
    waited: list[float] = []
    select = stopping.poller.select
    stopping.poller.select = lambda timeout: waited.append(timeout) or select(0)
    stopping.set_accept_enabled(False)
    connect(1)
    stopping.wait_for_and_dispatch_events(1.0)
    assert stopping.nr_conns == 0
    assert waited == [1.0]
