"""A decision is the final label, keeps its history, and nobody decides what somebody else holds."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from projects.models import Item, Question
from quality.consensus import recompute
from quality.models import Claim, Decision, ItemLabel, Sent
from quality.review import assignments, decisions
from ratings.models import Rating

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def labelled(answered: Question) -> Question:
    recompute.recompute_question(answered.pk)
    return answered


def test_a_decision_stands_above_the_ratings_and_is_revised_with_history(
    labelled: Question, lead: User
) -> None:
    item = Item.objects.get(key="i00")
    before = list(Rating.objects.order_by("pk").values())
    decisions.create_decision(question=labelled, item=item, code=3, reason="clear", by=lead)
    decisions.create_decision(question=labelled, item=item, code=2, by=lead)
    label = ItemLabel.objects.get(item=item)
    assert (label.code, label.source, label.confidence) == (2, "decision", 1.0)
    assert label.shares == [0, 0, 1, 0]
    recompute.recompute_question(labelled.pk, at_once=True)
    assert ItemLabel.objects.get(item=item).code == 2
    history = Decision.objects.filter(item=item)
    assert [(one.number, one.code, one.reason) for one in history] == [(1, 3, "clear"), (2, 2, "")]
    assert list(Rating.objects.order_by("pk").values()) == before
    decisions.create_decision(question=labelled, item=item, code=None, by=lead)
    recompute.recompute_question(labelled.pk, at_once=True)
    assert ItemLabel.objects.get(item=item).source == "consensus"


def test_what_is_decided_teaches_the_consensus(labelled: Question, lead: User) -> None:
    """The item's truth is fixed: who said otherwise is less right than before."""
    from quality.models import RaterConfusion

    item = Item.objects.filter(ratings__rater__key="ann").first()
    assert item is not None
    said = Rating.objects.get(item=item, rater__key="ann").code
    before = RaterConfusion.objects.get(rater__key="ann").accuracy
    decisions.create_decision(question=labelled, item=item, code=(said + 2) % 4, by=lead)
    recompute.recompute_question(labelled.pk, at_once=True)
    assert RaterConfusion.objects.get(rater__key="ann").accuracy < before


def test_a_decision_that_cannot_be_changes_nothing(labelled: Question, lead: User) -> None:
    item = Item.objects.get(key="i00")
    before = list(ItemLabel.objects.order_by("pk").values())
    for field, code, reason in (("label", 9, ""), ("label", None, ""), ("reason", 1, "x" * 4001)):
        with pytest.raises(decisions.InvalidDecision) as refused:
            decisions.create_decision(
                question=labelled, item=item, code=code, reason=reason, by=lead
            )
        assert refused.value.field == field
    assert not Decision.objects.exists()
    assert list(ItemLabel.objects.order_by("pk").values()) == before


def test_two_adjudicators_get_two_items_and_the_most_doubtful_first(
    labelled: Question, lead: User, admin: User
) -> None:
    one = decisions.claim_next(question=labelled, by=lead, doubt=0.05)
    other = decisions.claim_next(question=labelled, by=admin, doubt=0.05)
    assert one is not None
    assert other is not None
    doubts = list(
        decisions.get_review_queue(labelled, doubt=0.05).values_list("item_id", flat=True)
    )
    assert [one.item_id, other.item_id] == doubts[:2]
    again = decisions.claim_next(question=labelled, by=lead, doubt=0.05)
    assert again == one
    with pytest.raises(decisions.ItemClaimed):
        decisions.create_decision(question=labelled, item=one.item, code=1, by=admin)
    decisions.create_decision(question=labelled, item=one.item, code=1, by=lead)
    assert not Claim.objects.filter(item=one.item).exists()


def test_a_claim_ends_by_itself_and_passing_brings_another_item(
    labelled: Question, lead: User, admin: User
) -> None:
    one = decisions.claim_next(question=labelled, by=lead, doubt=0.05)
    assert one is not None
    decisions.claim_item(question=labelled, item=one.item, by=lead, passed=True)
    other = decisions.claim_next(question=labelled, by=lead, doubt=0.05)
    assert other is not None
    assert other.item != one.item
    Claim.objects.update(until=timezone.now() - datetime.timedelta(seconds=1))
    assert decisions.claim_next(question=labelled, by=admin, doubt=0.05) == one


def test_nothing_in_doubt_is_no_item(labelled: Question, lead: User) -> None:
    assert decisions.claim_next(question=labelled, by=lead, doubt=1.0) is None


def test_a_decision_is_written_once(labelled: Question, lead: User) -> None:
    made = decisions.create_decision(
        question=labelled, item=Item.objects.get(key="i00"), code=1, by=lead
    )
    with pytest.raises(TypeError):
        made.save()
    with pytest.raises(TypeError):
        made.delete()


def test_who_looked_at_names_is_written_down_once(labelled: Question, lead: User) -> None:
    item: Any = Item.objects.get(key="i00")
    assert not decisions.has_seen_names(question=labelled, item=item, by=lead)
    decisions.record_names_seen(question=labelled, item=item, by=lead)
    decisions.record_names_seen(question=labelled, item=item, by=lead)
    assert decisions.has_seen_names(question=labelled, item=item, by=lead)


def test_what_a_lead_sends_is_decided_first_whatever_its_doubt(
    labelled: Question, lead: User, client_for: Any
) -> None:
    doubtful = decisions.get_review_queue(labelled, doubt=0.05)
    sure = ItemLabel.objects.filter(question=labelled).order_by("doubt", "item_id").first()
    assert sure is not None
    assert not doubtful.filter(pk=sure.pk).exists()
    unrated = Item.objects.create(project=labelled.project, key="unrated")
    sent = {"item": [sure.item_id, unrated.pk], "do": "decide", "question": labelled.key}
    page = f"/projects/{labelled.project_id}/chosen-items/"
    answer = client_for(lead).post(page, sent, follow=True)
    said = [str(one) for one in answer.context["messages"]]
    assert said[0].startswith("1 item comes first")
    assert said[1].startswith("Left out")
    assert Sent.objects.get().item_id == sure.item_id
    first = decisions.claim_next(question=labelled, by=lead, doubt=0.05)
    assert first is not None
    assert first.item_id == sure.item_id
    decisions.create_decision(question=labelled, item=sure.item, code=1, by=lead)
    assert not Sent.objects.exists()
    assert (
        assignments.assign_for_review(question=labelled, item_ids=[sure.item_id], by=lead) == 0
    )  # decided
    again = decisions.get_review_queue(labelled, doubt=0.05).first()
    assert again is not None
    assert again.item_id != sure.item_id
