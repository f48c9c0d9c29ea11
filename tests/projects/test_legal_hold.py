"""Legal hold: nothing of these projects is deleted, by nobody and by no rule."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError, call_command

from agreement_site import housekeeping
from agreement_site.models import AuditLogEntry
from metrics.jobs.permanent_deletions import process_pending_deletions
from projects.models import Deletion, Item, Project, Rater
from tests.agreement_site.test_retention import get_days_ago

pytestmark = pytest.mark.django_db


@pytest.fixture(params=["project", "site"])
def held_project(request: Any, settings: Any, question: Any, rate: Any) -> Project:
    rate(question, "i1", "a", "minor")
    Item.objects.create(project=question.project, key="unrated")
    settings.LEGAL_HOLD = ["all"] if request.param == "site" else [str(question.project_id), "999"]
    return question.project


def test_leads_and_api_cannot_delete(
    held_project: Project, lead: Any, client_for: Any, api_for: Any
) -> None:
    client, address = client_for(lead), f"/projects/{held_project.pk}/"
    item, rater = Item.objects.get(key="i1"), Rater.objects.get(key="a")
    for path, name in (
        ("delete/", held_project.name),
        (f"item/{item.pk}/delete/", "i1"),
        (f"people/raters/{rater.pk}/delete/", "a"),
    ):
        response = client.post(f"{address}{path}", {"confirmation": name})
        assert response.status_code == 403, path
        assert "legal hold" in response.content.decode()
    response = api_for(lead).delete(f"/api/v1/projects/{held_project.pk}/items/unrated/")
    assert response.status_code == 403
    assert "legal hold" in response.content.decode()
    assert not Deletion.objects.exists()
    assert Item.objects.filter(key="unrated").exists()


def test_person_is_not_forgotten(held_project: Project, annotator: Any) -> None:
    with pytest.raises(CommandError, match="LEGAL_HOLD="):
        call_command("person_data", annotator.username, forget="person", confirm=annotator.username)
    annotator.refresh_from_db()


def test_deletion_that_had_begun_rests_until_the_end_of_the_hold(
    held_project: Project, settings: Any, lead: Any, client_for: Any
) -> None:
    held, settings.LEGAL_HOLD = settings.LEGAL_HOLD, []
    address = f"/projects/{held_project.pk}/delete/"
    response = client_for(lead).post(address, {"confirmation": held_project.name})
    assert response.status_code == 302
    settings.LEGAL_HOLD = held
    assert process_pending_deletions() == 0
    assert Item.objects.count() == 2
    settings.LEGAL_HOLD = []
    assert process_pending_deletions() == 1
    assert not Project.objects.exists()


def test_retention_keeps_entries_of_held_projects(held_project: Project, settings: Any) -> None:
    AuditLogEntry.objects.all().delete()
    settings.KEEP_AUDIT_LOG_DAYS = settings.KEEP_ADDRESSES_DAYS = 30
    for project_id in (held_project.pk, None):
        entry = AuditLogEntry.objects.create(action="x", project_id=project_id, address="192.0.2.1")
        AuditLogEntry.objects.filter(pk=entry.pk).update(created_at=get_days_ago(40))
    housekeeping.apply_retention_rules()
    remaining = set(AuditLogEntry.objects.values_list("project_id", "address"))
    expected: set[tuple[int | None, str]] = {(held_project.pk, "192.0.2.1")}
    if settings.LEGAL_HOLD == ["all"]:
        expected.add((None, "192.0.2.1"))
    assert remaining == expected
