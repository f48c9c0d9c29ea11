"""What a lead chooses about labels in doubt, and what the pages then show."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from projects.models import Member, Question, Rater
from quality.consensus import recompute
from quality.escalation import rating_requests
from quality.models import Escalation, ItemLabel, LabelRules
from tests.cast import Cast

pytestmark = pytest.mark.django_db

RULE = {
    "escalate": "on",
    "sure_from": "0.95",
    "most": "6",
    "budget": "4",
    "second_share": "0",
    "tell_after": "7",
}


@pytest.fixture(scope="module")
def made_once(answered_once: Cast) -> Cast:
    return answered_once


@pytest.fixture
def page(answered: Question) -> str:
    """Four ratings an item at most, of which three were planned."""
    recompute.recompute_question(answered.pk)
    return f"/projects/{answered.project_id}/"


@pytest.fixture
def client(client_for: Callable[[User], Client], lead: User) -> Client:
    return client_for(lead)


def test_a_lead_switches_escalation_on_and_sees_what_it_took(
    client: Client, page: str, answered: Question
) -> None:
    for name in ("one", "two"):
        user = User.objects.create_user(name)
        Member.objects.create(project=answered.project, user=user, role=Member.Role.ANNOTATOR)
        Rater.objects.create(project=answered.project, key=name, user=user)
    assert "switched off" not in client.get(f"{page}labels/").text
    assert client.post(f"{page}labels/rules/", RULE).status_code == 302
    rules = LabelRules.objects.get()
    assert (rules.escalate, rules.sure_from, rules.most, rules.budget) == (True, 0.95, 6, 4)
    before = client.get(f"{page}adjudicate/").context["left"]
    rating_requests.sweep()
    waiting = Escalation.objects.filter(state="waiting")
    assert waiting.count() == 4
    for address in ("labels/rules/", "labels/"):
        assert "4 of 4 ratings beyond the planned ones" in " ".join(
            client.get(page + address).text.split()
        )
    seen = client.get(f"{page}adjudicate/")
    assert seen.context["left"] == before - 4
    held = Escalation.objects.filter(state="decide").first()
    assert held is not None
    seen = client.get(f"{page}adjudicate/?item={held.item.key}")
    assert "the budget is used up" in seen.text


def test_a_rule_that_cannot_be_comes_back_with_what_is_wrong(client: Client, page: str) -> None:
    answer = client.post(f"{page}labels/rules/", RULE | {"most": "3"})
    assert answer.status_code == 400
    assert "More than the 3 ratings that every item gets." in answer.text
    assert not LabelRules.objects.exists()


@pytest.mark.parametrize("role", ["annotator", "viewer", "adjudicator"])
def test_only_leads_choose(
    client_for: Callable[[User], Client], page: str, answered: Question, role: str
) -> None:
    user = User.objects.create_user("other")
    Member.objects.create(project=answered.project, user=user, role=role)
    assert client_for(user).post(f"{page}labels/rules/", RULE).status_code == 403
    assert not LabelRules.objects.exists()


def test_an_item_that_was_asked_again_says_so_where_it_is_listed(
    client: Client, page: str, answered: Question
) -> None:
    label = ItemLabel.objects.order_by("item_id").first()
    assert label is not None
    Escalation.objects.create(
        question=answered, item=label.item, state="waiting", asked=2, changed_at=label.made_at
    )
    rows = client.get(f"{page}labels/").context["rows"]
    assert [row["asked"].asked for row in rows if row["asked"]] == [2]
