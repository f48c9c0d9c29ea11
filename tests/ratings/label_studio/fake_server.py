"""A small Label Studio in a thread: the routes, fields and states that connections use.

Its clock is its own, so that nothing depends on when a test runs.
"""

from __future__ import annotations

import datetime
import email.utils
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

LEGACY_TOKEN = "0123456789abcdef0123456789abcdef01234567"
REFRESH_TOKEN = "aa.refresh.cc"
PROJECT = 12
Fields = dict[str, Any]
FORM = '<View><Rating name="stars" toName="text" maxRating="4"/></View>'
CONTROLS = {
    "sentiment": {"type": "Choices", "to_name": ["text"], "labels": ["pos", "neg", "neutral"]},
    "stars": {"type": "Rating", "to_name": ["text"], "labels": []},
}


def choose(label: str, name: str = "sentiment", part_id: str = "x") -> Fields:
    """Return a part of a result: a choice."""
    return {
        "id": part_id,
        "from_name": name,
        "to_name": "text",
        "type": "choices",
        "value": {"choices": [label]},
    }


def give_stars(number: int) -> Fields:
    """Return a part of a result: a rating with stars."""
    value = {"rating": number}
    return {"id": "s", "from_name": "stars", "to_name": "text", "type": "rating", "value": value}


