"""Tests of the audit log as page, file and API: permissions, filters and texts."""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agreement_site.models import AuditLogEntry, Preference
from projects.models import Project

pytestmark = pytest.mark.django_db

Clients = Callable[[User], Client]


def create_entry(
    project: Project | None, action: str = "export", actor: str = "lead", **fields: Any
) -> int:
    """Create an audit log entry and return its ID."""
    created_at = fields.pop("created_at", None)
    entry = AuditLogEntry.objects.create(
        action=action, actor=actor, project_id=project.pk if project else None, **fields
    )
    if created_at is not None:
        AuditLogEntry.objects.filter(pk=entry.pk).update(created_at=created_at)
    return entry.pk


@pytest.fixture
def other_project(make_project: Callable[..., Project]) -> Project:
    return make_project("Another")


def read_ids(response: Any) -> list[int]:
    """Return the IDs of a CSV response."""
    return [int(row["id"]) for row in csv.DictReader(io.StringIO(read_body(response)))]


def read_body(response: Any) -> str:
    """Return the text of a streamed response."""
    return b"".join(response.streaming_content).decode()


def test_lead_sees_own_project_and_administrator_sees_all(
    client_for: Clients, project: Project, other_project: Project, lead: User, admin: User
) -> None:
    own_id = create_entry(
        project, "role_changed", before={"role": "viewer"}, after={"role": "lead"}
    )
    foreign_id, site_id = (
        create_entry(other_project),
        create_entry(None, "sign_in", address="10.1.1.1"),
    )
    page = client_for(lead).get(f"/projects/{project.pk}/audit-log/")
    text = page.content.decode()
    assert [entry["action"] for entry in page.context["entries"]] == ["Role changed"]
    assert "<del>viewer</del>" in text
    assert "<ins>lead</ins>" in text
    site_page = client_for(admin).get("/audit-log/")
    assert len(site_page.context["entries"]) == 3
    assert "10.1.1.1" in site_page.content.decode()
    assert read_ids(client_for(lead).get(f"/projects/{project.pk}/audit-log.csv"))[-1] == own_id
    assert {own_id, foreign_id, site_id} < set(read_ids(client_for(admin).get("/audit-log.csv")))
    assert client_for(admin).get(f"/projects/{project.pk}/audit-log/").status_code == 200


@pytest.mark.parametrize("path", ["audit-log/", "audit-log.csv"])
def test_other_users_see_no_entries(
    path: str, client_for: Clients, project: Project, make_user: Callable[..., User]
) -> None:
    staff = make_user("staff", is_staff=True)
    stranger = make_user("stranger")
    for name, of_project in (("viewer", 403), ("annotator", 403)):
        client = client_for(User.objects.get(username=name))
        assert client.get(f"/projects/{project.pk}/{path}").status_code == of_project
        assert client.get(f"/{path}").status_code == 403
    for user in (staff, stranger):
        assert client_for(user).get(f"/projects/{project.pk}/{path}").status_code == 404
        assert client_for(user).get(f"/{path}").status_code == 403
    assert Client().get(f"/{path}").status_code == 302


def test_entries_are_filtered_by_actor_action_and_days(
    client_for: Clients, project: Project, lead: User, utc: Callable[..., datetime.datetime]
) -> None:
    Project.objects.filter(pk=project.pk).update(time_zone="Asia/Shanghai")
    early = create_entry(
        project, created_at=utc(2026, 3, 1, 15, 59)
    )  # 23:59 on 1 March, local time
    inside = create_entry(project, "gold_changed", "viewer", created_at=utc(2026, 3, 1, 16, 0))
    late = create_entry(project, created_at=utc(2026, 3, 2, 16, 0))
    address = f"/projects/{project.pk}/audit-log.csv"

    def list_matching(**parameters: str) -> list[int]:
        entry_ids = read_ids(client_for(lead).get(address, parameters))
        return [pk for pk in entry_ids if pk in (early, inside, late)]

    assert list_matching() == [late, inside, early]
    assert list_matching(**{"from": "2026-03-02", "to": "2026-03-02"}) == [inside]
    assert list_matching(to="2026-03-01") == [early]
    assert list_matching(**{"from": "2026-03-03"}) == [late]
    assert list_matching(**{"from": "2999-01-01"}) == []
    assert list_matching(actor="viewer") == list_matching(action="gold_changed") == [inside]
    assert list_matching(actor="viewer", action="export") == []


