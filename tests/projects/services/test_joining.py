"""Offers to join a project.

An account must accept an offer before it is a member, and nobody learns from an offer
whether an account exists.
"""

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

from agreement_site import housekeeping
from agreement_site.models import AuditLogEntry
from projects.models import Member, MemberOffer, Project, Rater
from projects.services import joining
from tests.cast import PASSWORD

pytestmark = pytest.mark.django_db

OfferFunction = Callable[..., Any]


def get_text(response: Any) -> str:
    return html.unescape(response.content.decode())


@pytest.fixture
def people_path(project: Project) -> str:
    return f"/projects/{project.pk}/people/"


@pytest.fixture
def offer_role(client_for: Callable[..., Client], lead: User, people_path: str) -> OfferFunction:
    def post_offer(name: str, role: str = "annotator", *, by: User = lead) -> Any:
        form_data = {"username": name, "role": role, "account": "existing"}
        return client_for(by).post(people_path + "add/", form_data, follow=True)

    return post_offer


RANDOM_PARTS = re.compile(r'value="\w{64}"|nonce="[^"]+"|offers/\d+/|datetime="[^"]+"')


def mask_response(response: Any, name: str) -> tuple[Any, ...]:
    """Return status, redirects and text of a response, without the name and the random parts."""
    text = RANDOM_PARTS.sub("", get_text(response)).replace(name, "NAME")
    return response.status_code, response.redirect_chain, text


def get_offer_row(response: Any, name: str) -> str:
    """Return the table row of the offer to ``name``, without the name and the random parts."""
    match = re.search(
        rf'<th scope="row" class="wrap">{name}</th>.*?</tr>', get_text(response), re.S
    )
    assert match
    return RANDOM_PARTS.sub("", match[0]).replace(name, "NAME")


def test_offer_gives_no_access_before_it_is_accepted(
    offer_role: OfferFunction, project: Project, stranger: User, client_for: Any, api_for: Any
) -> None:
    response = offer_role("stranger")
    assert "If “stranger” exists, its owner is invited." in get_text(response)
    assert not Member.objects.filter(user=stranger).exists()
    assert not Rater.objects.filter(user=stranger).exists()
    client = client_for(stranger)
    for path in ("", "rate/", "people/", "guidelines/"):
        assert client.get(f"/projects/{project.pk}/{path}").status_code == 404
    assert api_for(stranger).get(f"/api/v1/projects/{project.pk}/").status_code == 404
    assert f'href="/projects/{project.pk}/' not in get_text(client.get("/"))