class FakeLabelStudio:
    """Tasks, annotations, predictions and users of one project, changed by methods or requests."""

    def __init__(self) -> None:
        self.url = ""
        self.now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
        self.tasks: dict[int, Fields] = {}
        self.rows: dict[str, dict[int, Fields]] = {"annotations": {}, "predictions": {}}
        self.users = {
            user: {"id": user, "email": f"{name}@example.org", "first_name": name.title()}
            for user, name in enumerate(("anna", "ben", "cleo"), start=1)
        }
        self.next_id = 100
        self.access_tokens: set[str] = set()
        self.requests: list[tuple[str, str]] = []
        # May answer a request instead: returns (status, body, headers), or None.
        self.intercept: Callable[[str, str], tuple[int, Any, Fields] | None] = lambda *_: None

    # --- what people do there

    def tick(self, seconds: int = 1) -> str:
        self.now += datetime.timedelta(seconds=seconds)
        return self.now.isoformat().replace("+00:00", "Z")

    def add_task(self, text: str, **fields: Any) -> int:
        self.next_id += 1
        self.tasks[self.next_id] = {
            "id": self.next_id,
            "data": {"text": text},
            "meta": {},
            "updated_at": self.tick(),
            **fields,
        }
        return self.next_id

    def annotate(self, task: int, user: int | None, *result: Fields, **fields: Any) -> int:
        row = {
            "completed_by": user,
            "was_cancelled": False,
            "ground_truth": False,
            "lead_time": 2.5,
        }
        return self._add("annotations", task, {**row, "result": list(result), **fields})

    def predict(self, task: int, version: str, *result: Fields) -> int:
        return self._add("predictions", task, {"model_version": version, "result": list(result)})

    def _add(self, kind: str, task: int, fields: Fields) -> int:
        self.next_id += 1
        now = self.tick()
        row = {"created_at": now, "updated_at": now, **fields, "id": self.next_id, "task": task}
        self.rows[kind][self.next_id] = row
        self.tasks[task]["updated_at"] = now
        return self.next_id

    def change(self, kind: str, row_id: int, **fields: Any) -> None:
        row = self.rows[kind][row_id]
        row.update(fields, updated_at=self.tick())
        self.tasks[row["task"]]["updated_at"] = row["updated_at"]

    def delete(self, kind: str, row_id: int) -> None:
        """Delete without changing the task's time, as some versions do."""
        self.rows[kind].pop(row_id)

    def delete_task(self, task: int) -> None:
        self.tasks.pop(task)
        for rows in self.rows.values():
            for row_id in [row["id"] for row in rows.values() if row["task"] == task]:
                rows.pop(row_id)

    def build_task(self, task: int) -> Fields:
        """Return a task as the list of tasks has it."""
        return {
            **self.tasks[task],
            **{
                kind: [r for r in rows.values() if r["task"] == task]
                for kind, rows in self.rows.items()
            },
            "drafts": [],
            "project": PROJECT,
        }

    # --- what the API answers

    def answer(self, method: str, path: str, headers: Any, body: Any) -> tuple[int, Any, Fields]:
        self.requests.append((method, path))
        if answer := self.intercept(method, path):
            return answer
        parts = urlsplit(path)
        names = parts.path.strip("/").split("/")
        if names == ["api", "token", "refresh"]:
            if body != {"refresh": REFRESH_TOKEN}:
                return 401, {"detail": "Token is invalid"}, {}
            access = f"access-{len(self.access_tokens)}-{len(self.requests)}"
            self.access_tokens = {access}
            return 200, {"access": access}, {}
        scheme, _, token = headers.get("Authorization", "").partition(" ")
        if (scheme, token) != ("Token", LEGACY_TOKEN) and not (
            scheme == "Bearer" and token in self.access_tokens
        ):
            return 401, {"detail": "Invalid token."}, {}
        return self._route(method, names[1:], parse_qs(parts.query), body)

    def _route(
        self, method: str, names: list[str], query: dict[str, list[str]], body: Any
    ) -> tuple[int, Any, Fields]:
        answer: Any = {"detail": "Not found."}
        status = 200
        match (method, *names):
            case ("GET", "projects", number) if number == str(PROJECT):
                answer = {
                    "id": PROJECT,
                    "title": "Moods",
                    "label_config": FORM,
                    "parsed_label_config": CONTROLS,
                }
            case ("GET", "users"):
                answer = list(self.users.values())
            case ("GET", "tasks") if query["project"] == [str(PROJECT)]:
                answer = self._list_tasks(query)
            case ("GET", "tasks", number) if int(number) in self.tasks:
                answer = self.build_task(int(number))
            case ("GET", kind, number) if int(number) in self.rows.get(kind, {}):
                answer = self.rows[kind][int(number)]
            case ("PATCH", kind, number) if int(number) in self.rows[kind]:
                self.change(kind, int(number), **body)
                answer = self.rows[kind][int(number)]
            case ("POST", "predictions"):
                answer, status = {"id": self._add("predictions", body["task"], body)}, 201
            case ("POST", "tasks", number, "annotations"):
                annotation = self.annotate(int(number), 1, *body.pop("result"), **body)
                answer, status = {"id": annotation}, 201
            case _:
                status = 404
        return status, answer, {}

    def _list_tasks(self, query: dict[str, list[str]]) -> Fields:
        arguments = json.loads(query["query"][0])
        assert arguments["ordering"] == ["tasks:id"]
        selected = sorted(self.tasks.values(), key=lambda task: task["id"])
        for condition in arguments["filters"]["items"]:
            value = condition["value"]
            if condition["filter"] == "filter:tasks:id":
                selected = [task for task in selected if task["id"] > value]
            else:
                since = datetime.datetime.strptime(value, "%Y-%m-%dT%H:%M:%S.%fZ")
                selected = [
                    task
                    for task in selected
                    if datetime.datetime.fromisoformat(task["updated_at"]).replace(tzinfo=None)
                    >= since
                ]
        if "selectedItems" in arguments:
            included = arguments["selectedItems"]["included"]
            selected = [task for task in selected if task["id"] in included]
        page = selected[: int(query["page_size"][0])]
        return {"total": len(selected), "tasks": [self.build_task(task["id"]) for task in page]}


@contextmanager
def start_label_studio() -> Iterator[FakeLabelStudio]:
    """Run a fake Label Studio on a free port."""
    fake = FakeLabelStudio()

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            status, answer, headers = fake.answer(self.command, self.path, self.headers, body)
            content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response_only(status)
            self.send_header("Date", email.utils.format_datetime(fake.now, usegmt=True))
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = handle_any

        def log_message(self, *arguments: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that went away is no error of the test."""

    server = Server(("127.0.0.1", 0), Handler)
    fake.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
