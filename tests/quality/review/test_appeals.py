"""Raters learn what was decided of their items, when a lead lets them, and may contest it once."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import pytest
import time_machine
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from events.models import Event
from projects.models import Item, Member, Question, Rater
from projects.services.items.gold import set_gold_answer
from quality.models import Appeal, ItemLabel, LabelRules
from quality.review import appeals, decisions
from tests.cast import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def made_once(answered_once: Cast) -> Cast:
    return answered_once


@pytest.fixture
def items(rater: Rater, answered: Question, lead: User) -> list[Item]:
    """Three of ben's, decided ten, nine and one days ago, and one decided that is not ben's."""
    mine = list(Item.objects.filter(ratings__rater=rater).order_by("key")[:3])
    other = Item.objects.exclude(ratings__rater=rater).first()
    assert other is not None
    for item, days in zip([*mine, other], (10, 9, 1, 10), strict=True):
        with time_machine.travel(timezone.now() - datetime.timedelta(days=days), tick=False):
            decisions.create_decision(
                question=answered, item=item, code=2, reason="as 3.1 says", by=lead
            )
    return mine


@pytest.fixture
def page(answered: Question) -> str:
    return f"/projects/{answered.project_id}/"


def seen(client: Client, page: str) -> list[str]:
    rows = client.get(f"{page}decisions/").context["rows"]
    return [row["told"].decision.item.key for row in rows]


def test_old_decisions_on_ones_own_items_are_told(
    rater: Rater, items: list[Item], page: str, client_for: Callable[[User], Client]
) -> None:
    assert rater.user is not None
    client = client_for(rater.user)
    assert seen(client, page) == [items[1].key, items[0].key]
    text = client.get(f"{page}decisions/").text
    assert "as 3.1 says" in text
    for secret in ("cleo", "lead", items[2].key):
        assert f">{secret}<" not in text
    LabelRules.objects.update(tell_raters=False)
    assert seen(client, page) == []


def test_nothing_is_told_of_gold_or_of_what_was_taken_back(
    rater: Rater,
    items: list[Item],
    page: str,
    answered: Question,
    lead: User,
    client_for: Callable[[User], Client],
) -> None:
    assert rater.user is not None
    set_gold_answer(item=items[0], question=answered, answer=[2], by=lead)
    decisions.create_decision(question=answered, item=items[1], code=None, by=lead)
    client = client_for(rater.user)
    assert seen(client, page) == []
    answer = client.post(
        f"{page}decisions/{items[0].pk}/", {"question": answered.key, "text": "no"}
    )
    assert answer.status_code == 404
    assert not Appeal.objects.exists()


def test_an_appeal_is_made_once_and_answered_once(
    rater: Rater,
    items: list[Item],
    page: str,
    answered: Question,
    lead: User,
    client_for: Callable[[User], Client],
) -> None:
    assert rater.user is not None
    client, leads = client_for(rater.user), client_for(lead)
    address = f"{page}decisions/{items[0].pk}/"
    for text in ("", "x" * 2001, "It breaks callers.", "Again."):
        client.post(address, {"question": answered.key, "text": text})
    made = Appeal.objects.get()
    assert (made.item, made.rater, made.text) == (items[0], rater, "It breaks callers.")
    assert "1 rater contests a decision" in leads.get(f"{page}labels/").text
    assert "It breaks callers." in leads.get(f"{page}appeals/").text
    before = list(ItemLabel.objects.order_by("pk").values())
    to = f"{page}appeals/{made.pk}/"
    for state in ("odd", "refused", "upheld"):
        leads.post(to, {"state": state, "answer": "See the guideline."})
    made.refresh_from_db()
    assert (made.state, made.answer, made.answered_by) == ("refused", "See the guideline.", lead)
    assert list(ItemLabel.objects.order_by("pk").values()) == before
    assert Event.objects.get(kind="appeal_answered").by == lead
    assert "See the guideline." in client.get(f"{page}decisions/").text


def test_who_may_see_appeals(
    rater: Rater, items: list[Item], page: str, client_for: Callable[[User], Client]
) -> None:
    assert rater.user is not None
    assert client_for(rater.user).get(f"{page}appeals/").status_code == 403
    onlooker = User.objects.create_user("onlooker")
    Member.objects.create(project=rater.project, user=onlooker, role=Member.Role.VIEWER)
    assert client_for(onlooker).get(f"{page}appeals/").status_code == 403
    assert client_for(onlooker).get(f"{page}decisions/").status_code == 403


def test_nobody_contests_what_they_may_not_know(
    rater: Rater, items: list[Item], answered: Question
) -> None:
    with pytest.raises(appeals.InvalidAppeal):
        appeals.create_decision_appeal(rater=rater, question=answered, item=items[2], text="No.")


def test_what_is_contested_comes_to_be_decided_anew(
    rater: Rater,
    items: list[Item],
    page: str,
    answered: Question,
    lead: User,
    client_for: Callable[[User], Client],
) -> None:
    """Also by another adjudicator, to whom the item would come blind as a second opinion."""
    other = User.objects.create_user("other")
    Member.objects.create(project=rater.project, user=other, role=Member.Role.ADJUDICATOR)
    LabelRules.objects.update(second_share=1)
    client, queue = client_for(other), f"{page}adjudicate/?contested=1"
    assert client.get(queue).context["item"] is None
    for item in items[:2]:
        appeals.create_decision_appeal(
            rater=rater, question=answered, item=item, text="It breaks callers."
        )
    seen = client.get(queue)
    # the older decision first
    assert (seen.context["left"], seen.context["item"]) == (2, items[0])
    assert "It breaks callers." in seen.text
    assert "as 3.1 says" in seen.text  # the decision itself, not blind
    to = f"{page}adjudicate/{items[0].pk}/decide/?contested=1"
    after = client.post(to, {"code": "1", "reason": "he is right"}, follow=True)
    assert (after.context["left"], after.context["item"]) == (1, items[1])
    label = ItemLabel.objects.get(question=answered, item=items[0])
    assert (label.source, label.code) == ("decision", 1)
    # It waits for an answer all the same.
    assert Appeal.objects.filter(state="open").count() == 2
