"""A real Label Studio with 1,000 tasks and three users, while it and the workers here are killed.

Label Studio is another program with packages of its own; LABEL_STUDIO is the path of its command,
DRILL_TASKS, DRILL_KILLS and DRILL_TOOL_KILLS are the numbers of tasks, of killed workers and of kills
of Label Studio. At the end both sides are compared by the IDs of all annotations, and nothing may be
there twice.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.agreement_site.server.conftest import BASE_DIR, find_free_port, wait_for
from tests.drills.site import DrillSite, run_site

pytestmark = [pytest.mark.drill, pytest.mark.timeout(3600)]

N_TASKS = int(os.environ.get("DRILL_TASKS", "1000"))
N_WORKER_KILLS = int(os.environ.get("DRILL_KILLS", "10"))
N_TOOL_KILLS = int(os.environ.get("DRILL_TOOL_KILLS", "10"))
SETTLE_SECONDS = 600
FIRST_RATED_TASKS = 60  # rated before the first import
LABELS = ("pos", "neg", "neutral")
TOKEN = "0123456789abcdef0123456789abcdef01234567"
FORM = """<View><Text name="text" value="$text"/>
<Choices name="sentiment" toName="text" choice="single">
<Choice value="pos"/><Choice value="neg"/><Choice value="neutral"/></Choices>
<Rating name="stars" toName="text" maxRating="5"/></View>"""

START = """
from django.contrib.auth.models import User
from projects.models import Member, Project
from ratings.label_studio import services
lead, _created = User.objects.get_or_create(username="lead")
project = Project.objects.create(name="Drill", created_by=lead)
Member.objects.create(project=project, user=lead, role="lead")
services.create_connection(project=project, address=ADDRESS, remote_project=1, token=TOKEN, by=lead)
"""
CONFIRM = """
from django.contrib.auth.models import User
from ratings.imports import services
from ratings.imports.services import NewQuestionScale
from ratings.models import ImportRun
run = ImportRun.objects.get()
scales = {"sentiment": NewQuestionScale("nominal", ["pos", "neg", "neutral"]),
          "stars": NewQuestionScale("ordinal", list("12345"))}
services.start_writing(run=run, duplicate_policy="last", by=User.objects.get(username="lead"),
                       new_scales={k: scales[k] for k in services.list_new_question_keys(run)})
"""
CHANGE = """
import datetime
from django.utils import timezone
from ratings.label_studio import services
from ratings.models import LabelStudioConnection
connection = LabelStudioConnection.objects.get()
if WRITE_BACK:
    services.change_connection(connection=connection, token="", write_back=WRITE_BACK, by=None)
if COMPARE:
    long_ago = timezone.now() - datetime.timedelta(days=2)
    # Without its lease, a worker that compares now stops, and the comparison begins anew.
    LabelStudioConnection.objects.update(
        compared_at=long_ago, compared_task=None, lease="", leased_until=None
    )
services.request_pull(connection)
"""
STATE = """
import json
from ratings.models import ImportRun, LabelStudioConnection
row = LabelStudioConnection.objects.get()
times = {name: getattr(row, name) and getattr(row, name).isoformat()
         for name in ("pulled_at", "compared_at", "written_since", "next_at", "leased_until")}
run = ImportRun.objects.first()
print(json.dumps({"state": row.state, "error": row.error, "failures": row.failures, "counts": row.counts, **times,
                  "run": run and run.state, "problems": run and run.problems}))
"""
DUMP = """
import json
from projects.models import Item, Question, Rater
from ratings.models import LabelStudioObject, Rating
labels = {(q.pk, c.code): c.label for q in Question.objects.all()
          for c in q.categories.all()}
rows = Rating.objects.current().select_related("question", "item", "rater")
objects = LabelStudioObject.objects.values_list("kind", "remote_id", "task")
print(json.dumps({
    "ratings": [[r.question.key, r.item.key, r.rater.key, labels[r.question_id, r.code]] for r in rows],
    "objects": list(map(list, objects)), "items": Item.objects.count(),
    "raters": sorted(Rater.objects.values_list("key", flat=True))}))
