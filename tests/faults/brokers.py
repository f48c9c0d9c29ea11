"""A broker of one test: real, and free to be frozen, killed and started again."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis

from agreement_site.celery import app
from agreement_site.server import embedded_broker
from core.jobs import dispatch
from metrics.jobs import hints

PATIENCE = 20.0  # seconds; a broker that does not start never gets there
QUEUE = "celery"
CLIENT = hints.get_redis_client  # a test may put another in its place


class Broker:
    """A Valkey on a socket in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis+socket://{embedded_broker.get_broker_socket(self.folder)}"

    def start(self) -> None:
        self.process = subprocess.Popen(
            embedded_broker.build_broker_command(self.folder),
            cwd=self.folder,
            start_new_session=True,
        )
        deadline = time.monotonic() + PATIENCE
        while not embedded_broker.is_broker_running(self.folder):
            assert time.monotonic() < deadline, "the broker does not start"
            time.sleep(0.01)

    def freeze(self) -> None:
        """It keeps its connections and its socket, and answers nobody."""
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    def kill(self) -> None:
        if self.process is not None:
            self.signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        os.kill(self.process.pid, number)

    def client(self) -> redis.Redis:
        return redis.Redis(
            unix_socket_path=str(embedded_broker.get_broker_socket(self.folder)), socket_timeout=10
        )

    def messages(self) -> int:
        """How many hints wait in the queue."""
        with self.client() as client:
            return sum(
                client.llen(key) for key in client.keys(f"*{QUEUE}*") if client.type(key) == b"list"
            )

    def flush(self) -> None:
        with self.client() as client:
            client.flushall()


@contextmanager
def private_broker(settings: Any) -> Iterator[Broker]:
    """A running broker that this process sends its hints to."""
    before = app.conf.broker_url
    with tempfile.TemporaryDirectory(
        prefix="concord-broker-", ignore_cleanup_errors=True
    ) as folder:
        broker = Broker(Path(folder))
        try:
            broker.start()
            settings.REDIS_URL = broker.url
            connect_to(broker.url)
            yield broker
        finally:
            broker.kill()
            connect_to(before)


def connect_to(url: str) -> None:
    """Forget every connection to a broker, and that one failed; the next ones go to ``url``."""
    from kombu import pools

    pools.reset()
    app.conf.broker_url = app.conf.broker_read_url = app.conf.broker_write_url = url
    app.__dict__["_pool"] = None
    app.amqp._producer_pool = None
    CLIENT.cache_clear()
    dispatch._paused_until = 0.0
