"""Whoever has an account is asked before they are a member, and nobody learns who has one."""

from __future__ import annotations

import datetime
import html
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from agreement_site import retention
from agreement_site.models import TrailLine
from projects.models import Member, MemberOffer, Project, Rater
from projects.services.members import offers
from tests.cast import PASSWORD

pytestmark = pytest.mark.django_db

Ask = Callable[..., Any]


def text_of(response: Any) -> str:
    return html.unescape(response.content.decode())


@pytest.fixture
def page(project: Project) -> str:
    return f"/projects/{project.pk}/people/"


@pytest.fixture
def ask(client_for: Callable[..., Client], lead: User, page: str) -> Ask:
    def do(name: str, role: str = "annotator", *, by: User = lead) -> Any:
        sent = {"username": name, "role": role, "account": "existing"}
        return client_for(by).post(page + "add/", sent, follow=True)

    return do


DRAWN = re.compile(r'value="\w{64}"|nonce="[^"]+"|offers/\d+/|datetime="[^"]+"')


def masked(response: Any, name: str) -> tuple[Any, ...]:
    """Status, way and text of an answer, without the name and what is drawn for each answer."""
    text = DRAWN.sub("", text_of(response)).replace(name, "NAME")
    return response.status_code, response.redirect_chain, text


def line_of(response: Any, name: str) -> str:
    """The line of the list of those who are asked."""
    found = re.search(rf'<th scope="row" class="wrap">{name}</th>.*?</tr>', text_of(response), re.S)
    assert found
    return DRAWN.sub("", found[0]).replace(name, "NAME")


def test_an_account_is_asked_and_has_no_access_before(
    ask: Ask, project: Project, stranger: User, client_for: Any, api_for: Any
) -> None:
    answer = ask("stranger")
    assert "If there is an account “stranger”, its owner is asked to join." in text_of(answer)
    assert not Member.objects.filter(user=stranger).exists()
    assert not Rater.objects.filter(user=stranger).exists()
    client = client_for(stranger)
    for path in ("", "rate/", "people/", "guidelines/"):
        assert client.get(f"/projects/{project.pk}/{path}").status_code == 404
    assert api_for(stranger).get(f"/api/v1/projects/{project.pk}/").status_code == 404
    assert f'href="/projects/{project.pk}/' not in text_of(client.get("/"))


@pytest.mark.parametrize("kind", ["owned", "closed", "without a password"])
def test_who_asks_learns_from_nothing_whether_there_is_an_account(
    ask: Ask,
    page: str,
    project: Project,
    make_user: Any,
    client_for: Any,
    lead: User,
    kind: str,
) -> None:
    user = make_user("somebody", is_active=kind != "closed")
    if kind == "without a password":
        user.set_unusable_password()
        user.save()
    once = masked(ask("somebody"), "somebody")
    MemberOffer.objects.all().delete()
    assert masked(ask("nobody-"), "nobody-") == once
    MemberOffer.objects.all().delete()
    for name in ("somebody", "nobody-"):
        ask(name)
        if kind == "owned" and name == "somebody":
            offers.decline_offer(offer=offers.list_open_offers(user).get())
    shown = client_for(lead).get(page)
    assert line_of(shown, "somebody") == line_of(shown, "nobody-")
    kept = TrailLine.objects.filter(what="role_offered", project_id=project.pk)
    told = {
        (json.dumps(line.after).replace("somebody", "NAME"), str(line.details)) for line in kept
    }
    assert len({(after.replace("nobody-", "NAME"), rest) for after, rest in told}) == 1


def test_its_owner_joins(ask: Ask, project: Project, stranger: User, client_for: Any) -> None:
    ask("stranger")
    client = client_for(stranger)
    for path in ("/", "/tokens/"):
        shown = text_of(client.get(path))
        assert "You are asked to join" in shown
        assert "asked by lead" in shown
    offered = offers.list_open_offers(stranger).get()
    answer = client.post(f"/offers/{offered.pk}/", {"do": "accept", "role": "annotator"})
    assert answer.status_code == 302
    assert Member.objects.get(project=project, user=stranger).role == "annotator"
    assert Rater.objects.get(project=project, user=stranger).key == "stranger"
    assert not MemberOffer.objects.exists()
    assert client.get(f"/projects/{project.pk}/rate/").status_code == 200
    again = client.post(f"/offers/{offered.pk}/", {"do": "accept", "role": "annotator"})
    assert again.status_code == 404