"""


class LabelStudio:
    """A Label Studio server with its own folder, which can be killed."""

    def __init__(self, program: str, folder: Path) -> None:
        self.program, self.folder, self.port = program, folder, find_free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        names = ("DATABASE_URL", "DJANGO_SETTINGS_MODULE", "DATA_DIR", "SECRET_KEY", "HOST", "PORT")
        environment = {name: value for name, value in os.environ.items() if name not in names}
        environment |= {
            "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
            "SENTRY_DSN": "",
            "FRONTEND_SENTRY_DSN": "",
            "COLLECT_ANALYTICS": "False",
        }
        options = ["--no-browser", "--port", str(self.port), "--data-dir", str(self.folder)]
        account = ["--username", "admin@example.org", "--password", "a long password"]
        with (self.folder / "output.txt").open("ab") as output:
            self.process = subprocess.Popen(
                [self.program, "start", *options, *account, "--user-token", TOKEN],
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        wait_for(self.is_up, "Label Studio", timeout=600)

    def is_up(self) -> bool:
        try:
            return self.call("GET", "/api/users/") is not None
        except OSError:
            return False

    def kill(self) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def call(self, method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.loads(response.read() or b"null")

    def list_tasks(self) -> list[dict[str, Any]]:
        tasks: list[dict[str, Any]] = []
        while True:
            after = tasks[-1]["id"] if tasks else 0
            condition = {"filter": "filter:tasks:id", "operator": "greater", "type": "Number"}
            filters = {"conjunction": "and", "items": [{**condition, "value": after}]}
            query = quote(json.dumps({"filters": filters, "ordering": ["tasks:id"]}))
            path = f"/api/tasks?project=1&fields=all&page_size=200&query={query}"
            page = self.call("GET", path)["tasks"]
            if not page:
                return tasks
            tasks += page


@pytest.fixture
def label_studio(tmp_path: Path) -> Iterator[LabelStudio]:
    program = os.environ.get("LABEL_STUDIO") or shutil.which("label-studio")
    if not program:
        pytest.skip("no Label Studio here: LABEL_STUDIO is the path of its command")
    server = LabelStudio(program, tmp_path)
    try:
        server.start()
        yield server
    finally:
        server.kill()


class People:
    """Three users who annotate, change, skip and delete, and a model."""

    def __init__(self, server: LabelStudio) -> None:
        self.server, self.rng = server, random.Random(39)
        self.users: dict[int, str] = {}
        for name in ("anna", "ben", "cleo"):
            email = f"{name}@example.org"
            user = server.call("POST", "/api/users/", {"email": email, "username": name})
            self.users[user["id"]] = email
        server.call("POST", "/api/projects/", {"title": "Drill", "label_config": FORM})
        data = [{"data": {"text": f"Text number {number}"}} for number in range(N_TASKS)]
        server.call("POST", "/api/projects/1/import", data)
        self.tasks = [task["id"] for task in server.list_tasks()]
        self.annotations: list[int] = []

    def build_result(self) -> list[dict[str, Any]]:
        choice = {"choices": [self.rng.choice(LABELS)]}
        stars = {"rating": self.rng.randint(1, 5)}
        common = {"to_name": "text"}
        parts = [
            {"id": "c", "from_name": "sentiment", "type": "choices", "value": choice, **common},
            {"id": "s", "from_name": "stars", "type": "rating", "value": stars, **common},
        ]
        return parts[: self.rng.randint(1, 2)]

    def annotate(self, task: int, user: int) -> None:
        body = {"completed_by": user, "result": self.build_result(), "lead_time": 2.0}
        row = self.server.call("POST", f"/api/tasks/{task}/annotations/", body)
        self.annotations.append(row["id"])

    def work(self) -> None:
        """Annotate, change, skip or delete once, at random.

        If the server was killed meanwhile, the action may or may not have happened there.
        """
        task, user = self.rng.choice(self.tasks), self.rng.choice(list(self.users))
        action = self.rng.random()
        if action < 0.5 or not self.annotations:
            self.annotate(task, user)
        elif action < 0.6:
            body = {"task": task, "model_version": "m-1", "result": self.build_result()}
            self.server.call("POST", "/api/predictions/", body)
        else:
            row = self.rng.choice(self.annotations)
            if action < 0.7:
                self.annotations.remove(row)
                self.server.call("DELETE", f"/api/annotations/{row}/")
            else:
                change = (
                    {"was_cancelled": True} if action < 0.75 else {"result": self.build_result()}
                )
                self.server.call("PATCH", f"/api/annotations/{row}/", change)


def run_shell(site: DrillSite, script: str, **values: Any) -> Any:
    """Run a script in the site's shell and return its last line, JSON."""
    constants = "".join(f"{name} = {value!r}\n" for name, value in values.items())
    result = subprocess.run(
        [sys.executable, str(BASE_DIR / "manage.py"), "shell", "-v", "0", "-c", constants + script],
        env=site.build_environment(),
        cwd=BASE_DIR,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout.splitlines()[-1]) if result.stdout.strip() else None


def wait_for_state(
    site: DrillSite, condition: Callable[[dict[str, Any]], bool], description: str
) -> dict[str, Any]:
    deadline = time.monotonic() + SETTLE_SECONDS
    while not condition(state := run_shell(site, STATE)):
        assert time.monotonic() < deadline, f"waited in vain for {description}: {state}"
        time.sleep(1)  # each question is a process
    return state