def test_page_shows_its_filters_in_the_form(
    client_for: Clients, project: Project, lead: User
) -> None:
    filters = {
        "actor": "viewer",
        "action": "gold_changed",
        "from": "2026-03-02",
        "to": "2026-03-03",
    }
    page = client_for(lead).get(f"/projects/{project.pk}/audit-log/", filters).content.decode()
    assert '<input name="actor" value="viewer"' in page
    assert '<option value="gold_changed" selected>' in page
    for name in ("from", "to"):
        assert f'name="{name}" value="{filters[name]}"' in page


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"action": "dance"}, "action"),
        ({"from": "soon"}, "from"),
        ({"to": "0001-01-01"}, "to"),
        ({"from": "2026-03-02", "to": "2026-03-01"}, "from"),
        ({"actor": "x" * 151}, "actor"),
    ],
)
def test_invalid_filter_is_rejected(
    parameters: dict[str, str],
    field: str,
    client_for: Clients,
    api_for: Callable[..., Any],
    project: Project,
    lead: User,
) -> None:
    client = client_for(lead)
    page = client.get(f"/projects/{project.pk}/audit-log/", parameters)
    assert (page.status_code, list(page.context["errors"])) == (400, [field])
    assert client.get(f"/projects/{project.pk}/audit-log.csv", parameters).status_code == 400
    response = api_for(lead).get(f"/api/v1/projects/{project.pk}/audit-log/", parameters)
    assert (response.status_code, list(response.json()["error"]["fields"])) == (400, [field])
    assert not AuditLogEntry.objects.filter(action="export").exists()


def test_pagination_shows_each_entry_once_despite_new_entries(
    client_for: Clients, api_for: Callable[..., Any], project: Project, lead: User
) -> None:
    AuditLogEntry.objects.bulk_create(
        AuditLogEntry(action="export", actor="lead", project_id=project.pk, details={"n": n})
        for n in range(120)
    )
    client, address = client_for(lead), f"/projects/{project.pk}/audit-log/?action=export"
    shown_numbers = []
    cursor: int | None = 0
    while cursor is not None:
        page = client.get(f"{address}&after={cursor}")
        shown_numbers += [
            value for entry in page.context["entries"] for _n, _label, value in entry["details"]
        ]
        cursor = page.context["next_after"]
        create_entry(project, details={"n": 1000})
    assert shown_numbers == [str(n) for n in reversed(range(120))]
    api = api_for(lead)
    next_url: str | None = f"/api/v1/projects/{project.pk}/audit-log/?page_size=50&action=export"
    api_numbers: list[int] = []
    while next_url:
        response_data = api.get(next_url).json()
        api_numbers += [row["details"]["n"] for row in response_data["results"]]
        next_url = response_data["next"]
    assert api_numbers == [1000, 1000, 1000, *reversed(range(120))]


def test_api_returns_all_fields_of_an_entry(
    api_for: Callable[..., Any], project: Project, lead: User, admin: User
) -> None:
    pk = create_entry(
        project, before={"role": "viewer"}, after=None, address="::1", request_id="r1"
    )
    (row,) = api_for(lead).get(f"/api/v1/projects/{project.pk}/audit-log/").json()["results"]
    assert row == {
        "id": pk,
        "created_at": row["created_at"],
        "action": "export",
        "actor_id": None,
        "actor": "lead",
        "project_id": project.pk,
        "address": "::1",
        "request_id": "r1",
        "before": {"role": "viewer"},
        "after": None,
        "details": {},
    }
    site_entries = api_for(admin).get("/api/v1/audit-log/?actor=lead").json()["results"]
    assert pk in [entry["id"] for entry in site_entries]
    project_client = api_for(
        admin, project=project
    )  # limited to one project: no access to the site's log
    assert project_client.get("/api/v1/audit-log/").status_code == 403


def test_number_of_queries_does_not_grow_with_entries(
    client_for: Clients, project: Project, lead: User
) -> None:
    def count_queries(query: str = "") -> int:
        client = client_for(lead)
        with CaptureQueriesContext(
            connection,
        ) as captured:
            assert client.get(f"/projects/{project.pk}/audit-log/{query}").status_code == 200
        return len(captured)

    create_entry(project)
    baseline = count_queries()
    AuditLogEntry.objects.bulk_create(
        AuditLogEntry(action="export", project_id=project.pk) for _ in range(200)
    )
    assert count_queries() == baseline
    assert count_queries("?from=2026-01-01&to=2999-01-01") == baseline + 2


