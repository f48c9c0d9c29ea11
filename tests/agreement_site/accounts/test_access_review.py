"""The access review: every way in, for administrators, as a page and as CSV."""

from __future__ import annotations

import csv
import datetime
import io
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from agreement_site.accounts import access_review
from agreement_site.models import AuditLogEntry
from events.models import Webhook
from metrics.models import SavedView, ShareLink
from projects.models import ApiToken, Member, MemberOffer, Project
from projects.services import tokens
from ratings.models import LabelStudioConnection

pytestmark = pytest.mark.django_db
PATH, FILE = "/access-review/", "/access-review.csv"


@pytest.fixture
def admin_client(client_for: Any, admin: User) -> Client:
    return client_for(admin)


def read_file(client: Client, query: str = "") -> list[dict[str, str]]:
    text = client.get(f"{FILE}?{query}").getvalue().decode()
    return list(csv.DictReader(io.StringIO(text)))


def list_access(client: Client, query: str = "") -> set[tuple[str, str, str, str]]:
    """Return (kind, account, project, access) of the rows of the file."""
    names = ("kind", "account", "project", "access")
    return {tuple(row[name] for name in names) for row in read_file(client, query)}  # type: ignore[misc]


def create_link(project: Project, by: User | None, **fields: Any) -> ShareLink:
    view = SavedView.objects.create(project=project, page="dashboard", name=f"v{len(fields)}{by}")
    values = {"expires_at": timezone.now() + datetime.timedelta(days=3)} | fields
    return ShareLink.objects.create(view=view, digest=view.name, created_by=by, **values)


def test_every_way_in_is_listed(
    admin_client: Client, project: Project, lead: User, annotator: User, viewer: User
) -> None:
    User.objects.filter(pk=viewer.pk).update(is_staff=True, is_active=False)
    tokens.create_token(user=lead, project=project)
    tokens.create_token(user=annotator)
    create_link(project, lead)
    other = User.objects.create_user("other")
    now = timezone.now()
    MemberOffer.objects.create(
        project=project, username="other", user=other, role="viewer", by=lead, created_at=now
    )
    prefixes = {token.user_id: token.prefix for token in ApiToken.objects.all()}
    assert list_access(admin_client) == {
        ("superuser", "admin", "", "superuser"),
        ("staff", "viewer", "", "staff"),
        ("member", "lead", "Reviews", "lead"),
        ("member", "annotator", "Reviews", "annotator"),
        ("member", "viewer", "Reviews", "viewer"),
        ("offer", "other", "Reviews", "viewer"),
        ("token", "lead", "Reviews", f"write {prefixes[lead.pk]}…"),
        ("token", "annotator", "", f"write {prefixes[annotator.pk]}…"),
        ("link", "lead", "Reviews", "dashboard: v0lead"),
    }
    states = {row["account"]: row["account_state"] for row in read_file(admin_client)}
    assert states["viewer"] == "closed" and states["lead"] == "open"
    page = admin_client.get(PATH).text
    for text in ("public link", "invited", "dashboard: v0lead", "Reviews"):
        assert text in page


def test_servers_that_get_data_are_listed(
    admin_client: Client, project: Project, lead: User
) -> None:
    now = timezone.now()
    values: dict[str, Any] = {"nonce": "x", "created_at": now}
    Webhook.objects.create(
        project=project, url="https://a.example.org/h", created_by=lead, with_items=True, **values
    )
    Webhook.objects.create(url="https://b.example.org/h", **values)
    Webhook.objects.create(
        project=project,
        url="https://c.example.org/h",
        paused_at=now,
        pause_reason="person",
        **values,
    )
    LabelStudioConnection.objects.create(
        project=project,
        address="https://ls.example.org",
        remote_project=1,
        state="active",
        created_by=lead,
        created_at=now,
        next_at=now,
    )
    kinds = ("webhook", "connection")
    assert {row for row in list_access(admin_client) if row[0] in kinds} == {
        ("webhook", "lead", "Reviews", "a.example.org, with item content"),
        ("webhook", "", "", "b.example.org, without item content"),
        ("connection", "lead", "Reviews", "ls.example.org"),
    }
    assert {row[0] for row in list_access(admin_client, "kind=webhook")} == {"webhook"}
    assert "a.example.org" in admin_client.get(f"{PATH}?kind=webhook").text


def test_what_opens_nothing_is_left_out(
    admin_client: Client, project: Project, lead: User, viewer: User
) -> None:
    past = timezone.now() - datetime.timedelta(days=1)
    for name in ("revoked_at", "expires_at"):
        tokens.create_token(user=lead)
        token = ApiToken.objects.latest("pk")
        token.created_at = past - datetime.timedelta(days=1)
        setattr(token, name, past)
        token.save()
    create_link(project, lead, revoked_at=past)
    create_link(project, viewer, opened_at=past, created_at=past)  # leads no more
    MemberOffer.objects.create(
        project=project,
        username="lead",
        user=lead,
        role="viewer",
        created_at=timezone.now() - datetime.timedelta(days=31),
    )
    assert {row[0] for row in list_access(admin_client)} == {"superuser", "member"}


def test_rows_are_filtered(admin_client: Client, project: Project) -> None:
    assert list_access(admin_client, "kind=member&account=LEA") == {
        ("member", "lead", "Reviews", "lead")
    }
    assert len(list_access(admin_client, "kind=odd")) == 4
    assert "No matches." in admin_client.get(f"{PATH}?account=nobody%00").text


def test_page_shows_the_first_rows_and_the_file_all(
    admin_client: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_review, "MAX_SHOWN_ROWS", 2)
    page = admin_client.get(PATH).text
    assert "First 2 rows" in page and page.count('<th scope="row"') == 2
    assert len(read_file(admin_client)) == 4


def test_only_administrators_see_it(
    project: Project, lead: User, client_for: Any, make_user: Any
) -> None:
    staff = make_user("staff", is_staff=True)
    for user in (lead, staff):
        for path in (PATH, FILE):
            assert client_for(user).get(path).status_code == 403
    assert Client().get(PATH).status_code == 302
    assert Client().get(FILE).status_code == 302


def test_download_is_recorded_and_formulas_are_escaped(
    admin_client: Client, project: Project, lead: User
) -> None:
    User.objects.filter(pk=lead.pk).update(first_name="=cmd()")
    Member.objects.filter(user=lead).update(role="viewer")
    [row] = [row for row in read_file(admin_client) if row["account"] == "lead"]
    assert row["full_name"] == "'=cmd()"
    entry = AuditLogEntry.objects.get(action="export")
    assert entry.details == {"exported": "access_review", "kind": "csv"}


def test_number_of_queries_does_not_grow_with_members(
    admin_client: Client, project: Project, make_user: Any, django_assert_max_num_queries: Any
) -> None:
    for number in range(20):
        Member.objects.create(project=project, user=make_user(f"u{number}"), role="viewer")
    with django_assert_max_num_queries(25):
        assert admin_client.get(PATH).status_code == 200