def list_expected(tasks: list[dict[str, Any]], users: dict[int, str]) -> dict[tuple[str, ...], str]:
    """Return {(question, item, rater): label}: the latest answer of each person and model."""
    expected: dict[tuple[str, ...], str] = {}
    for task in tasks:
        rows = [(row, users.get(row["completed_by"], "?")) for row in task["annotations"]]
        rows += [(row, row["model_version"]) for row in task["predictions"]]
        for row, rater in sorted(rows, key=lambda pair: pair[0]["created_at"]):
            for part in [] if row.get("was_cancelled") else row["result"]:
                value = part["value"]
                label = value["choices"][0] if "choices" in value else str(value["rating"])
                if not part["id"].startswith("concord-"):
                    expected[part["from_name"], f"ls:1:{task['id']}", rater] = label
    return expected


def compare_both_ends(
    site: DrillSite, label_studio: LabelStudio, people: People
) -> tuple[int, int]:
    """Assert that both ends are equal; return the numbers of ratings and of written labels."""
    tasks, here = label_studio.list_tasks(), run_shell(site, DUMP)
    expected = list_expected(tasks, people.users)
    ratings = {tuple(row[:3]): row[3] for row in here["ratings"]}
    assert len(ratings) == len(here["ratings"])
    assert ratings == expected
    assert here["items"] == len(tasks) == N_TASKS
    assert here["raters"] == sorted({rater for _question, _item, rater in expected})
    there = {("task", task["id"]) for task in tasks}
    own: Counter[int] = Counter()
    for task in tasks:
        there |= {("annotation", row["id"]) for row in task["annotations"]}
        for row in task["predictions"]:
            is_own = row["model_version"] == "Concord"
            own[task["id"]] += is_own
            there.add(("our_prediction" if is_own else "prediction", row["id"]))
    assert max(own.values()) == 1
    objects = [(kind, remote_id) for kind, remote_id, _task in here["objects"] if kind != "user"]
    assert len(objects) == len(set(objects))
    assert set(objects) == there
    return len(ratings), sum(own.values())


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def site(request: pytest.FixtureRequest, label_studio: LabelStudio) -> Iterator[DrillSite]:
    is_postgres = request.param == "PostgreSQL"
    with run_site(postgres=is_postgres, CONNECTIONS_TO_PRIVATE_NETWORKS="1") as running:
        yield running


def test_both_ends_are_equal_after_kills(
    label_studio: LabelStudio, site: DrillSite, capsys: pytest.CaptureFixture[str]
) -> None:
    people = People(label_studio)
    for task in people.tasks[:FIRST_RATED_TASKS]:
        for user in list(people.users)[: people.rng.randint(1, 2)]:
            people.annotate(task, user)
    started = time.monotonic()
    run_shell(site, START, ADDRESS=label_studio.url, TOKEN=TOKEN)
    wait_for_state(site, lambda state: state["run"] == "checked", "the check of the import")
    run_shell(site, CONFIRM)
    wait_for_state(site, lambda state: bool(state["compared_at"]), "the first pull")
    first_seconds = time.monotonic() - started

    kills: Counter[str] = Counter()
    run_shell(site, CHANGE, WRITE_BACK="predictions", COMPARE=False)
    for number in range(max(N_WORKER_KILLS, N_TOOL_KILLS)):
        for _ in range(10):
            with contextlib.suppress(OSError):
                people.work()
        run_shell(site, CHANGE, WRITE_BACK="", COMPARE=number % 4 == 0)
        time.sleep(people.rng.random() * 3)  # any moment of the work
        if number < N_TOOL_KILLS:
            label_studio.kill()
            kills["Label Studio"] += 1
        if number < N_WORKER_KILLS:
            wait_for(
                lambda: site.kill_process("celery", people.rng) == "killed celery",
                "a worker to kill",
                timeout=120,  # it is started again after a pause that grows
            )
            kills["worker"] += 1
        if number < N_TOOL_KILLS:
            label_studio.start()

    people.work()
    begin = run_shell(site, STATE)  # before the request: its comparison can end within a second
    run_shell(site, CHANGE, WRITE_BACK="", COMPARE=True)
    ended, counts = time.monotonic(), []

    def is_settled(state: dict[str, Any]) -> bool:
        """Return whether everything was read, compared and written, and nothing changes any more."""
        counts.append(state["counts"])
        return (
            counts[-8:] == [state["counts"]] * 8
            and not state["error"]
            and state["compared_at"] > begin["compared_at"]
            and (state["written_since"] or "") > (begin["written_since"] or "")
        )

    state = wait_for_state(site, is_settled, "the last comparison")
    last_seconds = time.monotonic() - ended
    n_ratings, n_labels = compare_both_ends(site, label_studio, people)
    with capsys.disabled():
        sys.stdout.write(
            f"\n{site.database}: {N_TASKS} tasks, {len(people.users)} users, kills {dict(kills)}: {n_ratings} ratings"
            f" and {n_labels} written labels are equal on both sides; first import and pull"
            f" {first_seconds:.0f} s, last comparison {last_seconds:.0f} s, counts"
            f" {state['counts']}\n"
        )
