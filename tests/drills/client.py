"""Client that creates, changes and withdraws ratings until stopped, and logs each response.

    python tests/drills/client.py '{"port": .., "token": .., "project": .., "rater": ..,
                                    "items": [..], "labels": [..], "seed": ..,
                                    "history": "file", "number": 0}'

Each line of the history is one JSON object: an operation before it is sent ("invoke"), and
its outcome: "ok" (answered 2xx), "fail" (rejected, or never sent) or "unknown" (a timeout,
a broken connection, an answer 5xx: it may or may not have been stored). Ratings carry their
operation in the comment. Only this client rates for its rater, one operation after the
other. Standard library only.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TIMEOUT_SECONDS = 10.0  # for a response
MIN_BATCH_ROWS, MAX_BATCH_ROWS = 5, 40  # rows of a batch


@dataclass
class ClientTask:
    port: int
    token: str
    project: int
    rater: str
    items: list[str]
    labels: list[str]
    seed: int
    history: str
    number: int  # operations are numbered from here on


class RatingClient:
    def __init__(self, task: ClientTask) -> None:
        self.task = task
        self.rng = random.Random(task.seed)
        self.rated_items: set[str] = set()  # items with an acknowledged rating
        self.is_stopping = False

    def run(self) -> None:
        signal.signal(signal.SIGTERM, self.stop)
        number = self.task.number
        with Path(self.task.history).open("a", buffering=1) as file:
            while not self.is_stopping:
                number += 1
                name, rows = f"{self.task.rater}-{number}", self.choose_rows()
                file.write(json.dumps({"type": "invoke", "name": name, "rows": rows}) + "\n")
                outcome, message = self.send(name, rows)
                file.write(json.dumps({"type": outcome, "name": name, "message": message}) + "\n")
                if outcome == "ok":
                    self.rated_items.update(rows)

    def stop(self, number: int, frame: Any) -> None:
        self.is_stopping = True

    def choose_rows(self) -> dict[str, str | None]:
        """Return {item: label}, None to withdraw: one, many, or a change of an acknowledged rating."""
        draw = self.rng.random()
        if draw < 0.35 and self.rated_items:
            item = self.rng.choice(sorted(self.rated_items))
            return {item: None if draw < 0.05 else self.rng.choice(self.task.labels)}
        size = self.rng.randint(MIN_BATCH_ROWS, MAX_BATCH_ROWS) if draw > 0.8 else 1
        return {
            item: self.rng.choice(self.task.labels)
            for item in self.rng.sample(self.task.items, size)
        }

    def send(self, name: str, rows: dict[str, str | None]) -> tuple[str, str]:
        """Send the rows; return ("ok", "fail" or "unknown", message)."""
        body = [
            {"item": item, "rater": self.task.rater, "label": label, "comment": name}
            for item, label in rows.items()
        ]
        headers = {"Authorization": f"Bearer {self.task.token}", "Content-Type": "application/json"}
        address = f"/api/v1/projects/{self.task.project}/ratings/"
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.task.port, timeout=TIMEOUT_SECONDS
        )
        with contextlib.closing(connection):
            try:
                connection.connect()
            except ConnectionRefusedError as error:
                return "fail", repr(error)
            except OSError as error:
                return "unknown", repr(error)
            try:
                connection.request(
                    "POST", address, json.dumps(body if len(body) > 1 else body[0]), headers
                )
                response = connection.getresponse()
                text = response.read().decode(errors="replace")
            except (OSError, http.client.HTTPException) as error:
                return "unknown", repr(error)
        if response.status == 200:
            return "ok", ""
        return "unknown" if response.status >= 500 else "fail", f"{response.status} {text[:300]}"


if __name__ == "__main__":
    RatingClient(ClientTask(**json.loads(sys.argv[1]))).run()
