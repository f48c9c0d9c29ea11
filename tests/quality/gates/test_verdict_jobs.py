"""Workers decide gates again after changes, and record changed verdicts as events."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from events.models import Event
from metrics.jobs import question_updates
from projects.models import Project, Question
from quality import tasks
from quality.gates import verdict_jobs
from quality.models import Gate, GateState
from tests.cast import rate

pytestmark = pytest.mark.django_db


def list_events() -> list[tuple[str, Any]]:
    rows = Event.objects.filter(kind__startswith="gate.").order_by("pk")
    return [(event.kind, event.data["previous"]) for event in rows]


def sweep(question: Question) -> None:
    """Count, and decide the gates as if the pause after the last time were over."""
    question_updates.update_question(question.pk)
    GateState.objects.update(computed_at=None)
    tasks.sweep_gates()


def test_changed_verdict_is_an_event(
    question: Question, rate_alike: Callable[..., None], create_gate: Any, api: Any, gates_url: str
) -> None:
    create_gate({"measure": "gwet_ac1", "at_least": 0.7})
    sweep(question)
    rate_alike(8)
    sweep(question)
    assert list_events() == [("gate.not_enough", None)]
    rate_alike(60, prefix="more")
    sweep(question)
    sweep(question)
    rate_alike(120, errors=120, prefix="bad")
    sweep(question)
    assert list_events() == [
        ("gate.not_enough", None), ("gate.passed", "not_enough"), ("gate.failed", "pass"),
    ]  # fmt: skip
    data = Event.objects.get(kind="gate.failed").data
    body = api.get(f"{gates_url}release/").json()
    assert (data["gate"], data["question"], data["as_of"]) == (
        "release", "severity", body["decided_at"],
    )  # fmt: skip
    assert body["verdict"] == "fail"
    (rule,) = data["rules"]
    assert (rule["measure"], rule["at_least"], rule["verdict"]) == ("gwet_ac1", 0.7, "fail")
    assert rule["low"] < rule["value"] < rule["high"] < 0.7
    assert data["n_ratings"] == 376


def test_gates_are_decided_when_their_input_changed(
    question: Question, create_gate: Any, make_alert: Any, lead: Any
) -> None:
    create_gate({"measure": "open_alerts", "at_most": 0})
    sweep(question)
    assert Gate.objects.get().verdict == "pass"
    assert verdict_jobs.list_outdated_questions() == []
    make_alert(question, question.project.raters.get(key="ann"))
    assert verdict_jobs.list_outdated_questions() == [question.pk]
    sweep(question)
    assert Gate.objects.get().verdict == "fail"
    for change in (
        lambda: (
            rate(question, "i1", "ann", "minor") and question_updates.update_question(question.pk)
        ),
        lambda: Project.objects.update(overlap=7),
        lambda: create_gate({"measure": "coverage", "at_least": 0.5}, name="other"),
        lambda: Gate.objects.filter(name="other").delete(),
    ):
        change()
        assert verdict_jobs.list_outdated_questions() == [question.pk]
        sweep(question)
        assert verdict_jobs.list_outdated_questions() == []


def test_gate_changed_meanwhile_keeps_no_old_verdict(question: Question, create_gate: Any) -> None:
    create_gate({"measure": "open_alerts", "at_most": 0})
    gate = Gate.objects.select_related("question__project").get()
    document = verdict_jobs.compute_verdict(gate, timezone.now())
    Gate.objects.update(changed_at=timezone.now())
    verdict_jobs._store_verdict(gate, document)
    assert Gate.objects.get().verdict == ""
    assert list_events() == []


def run_command(*args: Any) -> int:
    """Return the exit status of `manage.py gate`."""
    try:
        call_command("gate", *args)
    except SystemExit as stopped:
        return int(str(stopped.code))
    except CommandError as error:
        return error.returncode
    return 0


def test_exit_status_of_the_command(
    question: Question, rate_alike: Callable[..., None], create_gate: Any, capsys: Any
) -> None:
    rate_alike(60, errors=6)
    before = timezone.now()
    for name, limit, status in (("low", 0.5, 0), ("high", 0.99, 1), ("near", 0.85, 2)):
        create_gate({"measure": "gwet_ac1", "at_least": limit}, name=name)
        assert run_command(question.project_id, name) == status
    assert "more items needed" in capsys.readouterr().out
    rate_alike(60, errors=60, prefix="bad")
    assert run_command(question.project_id, "low") == 1
    assert run_command(question.project_id, "low", "--as-of", before.isoformat()) == 0
    capsys.readouterr()
    assert run_command(question.project_id, "low", "--json") == 1
    assert json.loads(capsys.readouterr().out)["verdict"] == "fail"


@pytest.mark.parametrize(
    "args", [(1, "none"), (10**6, "low"), ("x", "low"), (None, "low", "--as-of", "soon"), ()]
)
def test_errors_of_the_command_have_a_status_of_their_own(
    question: Question, create_gate: Any, args: Any
) -> None:
    create_gate({"measure": "open_alerts", "at_most": 0}, name="low")
    project_id = question.project_id
    assert run_command(*(project_id if arg is None else arg for arg in args)) == 3


def test_crash_of_the_command_is_no_verdict(
    question: Question, create_gate: Any, settings: Any
) -> None:
    create_gate({"measure": "open_alerts", "at_most": 0}, name="low")
    settings.GATE_SIGNING_KEY_FILE.write_text("not a key")
    settings.GATE_SIGNING_KEY_FILE.chmod(0o600)
    assert run_command(question.project_id, "low") == 3
