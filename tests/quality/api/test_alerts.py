"""Alarms and scorecards by API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from projects.models import Question, Rater
from quality.alerts import services
from quality.models import DriftStanding

pytestmark = pytest.mark.django_db


@pytest.fixture
def case(question: Question, make_alarm: Any) -> Any:
    return make_alarm(question, Rater.objects.get(key="ann"))


def test_the_alarms_of_a_question(
    case: Any, question: Question, api: Any, address: Callable[[str], str], make_alarm: Any
) -> None:
    ben = Rater.objects.create(project=question.project, key="ben")
    later = make_alarm(question, ben, measure="agreement", size=-0.2, state="muted")
    found = api.get(address("quality/alarms/")).json()["results"]
    assert [(one["id"], one["rater"], one["state"]) for one in found] == [
        (case.pk, "ann", "open"),
        (later.pk, "ben", "muted"),
    ]
    one = found[0]
    assert (one["kind"], one["measure"], one["since"]) == ("rater_drift", "bias", "2026-08-17")
    assert (one["size"], one["low"], one["high"], one["n"]) == (-0.36, -0.5, -0.22, 1060)
    assert (one["answer"], one["reason"], one["other_rater"]) == (None, None, None)
    query = f"quality/alarms/?question={question.key}&state=open"
    assert [one["id"] for one in api.get(address(query)).json()["results"]] == [case.pk]
    first = api.get(address("quality/alarms/?page_size=1")).json()
    assert [one["id"] for one in api.get(first["next"]).json()["results"]] == [later.pk]


def test_a_step_by_api(case: Any, api: Any, address: Callable[[str], str], lead: Any) -> None:
    url = address(f"quality/alarms/{case.pk}/")
    body = {"state": "resolved", "reason": "Other texts", "answer": "not_his_fault"}
    answer = api.post(url, body, format="json")
    assert answer.status_code == 200, answer.json()
    assert (answer.json()["state"], answer.json()["answer"]) == ("resolved", "not_his_fault")
    (step,) = api.get(url).json()["steps"]
    assert (step["by"], step["state"], step["reason"]) == ("lead", "resolved", "Other texts")
    opened = api.post(url, {"state": "open"}, format="json").json()
    assert (opened["state"], opened["answer"]) == ("open", None)
    assert [step["state"] for step in opened["steps"]] == ["resolved", "open"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"state": "muted"}, "reason"),
        ({"state": "gone", "reason": "x"}, "state"),
        ({"reason": "x"}, "state"),
        ({"state": "open", "answer": "real"}, "answer"),
        ({"state": "muted", "reason": "x", "until": "2001-01-01"}, "until"),
        ({"state": "muted", "reason": "x", "until": "soon"}, "until"),
        ({"state": "open", "size": 3}, "size"),
    ],
)
def test_a_wrong_step_names_its_place_and_changes_nothing(
    case: Any, address: Callable[[str], str], api: Any, refused: Any, body: Any, field: str
) -> None:
    error = refused(api.post, address(f"quality/alarms/{case.pk}/"), body)
    assert field in error["fields"]


def test_an_alarm_of_another_project_is_none_of_ours(
    case: Any, api: Any, make_project: Any, address: Callable[[str], str], make_alarm: Any
) -> None:
    other = make_project("Other")
    rater = Rater.objects.create(project=other, key="x")
    foreign = make_alarm(other.questions.get(), rater)
    assert api.get(address(f"quality/alarms/{foreign.pk}/")).status_code == 404
    answer = api.post(address(f"quality/alarms/{foreign.pk}/"), {"state": "open"}, format="json")
    assert answer.status_code == 404


def test_scorecards(
    answered: Question, case: Any, api: Any, address: Callable[[str], str], lead: Any
) -> None:
    ben = Rater.objects.get(key="ben")
    DriftStanding.objects.create(
        question=answered, rater=ben, evidence=300.0, greatest=310.0, watched=True, n=50
    )
    Rater.objects.create(project=answered.project, key="new")
    Rater.objects.create(project=answered.project, key="bot", kind=Rater.Kind.MODEL)
    found = {row["rater"]: row for row in api.get(address("quality/raters/")).json()["results"]}
    assert set(found) == {"ann", "ben", "cleo", "dan", "new"}
    assert {key: (row["status"], row["reasons"]) for key, row in found.items()} == {
        "ann": ("act", ["drift_alarm"]),
        "ben": ("watch", ["drift_watched"]),
        "cleo": ("fine", []),
        "dan": ("fine", []),  # lower, and too little is known to be sure
        "new": ("unknown", ["too_few_items"]),
    }
    assert found["ann"]["alarms"] == [case.pk]
    peers = found["dan"]["peers"]
    assert peers["low"] < peers["value"] < peers["high"] < found["cleo"]["peers"]["value"]
    assert found["ben"]["drift"]["watched"] is True
    assert found["new"]["drift"]["reason"] == "not_counted"
    assert found["ann"]["gold"]["reason"] == "no_gold_ratings"
    services.change_alert_state(alert=case, state="muted", reason="x", by=lead)
    rows = api.get(address("quality/raters/")).json()["results"]
    assert {row["rater"]: row["status"] for row in rows}["ann"] == "watch"
