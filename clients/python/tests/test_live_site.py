"""Tests of the client, the command line and the tools against a running site."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import re
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import concord_client
import pytest
from concord_client import ApiError, AsyncClient, Client, models
from concord_client.cli import main
from concord_client.mcp_server import Tools, build_server
from mcp.server.mcpserver.exceptions import ToolError

from events import feed
from metrics.jobs.question_updates import update_question
from projects.models import Question
from projects.services import tokens
from quality.consensus import recomputation
from ratings.models import Rating
from tests.cast import rate_many

ROOT = Path(__file__).resolve().parents[1]
QUESTION = {
    "key": "severity",
    "text": "How bad is it?",
    "scale": "ordinal",
    "categories": [{"label": "none"}, {"label": "minor"}, {"label": "major"}],
}
LABELS = ("none", "minor", "major")


def recompute(question: Question) -> None:
    update_question(question.pk)
    recomputation.recompute_question(question.pk)


@pytest.fixture(autouse=True)
def signing_key(settings: Any, tmp_path: Path) -> None:
    settings.GATE_SIGNING_KEY_FILE = tmp_path / "key.pem"


@pytest.fixture
def rated_question(question: Question, client: Client) -> Question:
    """Return a question with 30 items that ann and ben rated, ben another label for three."""
    rows = []
    for number in range(30):
        label = ("none", "minor", "major")[number % 3]
        other = "critical" if number < 3 else label
        rows += [(f"i{number}", "ann", label), (f"i{number}", "ben", other)]
    rate_many(question, rows)
    recompute(question)
    return question


def test_client_sets_up_a_project_and_reads_its_results(client: Client) -> None:
    created = client.create_project("Reviews", [QUESTION], overlap=2)
    assert [project.name for project in client.projects(name="Reviews")] == ["Reviews"]
    project = client.project(created.id)
    items = ({"key": f"doc/{number}", "body": {"text": "x"}} for number in range(12))
    assert project.push_items(items).created == 12
    raters = [{"key": "ann"}, {"key": "ben"}, {"key": "gpt", "kind": "model", "model": "g"}]
    assert project.push_raters(raters).created == 3
    assert [rater.key for rater in project.raters(kind="model")] == ["gpt"]
    ratings = [
        {"item": f"doc/{number}", "rater": rater, "label": LABELS[(number + shift) % 3]}
        for number in range(12)
        for rater, shift in (("ann", 0), ("ben", number == 0))
    ]
    assert project.push_ratings(ratings, dry_run=True).created == 24
    assert not Rating.objects.exists()
    assert project.push_ratings(ratings).created == 24
    assert project.push_ratings(ratings).unchanged == 24
    with pytest.raises(ApiError) as caught:
        project.push_ratings([*ratings, {"item": "doc/1", "rater": "ann", "label": "mjor"}])
    assert {error.row for error in caught.value.errors} == {24}
    assert "unknown_label" in {error.code for error in caught.value.errors}

    question = Question.objects.get(project_id=created.id)
    recompute(question)
    agreement = project.agreement(wait_until_counted=True, question="severity")
    assert (agreement.ratings, agreement.uncounted) == (24, 0)
    assert 0.8 < (agreement.coefficients["percent_agreement"].value or 0) < 1
    headline: Any = agreement.headline
    assert headline.low < headline.value < headline.high
    assert [pair.rater_a for pair in project.pairs(weights="quadratic")] == ["ann"]
    assert {rater.rater for rater in project.rater_agreement()} == {"ann", "ben"}
    pages = project.ratings(page_size=7)
    assert sum(len(page.results) for page in pages.iter_pages()) == len(pages.to_list()) == 24
    decision = project.decide("doc/0", "major", reason="Read again")
    assert decision.number == 1
    recompute(question)
    labels = {label.item: label for label in project.labels()}
    assert (labels["doc/0"].label, labels["doc/0"].source) == ("major", "decision")
    project.create_gate("release", [{"measure": "coverage", "at_least": 1}])
    assert project.verdict("release").verdict == "pass"


def test_client_reads_files_events_and_any_call(
    client: Client, rated_question: Question, tmp_path: Path
) -> None:
    project = client.project(rated_question.project_id)
    project.download("labels", tmp_path / "labels.csv", format="csv")
    assert len((tmp_path / "labels.csv").read_text().splitlines()) == 31
    assert project.create_webhook("https://93.184.215.14/x").secret.startswith("whsec_")
    events = project.events().to_list()
    assert [event.id for event in client.events(after=0)] == [event.id for event in events]
    file = tmp_path / "more.csv"
    file.write_text("item,rater,label\nnew,ann,none\n")
    assert project.import_file(file, dry_run=True).ratings == 1
    assert project.get().questions[0].categories[2].label == "major"
    questions = client.request("GET", f"projects/{project.id}/questions/")
    assert questions["results"][0]["key"] == "severity"


def test_async_client_reads_the_same(client: Client, rated_question: Question) -> None:
    project_id = rated_question.project_id

    async def read() -> tuple[models.Agreement, list[models.Rating]]:
        async with AsyncClient() as async_client:
            project = async_client.project(project_id)
            agreement, ratings = await asyncio.gather(
                project.agreement(), project.ratings(page_size=25).to_list()
            )
            return agreement, ratings

    agreement, ratings = asyncio.run(read())
    project = client.project(project_id)
    assert agreement == project.agreement()
    assert ratings == project.ratings().to_list()
    assert len(ratings) == 60


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], client: Client) -> Callable[..., str]:
    """``run("gate", "1", "release", status=1)`` returns the output of a command, or its errors."""

    def run_command(*arguments: str, status: int = 0) -> str:
        assert main(arguments) == status, capsys.readouterr()
        outputs = capsys.readouterr()
        return outputs.err if status == 3 else outputs.out

    return run_command


def test_login_saves_the_token(
    rated_question: Question,
    environment: dict[str, str],
    run: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(environment["CONCORD_TOKEN"] + "\n"))
    monkeypatch.delenv("CONCORD_TOKEN")
    assert "opens 1 projects" in run("login", environment["CONCORD_URL"], "--token-stdin")
    monkeypatch.delenv("CONCORD_URL")
    line = f"{rated_question.project_id}\tReviews\tseverity\n"
    assert run("projects") == line
    monkeypatch.setattr("sys.stdin", io.StringIO("ccd_wrong\n"))
    assert "401" in run("login", environment["CONCORD_URL"], "--token-stdin", status=3)
    assert run("projects") == line


def test_push_and_pull(rated_question: Question, run: Callable[..., str], tmp_path: Path) -> None:
    project_id = str(rated_question.project_id)
    file = tmp_path / "ratings.csv"
    file.write_text("item,rater,label\ni1,ann,none\ni2,ann,mjor\n\nnosuch,ann,none\n")
    errors = run("push", project_id, str(file), status=3)
    assert f"{file}, line 3: unknown label 'mjor'" in errors
    assert f"{file}, line 5: unknown item 'nosuch'" in errors
    file.write_text("item,rater,label\ni1,ann,none\ni2,ann,\n")
    expected = "0 created, 1 changed, 0 unchanged, 1 withdrawn"
    assert run("push", project_id, str(file), "--dry-run") == f"Would be: {expected}\n"
    assert run("push", project_id, str(file)) == f"Stored: {expected}\n"

    path = tmp_path / "pulled.jsonl"
    assert run("pull", project_id, "ratings", str(path)) == f"Wrote 59 rows to {path}\n"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert {row["rater"] for row in rows} == {"ann", "ben"}
    for kind, suffix, total in (
        ("ratings", "csv", 59),
        ("items", "csv", 30),
        ("raters", "jsonl", 2),
    ):
        path = tmp_path / f"{kind}.{suffix}"
        run("pull", project_id, kind, str(path))
        pushed = run("push", project_id, str(path), "--kind", kind)
        assert f"0 created, 0 changed, {total} unchanged" in pushed
    labels = list(csv.DictReader(io.StringIO(run("labels", project_id))))
    assert len(labels) == 30
    assert labels[5]["label"] in LABELS
    assert list(labels[0])[:4] == ["item", "question", "label", "source"]


def test_closed_output_is_no_error(rated_question: Question, environment: dict[str, str]) -> None:
    """A reader such as `head` ends before the command has written everything."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [sys.executable, "-m", "concord_client.cli", "labels", str(rated_question.project_id)]
    variables = {**os.environ, **environment, "PYTHONPATH": str(ROOT / "src")}
    result = subprocess.run(
        command, stdout=write_end, stderr=subprocess.PIPE, env=variables, check=False
    )
    os.close(write_end)
    assert (result.returncode, result.stderr) == (0, b"")