@pytest.mark.parametrize("kind", ["owned", "closed", "without a password"])
def test_offer_does_not_reveal_whether_an_account_exists(
    offer_role: OfferFunction,
    people_path: str,
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
    existing_account_response = mask_response(offer_role("somebody"), "somebody")
    MemberOffer.objects.all().delete()
    assert mask_response(offer_role("nobody-"), "nobody-") == existing_account_response
    MemberOffer.objects.all().delete()
    for name in ("somebody", "nobody-"):
        offer_role(name)
        if kind == "owned" and name == "somebody":
            joining.decline_offer(offer=joining.list_open_offers(user).get())
    people_page = client_for(lead).get(people_path)
    assert get_offer_row(people_page, "somebody") == get_offer_row(people_page, "nobody-")
    entries = AuditLogEntry.objects.filter(action="role_offered", project_id=project.pk)
    masked_entries = {
        (json.dumps(entry.after).replace("somebody", "NAME"), str(entry.details))
        for entry in entries
    }
    assert (
        len({(after.replace("nobody-", "NAME"), details) for after, details in masked_entries}) == 1
    )


def test_account_owner_accepts_and_joins(
    offer_role: OfferFunction, project: Project, stranger: User, client_for: Any
) -> None:
    offer_role("stranger")
    client = client_for(stranger)
    for path in ("/", "/tokens/"):
        text = get_text(client.get(path))
        assert "Project invitations" in text
        assert "invited by lead" in text
    offer = joining.list_open_offers(stranger).get()
    response = client.post(f"/offers/{offer.pk}/", {"do": "accept", "role": "annotator"})
    assert response.status_code == 302
    assert Member.objects.get(project=project, user=stranger).role == "annotator"
    assert Rater.objects.get(project=project, user=stranger).key == "stranger"
    assert not MemberOffer.objects.exists()
    assert client.get(f"/projects/{project.pk}/rate/").status_code == 200
    second_response = client.post(f"/offers/{offer.pk}/", {"do": "accept", "role": "annotator"})
    assert second_response.status_code == 404


def test_lead_does_not_see_that_an_offer_was_declined(
    offer_role: OfferFunction,
    people_path: str,
    project: Project,
    stranger: User,
    lead: User,
    client_for: Any,
) -> None:
    offer_role("stranger")
    client = client_for(stranger)
    client.post(f"/offers/{MemberOffer.objects.get().pk}/", {"do": "decline"})
    assert not Member.objects.filter(user=stranger).exists()
    assert "Project invitations" not in get_text(client.get("/"))
    assert "stranger" in get_text(client_for(lead).get(people_path))
    assert not AuditLogEntry.objects.filter(action="offer_declined", project_id=project.pk).exists()
    assert AuditLogEntry.objects.get(action="offer_declined").actor == "stranger"
    offer_role("stranger", "viewer")  # no second offer after a refusal
    assert not joining.list_open_offers(stranger).exists()


def test_changed_or_withdrawn_offer_cannot_be_accepted(
    offer_role: OfferFunction, people_path: str, stranger: User, lead: User, client_for: Any
) -> None:
    offer_role("stranger", "viewer")
    offer = joining.list_open_offers(stranger).get()
    offer_role("stranger", "lead")
    client = client_for(stranger)
    response = client.post(f"/offers/{offer.pk}/", {"do": "accept", "role": "viewer"}, follow=True)
    assert "invitation was changed or withdrawn" in get_text(response)
    assert not Member.objects.filter(user=stranger).exists()
    assert client_for(lead).post(f"{people_path}offers/{offer.pk}/withdraw/").status_code == 302
    assert client.post(f"/offers/{offer.pk}/", {"do": "accept", "role": "lead"}).status_code == 404
    assert not Member.objects.filter(user=stranger).exists()


def test_only_the_owner_answers_and_only_the_lead_withdraws(
    offer_role: OfferFunction,
    people_path: str,
    stranger: User,
    viewer: User,
    lead: User,
    client_for: Any,
    make_project: Any,
) -> None:
    offer_role("stranger")
    offer = MemberOffer.objects.get()
    form_data = {"do": "accept", "role": "annotator"}
    for user in (viewer, lead):
        assert client_for(user).post(f"/offers/{offer.pk}/", form_data).status_code == 404
    assert client_for(stranger).get(f"/offers/{offer.pk}/").status_code == 405
    assert Client().post(f"/offers/{offer.pk}/", form_data)["Location"].startswith("/sign-in/")
    other_project = make_project("Other")
    Member.objects.create(project=other_project, user=stranger, role="lead")
    foreign_path = f"/projects/{other_project.pk}/people/offers/{offer.pk}/withdraw/"
    assert client_for(stranger).post(foreign_path).status_code == 404
    assert client_for(viewer).post(f"{people_path}offers/{offer.pk}/withdraw/").status_code == 403
    assert MemberOffer.objects.count() == 1


def test_account_from_a_project_of_the_lead_is_added_at_once(
    offer_role: OfferFunction, project: Project, stranger: User, lead: User, make_project: Any
) -> None:
    """A project that somebody else leads does not count."""
    other_project = make_project("Other")
    Member.objects.create(project=other_project, user=stranger, role="annotator")
    lead_membership = Member.objects.create(project=other_project, user=lead, role="viewer")
    offer_role("stranger")
    assert not Member.objects.filter(project=project, user=stranger).exists()
    lead_membership.role = "lead"
    lead_membership.save()
    assert "Member saved." in get_text(offer_role("stranger"))
    assert Member.objects.filter(project=project, user=stranger).exists()
    assert not joining.list_project_offers(project).exists()
    assert not joining.list_open_offers(stranger).exists()


def test_superuser_adds_accounts_without_an_offer(
    offer_role: OfferFunction, stranger: User, admin: User
) -> None:
    assert "Member saved." in get_text(offer_role("stranger", by=admin))
    response = offer_role("nobody", by=admin)
    assert (response.status_code, MemberOffer.objects.count()) == (400, 0)
    assert "No account “nobody”." in get_text(response)


def test_offer_does_not_apply_to_an_account_created_later(
    offer_role: OfferFunction, make_user: Any
) -> None:
    """Otherwise the creator of that account could accept an offer meant for somebody else."""
    offer_role("later")
    user = make_user("later")
    assert not joining.list_open_offers(user).exists()
    offer_role("later")
    assert not joining.list_open_offers(user).exists()


def test_unanswered_offer_expires(
    offer_role: OfferFunction, people_path: str, stranger: User, lead: User, client_for: Any
) -> None:
    offer_role("stranger")
    offer = MemberOffer.objects.get()
    offer.created_at = timezone.now() - datetime.timedelta(days=joining.OFFER_DAYS, minutes=1)
    offer.save()
    assert not joining.list_open_offers(stranger).exists()
    assert "stranger" not in get_text(client_for(lead).get(people_path))
    housekeeping.apply_retention_rules()
    assert not MemberOffer.objects.exists()
    offer_role("stranger")
    assert joining.list_open_offers(stranger).exists()


def test_number_of_open_offers_is_limited(
    offer_role: OfferFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "MAX_OPEN_OFFERS", 2)
    codes = [offer_role(name).status_code for name in ("a", "b", "c", "a")]
    assert (codes, MemberOffer.objects.count()) == ([200, 200, 400, 200], 2)


def test_offer_is_shown_on_the_annotation_page_of_other_projects(
    offer_role: OfferFunction, stranger: User, make_project: Any, client_for: Any
) -> None:
    own_project = make_project("Own")
    Member.objects.create(project=own_project, user=stranger, role="annotator")
    Rater.objects.create(project=own_project, key="s", user=stranger)
    credentials = {"username": "stranger", "password": PASSWORD}
    assert (
        Client().post("/sign-in/", credentials)["Location"] == f"/projects/{own_project.pk}/rate/"
    )
    assert "invited to" not in get_text(
        client_for(stranger).get(f"/projects/{own_project.pk}/rate/")
    )
    offer_role("stranger")
    assert Client().post("/sign-in/", credentials)["Location"] == "/"
    annotation_page = get_text(client_for(stranger).get(f"/projects/{own_project.pk}/rate/"))
    assert "You're invited to 1 project" in annotation_page


def test_offer_is_part_of_the_personal_data(
    offer_role: OfferFunction, stranger: User, project: Project, capsys: Any
) -> None:
    offer_role("stranger")
    call_command("person_data", "stranger", "--export", "-")
    account = json.loads(capsys.readouterr().out.splitlines()[0])
    assert account["role_offers"] == {str(project.pk): "annotator"}
    call_command("person_data", "stranger", "--forget", "person", "--confirm", "stranger")
    assert not MemberOffer.objects.exists()


# --- by the API


def test_api_reports_a_foreign_account_like_a_missing_one(
    api_for: Callable[..., APIClient], lead: User, stranger: User, admin: User, project: Project
) -> None:
    address = f"/api/v1/projects/{project.pk}/raters/"
    errors = {}
    for name in ("stranger", "nobody"):
        response = api_for(lead).post(address, {"key": "k", "username": name}, format="json")
        assert response.status_code == 400
        errors[name] = response.json()["error"]["fields"]["rows"]["0"].replace(name, "NAME")
    assert errors["stranger"] == errors["nobody"]
    assert not Member.objects.filter(user=stranger).exists()
    admin_response = api_for(admin).post(
        address, {"key": "k", "username": "stranger"}, format="json"
    )
    assert admin_response.json()["created"] == 1
    assert Member.objects.filter(project=project, user=stranger).exists()


def test_api_links_the_caller_and_accounts_of_their_projects(
    api_for: Callable[..., APIClient],
    lead: User,
    stranger: User,
    project: Project,
    make_project: Any,
) -> None:
    other_project = make_project("Other")
    Member.objects.create(project=other_project, user=lead, role="lead")
    Member.objects.create(project=other_project, user=stranger, role="viewer")
    address = f"/api/v1/projects/{project.pk}/raters/"
    rows = [{"key": "s", "username": "stranger"}, {"key": "l", "username": "lead"}]
    response = api_for(lead).post(address, rows, format="json")
    assert response.json()["created"] == 2
    assert Member.objects.get(project=project, user=stranger).role == "annotator"