def test_formulas_in_names_are_escaped_in_the_file(
    client_for: Clients, project: Project, lead: User
) -> None:
    create_entry(project, actor="=1+1")
    assert "'=1+1" in read_body(client_for(lead).get(f"/projects/{project.pk}/audit-log.csv"))


def test_members_and_account_pages_link_to_the_audit_log(
    client_for: Clients, project: Project, lead: User, admin: User
) -> None:
    people = client_for(lead).get(f"/projects/{project.pk}/people/").content.decode()
    assert f'href="/projects/{project.pk}/audit-log/"' in people
    assert 'href="/audit-log/"' in client_for(admin).get("/tokens/").content.decode()
    assert 'href="/audit-log/"' not in client_for(lead).get("/tokens/").content.decode()


def test_field_names_are_translated_and_keys_are_not(
    project: Project, client_for: Any, lead: User
) -> None:
    for action, before in (("role_changed", {"role": "viewer"}), ("gold_changed", {"role": "x"})):
        AuditLogEntry.objects.create(action=action, project_id=project.pk, before=before, after={})
    Preference.objects.create(user=lead, language="zh-hans")
    page = client_for(lead).get(f"/projects/{project.pk}/audit-log/").content.decode()
    assert "<b>角色</b>" in page
    assert page.count("<code>role</code>") == 1  # an item with that key


@pytest.mark.parametrize(
    ("action", "fields", "expected"),
    [
        ("export", {"details": {"exported": "table list-title", "kind": "csv"}}, "a table on a page"),
        ("export", {"details": {"exported": "ratings", "kind": "csv"}}, "Ratings"),
        ("rater_paused", {"before": {"paused": False}, "after": {"paused": True}}, "<ins>yes</ins>"),
        ("view_shared", {"after": {"expires_at": "2026-03-01T09:30:12+00:00"}}, "2026-03-01 10:30 CET"),
        ("view_shared", {"after": {"expires_at": "2026-12-28 00:00:00+00:00"}}, "2026-12-28 01:00 CET"),
        ("label_rules_changed", {"after": {"show_after_days": 7}}, "Delay in days"),
        ("deletion_requested", {"details": {"kind": "rater"}}, "rater"),
        ("scale_changed", {"after": {"categories": [{"label": "x", "value": 1.5}]}}, "Label: x · Value: 1.5"),
        ("scale_changed", {"after": {"weights": "quadratic"}}, "<ins>quadratic</ins>"),
        ("project_changed", {"after": {"description": "2026-02-30T00:00 none"}}, "2026-02-30T00:00 none"),
        ("project_changed", {"after": {"description": "2026-02-30T00:00Z"}}, "2026-02-30T00:00Z"),
        ("project_changed", {"after": {"description": "2026-02-03T00:00"}}, "2026-02-03T00:00"),
    ],
)  # fmt: skip
def test_values_are_shown_as_on_other_pages(
    action: str,
    fields: dict[str, Any],
    expected: str,
    project: Project,
    client_for: Any,
    lead: User,
) -> None:
    Project.objects.filter(pk=project.pk).update(time_zone="Europe/Berlin")
    create_entry(project, action, **fields)
    page = client_for(lead).get(f"/projects/{project.pk}/audit-log/").content.decode()
    table = page.split("<tbody>")[1].split("</table>")[0]
    assert expected in table
    for raw in ("true", "false", "+00:00", "list-title", "<code>"):
        assert raw not in table


def test_audit_log_of_the_site_names_projects(
    project: Project, other_project: Project, client_for: Any, admin: User
) -> None:
    create_entry(project), create_entry(other_project), create_entry(None, "sign_in")
    AuditLogEntry.objects.create(action="export", project_id=4_711)
    client = client_for(admin)
    page = client.get("/audit-log/").content.decode()
    for label in ("in Reviews", "in Another", "in deleted project 4711"):
        assert f">{label}</span>" in page
    assert "in Reviews" not in client.get(f"/projects/{project.pk}/audit-log/").content.decode()