def test_its_owner_declines_and_the_lead_is_not_told(
    ask: Ask, page: str, project: Project, stranger: User, lead: User, client_for: Any
) -> None:
    ask("stranger")
    client = client_for(stranger)
    client.post(f"/offers/{MemberOffer.objects.get().pk}/", {"do": "decline"})
    assert not Member.objects.filter(user=stranger).exists()
    assert "You are asked to join" not in text_of(client.get("/"))
    assert "stranger" in text_of(client_for(lead).get(page))
    assert not TrailLine.objects.filter(what="offer_declined", project_id=project.pk).exists()
    assert TrailLine.objects.get(what="offer_declined").actor == "stranger"
    ask("stranger", "viewer")  # is not asked again
    assert not offers.list_open_offers(stranger).exists()


def test_a_role_that_was_changed_or_withdrawn_meanwhile_is_not_taken(
    ask: Ask, page: str, stranger: User, lead: User, client_for: Any
) -> None:
    ask("stranger", "viewer")
    seen = offers.list_open_offers(stranger).get()
    ask("stranger", "lead")
    client = client_for(stranger)
    answer = client.post(f"/offers/{seen.pk}/", {"do": "accept", "role": "viewer"}, follow=True)
    assert "withdrawn or changed meanwhile" in text_of(answer)
    assert not Member.objects.filter(user=stranger).exists()
    assert client_for(lead).post(f"{page}offers/{seen.pk}/withdraw/").status_code == 302
    assert client.post(f"/offers/{seen.pk}/", {"do": "accept", "role": "lead"}).status_code == 404
    assert not Member.objects.filter(user=stranger).exists()


def test_nobody_answers_for_another_or_withdraws_elsewhere(
    ask: Ask,
    page: str,
    stranger: User,
    viewer: User,
    lead: User,
    client_for: Any,
    make_project: Any,
) -> None:
    ask("stranger")
    offered = MemberOffer.objects.get()
    accepted = {"do": "accept", "role": "annotator"}
    for user in (viewer, lead):
        assert client_for(user).post(f"/offers/{offered.pk}/", accepted).status_code == 404
    assert client_for(stranger).get(f"/offers/{offered.pk}/").status_code == 405
    assert Client().post(f"/offers/{offered.pk}/", accepted)["Location"].startswith("/sign-in/")
    other = make_project("Other")
    Member.objects.create(project=other, user=stranger, role="lead")
    elsewhere = f"/projects/{other.pk}/people/offers/{offered.pk}/withdraw/"
    assert client_for(stranger).post(elsewhere).status_code == 404
    assert client_for(viewer).post(f"{page}offers/{offered.pk}/withdraw/").status_code == 403
    assert MemberOffer.objects.count() == 1


def test_whom_a_lead_knows_is_a_member_at_once(
    ask: Ask, project: Project, stranger: User, lead: User, make_project: Any
) -> None:
    """Not through a project that somebody else leads."""
    other = make_project("Other")
    Member.objects.create(project=other, user=stranger, role="annotator")
    mine = Member.objects.create(project=other, user=lead, role="viewer")
    ask("stranger")
    assert not Member.objects.filter(project=project, user=stranger).exists()
    mine.role = "lead"
    mine.save()
    assert "stranger is a member now." in text_of(ask("stranger"))
    assert Member.objects.filter(project=project, user=stranger).exists()
    assert not offers.list_project_offers(project).exists()
    assert not offers.list_open_offers(stranger).exists()


def test_superusers_add_whom_they_name_and_are_told(ask: Ask, stranger: User, admin: User) -> None:
    assert "stranger is a member now." in text_of(ask("stranger", by=admin))
    refused = ask("nobody", by=admin)
    assert (refused.status_code, MemberOffer.objects.count()) == (400, 0)
    assert "There is no account 'nobody' on this site." in text_of(refused)


