"""Mail about a person: invitations with a link, offers, messages from leads, pauses."""

from __future__ import annotations

import datetime
import re
from typing import Any

import pytest
import time_machine
from allauth.account.models import EmailAddress
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from agreement_site.models import QueuedMail
from agreement_site.notifications import outbox, preferences
from events import feed
from projects.models import Member, Rater
from projects.services import membership
from projects.services.rater_changes import set_rater_paused
from ratings.annotation import rater_messages
from tests.cast import make_user as create_user

pytestmark = pytest.mark.django_db

PASSWORDS = {"new_password1": "a new long password", "new_password2": "a new long password"}


def send_mail_now() -> Any:
    """Sweep after the delay of a pause, and return the last mail."""
    feed.publish_events()
    outbox.sweep_mail()
    with time_machine.travel(timezone.now() + datetime.timedelta(minutes=3)):
        outbox.sweep_mail()
    return mail.outbox[-1] if mail.outbox else None


def get_path(message: Any) -> str:
    """Return the path of the link in a mail, with its query."""
    match = re.search(r": https://concord\.example\.org(/invitations/\S+)", message.body)
    assert match is not None, message.body
    return match[1]


def accept(path: str) -> Client:
    client = Client()
    page = client.get(path, follow=True)
    assert client.post(page.redirect_chain[-1][0], PASSWORDS).status_code == 302
    return client


def test_invited_person_gets_a_link_that_confirms_the_address(
    lead: User, project: Any, client_for: Any
) -> None:
    lead_client = client_for(lead)
    form = {"username": "eve", "role": "annotator", "account": "new", "email": "eve@example.org"}
    page = lead_client.post(reverse("member_create", args=[project.pk]), form)
    assert page.status_code == 200 and "/invitations/" in page.text, "the link to copy stays"
    eve = User.objects.get(username="eve")
    assert eve.email == "", "only the lead says that it is hers"
    message = send_mail_now()
    assert message.to == ["eve@example.org"]
    assert "lead added you to “Reviews” as annotator." in message.body
    assert "List-Unsubscribe" not in message.message() and "/unsubscribe/" not in message.body
    accept(get_path(message))
    eve.refresh_from_db()
    assert eve.email == "eve@example.org" and eve.has_usable_password()
    assert EmailAddress.objects.get(user=eve).verified


def test_copied_link_and_forged_proof_confirm_nothing(lead: User, project: Any) -> None:
    victim = create_user("victim", email="victim@example.org")
    for name, address in (("eve", "eve@example.org"), ("mal", victim.email)):
        membership.create_invited_account(
            project=project, username=name, role="annotator", by=lead, email=address
        )
    send_mail_now()
    paths = {message.to[0]: get_path(message) for message in mail.outbox}
    eve_path, mal_path = paths["eve@example.org"], paths["victim@example.org"]
    proof_of_mal = mal_path.partition("?")[2]
    accept(f"{eve_path.partition('?')[0]}?{proof_of_mal}")
    accept(mal_path)
    assert User.objects.get(username="eve").email == "", "the proof is another account's"
    assert User.objects.get(username="mal").email == "", "another account has the address"


def test_invitation_again_several_at_once_and_through_the_api(
    lead: User, project: Any, client_for: Any
) -> None:
    client = client_for(lead)
    names = "ada ada@example.org\nbo <bo@example.org>\nchi\ndi\tdi@example.org\nel,el@example.org;"
    data = {"several-names": names, "several-role": "annotator"}
    page = client.post(reverse("members_invite", args=[project.pk]), data)
    assert page.text.count("/invitations/") == 5
    send_mail_now()
    assert sorted(message.to[0] for message in mail.outbox) == [
        f"{name}@example.org" for name in ("ada", "bo", "di", "el")
    ]
    member = Member.objects.get(user__username="ada")
    client.post(reverse("member_link", args=[project.pk, member.pk]))
    assert send_mail_now().to == ["ada@example.org"] and len(mail.outbox) == 5
    api = APIClient()
    api.force_authenticate(lead)
    path = f"/api/v1/projects/{project.pk}/invitations/"
    body = {"username": "dee", "email": "dee@example.org"}
    assert api.post(path, body, format="json").json()["link"]
    assert send_mail_now().to == ["dee@example.org"]
    refused = api.post(path, {"username": "odd", "email": "a@b\nBcc: c@d.org"}, format="json")
    assert refused.status_code == 400 and "email" in refused.text
    assert not User.objects.filter(username="odd").exists()


def test_known_and_unknown_accounts_are_told_in_their_words(lead: User, project: Any) -> None:
    colleague = create_user("known", email="known@example.org")
    other = project.__class__.objects.create(name="Second", created_by=lead)
    Member.objects.create(project=other, user=lead, role="lead")
    Member.objects.create(project=other, user=colleague, role="viewer")
    create_user("far", email="far@example.org")
    membership.add_member(project=project, username="known", role="viewer", by=lead)
    membership.add_member(project=project, username="far", role="annotator", by=lead)
    membership.add_member(project=project, username="nobody", role="annotator", by=lead)
    send_mail_now()
    joined, offered = sorted(mail.outbox, key=lambda message: message.to[0], reverse=True)
    assert joined.to == ["known@example.org"] and f"/projects/{project.pk}/" in joined.body
    assert offered.to == ["far@example.org"] and "invites you" in offered.body
    assert "/invitations/" not in f"{joined.body}{offered.body}"
    assert "List-Unsubscribe" in joined.message()


@pytest.mark.parametrize("gold_notice", [Rater.GoldNotice.PAUSED, ""])
def test_mail_to_a_paused_rater_gives_the_reason(
    lead: User, annotator: User, project: Any, gold_notice: str
) -> None:
    """Only a pause after wrong gold answers is said to be for these."""
    annotator.email = "ann@example.org"
    annotator.save()
    rater = project.raters.get(user=annotator)
    set_rater_paused(rater=rater, paused=True, by=lead)
    Rater.objects.filter(pk=rater.pk).update(gold_notice=gold_notice)
    body = send_mail_now().body
    assert "Your ratings are kept." in body
    assert ("Too many known answers were wrong." in body) == bool(gold_notice)
    assert ("Your lead paused you." in body) == (not gold_notice)


def test_messages_and_pauses_reach_the_rater(
    lead: User, annotator: User, project: Any, client_for: Any
) -> None:
    annotator.email = "ann@example.org"
    annotator.save()
    rater = project.raters.get(user=annotator)
    rater_messages.send_messages(raters=[rater], text="Look at\n<b>item 3</b>", by=lead)
    message = send_mail_now()
    assert message.to == ["ann@example.org"]
    assert "Look at\n<b>item 3</b>" in message.body
    assert "&lt;b&gt;item 3" in message.alternatives[0][0]
    [read] = rater_messages.send_messages(raters=[rater], text="Read on the page", by=lead)
    rater_messages.mark_read(rater=rater, message_id=read.pk)
    set_rater_paused(rater=rater, paused=True, by=lead)
    set_rater_paused(rater=rater, paused=False, by=lead)
    send_mail_now()
    assert len(mail.outbox) == 1, "what was read or undone is not mailed"
    for paused in (True, False, True):
        set_rater_paused(rater=rater, paused=paused, by=lead)
    assert send_mail_now().subject == "[Concord] You're paused in “Reviews”"
    preferences.save_preferences(user=annotator, personal=False)
    rater_messages.send_messages(raters=[rater], text="Again", by=lead)
    Member.objects.filter(user=annotator).delete()
    send_mail_now()
    assert len(mail.outbox) == 2
    assert QueuedMail.objects.latest("pk").state == "skipped"
