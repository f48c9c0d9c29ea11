"""Who did what, when and from where: kept beside what was done, or not at all."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from agreement_site.models import TrailLine
from core import security_log
from projects.models import Member
from projects.services.members import membership
from projects.services.projects import change_project
from projects.services.questions import change_question_text
from tests.cast import PASSWORD

pytestmark = pytest.mark.django_db


def last() -> TrailLine:
    line = TrailLine.objects.first()
    assert line is not None
    return line


def test_a_role_is_changed_by_somebody_from_somewhere(
    client_for: Any, project: Any, lead: User, viewer: User
) -> None:
    member = project.members.get(user=viewer)
    path = f"/projects/{project.pk}/people/act/"
    sent = {"do": "role", "role": "annotator", "person": f"m{member.pk}"}
    answer = client_for(lead).post(path, sent, REMOTE_ADDR="10.1.2.3")
    line = last()
    assert (line.what, line.actor_id, line.actor) == ("role_changed", lead.pk, "lead")
    assert line.before == {"member": "viewer", "role": "viewer"}
    assert line.after == {"member": "viewer", "role": "annotator"}
    assert (line.project_id, line.address) == (project.pk, "10.1.2.3")
    assert line.request_id == answer["X-Request-ID"]
    assert line.details["who"] == viewer.pk


def test_settings_and_texts_are_kept_before_and_after(
    project: Any, question: Any, lead: User
) -> None:
    change_project(
        project=project, by=lead, name=project.name, corrections=False, guidelines="Look."
    )
    line = last()
    assert line.before == {"corrections": True, "guidelines": ""}
    assert line.after == {"corrections": False, "guidelines": "Look."}
    change_project(project=project, by=lead, name=project.name)
    assert last() == line  # nothing changed
    change_question_text(question=question, text="How bad?", by=lead)
    assert (last().what, last().after) == ("question_changed", {"text": "How bad?"})


def test_what_is_taken_back_leaves_no_line(project: Any, lead: User, viewer: User) -> None:
    member = project.members.get(user=viewer)
    with pytest.raises(RuntimeError), transaction.atomic():
        membership.remove_member(member=member, by=lead)
        assert last().what == "member_removed"
        raise RuntimeError
    assert not TrailLine.objects.exists()
    assert Member.objects.filter(user=viewer).exists()


def test_signing_in_and_failing_are_kept_without_what_was_typed(client: Client, lead: User) -> None:
    client.post("/sign-in/", {"username": "my password", "password": "x"})
    client.post("/sign-in/", {"username": "lead", "password": PASSWORD})
    failed, signed_in = TrailLine.objects.order_by("pk")
    assert (failed.what, failed.actor_id, failed.address) == ("password_wrong", None, "127.0.0.1")
    assert failed.details == {"name_sha256": security_log.hash_username("my password")}
    assert (signed_in.what, signed_in.actor) == ("sign_in", "lead")


def test_who_is_shut_out_fills_no_table(client: Client, lead: User) -> None:
    for _ in range(15):
        client.post("/sign-in/", {"username": "lead", "password": "x"})
    assert TrailLine.objects.count() == 10


def test_a_line_is_written_once(lead: User) -> None:
    security_log.log_event("export", by=lead.pk)
    line = last()
    with pytest.raises(TypeError):
        line.save()
    with pytest.raises(TypeError):
        line.delete()


def test_a_line_stays_when_its_actor_is_gone(make_user: Any) -> None:
    user = make_user("gone")
    security_log.log_event("export", by=user.pk)
    user.delete()
    assert (last().actor, last().what) == ("gone", "export")


def test_superusers_read_it_and_nobody_changes_it(
    client_for: Any, admin: User, lead: User, make_user: Any
) -> None:
    security_log.log_event("export", by=lead.pk, kind="=csv")
    line = last()
    client = client_for(admin)
    assert "export" in client.get("/admin/agreement_site/trailline/").content.decode()
    page = f"/admin/agreement_site/trailline/{line.pk}/"
    assert client.post(f"{page}delete/", {"post": "yes"}).status_code == 403
    assert client.post(f"{page}change/", {"what": "other"}).status_code == 403
    assert client.get("/admin/agreement_site/trailline/add/").status_code == 403
    wanted = {"action": "as_csv", "_selected_action": [line.pk]}
    answer = client.post("/admin/agreement_site/trailline/", wanted)
    (row,) = csv.DictReader(io.StringIO(answer.content.decode()))
    assert (row["what"], row["actor"], row["details"]) == ("export", "lead", '{"kind": "=csv"}')
    staff = client_for(make_user("staff", is_staff=True))
    assert staff.get("/admin/agreement_site/trailline/").status_code == 403
