"""Tests that the audit log records who did what, when and from where, in the same transaction."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from agreement_site.models import AuditLogEntry
from core import security_log
from projects.models import Member
from projects.services import membership
from projects.services.projects import change_project
from projects.services.questions import change_question_text
from tests.cast import PASSWORD

pytestmark = pytest.mark.django_db


def get_last_entry() -> AuditLogEntry:
    """Return the newest audit log entry."""
    line = AuditLogEntry.objects.first()
    assert line is not None
    return line


def test_role_change_records_actor_and_address(
    client_for: Any, project: Any, lead: User, viewer: User
) -> None:
    member = project.members.get(user=viewer)
    path = f"/projects/{project.pk}/people/action/"
    form_data = {"do": "role", "role": "annotator", "person": f"m{member.pk}"}
    response = client_for(lead).post(path, form_data, REMOTE_ADDR="10.1.2.3")
    entry = get_last_entry()
    assert (entry.action, entry.actor_id, entry.actor) == ("role_changed", lead.pk, "lead")
    assert entry.before == {"member": "viewer", "role": "viewer"}
    assert entry.after == {"member": "viewer", "role": "annotator"}
    assert (entry.project_id, entry.address) == (project.pk, "10.1.2.3")
    assert entry.request_id == response["X-Request-ID"]
    assert entry.details["target_user_id"] == viewer.pk


def test_settings_and_texts_are_recorded_before_and_after(
    project: Any, question: Any, lead: User
) -> None:
    change_project(
        project=project, by=lead, name=project.name, allows_corrections=False, guidelines="Look."
    )
    entry = get_last_entry()
    assert entry.before == {"allows_corrections": True, "guidelines": ""}
    assert entry.after == {"allows_corrections": False, "guidelines": "Look."}
    change_project(project=project, by=lead, name=project.name)
    assert get_last_entry() == entry  # nothing changed
    change_question_text(question=question, text="How bad?", by=lead)
    assert (get_last_entry().action, get_last_entry().after) == (
        "question_changed",
        {"text": "How bad?"},
    )


def test_rolled_back_change_records_no_entry(project: Any, lead: User, viewer: User) -> None:
    member = project.members.get(user=viewer)
    with pytest.raises(RuntimeError), transaction.atomic():
        membership.remove_member(member=member, by=lead)
        assert get_last_entry().action == "member_removed"
        raise RuntimeError
    assert not AuditLogEntry.objects.exists()
    assert Member.objects.filter(user=viewer).exists()


def test_sign_in_attempts_are_recorded_without_the_input(client: Client, lead: User) -> None:
    client.post("/sign-in/", {"username": "my password", "password": "x"})
    client.post("/sign-in/", {"username": "lead", "password": PASSWORD})
    failed, signed_in = AuditLogEntry.objects.order_by("pk")
    assert (failed.action, failed.actor_id, failed.address) == (
        "password_rejected",
        None,
        "127.0.0.1",
    )
    assert failed.details == {"name_sha256": security_log.hash_username("my password")}
    assert (signed_in.action, signed_in.actor) == ("sign_in", "lead")


def test_blocked_sign_in_attempts_are_not_recorded(client: Client, lead: User) -> None:
    for _ in range(15):
        client.post("/sign-in/", {"username": "lead", "password": "x"})
    assert AuditLogEntry.objects.count() == 10


def test_entry_cannot_be_changed_or_deleted(lead: User) -> None:
    security_log.log_event("export", by=lead.pk)
    entry = get_last_entry()
    with pytest.raises(TypeError):
        entry.save()
    with pytest.raises(TypeError):
        entry.delete()


def test_entry_remains_after_its_actor_is_deleted(make_user: Any) -> None:
    user = make_user("gone")
    security_log.log_event("export", by=user.pk)
    user.delete()
    assert (get_last_entry().actor, get_last_entry().action) == ("gone", "export")


def test_superusers_can_read_but_not_change_entries(
    client_for: Any, admin: User, lead: User, make_user: Any
) -> None:
    security_log.log_event("export", by=lead.pk, kind="=csv")
    entry = get_last_entry()
    client = client_for(admin)
    assert "export" in client.get("/admin/agreement_site/auditlogentry/").content.decode()
    page = f"/admin/agreement_site/auditlogentry/{entry.pk}/"
    assert client.post(f"{page}delete/", {"post": "yes"}).status_code == 403
    assert client.post(f"{page}change/", {"what": "other"}).status_code == 403
    assert client.get("/admin/agreement_site/auditlogentry/add/").status_code == 403
    action_data = {"action": "export_csv", "_selected_action": [entry.pk]}
    response = client.post("/admin/agreement_site/auditlogentry/", action_data)
    (row,) = csv.DictReader(io.StringIO(response.content.decode()))
    assert (row["action"], row["actor"], row["details"]) == ("export", "lead", '{"kind": "=csv"}')
    staff = client_for(make_user("staff", is_staff=True))
    assert staff.get("/admin/agreement_site/auditlogentry/").status_code == 403