def test_agreement_gate_and_events(
    client: Client, rated_question: Question, run: Callable[..., str]
) -> None:
    project_id = str(rated_question.project_id)
    assert json.loads(run("agreement", project_id, "--json"))["ratings"] == 60
    assert re.search(r"fleiss_kappa +0\.\d{3}  \[0\.\d{3}, ", run("agreement", project_id))
    for name, limit in {"strict": 0.999, "mild": 0.1, "open": 0.85}.items():
        rule = {"measure": "percent_agreement", "at_least": limit}
        client.project(rated_question.project_id).create_gate(name, [rule])
    assert "mild: pass" in run("gate", project_id, "mild")
    assert "strict: fail" in run("gate", project_id, "strict", status=1)
    verdict = json.loads(run("gate", project_id, "open", "--json", status=2))
    assert verdict["verdict"] == "not_enough"
    assert verdict["signature"]
    assert "404" in run("gate", project_id, "nosuch", status=3)
    with pytest.raises(SystemExit) as stopped:
        main(["gate", project_id])
    assert stopped.value.code == 3
    events = [json.loads(line) for line in run("events", "--project", project_id).splitlines()]
    assert events == sorted(events, key=lambda event: event["id"])


def test_follow_events_asks_after_the_last_one(
    client: Client, rated_question: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = rated_question
    stops = iter([question.project.name])

    def change_project(_seconds: float) -> None:
        next(stops)  # StopIteration: the test would wait for ever
        client.request("PATCH", f"projects/{question.project_id}/", body={"guidelines": "# New"})
        feed.publish_events()

    clock = types.SimpleNamespace(sleep=change_project, monotonic=lambda: 0.0)
    earlier = client.events().to_list()
    after = earlier[-1].id if earlier else 0
    monkeypatch.setattr("concord_client._client.time", clock)
    event = next(client.follow_events(after=after))
    assert event.id > after
    assert event.kind == "guidelines.changed"


def test_tools_of_the_mcp_server_only_read(client: Client, rated_question: Question) -> None:
    server = build_server(client)
    tools = {tool.name: tool for tool in asyncio.run(server.list_tools())}
    assert list(tools) == [
        "list_projects", "get_agreement", "list_raters_to_check", "list_disputed_items",
        "get_labels", "check_gate",
    ]  # fmt: skip
    assert all(tool.annotations.read_only_hint for tool in tools.values())
    project_id = rated_question.project_id
    client.project(project_id).create_gate("release", [{"measure": "coverage", "at_least": 1}])
    with pytest.raises(ToolError, match=r"404 There is no such object"):
        asyncio.run(server.call_tool("check_gate", {"project": project_id, "gate": "nosuch"}))
    calls = Tools(client)
    assert calls.list_projects()[0]["questions"][0]["key"] == "severity"
    assert calls.get_agreement(project_id)["ratings"] == 60
    assert calls.list_raters_to_check(project_id) == []
    assert calls.list_disputed_items(project_id)[0]["item"] in ("i0", "i1", "i2")
    assert len(calls.get_labels(project_id)) == 30
    assert calls.check_gate(project_id, "release")["verdict"] in ("pass", "fail")


def test_lines_of_the_readme_run(
    client: Client,
    rated_question: Question,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first example has three lines, and they run word for word."""
    # A notebook closes no client; an open connection would fail a later test.
    monkeypatch.setattr(concord_client, "Client", lambda: client)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len([line for line in blocks[0].splitlines() if line]) == 3
    exec(blocks[0].replace("project(1)", f"project({rated_question.project_id})"), {})
    assert "value=0." in capsys.readouterr().out


def test_read_only_token_is_sufficient_to_read(
    client: Client, rated_question: Question, lead: Any
) -> None:
    token = tokens.create_token(user=lead, scope="read")
    with Client(token=token) as reader:
        project = reader.project(rated_question.project_id)
        assert project.agreement().ratings == 60
        with pytest.raises(ApiError, match=r"403 .* may only read"):
            project.push_ratings([{"item": "i1", "rater": "ann", "label": "none"}])
