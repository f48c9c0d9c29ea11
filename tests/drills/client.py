"""A client that gives, changes and withdraws ratings until it is told to stop, and writes down what
it was answered.

    python tests/drills/client.py '{"port": .., "token": .., "project": .., "rater": .., "items":
    [..], "labels": [..],
                                    "seed": .., "history": "file", "number": 0}'

Each line of the history is one JSON object: an operation before it is sent ("invoke"), and what
became of it: "ok" (answered 2xx), "fail" (refused, or never sent) or "unknown" (a time-out, a
broken connection, an answer 5xx: it may or may not have been stored). Ratings carry their operation
in the comment. Only this client rates for its rater, one operation after the other. Standard
library only.
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

PATIENCE = 10.0  # seconds for an answer
FEW, MANY = 5, 40  # rows of a portion


@dataclass
class Task:
    port: int
    token: str
    project: int
    rater: str
    items: list[str]
    labels: list[str]
    seed: int
    history: str
    number: int  # operations are numbered from here on


class Client:
    def __init__(self, task: Task) -> None:
        self.task = task
        self.random = random.Random(task.seed)
        self.rated: set[str] = set()  # items with an acknowledged rating
        self.stopping = False

    def run(self) -> None:
        signal.signal(signal.SIGTERM, self.stop)
        number = self.task.number
        with Path(self.task.history).open("a", buffering=1) as file:
            while not self.stopping:
                number += 1
                name, rows = f"{self.task.rater}-{number}", self.rows()
                file.write(json.dumps({"type": "invoke", "name": name, "rows": rows}) + "\n")
                outcome, said = self.send(name, rows)
                file.write(json.dumps({"type": outcome, "name": name, "said": said}) + "\n")
                if outcome == "ok":
                    self.rated.update(rows)

    def stop(self, number: int, frame: Any) -> None:
        self.stopping = True

    def rows(self) -> dict[str, str | None]:
        """Item -> label, or None to withdraw: one, many, or a change of what was acknowledged."""
        way = self.random.random()
        if way < 0.35 and self.rated:
            item = self.random.choice(sorted(self.rated))
            return {item: None if way < 0.05 else self.random.choice(self.task.labels)}
        size = self.random.randint(FEW, MANY) if way > 0.8 else 1
        return {
            item: self.random.choice(self.task.labels)
            for item in self.random.sample(self.task.items, size)
        }

    def send(self, name: str, rows: dict[str, str | None]) -> tuple[str, str]:
        """(ok | fail | unknown, what was said)."""
        body = [
            {"item": item, "rater": self.task.rater, "label": label, "comment": name}
            for item, label in rows.items()
        ]
        headers = {"Authorization": f"Bearer {self.task.token}", "Content-Type": "application/json"}
        address = f"/api/v1/projects/{self.task.project}/ratings/"
        connection = http.client.HTTPConnection("127.0.0.1", self.task.port, timeout=PATIENCE)
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
                answer = connection.getresponse()
                said = answer.read().decode(errors="replace")
            except (OSError, http.client.HTTPException) as error:
                return "unknown", repr(error)
        if answer.status == 200:
            return "ok", ""
        return "unknown" if answer.status >= 500 else "fail", f"{answer.status} {said[:300]}"


if __name__ == "__main__":
    Client(Task(**json.loads(sys.argv[1]))).run()
