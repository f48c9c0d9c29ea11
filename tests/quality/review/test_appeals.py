"""Test that raters see decisions on their items, when allowed, and may appeal once."""

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
from projects.services.gold import set_gold_answer
from quality.models import Appeal, ItemLabel, LabelRules
from quality.review import appeals, decisions
from ratings.models import Rating
from tests.cast import LABELS, Cast

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def module_cast(rated_cast: Cast) -> Cast:
    return rated_cast


@pytest.fixture
def items(rater: Rater, rated_question: Question, lead: User) -> list[Item]:
    """Three items of ben, decided ten, nine and one days ago; another decided item is not ben's."""
    own_items = list(Item.objects.filter(ratings__rater=rater).order_by("key")[:3])
    other_item = Item.objects.exclude(ratings__rater=rater).first()
    assert other_item is not None
    for item, days in zip([*own_items, other_item], (10, 9, 1, 10), strict=True):
        with time_machine.travel(timezone.now() - datetime.timedelta(days=days), tick=False):
            decisions.create_decision(
                question=rated_question, item=item, code=2, reason="as 3.1 says", by=lead
            )
    return own_items


@pytest.fixture
def base_url(rated_question: Question) -> str:
    return f"/projects/{rated_question.project_id}/"


def list_shown_decisions(client: Client, base_url: str) -> list[str]:
    rows = client.get(f"{base_url}decisions/").context["rows"]
    return [row["entry"].decision.item.key for row in rows]


def test_rater_sees_old_decisions_on_own_items(
    rater: Rater, items: list[Item], base_url: str, client_for: Callable[[User], Client]
) -> None:
    assert rater.user is not None
    client = client_for(rater.user)
    assert list_shown_decisions(client, base_url) == [items[1].key, items[0].key]
    text = client.get(f"{base_url}decisions/").text
    assert "as 3.1 says" in text
    for secret in ("cleo", "lead", items[2].key):
        assert f">{secret}<" not in text
    LabelRules.objects.update(show_to_raters=False)
    assert list_shown_decisions(client, base_url) == []


def test_gold_and_undone_decisions_are_not_shown(
    rater: Rater,
    items: list[Item],
    base_url: str,
    rated_question: Question,
    lead: User,
    client_for: Callable[[User], Client],
) -> None:
    assert rater.user is not None
    set_gold_answer(item=items[0], question=rated_question, answer=[2], by=lead)
    decisions.create_decision(question=rated_question, item=items[1], code=None, by=lead)
    client = client_for(rater.user)
    assert list_shown_decisions(client, base_url) == []
    response = client.post(
        f"{base_url}decisions/{items[0].pk}/", {"question": rated_question.key, "text": "no"}
    )
    assert response.status_code == 404
    assert not Appeal.objects.exists()


def test_an_appeal_is_made_once_and_answered_once(
    rater: Rater,
    items: list[Item],
    base_url: str,
    rated_question: Question,
    lead: User,
    client_for: Callable[[User], Client],
) -> None:
    assert rater.user is not None
    client, lead_client = client_for(rater.user), client_for(lead)
    address = f"{base_url}decisions/{items[0].pk}/"
    for text in ("", "x" * 2001, "It breaks callers.", "Again."):
        client.post(address, {"question": rated_question.key, "text": text})
    appeal = Appeal.objects.get()
    assert (appeal.item, appeal.rater, appeal.text) == (items[0], rater, "It breaks callers.")
    assert "1 open appeal" in lead_client.get(f"{base_url}labels/").text
    assert "It breaks callers." in lead_client.get(f"{base_url}appeals/").text
    before = list(ItemLabel.objects.order_by("pk").values())
    url = f"{base_url}appeals/{appeal.pk}/"
    for state in ("odd", "refused", "upheld"):
        lead_client.post(url, {"state": state, "answer": "See the guideline."})
    appeal.refresh_from_db()
    assert (appeal.state, appeal.answer, appeal.answered_by) == (
        "refused",
        "See the guideline.",
        lead,
    )
    assert list(ItemLabel.objects.order_by("pk").values()) == before
    assert Event.objects.get(kind="appeal.answered").by == lead
    assert "See the guideline." in client.get(f"{base_url}decisions/").text
    # An accepted appeal leads to the item, which is decided again.
    Appeal.objects.update(state="open", answered_at=None)
    page = lead_client.post(url, {"state": "upheld", "answer": ""}, follow=True)
    assert page.redirect_chain[0][0].startswith(f"{base_url}review/?question=")
    assert "The label is unchanged: decide again." in page.text
    assert page.context["item"] == items[0]


