"""The feed of events over HTTP: pages, filters, and what each role sees."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction

from events import feed
from events.kinds import KINDS, list_kinds
from events.services import record_event
from projects.models import Member, Project
from projects.models.roles import CAPABILITIES, Capability
from projects.services.projects import change_project
from projects.services.rater_changes import set_rater_paused

pytestmark = pytest.mark.django_db


@pytest.fixture
def events(project: Project, make_project: Any) -> Project:
    """Record an event of each kind in two projects, in turns; return the other project."""
    other_project: Project = make_project("Other")
    for kind in KINDS:
        for owner in (project, other_project):
            data = {"question": "severity", "n": 3}
            subject = "rater/1" if KINDS[kind].is_mailed_to_rater else "alert/1"
            record_event(project_id=owner.pk, kind=kind, subject=subject, data=data)
    feed.publish_events()
    return other_project


def get_results(client: Any, path: str) -> list[dict[str, Any]]:
    response = client.get(path)
    assert response.status_code == 200, response.content
    results: list[dict[str, Any]] = response.json()["results"]
    return results


def test_lead_reads_page_by_page(api_for: Any, lead: Any, project: Project, events: Any) -> None:
    client, path = api_for(lead), f"/api/v1/projects/{project.pk}/events/?limit=5"
    rows: list[dict[str, Any]] = []
    while path:
        page = client.get(path).json()
        assert len(page["results"]) <= 5
        rows += page["results"]
        path = page["next"]
    assert [row["kind"] for row in rows] == list(KINDS)
    assert [row["id"] for row in rows] == list(range(1, 2 * len(KINDS), 2))
    assert rows[0] == {
        "id": 1,
        "kind": "alert.opened",
        "at": rows[0]["at"],
        "project": project.pk,
        "question": "severity",
        "data": {"question": "severity", "n": 3},
    }
    assert (
        get_results(client, f"/api/v1/projects/{project.pk}/events/?after={rows[-1]['id']}") == []
    )


def test_roles_see_their_kinds(
    api_for: Any, viewer: Any, annotator: Any, admin: Any, project: Project, events: Project
) -> None:
    path = f"/api/v1/projects/{project.pk}/events/"
    viewer_kinds = [
        name for name, kind in KINDS.items() if kind.capability == Capability.SEE_RESULTS
    ]
    assert [row["kind"] for row in get_results(api_for(viewer), path)] == viewer_kinds
    assert len(get_results(api_for(admin), "/api/v1/events/?limit=1000")) == 2 * len(KINDS)
    assert api_for(annotator).get(path).status_code == 403
    assert get_results(api_for(annotator), "/api/v1/events/") == []
    response = api_for(viewer).get(f"{path}?kind=rater.paused")
    assert response.status_code == 400
    assert "rater.paused'; one of alert.opened" in response.json()["error"]["fields"]["kind"]
    assert get_results(api_for(viewer), "/api/v1/events/?kind=rater.paused") == []


def test_new_role_sees_the_kinds_of_its_capabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CAPABILITIES, "helper", {Capability.RATE, Capability.SEE_OWN_RATINGS})
    assert list_kinds("helper") == []
    CAPABILITIES["helper"].add(Capability.MANAGE)
    assert "rater.paused" in list_kinds("helper") and "alert.opened" not in list_kinds("helper")


def test_projects_together_by_the_role_in_each(
    api_for: Any, lead: Any, stranger: Any, project: Project, events: Project
) -> None:
    Member.objects.create(project=events, user=lead, role=Member.Role.VIEWER)
    rows = get_results(api_for(lead), "/api/v1/events/?kind=rater.paused")
    assert [row["project"] for row in rows] == [project.pk]
    rows = get_results(api_for(lead), "/api/v1/events/?kind=alert.opened")
    assert [row["project"] for row in rows] == [project.pk, events.pk]
    assert get_results(api_for(stranger), "/api/v1/events/") == []
    rows = get_results(api_for(lead, project=events), "/api/v1/events/?limit=1000")
    assert {row["project"] for row in rows} == {events.pk}, "the token is bound to one project"


@pytest.mark.parametrize(
    "query",
    ["after=x", "after=-1", "after=", "limit=0", "limit=1001", "limit=5.0", "kind=odd", "since=1",
     "after=" + "9" * 400, "after=1&after=2"],
)  # fmt: skip
def test_invalid_parameters_are_named(
    query: str, api_for: Any, lead: Any, project: Project
) -> None:
    for path in ("/api/v1/events/", f"/api/v1/projects/{project.pk}/events/"):
        response = api_for(lead).get(f"{path}?{query}")
        assert response.status_code == 400
        assert list(response.json()["error"]["fields"]) == [query.partition("=")[0]]


def test_unpublished_events_are_not_shown(api_for: Any, lead: Any, project: Project) -> None:
    record_event(project_id=project.pk, kind="alert.opened", data={})
    assert get_results(api_for(lead), "/api/v1/events/") == []


def test_changes_of_projects_are_events(api_for: Any, lead: Any, project: Project) -> None:
    rater = project.raters.get()
    with transaction.atomic():
        change_project(project=project, by=lead, guidelines="Be kind.")
        set_rater_paused(rater=rater, paused=True, by=lead)
        set_rater_paused(rater=rater, paused=False, by=lead)
    feed.publish_events()
    rows = get_results(api_for(lead), f"/api/v1/projects/{project.pk}/events/")
    assert [(row["kind"], row["data"]) for row in rows] == [
        ("guidelines.changed", {"version": 1, "characters": 8}),
        ("rater.paused", {"rater": "ann", "reason": "lead"}),
        ("rater.resumed", {"rater": "ann"}),
    ]
