"""A real broker for one test, which can be frozen, killed and restarted."""

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

START_TIMEOUT_SECONDS = 20.0  # only a broker that never starts takes that long
QUEUE = "celery"
ORIGINAL_REDIS_CLIENT = dispatch.get_redis_client  # kept here, because a test may replace it


class Broker:
    """A Valkey server on a socket in a folder of its own."""

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
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while not embedded_broker.is_broker_running(self.folder):
            assert time.monotonic() < deadline, "the broker does not start"
            time.sleep(0.01)

    def freeze(self) -> None:
        """Stop the process: it keeps its connections and its socket, and answers nobody."""
        self.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        if self.process is not None:
            self.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def send_signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        os.kill(self.process.pid, number)

    def connect(self) -> redis.Redis:
        return redis.Redis(
            unix_socket_path=str(embedded_broker.get_broker_socket(self.folder)), socket_timeout=10
        )

    def count_messages(self) -> int:
        """Return the number of hints in the queue."""
        with self.connect() as client:
            return sum(
                client.llen(key) for key in client.keys(f"*{QUEUE}*") if client.type(key) == b"list"
            )

    def flush(self) -> None:
        with self.connect() as client:
            client.flushall()


@contextmanager
def run_private_broker(settings: Any) -> Iterator[Broker]:
    """Run a broker to which this process sends its hints."""
    previous_url = app.conf.broker_url
    with tempfile.TemporaryDirectory(
        prefix="concord-broker-", ignore_cleanup_errors=True
    ) as folder:
        broker = Broker(Path(folder))
        try:
            broker.start()
            settings.REDIS_URL = broker.url
            connect_hints_to(broker.url)
            yield broker
        finally:
            broker.kill()
            connect_hints_to(previous_url)


def connect_hints_to(url: str) -> None:
    """Forget all connections to a broker and their failures; the next ones go to ``url``."""
    from kombu import pools

    pools.reset()
    app.conf.broker_url = app.conf.broker_read_url = app.conf.broker_write_url = url
    app.__dict__["_pool"] = None
    app.amqp._producer_pool = None
    ORIGINAL_REDIS_CLIENT.cache_clear()
    dispatch._paused_until = 0.0
