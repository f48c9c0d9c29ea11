"""Execute every example of docs/connecting.md against a running site."""

from __future__ import annotations

import http.server
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from concord_client import Client, ProjectClient
from concord_client.cli import main
from cryptography.exceptions import InvalidSignature

from events import feed
from events.webhooks import outbox
from projects.models import Project, Question
from tests.agreement_site.server.conftest import find_free_port
from tests.cast import rate_many

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "connecting.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
RULES = [{"measure": "headline", "at_least": 0.6}, {"measure": "coverage", "at_least": 1}]


class Stopped(Exception):
    """The example would go on for ever."""


@pytest.fixture
def example(environment: dict[str, str], question: Question) -> Callable[[str], str]:
    """``example("rfc8785")`` returns the example with this text, for the site of this test."""

    def find(text: str) -> str:
        [code] = [code for _language, code in BLOCKS if text in code]
        code = code.replace("https://concord.example.org", environment["CONCORD_URL"])
        return code.replace("projects/1/", f"projects/{question.project_id}/").replace(
            ".project(1)", f".project({question.project_id})"
        )

    return find


@pytest.fixture(autouse=True)
def work_folder(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.GATE_SIGNING_KEY_FILE = tmp_path / "key.pem"
    settings.WEBHOOKS_TO_PRIVATE_NETWORKS = True
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def complete_project(question: Question, client: Client) -> ProjectClient:
    """A project of 200 items with two equal ratings each, and a gate."""
    Project.objects.filter(pk=question.project_id).update(overlap=2)
    labels = ("none", "minor", "major")
    rows = [
        (f"i{number}", rater, labels[number % 3])
        for number in range(200)
        for rater in ("ann", "ben")
    ]
    rate_many(question, rows)
    project = client.project(question.project_id)
    project.create_gate("release", RULES)
    return project


def test_every_example_is_executed_here() -> None:
    assert [language for language, _code in BLOCKS] == [
        "python", "python", "python", "bash", "yaml", "yaml", "python"
    ]  # fmt: skip


def test_notebook(example: Any, complete_project: Any, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    exec(example("from concord_client import Client"), names)
    names["project"].client.close()
    assert "value=" in capsys.readouterr().out


def test_command_line(
    complete_project: ProjectClient,
    environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("ratings.csv").write_text("item,rater,label\ni1,ann,none\n")
    lines = re.findall(r"^    concord (.*)$", TEXT, re.MULTILINE)
    assert [line.split()[0] for line in lines] == ["login", "push", "gate"]
    for line in lines:
        text = line.replace("https://concord.example.org", environment["CONCORD_URL"])
        words = [str(complete_project.id) if word == "1" else word for word in shlex.split(text)]
        if words[0] == "login":  # instead of the question on the terminal
            words.append("--token-stdin")
            monkeypatch.setattr("sys.stdin", io.StringIO(environment["CONCORD_TOKEN"] + "\n"))
        assert main(words) == 0, capsys.readouterr()
    assert "release: pass" in capsys.readouterr().out


def test_feed_is_read_to_its_end_and_continued(
    example: Any,
    complete_project: ProjectClient,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def stop(_seconds: float) -> None:
        raise Stopped

    def read_new_lines() -> list[str]:
        with monkeypatch.context() as context, pytest.raises(Stopped):
            context.setattr(time, "sleep", stop)
            exec(example("last-event"), {"TOKEN": os.environ["CONCORD_TOKEN"]})
        return capsys.readouterr().out.splitlines()

    complete_project.client.request(
        "PATCH", f"projects/{complete_project.id}/", body={"guidelines": "# Severity"}
    )
    feed.publish_events()
    capsys.readouterr()
    assert read_new_lines()[-1].startswith("guidelines.changed")
    assert Path("last-event").read_text() == str(complete_project.events().to_list()[-1].id)
    assert read_new_lines() == []


def test_receiver_takes_a_signed_event_once(
    example: Any,
    complete_project: ProjectClient,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    servers: list[http.server.HTTPServer] = []

    class Server(http.server.HTTPServer):
        def serve_forever(self, poll_interval: float = 0.01) -> None:
            servers.append(self)
            super().serve_forever(poll_interval)

    monkeypatch.setattr(http.server, "HTTPServer", Server)
    port = find_free_port()
    webhook = complete_project.create_webhook(f"http://127.0.0.1:{port}/")
    code = example("standardwebhooks").replace("8080", str(port))
    thread = threading.Thread(target=exec, args=(code, {"SECRET": webhook.secret}), daemon=True)
    thread.start()
    complete_project.client.request(
        "PATCH", f"projects/{complete_project.id}/", body={"guidelines": "# Severity"}
    )
    feed.publish_events()
    outbox.deliver_all_due()
    path = f"projects/{complete_project.id}/webhooks/{webhook.id}/deliveries/"
    [delivery] = complete_project.client.request("GET", path)["results"]
    assert (delivery["state"], delivery["attempts"][0]["status"]) == ("delivered", 204)
    complete_project.client.request(
        "POST", f"projects/{complete_project.id}/deliveries/{delivery['id']}/retry/"
    )
    outbox.deliver_all_due()
    [delivery] = complete_project.client.request("GET", path)["results"]
    assert [attempt["status"] for attempt in delivery["attempts"]] == [204, 204]
    assert capsys.readouterr().out.count("guidelines.changed") == 1
    servers[0].shutdown()
    servers[0].server_close()
    thread.join()


def run_shell(
    script: str, token: str, variables: Mapping[str, str] | None = None, *, status: int = 0
) -> str:
    """Return the output of a script of a continuous integration."""
    for program in ("curl", "jq"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here")
    result = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        env={"TOKEN": token, "CONCORD_TOKEN": token, "PATH": "/usr/bin:/bin", **(variables or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == status, result.stdout + result.stderr
    return result.stdout


def test_gate_is_created_and_stops_a_job(
    example: Any, complete_project: ProjectClient, environment: dict[str, str]
) -> None:
    complete_project.client.request("DELETE", f"projects/{complete_project.id}/gates/release/")
    token = environment["CONCORD_TOKEN"]
    assert json.loads(run_shell(example("curl -X POST"), token))["name"] == "release"
    step = yaml.safe_load(example("runs-on"))["jobs"]["agreement"]["steps"][0]
    job = yaml.safe_load(example("apk add"))["agreement"]
    gitlab = "\n".join(line for line in job["script"] if not line.startswith("apk "))
    verdict_urls = {step["env"]["VERDICT"], job["variables"]["VERDICT"]}
    assert len(verdict_urls) == 1
    variables = {"VERDICT": verdict_urls.pop()}
    for gate_script in (step["run"], gitlab):
        assert '"verdict": "pass"' in run_shell(gate_script, token, variables)
    gate_path = f"projects/{complete_project.id}/gates/release/"
    rules = [{"measure": "headline", "at_least": 0.99999}]
    complete_project.client.request("PATCH", gate_path, body={"rules": rules})
    for gate_script in (step["run"], gitlab):  # not enough data: neither passed nor failed
        run_shell(gate_script, token, variables, status=2)


def test_verdict_is_verified_by_other_libraries(
    example: Any, complete_project: ProjectClient
) -> None:
    """RFC 8785 and Ed25519 by packages that the site does not use."""
    path = f"projects/{complete_project.id}/gates/release/verdict/"
    verdict = complete_project.client.request("GET", path)
    Path("verdict.json").write_text(json.dumps(verdict, indent=2, sort_keys=True))
    exec(example("rfc8785"), {})
    verdict["rules"][0]["verdict"] = "fail"
    Path("verdict.json").write_text(json.dumps(verdict))
    with pytest.raises(InvalidSignature):
        exec(example("rfc8785"), {})
