"""Tests of actions that need the approval of a second person."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.test import Client
from django.utils import timezone

from metrics.models import SavedView, ShareLink
from projects.models import Approval, Deletion, Member, Project
from projects.models.project import APPROVAL_LIFETIME
from projects.services import approvals
from ratings import rater_pseudonyms

pytestmark = pytest.mark.django_db

Clients = Callable[[User], Client]
Action = Approval.Action


@pytest.fixture(autouse=True)
def second_person(settings: Any) -> None:
    settings.SECOND_PERSON = "lead"


@pytest.fixture
def other_lead(project: Project, stranger: User) -> User:
    Member.objects.create(project=project, user=stranger, role=Member.Role.LEAD)
    return stranger


def get_address(project: Project, path: str) -> str:
    return f"/projects/{project.pk}/{path}"


def request_and_decide(
    project: Project, action: str, *, by: User, decided_by: User, approved: bool = True
) -> Approval:
    approval = approvals.request_approval(project=project, action=action, reason="over", by=by)
    return approvals.decide_approval(approval=approval, approved=approved, by=decided_by)


def test_project_is_deleted_after_another_lead_approved(
    project: Project, lead: User, other_lead: User, client_for: Clients
) -> None:
    client, other_client = client_for(lead), client_for(other_lead)
    delete_address = get_address(project, "delete/")
    page = client.get(delete_address)
    assert "A second person must approve" in page.text
    confirmation = {"confirmation": project.name}
    assert client.post(delete_address, confirmation).status_code == 403
    assert not Deletion.objects.exists()
    project.refresh_from_db()
    assert project.archived_at is None

    address = get_address(project, "settings/approvals/")
    assert client.post(address, {"action": "delete_project", "reason": "over"}).status_code == 302
    approval = Approval.objects.get()
    inbox = other_client.get("/inbox/")
    assert "1 requested approval" in inbox.text
    assert "1 requested approval" not in client.get("/inbox/").text
    decide_address = f"{address}{approval.pk}/"
    client.post(decide_address, {"do": "approve"})
    approval.refresh_from_db()
    assert approval.state == "open"  # not by the same person
    assert client.post(delete_address, confirmation).status_code == 403

    assert 'value="approve"' in other_client.get(address).text
    other_client.post(decide_address, {"do": "approve"})
    approval.refresh_from_db()
    assert (approval.state, approval.decided_by) == ("approved", other_lead)
    # The approval is of the person who requested it.
    assert other_client.post(delete_address, confirmation).status_code == 403
    assert "Approved by" in client.get(delete_address).text
    assert client.post(delete_address, confirmation).status_code == 302
    assert Deletion.objects.get().by == lead
    approval.refresh_from_db()
    assert approval.used_at is not None


def test_api_deletes_only_with_an_approval(
    project: Project, lead: User, other_lead: User, api_for: Callable[..., Any]
) -> None:
    api, address = api_for(lead), f"/api/v1/projects/{project.pk}/"
    response = api.delete(address)
    assert response.status_code == 403
    assert "second person" in response.json()["error"]["message"]
    request_and_decide(project, Action.DELETE_PROJECT, by=lead, decided_by=other_lead)
    assert api.delete(address).status_code == 200


def test_administrator_approves_where_there_is_one_lead(
    project: Project, lead: User, admin: User, client_for: Clients
) -> None:
    approval = approvals.request_approval(
        project=project, action=Action.DELETE_PROJECT, reason="over", by=lead
    )
    client = client_for(admin)
    assert "1 requested approval" in client.get("/inbox/").text
    client.post(get_address(project, f"settings/approvals/{approval.pk}/"), {"do": "approve"})
    approval.refresh_from_db()
    assert approval.state == "approved"


def test_site_can_ask_for_an_administrator(
    project: Project, lead: User, other_lead: User, admin: User, client_for: Clients, settings: Any
) -> None:
    settings.SECOND_PERSON = "administrator"
    approval = approvals.request_approval(
        project=project, action=Action.DELETE_PROJECT, reason="over", by=lead
    )
    address = get_address(project, f"settings/approvals/{approval.pk}/")
    page = client_for(other_lead).post(address, {"do": "approve"}, follow=True)
    assert "Only administrators can do this" in page.text
    assert 'value="approve"' not in page.text
    approval.refresh_from_db()
    assert approval.state == "open"
    assert "requested approval" not in client_for(other_lead).get("/inbox/").text
    client_for(admin).post(address, {"do": "approve"})
    approval.refresh_from_db()
    assert approval.state == "approved"


def test_approval_is_used_once_and_ends_after_a_day(
    project: Project, lead: User, other_lead: User
) -> None:
    request_and_decide(project, Action.SHARE_NAMES, by=lead, decided_by=other_lead)
    with pytest.raises(PermissionDenied):
        approvals.use_approval(project=project, action=Action.DELETE_PROJECT, by=lead)
    approvals.use_approval(project=project, action=Action.SHARE_NAMES, by=lead)
    with pytest.raises(PermissionDenied):
        approvals.use_approval(project=project, action=Action.SHARE_NAMES, by=lead)
    late = request_and_decide(project, Action.SHARE_NAMES, by=lead, decided_by=other_lead)
    Approval.objects.filter(pk=late.pk).update(decided_at=timezone.now() - APPROVAL_LIFETIME)
    with pytest.raises(PermissionDenied):
        approvals.use_approval(project=project, action=Action.SHARE_NAMES, by=lead)


def test_rejected_and_decided_requests_stay(
    project: Project, lead: User, other_lead: User, client_for: Clients
) -> None:
    approval = request_and_decide(
        project, Action.RESTORE_RATERS, by=lead, decided_by=other_lead, approved=False
    )
    with pytest.raises(approvals.InvalidApproval):
        approvals.decide_approval(approval=approval, approved=True, by=other_lead)
    with pytest.raises(PermissionDenied):
        approvals.use_approval(project=project, action=Action.RESTORE_RATERS, by=lead)
    address = get_address(project, f"settings/approvals/{approval.pk}/")
    page = client_for(other_lead).post(address, {"do": "approve"}, follow=True)
    assert "Already decided" in page.text
    approval.refresh_from_db()
    assert approval.state == "rejected"


def test_identities_are_shown_and_restored_with_an_approval(
    project: Project, lead: User, other_lead: User, rate: Any, question: Any, client_for: Clients
) -> None:
    rate(question, "i1", "ann", "major")
    rater_pseudonyms.hide_raters(project=project, by=lead)
    client, base = client_for(lead), get_address(project, "people/pseudonyms/")
    reason = {"reason": "a complaint"}
    assert "A second person must approve" in client.get(base).text
    assert client.post(f"{base}disclose/", reason).status_code == 403
    assert client.post(f"{base}set/", {"hidden": "0", "confirm": "on"}).status_code == 403
    request_and_decide(project, Action.DISCLOSE_RATERS, by=lead, decided_by=other_lead)
    assert "ann" in client.post(f"{base}disclose/", reason).text
    assert client.post(f"{base}set/", {"hidden": "0", "confirm": "on"}).status_code == 403
    request_and_decide(project, Action.RESTORE_RATERS, by=lead, decided_by=other_lead)
    assert client.post(f"{base}set/", {"hidden": "0", "confirm": "on"}).status_code == 302
    project.refresh_from_db()
    assert not project.hides_raters


def test_link_with_names_needs_an_approval(
    project: Project, lead: User, other_lead: User, client_for: Clients
) -> None:
    view = SavedView.objects.create(project=project, name="Weekly", page="dashboard", query="")
    client, address = client_for(lead), get_address(project, f"views/{view.pk}/")
    until = (timezone.localdate() + datetime.timedelta(days=3)).isoformat()
    form_data = {"do": "share", "until": until}
    assert client.post(address, {**form_data, "shows_names": "on"}).status_code == 403
    assert not ShareLink.objects.exists()
    assert client.post(address, form_data).status_code == 200
    request_and_decide(project, Action.SHARE_NAMES, by=lead, decided_by=other_lead)
    assert client.post(address, {**form_data, "shows_names": "on"}).status_code == 200
    assert sorted(link.shows_names for link in ShareLink.objects.all()) == [False, True]


@pytest.mark.parametrize(
    "form_data",
    [
        {"action": "delete_everything", "reason": "over"},
        {"action": "delete_project", "reason": " "},
        {"action": "delete_project", "reason": "x" * 501},
        {},
    ],
)
def test_invalid_request_is_not_stored(
    project: Project, lead: User, client_for: Clients, form_data: dict[str, str]
) -> None:
    response = client_for(lead).post(get_address(project, "settings/approvals/"), form_data)
    assert response.status_code == 400
    assert not Approval.objects.exists()


def test_only_leads_see_and_decide(
    project: Project, lead: User, annotator: User, viewer: User, client_for: Clients
) -> None:
    approval = approvals.request_approval(
        project=project, action=Action.DELETE_PROJECT, reason="over", by=lead
    )
    address = get_address(project, "settings/approvals/")
    for user in (annotator, viewer):
        client = client_for(user)
        assert client.get(address).status_code in (403, 404)
        assert client.post(f"{address}{approval.pk}/", {"do": "approve"}).status_code in (403, 404)
    approval.refresh_from_db()
    assert approval.state == "open"


def test_setting_is_off_by_default(
    project: Project, lead: User, client_for: Clients, settings: Any
) -> None:
    settings.SECOND_PERSON = "nobody"
    client = client_for(lead)
    assert "second person" not in client.get(get_address(project, "delete/")).text
    assert "need no approval" in client.get(get_address(project, "settings/approvals/")).text
    response = client.post(get_address(project, "delete/"), {"confirmation": project.name})
    assert response.status_code == 302
    assert Deletion.objects.exists()
