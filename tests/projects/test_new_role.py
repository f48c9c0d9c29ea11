"""A role that is added as one row of CAPABILITIES and a label works on every page and in the API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from agreement_site.accounts.sign_in import get_landing_url
from agreement_site.navigation import sidebar
from agreement_site.notifications import preferences
from events.kinds import list_kinds
from projects import permissions
from projects.models import Member, Project
from projects.models.roles import CAPABILITIES, Capability

pytestmark = pytest.mark.django_db


@pytest.fixture
def auditor(project: Project, make_user: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return a member with a role that sees results and reviews, and neither rates nor leads."""
    capabilities = {Capability.SEE_RESULTS, Capability.REVIEW}
    monkeypatch.setitem(CAPABILITIES, "auditor", capabilities)
    field = Member._meta.get_field("role")
    monkeypatch.setattr(field, "choices", [*Member.Role.choices, ("auditor", "auditor")])
    user = make_user("ann auditor")
    # The migration that a new role needs: the constraint lists the roles.
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA ignore_check_constraints = ON")
        else:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # else its rows are still to check
            cursor.execute("ALTER TABLE projects_member DROP CONSTRAINT member_role_valid")
    project.members.create(user=user, role="auditor")
    yield user
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA ignore_check_constraints = OFF")


def test_new_role_opens_what_its_row_lists(auditor: Any, project: Project, client_for: Any) -> None:
    client = client_for(auditor)
    pages = {"": 200, "items/": 200, "alerts/": 200, "appeals/": 200}
    pages |= {"rate/": 403, "people/": 403, "settings/": 403, "gold/": 403}
    assert {
        path: client.get(f"/projects/{project.pk}/{path}").status_code for path in pages
    } == pages
    api = {"": 200, "labels/": 200, "quality/appeals/": 200}
    api |= {"quality/gold/": 403, "quality/exams/": 403}
    address = f"/api/v1/projects/{project.pk}/"
    assert {path: client.get(f"{address}{path}").status_code for path in api} == api
    assert get_landing_url(auditor) == "/"


def test_new_role_gets_events_and_digest_by_its_row(auditor: Any, project: Project) -> None:
    kinds = list_kinds("auditor")
    assert "alert.opened" in kinds and "rater.paused" not in kinds
    row = preferences.get_preferences(auditor)
    assert (row.digest, row.at_once) == ("weekly", [])


def test_navigation_of_a_new_role_has_its_pages(auditor: Any, project: Project) -> None:
    permitted = permissions.get_project(auditor, project.pk)
    links = {link.url for link in sidebar.list_project_pages(permitted)}
    for page in ("", "items/", "review/"):
        assert f"/projects/{project.pk}/{page}" in links
    for page in ("rate/", "people/", "settings/", "my-ratings/"):
        assert f"/projects/{project.pk}/{page}" not in links
