"""Test messages of a lead to raters, shown at annotation and among the rater's ratings."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agreement_site.models import AuditLogEntry
from events.models import Event
from projects.models import Item, Member, Project, Rater
from ratings import rater_pseudonyms
from ratings.models import RaterMessage

pytestmark = pytest.mark.django_db

TEXT = "Look twice at <b>major</b>.\nAsk me where it is unclear."


@pytest.fixture
def base_url(project: Project) -> str:
    Item.objects.create(project=project, key="i1", body={"text": "Text 1"})
    return f"/projects/{project.pk}/"


@pytest.fixture
def ann(project: Project) -> Rater:
    return Rater.objects.get(project=project, key="ann")


@pytest.fixture
def client(lead: User, client_for: Any) -> Client:
    lead_client: Client = client_for(lead)
    return lead_client


@pytest.fixture
def annotator_client(annotator: User, client_for: Any) -> Client:
    own_client: Client = client_for(annotator)
    return own_client


@pytest.fixture
def sent_message(ann: Rater, client: Client, base_url: str) -> RaterMessage:
    client.post(f"{base_url}rater-messages/", {"rater": ann.pk, "text": TEXT})
    return RaterMessage.objects.get()


def create_unreachable_raters(project: Project, user: User) -> list[Rater]:
    """Create raters who cannot read: a member's model, one without account, one who may not rate."""
    Member.objects.filter(project=project, user=user, role=Member.Role.VIEWER).get()
    program = User.objects.create_user("program")
    Member.objects.create(project=project, user=program, role=Member.Role.ANNOTATOR)
    return Rater.objects.bulk_create(
        [
            Rater(project=project, key="gpt", kind="model", user=program),
            Rater(project=project, key="loose"),
            Rater(project=project, key="vic", user=user),
        ]
    )


# --- the lead


def test_selected_raters_get_the_message_once(
    project: Project, ann: Rater, viewer: User, client: Client, base_url: str, lead: User
) -> None:
    selected = [ann, *create_unreachable_raters(project, viewer)]
    ids = [rater.pk for rater in selected]
    list_query = "question=severity&min_ratings=30"
    redirect = client.post(
        f"{base_url}rater-actions/", {"do": "message", "rater": ids, "list_query": list_query}
    )
    page = client.get(redirect["Location"])
    assert page.context["raters"] == [ann]
    assert "3 of 4 raters can’t read messages" in page.text
    form_data = {"rater": page.context["ids"], "text": f"  {TEXT}\r\n", "list_query": list_query}
    response = client.post(f"{base_url}rater-messages/", form_data, follow=True)
    assert response.redirect_chain == [(f"{base_url}raters/?{list_query}", 302)]
    assert "Sent to 1 rater." in response.text
    message = RaterMessage.objects.get()
    assert (message.rater, message.text, message.sender, message.read_at) == (ann, TEXT, lead, None)
    client.post(f"{base_url}rater-messages/", form_data)
    assert RaterMessage.objects.count() == 1  # sent twice, saved once


def test_audit_log_and_event_leave_out_the_text(
    sent_message: RaterMessage, ann: Rater, lead: User
) -> None:
    line = AuditLogEntry.objects.get(action="rater_messaged")
    assert (line.actor_id, line.after) == (lead.pk, {"rater": "ann", "message": sent_message.pk})
    event = Event.objects.get(kind="rater.messaged")
    assert (event.subject, event.by) == (f"rater/{ann.pk}", lead)
    assert event.data == {"rater": "ann", "message": sent_message.pk}


def test_unreachable_rater_is_refused(
    project: Project, viewer: User, client: Client, base_url: str
) -> None:
    [gpt, *_rest] = create_unreachable_raters(project, viewer)
    page = client.get(f"{base_url}rater-messages/?rater={gpt.pk}")
    assert "The selected rater can’t read messages" in page.text
    assert "They need an account here." in page.text
    assert f'href="/projects/{project.pk}/people/#add-title">Invite people<' in page.text
    assert "<textarea" not in page.text
    assert (
        client.post(f"{base_url}rater-messages/", {"rater": gpt.pk, "text": "x"}).status_code == 400
    )
    assert not RaterMessage.objects.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" \r\n ", "Enter a message first."),
        ("x" * 2_001, "At most 2000 characters"),
        ("a\0b", "At most 2000 characters, without NUL"),
    ],
)
def test_invalid_text_is_refused(
    ann: Rater, client: Client, base_url: str, text: str, message: str
) -> None:
    response = client.post(f"{base_url}rater-messages/", {"rater": ann.pk, "text": text})
    assert response.status_code == 400
    assert message in response.text
    assert not RaterMessage.objects.exists()
    longest_allowed = client.post(
        f"{base_url}rater-messages/", {"rater": ann.pk, "text": "x" * 2_000}
    )
    assert longest_allowed.status_code == 302


