"""Connections are shared fairly between the web processes. Two workers on one listening socket, stepped by hand."""

from __future__ import annotations

import selectors
import socket
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from gunicorn.config import Config

from agreement_site import web_worker


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
def workers(listener: socket.socket, clock: list[float], monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    taken: list[Any] = []
    monkeypatch.setattr(web_worker.Worker, "enqueue_req", lambda _worker, connection: taken.append(connection))
    made = [web_worker.Worker(1, 1, [listener], None, 60, Config(), None) for _ in range(2)]
    for worker in made:
        worker.poller = selectors.DefaultSelector()
        worker.set_accept_enabled(True)
    yield made
    for connection in taken:
        connection.sock.close()
    for worker in made:
        worker.poller.close()
        worker.tmp.close()


def step(worker: Any) -> None:
    """What the worker's main loop does between two looks at its clock."""
    worker.set_accept_enabled(worker.nr_conns < worker.worker_connections)
    worker.wait_for_and_dispatch_events(0.0)


def test_whichever_is_quicker_takes_no_more(workers: list[Any], listener: socket.socket, clock: list[float]) -> None:
    quick, slow = workers
    clients = [socket.create_connection(listener.getsockname()) for _ in range(16)]
    while quick.nr_conns + slow.nr_conns < len(clients):
        for _ in range(20):
            step(quick)
        step(slow)
        clock[0] += 0.001
    assert [quick.nr_conns, slow.nr_conns] == [8, 8]
    for client in clients:
        client.close()


def test_who_has_fewer_rests_less(workers: list[Any], listener: socket.socket, clock: list[float]) -> None:
    many, few = workers
    many.nr_conns, few.nr_conns = 8, 0
    clients = [socket.create_connection(listener.getsockname()) for _ in range(9)]
    while many.nr_conns + few.nr_conns < 8 + len(clients):
        step(many)
        step(few)
        clock[0] += 0.0005
    assert few.nr_conns > 5
    for client in clients:
        client.close()


def test_a_process_alone_takes_all(workers: list[Any], listener: socket.socket, clock: list[float]) -> None:
    alone, _gone = workers
    clients = [socket.create_connection(listener.getsockname()) for _ in range(30)]
    for _ in range(30):
        step(alone)
        clock[0] += web_worker.LONGEST_REST
    assert alone.nr_conns == len(clients)
    for client in clients:
        client.close()


def test_one_that_stops_takes_none_and_does_not_spin(workers: list[Any], listener: socket.socket) -> None:
    stopping, _other = workers
    waited: list[float] = []
    select = stopping.poller.select
    stopping.poller.select = lambda timeout: waited.append(timeout) or select(0)
    stopping.set_accept_enabled(False)
    with socket.create_connection(listener.getsockname()):
        stopping.wait_for_and_dispatch_events(1.0)
    assert stopping.nr_conns == 0
    assert waited == [1.0]