def test_appeal_is_shown_with_the_item_and_all_answers(
    rater: Rater,
    items: list[Item],
    base_url: str,
    rated_question: Question,
    lead: User,
    client_for: Callable[[User], Client],
) -> None:
    """The others' answers are counts, without names."""
    Item.objects.filter(pk=items[0].pk).update(body={"text": "It breaks callers."})
    appeals.create_decision_appeal(rater=rater, question=rated_question, item=items[0], text="No.")
    (card,) = client_for(lead).get(f"{base_url}appeals/").context["cards"]
    ratings = Rating.objects.current().filter(item=items[0])
    others = [LABELS[row.code] for row in ratings.exclude(rater=rater)]
    assert card.own == LABELS[ratings.get(rater=rater).code]
    assert sorted(label for label, n in card.others for _time in range(n)) == sorted(others)
    assert card.decided == LABELS[2]
    page = client_for(lead).get(f"{base_url}appeals/").text
    assert "It breaks callers." in page and f"<strong>{card.own}</strong>" in page
    names = set(ratings.exclude(rater=rater).values_list("rater__key", flat=True))
    assert not any(f">{name}<" in page for name in names)


def test_item_page_shows_decision_and_appeal(
    rater: Rater, items: list[Item], base_url: str, lead: User, client_for: Callable[[User], Client]
) -> None:
    question = rater.project.questions.get()
    appeals.create_decision_appeal(rater=rater, question=question, item=items[0], text="Too low.")
    address = f"{base_url}items/{items[0].key}/"
    page = client_for(lead).get(address).text
    assert f"Final label: <strong>{LABELS[2]}</strong>" in page
    assert "as 3.1 says" in page and "Too low." in page
    assert f"{base_url}review/?question={question.key}&amp;item={items[0].key}" in page
    viewer = User.objects.create_user("onlooker")
    Member.objects.create(project=rater.project, user=viewer, role=Member.Role.VIEWER)
    page = client_for(viewer).get(address).text
    assert "as 3.1 says" in page
    assert "Too low." not in page and f"{base_url}review/" not in page.split("<main")[1]


def test_item_page_hides_decision_from_second_adjudicator(
    rater: Rater, items: list[Item], base_url: str, client_for: Callable[[User], Client]
) -> None:
    LabelRules.objects.update(second_opinion_share=1)
    other = User.objects.create_user("other")
    Member.objects.create(project=rater.project, user=other, role=Member.Role.ADJUDICATOR)
    page = client_for(other).get(f"{base_url}items/{items[0].key}/").text
    assert "Final label" not in page and "as 3.1 says" not in page


def test_raters_who_gave_the_decided_answer_are_offered_no_appeal(
    rater: Rater, items: list[Item], base_url: str, client_for: Callable[[User], Client]
) -> None:
    assert rater.user is not None
    for item, code in ((items[0], 2), (items[1], 1)):
        Rating.objects.filter(rater=rater, item=item).update(code=code)
    page = client_for(rater.user).get(f"{base_url}decisions/").text
    assert f'action="{base_url}decisions/{items[0].pk}/"' not in page
    assert f'action="{base_url}decisions/{items[1].pk}/"' in page


def test_permissions_of_appeals(
    rater: Rater, items: list[Item], base_url: str, client_for: Callable[[User], Client]
) -> None:
    assert rater.user is not None
    assert client_for(rater.user).get(f"{base_url}appeals/").status_code == 403
    onlooker = User.objects.create_user("onlooker")
    Member.objects.create(project=rater.project, user=onlooker, role=Member.Role.VIEWER)
    assert client_for(onlooker).get(f"{base_url}appeals/").status_code == 403
    assert client_for(onlooker).get(f"{base_url}decisions/").status_code == 403