def test_a_name_that_somebody_gets_later_was_not_asked(ask: Ask, make_user: Any) -> None:
    """Otherwise whoever makes the account takes what was meant for another one."""
    ask("later")
    later = make_user("later")
    assert not offers.list_open_offers(later).exists()
    ask("later")
    assert not offers.list_open_offers(later).exists()


def test_what_nobody_accepts_ends(
    ask: Ask, page: str, stranger: User, lead: User, client_for: Any
) -> None:
    ask("stranger")
    offered = MemberOffer.objects.get()
    offered.made_at = timezone.now() - datetime.timedelta(days=offers.OFFER_DAYS, minutes=1)
    offered.save()
    assert not offers.list_open_offers(stranger).exists()
    assert "stranger" not in text_of(client_for(lead).get(page))
    retention.apply_rules()
    assert not MemberOffer.objects.exists()
    ask("stranger")
    assert offers.list_open_offers(stranger).exists()


def test_not_without_number(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offers, "MAX_OPEN_OFFERS", 2)
    codes = [ask(name).status_code for name in ("a", "b", "c", "a")]
    assert (codes, MemberOffer.objects.count()) == ([200, 200, 400, 200], 2)


def test_who_rates_elsewhere_finds_it_at_the_desk(
    ask: Ask, stranger: User, make_project: Any, client_for: Any
) -> None:
    own = make_project("Own")
    Member.objects.create(project=own, user=stranger, role="annotator")
    Rater.objects.create(project=own, key="s", user=stranger)
    given = {"username": "stranger", "password": PASSWORD}
    assert Client().post("/sign-in/", given)["Location"] == f"/projects/{own.pk}/rate/"
    assert "asked to join" not in text_of(client_for(stranger).get(f"/projects/{own.pk}/rate/"))
    ask("stranger")
    assert Client().post("/sign-in/", given)["Location"] == "/"
    desk = text_of(client_for(stranger).get(f"/projects/{own.pk}/rate/"))
    assert "You are asked to join 1 project" in desk


def test_it_is_of_the_persons_data(ask: Ask, stranger: User, project: Project, capsys: Any) -> None:
    ask("stranger")
    call_command("person", "stranger", "--export", "-")
    account = json.loads(capsys.readouterr().out.splitlines()[0])
    assert account["asked_to_join"] == {str(project.pk): "annotator"}
    call_command("person", "stranger", "--forget", "person", "--confirm", "stranger")
    assert not MemberOffer.objects.exists()


# --- by the API


def test_by_the_api_a_foreign_account_is_as_unknown_as_none(
    api_for: Callable[..., APIClient], lead: User, stranger: User, admin: User, project: Project
) -> None:
    address = f"/api/v1/projects/{project.pk}/raters/"
    said = {}
    for name in ("stranger", "nobody"):
        answer = api_for(lead).post(address, {"key": "k", "username": name}, format="json")
        assert answer.status_code == 400
        said[name] = answer.json()["error"]["fields"]["rows"]["0"].replace(name, "NAME")
    assert said["stranger"] == said["nobody"]
    assert not Member.objects.filter(user=stranger).exists()
    tied = api_for(admin).post(address, {"key": "k", "username": "stranger"}, format="json")
    assert tied.json()["created"] == 1
    assert Member.objects.filter(project=project, user=stranger).exists()


def test_by_the_api_the_caller_and_those_they_lead_elsewhere_are_tied(
    api_for: Callable[..., APIClient],
    lead: User,
    stranger: User,
    project: Project,
    make_project: Any,
) -> None:
    other = make_project("Other")
    Member.objects.create(project=other, user=lead, role="lead")
    Member.objects.create(project=other, user=stranger, role="viewer")
    address = f"/api/v1/projects/{project.pk}/raters/"
    rows = [{"key": "s", "username": "stranger"}, {"key": "l", "username": "lead"}]
    answer = api_for(lead).post(address, rows, format="json")
    assert answer.json()["created"] == 2
    assert Member.objects.get(project=project, user=stranger).role == "annotator"