@pytest.mark.parametrize("selected", ["", "0", "x", "1,", "theirs"])
def test_only_raters_of_the_project_can_be_selected(
    ann: Rater, client: Client, base_url: str, make_project: Any, selected: str
) -> None:
    foreign_rater = Rater.objects.create(project=make_project(name="Other"), key="else")
    ids = {"theirs": f"{ann.pk},{foreign_rater.pk}", "1,": f"{ann.pk},{2**63}"}.get(
        selected, selected
    )
    assert client.get(f"{base_url}rater-messages/", {"rater": ids}).status_code == 400
    assert client.post(f"{base_url}rater-messages/", {"rater": ids, "text": "x"}).status_code == 400
    assert not RaterMessage.objects.exists()


@pytest.mark.parametrize(
    ("user_fixture", "status"), [("annotator", 403), ("viewer", 403), ("stranger", 404)]
)
def test_only_leads_write_messages(
    request: pytest.FixtureRequest,
    ann: Rater,
    client_for: Any,
    base_url: str,
    user_fixture: str,
    status: int,
) -> None:
    client = client_for(request.getfixturevalue(user_fixture))
    assert client.get(f"{base_url}rater-messages/?rater={ann.pk}").status_code == status
    assert (
        client.post(f"{base_url}rater-messages/", {"rater": ann.pk, "text": "x"}).status_code
        == status
    )
    form_data = {"do": "message", "rater": ann.pk}
    assert client.post(f"{base_url}rater-actions/", form_data).status_code == status
    assert not RaterMessage.objects.exists()


def test_rater_page_shows_messages_and_read_status(
    sent_message: RaterMessage,
    client: Client,
    client_for: Any,
    viewer: User,
    annotator_client: Client,
    base_url: str,
) -> None:
    address = f"{base_url}raters/ann/"
    page = client.get(address).text
    assert "Look twice at &lt;b&gt;major&lt;/b&gt;.<br>Ask me" in page
    assert "not read yet" in page
    assert 'value="message"' in page
    annotator_client.post(f"{base_url}messages/{sent_message.pk}/read/")
    assert "not read yet" not in client.get(address).text
    viewer_page = client_for(viewer).get(address).text
    assert "Look twice" not in viewer_page
    assert 'value="message"' not in viewer_page


def test_rater_without_account_has_no_write_button(
    project: Project, viewer: User, client: Client, base_url: str
) -> None:
    create_unreachable_raters(project, viewer)
    assert 'value="message"' in client.get(f"{base_url}raters/ann/").text
    assert 'value="message"' not in client.get(f"{base_url}raters/loose/").text


def test_message_form_returns_to_the_rater_page(ann: Rater, client: Client, base_url: str) -> None:
    form_data = {
        "do": "message",
        "rater": ann.pk,
        "list_query": "question=severity",
        "back": "rater",
    }
    page = client.get(client.post(f"{base_url}rater-actions/", form_data)["Location"])
    assert page.context["back_url"] == f"{base_url}raters/ann/?question=severity"


def test_pseudonymous_project_shows_no_names(
    project: Project,
    ann: Rater,
    lead: User,
    client: Client,
    annotator_client: Client,
    base_url: str,
) -> None:
    rater_pseudonyms.hide_raters(project=project, by=lead)
    ann.refresh_from_db()
    page = client.get(f"{base_url}rater-messages/?rater={ann.pk}").text
    assert ann.key in page and "Ann" not in page and "annotator" not in page
    client.post(f"{base_url}rater-messages/", {"rater": ann.pk, "text": "Hello."})
    assert "Hello." in annotator_client.get(f"{base_url}rate/").text
    rater_page = client.get(f"{base_url}raters/{ann.key}/").text
    assert "Hello." in rater_page and "annotator" not in rater_page


# --- the rater


def test_message_is_shown_at_annotation_until_read(
    sent_message: RaterMessage, annotator_client: Client, base_url: str
) -> None:
    page = annotator_client.get(f"{base_url}rate/")
    assert "Message from lead" in page.text
    assert "Look twice at &lt;b&gt;major&lt;/b&gt;.<br>Ask me where it is unclear." in page.text
    item = page.context["item"]
    assert (
        "Look twice"
        in annotator_client.get(f"{base_url}rate/", headers={"X-Annotation": "sheet"}).text
    )
    response = annotator_client.post(
        f"{base_url}messages/{sent_message.pk}/read/", {"item": item.pk}
    )
    assert response["Location"] == f"{base_url}rate/{item.pk}/"
    next_page = annotator_client.get(response["Location"])
    assert next_page.context["item"] == item
    assert "Look twice" not in next_page.text
    sent_message.refresh_from_db()
    first_read_at = sent_message.read_at
    second_response = annotator_client.post(
        f"{base_url}messages/{sent_message.pk}/read/", headers={"X-Annotation": "sheet"}
    )
    assert second_response.status_code == 204
    sent_message.refresh_from_db()
    assert first_read_at is not None and sent_message.read_at == first_read_at


