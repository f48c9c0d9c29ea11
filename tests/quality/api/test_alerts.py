"""Test alerts and rater statuses by API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from projects.models import Question, Rater
from quality.alerts import services
from quality.models import DriftState

pytestmark = pytest.mark.django_db


@pytest.fixture
def alert(question: Question, make_alert: Any) -> Any:
    return make_alert(question, Rater.objects.get(key="ann"))


def test_alerts_of_a_question_are_listed(
    alert: Any, question: Question, api: Any, address: Callable[[str], str], make_alert: Any
) -> None:
    ben = Rater.objects.create(project=question.project, key="ben")
    later_alert = make_alert(question, ben, measure="agreement", size=-0.2, state="muted")
    rows = api.get(address("alerts/")).json()["results"]
    assert [(row["id"], row["rater"], row["state"]) for row in rows] == [
        (alert.pk, "ann", "open"),
        (later_alert.pk, "ben", "muted"),
    ]
    row = rows[0]
    assert (row["kind"], row["measure"], row["since"]) == ("rater_drift", "bias", "2026-08-17")
    assert (row["size"], row["low"], row["high"], row["n"]) == (-0.36, -0.5, -0.22, 1060)
    assert (row["cause"], row["reason"], row["other_rater"]) == (None, None, None)
    query = f"alerts/?question={question.key}&state=open"
    assert [row["id"] for row in api.get(address(query)).json()["results"]] == [alert.pk]
    first_page = api.get(address("alerts/?page_size=1")).json()
    assert [row["id"] for row in api.get(first_page["next"]).json()["results"]] == [later_alert.pk]


def test_alert_step_is_saved_by_api(
    alert: Any, api: Any, address: Callable[[str], str], lead: Any
) -> None:
    url = address(f"alerts/{alert.pk}/")
    body = {"state": "resolved", "reason": "Other texts", "cause": "not_rater"}
    response = api.post(url, body, format="json")
    assert response.status_code == 200, response.json()
    assert (response.json()["state"], response.json()["cause"]) == ("resolved", "not_rater")
    (step,) = api.get(url).json()["steps"]
    assert (step["by"], step["state"], step["reason"]) == ("lead", "resolved", "Other texts")
    reopened = api.post(url, {"state": "open"}, format="json").json()
    assert (reopened["state"], reopened["cause"]) == ("open", None)
    assert [step["state"] for step in reopened["steps"]] == ["resolved", "open"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"state": "muted"}, "reason"),
        ({"state": "gone", "reason": "x"}, "state"),
        ({"reason": "x"}, "state"),
        ({"state": "open", "cause": "real"}, "cause"),
        ({"state": "muted", "reason": "x", "muted_until": "2001-01-01"}, "muted_until"),
        ({"state": "muted", "reason": "x", "muted_until": "soon"}, "muted_until"),
        ({"state": "open", "size": 3}, "size"),
    ],
)
def test_invalid_step_names_its_field(
    alert: Any, address: Callable[[str], str], api: Any, refused: Any, body: Any, field: str
) -> None:
    error = refused(api.post, address(f"alerts/{alert.pk}/"), body)
    assert field in error["fields"]


def test_alert_of_another_project_is_not_found(
    alert: Any, api: Any, make_project: Any, address: Callable[[str], str], make_alert: Any
) -> None:
    other_project = make_project("Other")
    rater = Rater.objects.create(project=other_project, key="x")
    foreign_alert = make_alert(other_project.questions.get(), rater)
    assert api.get(address(f"alerts/{foreign_alert.pk}/")).status_code == 404
    response = api.post(address(f"alerts/{foreign_alert.pk}/"), {"state": "open"}, format="json")
    assert response.status_code == 404


def test_rater_statuses_are_listed(
    rated_question: Question, alert: Any, api: Any, address: Callable[[str], str], lead: Any
) -> None:
    ben = Rater.objects.get(key="ben")
    DriftState.objects.create(
        question=rated_question, rater=ben, evidence=300.0, max_evidence=310.0, watched=True, n=50
    )
    Rater.objects.create(project=rated_question.project, key="new")
    Rater.objects.create(project=rated_question.project, key="bot", kind=Rater.Kind.MODEL)
    rows = api.get(address("raters/status/")).json()["results"]
    assert [row["status"] for row in rows] == ["act", "check", "ok", "ok", "unknown"]
    assert {row["impact"] for row in rows} == {None}  # no item has a label yet
    row_by_rater = {row["rater"]: row for row in rows}
    assert row_by_rater["ann"]["reasons"] == [
        {
            "code": "drift",
            "text": "has rated lower since 2026-08-17, by about 0.36 categories, "
            "adjusted for the others",
            "value": -0.36,
            "low": -0.5,
            "high": -0.22,
            "n": 1060,
        }
    ]
    pages = [api.get(address("raters/status/?page_size=2")).json()]
    while pages[-1]["next"]:
        pages.append(api.get(pages[-1]["next"]).json())
    assert [row for page in pages for row in page["results"]] == rows
    assert set(row_by_rater) == {"ann", "ben", "cleo", "dan", "new"}
    assert {
        key: (row["status"], [reason["code"] for reason in row["reasons"]])
        for key, row in row_by_rater.items()
    } == {
        "ann": ("act", ["drift"]),
        "ben": ("check", ["drift"]),
        "cleo": ("ok", []),
        "dan": ("ok", []),  # lower, and too little is known to be sure
        "new": ("unknown", ["not_enough"]),
    }
    assert row_by_rater["ann"]["alerts"] == [alert.pk]
    peers = row_by_rater["dan"]["peers"]
    assert peers["low"] < peers["value"] < peers["high"] < row_by_rater["cleo"]["peers"]["value"]
    assert row_by_rater["ben"]["drift"]["watched"] is True
    assert row_by_rater["new"]["drift"]["reason"] == "not_counted"
    assert row_by_rater["ann"]["gold"]["reason"] == "no_gold_ratings"
    services.change_alert_state(alert=alert, state="muted", reason="x", by=lead)
    rows = api.get(address("raters/status/")).json()["results"]
    assert {row["rater"]: row["status"] for row in rows}["ann"] == "check"
