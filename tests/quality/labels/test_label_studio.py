"""Final labels in Label Studio: written once, changed by their ID, never read again."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.utils import timezone

from projects.models import Project
from quality.consensus import recomputation
from quality.labels import label_studio
from quality.review import decisions
from ratings.label_studio import client, pull, services
from ratings.models import LabelStudioConnection
from tests.ratings.label_studio.conftest import connection, fake
from tests.ratings.label_studio.fake_server import FakeLabelStudio, choose
from tests.ratings.label_studio.steps import list_current, list_ratings, run

__all__ = ["connection", "fake"]


def turn_on(connection: LabelStudioConnection, how: str) -> None:
    services.change_connection(connection=connection, token="", write_back=how, by=None)


def compute_labels(project: Project) -> None:
    for question in project.questions.all():
        recomputation.recompute_question(question.pk)


def is_own(row: dict[str, Any]) -> bool:
    return all(part["id"].startswith("concord-") for part in row["result"])


def list_own(fake: FakeLabelStudio) -> dict[int, dict[str, Any]]:
    """Return {task: {question: answer}} of what Concord wrote there; fails if it is there twice."""
    own: dict[int, dict[str, Any]] = {}
    for rows in fake.rows.values():
        for row in rows.values():
            if is_own(row):
                assert row["task"] not in own
                own[row["task"]] = {
                    part["from_name"]: next(iter(part["value"].values())) for part in row["result"]
                }
    return own


@pytest.mark.parametrize("how", ["predictions", "ground_truth"])
def test_labels_are_written_once_and_changed_by_their_id(
    how: str,
    fake: FakeLabelStudio,
    connection: LabelStudioConnection,
    project: Project,
    lead: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = list_ratings(project)
    compute_labels(project)
    run(connection)
    assert list_own(fake) == {}  # off at first
    turn_on(connection, how)
    # A worker is killed after the request that creates the first object.
    store = label_studio.LabelStudioObject.objects.update_or_create

    def fail(**_columns: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(label_studio.LabelStudioObject.objects, "update_or_create", fail)
    with pytest.raises(KeyboardInterrupt):
        run(connection)
    monkeypatch.setattr(label_studio.LabelStudioObject.objects, "update_or_create", store)
    assert len(list_own(fake)) == 1
    LabelStudioConnection.objects.update(leased_until=None)
    assert run(connection).counts["written"] == 2
    own = list_own(fake)
    assert own[102] == {"sentiment": ["neg"]}  # the gold answer
    assert own[101]["stars"] == 4
    assert own[101]["sentiment"] in (["pos"], ["neg"])
    # Nothing has changed: nothing is written, and nothing is read as a rating.
    fake.requests.clear()
    run(connection)
    assert {method for method, _path in fake.requests} == {"GET"}
    assert list_ratings(project) == before
    assert not project.raters.filter(key="Concord").exists()

    question = project.questions.get(key="sentiment")
    item = project.items.get(key="ls:12:101")
    decisions.create_decision(question=question, item=item, code=2, reason="", by=lead)
    fake.requests.clear()
    run(connection)
    assert list_own(fake)[101]["sentiment"] == ["neutral"]
    writes = [method for method, _path in fake.requests if method != "GET"]
    assert writes == ["PATCH"]
    # Deleted there: the next label creates it once more.
    kind = "predictions" if how == "predictions" else "annotations"
    own_id = next(r["id"] for r in fake.rows[kind].values() if r["task"] == 101 and is_own(r))
    fake.delete(kind, own_id)
    decisions.create_decision(question=question, item=item, code=0, reason="", by=lead)
    run(connection)
    assert list_own(fake)[101]["sentiment"] == ["pos"]
    assert list_ratings(project) == before


def test_what_a_person_makes_of_a_written_label_is_a_rating(
    fake: FakeLabelStudio, connection: LabelStudioConnection, project: Project
) -> None:
    part = choose("pos", part_id="concord-sentiment")
    fake.annotate(102, 3, part, parent_prediction=7)
    run(connection)
    assert list_current(project)["sentiment", "102", "cleo@example.org"] == "pos"


def test_a_task_that_is_not_accepted_does_not_stop_the_others(
    fake: FakeLabelStudio, connection: LabelStudioConnection, project: Project
) -> None:
    compute_labels(project)
    turn_on(connection, "ground_truth")
    fake.intercept = lambda method, path: (
        (400, {"detail": "no"}, {})
        if (method, path) == ("POST", "/api/tasks/101/annotations/")
        else None
    )
    assert run(connection).error == {}
    assert list(list_own(fake)) == [102]


def test_a_slow_server_keeps_no_stage_from_work(
    fake: FakeLabelStudio,
    connection: LabelStudioConnection,
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each run does one step of each stage, though one request takes the time of a stage."""
    monkeypatch.setattr(pull, "STAGE_SECONDS", -1.0)
    monkeypatch.setattr(client, "PAGE_SIZE", 2)
    monkeypatch.setattr(label_studio, "PAGE_SIZE", 2)
    new_tasks = [fake.add_task(f"Text {number}") for number in range(3)]
    for task in new_tasks:
        fake.annotate(task, 1, choose("pos"))
    for _ in range(3):
        connection = run(connection)
    compute_labels(project)
    turn_on(connection, "ground_truth")
    LabelStudioConnection.objects.update(compared_at=timezone.now() - datetime.timedelta(days=2))
    rejected = [f"/api/tasks/{number}/annotations/" for number in (101, 102)]
    fake.intercept = lambda _method, path: (400, {}, {}) if path in rejected else None
    for _ in range(40):
        connection = run(connection)
    assert connection.compared_at is not None
    assert connection.compared_at > timezone.now() - datetime.timedelta(days=1)
    assert connection.written_since is not None
    assert sorted(list_own(fake)) == new_tasks