def test_message_is_shown_when_paused_or_without_items(
    sent_message: RaterMessage, annotator_client: Client, base_url: str, ann: Rater
) -> None:
    item = Item.objects.get()
    annotator_client.get(f"{base_url}rate/")
    ann.paused = True
    ann.save()
    assert "Look twice" in annotator_client.get(f"{base_url}rate/").text
    partial_response = annotator_client.get(
        f"{base_url}rate/{item.pk}/", headers={"X-Annotation": "sheet"}
    )
    assert partial_response.status_code == 403 and "Look twice" in partial_response.text
    response = annotator_client.post(
        f"{base_url}messages/{sent_message.pk}/read/", {"back": "my_ratings"}
    )
    assert response["Location"] == f"{base_url}my-ratings/"
    sent_message.refresh_from_db()
    assert sent_message.read_at is not None
    RaterMessage.objects.update(read_at=None)
    ann.paused = False
    ann.save()
    Item.objects.all().delete()
    page = annotator_client.get(f"{base_url}rate/")
    assert page.context.get("item") is None and "Look twice" in page.text


def test_my_ratings_page_lists_messages(
    sent_message: RaterMessage, annotator_client: Client, base_url: str
) -> None:
    page = annotator_client.get(f"{base_url}my-ratings/")
    assert [unread.pk for unread in page.context["unread"]] == [sent_message.pk]
    assert "Mark as read" in page.text
    annotator_client.post(f"{base_url}messages/{sent_message.pk}/read/")
    page = annotator_client.get(f"{base_url}my-ratings/")
    assert "Mark as read" not in page.text
    assert "Messages you've read" in page.text and "Look twice" in page.text


def test_oldest_unread_message_is_shown_first(
    sent_message: RaterMessage, annotator_client: Client, client: Client, base_url: str, ann: Rater
) -> None:
    client.post(f"{base_url}rater-messages/", {"rater": ann.pk, "text": "And another."})
    assert "And another." not in annotator_client.get(f"{base_url}rate/").text
    annotator_client.post(f"{base_url}messages/{sent_message.pk}/read/")
    assert "And another." in annotator_client.get(f"{base_url}rate/").text


@pytest.mark.parametrize("user_fixture", ["lead", "stranger", "viewer"])
def test_only_the_addressed_rater_can_read_a_message(
    request: pytest.FixtureRequest,
    sent_message: RaterMessage,
    client_for: Any,
    base_url: str,
    user_fixture: str,
) -> None:
    """A lead who is no rater gets 404, like a user who is another rater."""
    client = client_for(request.getfixturevalue(user_fixture))
    status = 403 if user_fixture == "viewer" else 404
    assert client.post(f"{base_url}messages/{sent_message.pk}/read/").status_code == status
    if user_fixture == "lead":
        client.post(f"{base_url}rate/")
        assert "Look twice" not in client.get(f"{base_url}rate/").text
        assert client.post(f"{base_url}messages/{sent_message.pk}/read/").status_code == 404
        assert client.post(f"{base_url}messages/{2**63}/read/").status_code == 404
    assert client.get(f"{base_url}messages/{sent_message.pk}/read/").status_code == 405
    sent_message.refresh_from_db()
    assert sent_message.read_at is None


def test_data_export_of_a_rater_contains_messages(
    sent_message: RaterMessage, client: Client, base_url: str, ann: Rater
) -> None:
    data = client.get(f"{base_url}people/raters/{ann.pk}/data.jsonl").getvalue().decode()
    lines = [json.loads(line) for line in data.splitlines()]
    [message_line] = [line for line in lines if "message" in line]
    assert (message_line["message"], message_line["sender"], message_line["read_at"]) == (
        TEXT,
        "lead",
        None,
    )


def test_message_remains_after_the_sender_is_deleted(
    sent_message: RaterMessage,
    annotator_client: Client,
    base_url: str,
    client: Client,
    make_user: Any,
) -> None:
    RaterMessage.objects.update(sender=None)
    assert "Message from a lead" in annotator_client.get(f"{base_url}rate/").text
    assert "Look twice" in client.get(f"{base_url}raters/ann/").text