def test_decision_not_shown_cannot_be_appealed(
    rater: Rater, items: list[Item], rated_question: Question
) -> None:
    with pytest.raises(appeals.InvalidAppeal):
        appeals.create_decision_appeal(
            rater=rater, question=rated_question, item=items[2], text="No."
        )


def test_appealed_items_come_to_review_again(
    rater: Rater,
    items: list[Item],
    base_url: str,
    rated_question: Question,
    lead: User,
    client_for: Callable[[User], Client],
) -> None:
    """Also to another adjudicator, who would otherwise get the item blind as a second opinion."""
    adjudicator = User.objects.create_user("other")
    Member.objects.create(project=rater.project, user=adjudicator, role=Member.Role.ADJUDICATOR)
    LabelRules.objects.update(second_opinion_share=1)
    client, queue_url = client_for(adjudicator), f"{base_url}review/?contested=1"
    assert client.get(queue_url).context["item"] is None
    for item in items[:2]:
        appeals.create_decision_appeal(
            rater=rater, question=rated_question, item=item, text="It breaks callers."
        )
    review_page = client.get(queue_url)
    # the older decision first
    assert (review_page.context["n_remaining"], review_page.context["item"]) == (2, items[0])
    assert "It breaks callers." in review_page.text
    assert "as 3.1 says" in review_page.text  # the decision itself, not blind
    url = f"{base_url}review/{items[0].pk}/decide/?contested=1"
    next_page = client.post(url, {"code": "1", "reason": "he is right"}, follow=True)
    assert (next_page.context["n_remaining"], next_page.context["item"]) == (1, items[1])
    label = ItemLabel.objects.get(question=rated_question, item=items[0])
    assert (label.source, label.code) == ("decision", 1)
    # The appeal still needs an answer.
    assert Appeal.objects.filter(state="open").count() == 2


def test_item_page_says_that_a_label_is_a_median(
    rater: Rater, items: list[Item], base_url: str, lead: User, client_for: Callable[[User], Client]
) -> None:
    """The label of an ordered scale may be less probable than another category."""
    address = f"{base_url}items/{items[1].key}/"
    label = ItemLabel.objects.filter(item=items[1])
    label.update(source="consensus", code=1, confidence=0.3, distribution=[0.22, 0.3, 0.48])
    assert "median" in client_for(lead).get(address).text
    label.update(confidence=0.6, distribution=[0.1, 0.6, 0.3])
    assert "median" not in client_for(lead).get(address).text


def test_accepted_appeal_waits_until_the_item_is_decided_again(
    rater: Rater,
    items: list[Item],
    base_url: str,
    rated_question: Question,
    lead: User,
    client_for: Callable[[User], Client],
) -> None:
    """Regression: once it was accepted, nothing reminded the lead to decide again."""
    appeal = appeals.create_decision_appeal(
        rater=rater, question=rated_question, item=items[0], text="It breaks callers."
    )
    client = client_for(lead)
    client.post(f"{base_url}appeals/{appeal.pk}/", {"state": "upheld", "answer": ""})
    assert "1 open appeal" in client.get("/inbox/").text
    assert "Review again" in client.get(f"{base_url}appeals/").text
    decisions.create_decision(question=rated_question, item=items[0], code=1, by=lead)
    assert "1 open appeal" not in client.get("/inbox/").text
    assert "Review again" not in client.get(f"{base_url}appeals/").text


def test_appeals_that_are_off_lead_to_their_setting(
    rated_question: Question, base_url: str, lead: User, client_for: Callable[[User], Client]
) -> None:
    LabelRules.objects.filter(question=rated_question).update(show_to_raters=False)
    text = client_for(lead).get(f"{base_url}appeals/").text
    link = f'href="{base_url}labels/rules/">Show raters decisions on their items</a>'
    assert "No appeals" in text and link in text
    LabelRules.objects.update_or_create(question=rated_question, defaults={"show_to_raters": True})
    assert link not in client_for(lead).get(f"{base_url}appeals/").text
