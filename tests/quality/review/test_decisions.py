"""Test that a decision is the final label, keeps its history, and respects claims of others."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from projects.models import Item, Project, Question
from quality.consensus import recomputation
from quality.inbox.entry_counts import count_uncertain_items
from quality.models import Decision, ItemLabel, LabelRules, ReviewAssignment, ReviewClaim
from quality.review import decisions, views
from quality.review.label_rules import set_label_rules
from ratings.models import Rating

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def labelled_question(rated_question: Question) -> Question:
    recomputation.recompute_question(rated_question.pk)
    return rated_question


def test_decision_overrides_ratings_and_keeps_its_history(
    labelled_question: Question, lead: User
) -> None:
    item = Item.objects.get(key="i00")
    before = list(Rating.objects.order_by("pk").values())
    decisions.create_decision(
        question=labelled_question, item=item, code=3, reason="clear", by=lead
    )
    decisions.create_decision(question=labelled_question, item=item, code=2, by=lead)
    label = ItemLabel.objects.get(item=item)
    assert (label.code, label.source, label.confidence) == (2, "decision", 1.0)
    assert label.distribution == [0, 0, 1, 0]
    recomputation.recompute_question(labelled_question.pk, at_once=True)
    assert ItemLabel.objects.get(item=item).code == 2
    history = Decision.objects.filter(item=item)
    assert [(decision.number, decision.code, decision.reason) for decision in history] == [
        (1, 3, "clear"),
        (2, 2, ""),
    ]
    assert list(Rating.objects.order_by("pk").values()) == before
    decisions.create_decision(question=labelled_question, item=item, code=None, by=lead)
    recomputation.recompute_question(labelled_question.pk, at_once=True)
    assert ItemLabel.objects.get(item=item).source == "consensus"


def test_decision_changes_rater_accuracy(labelled_question: Question, lead: User) -> None:
    """The item's true category is fixed: a rater who answered otherwise is less accurate now."""
    from quality.models import RaterConfusion

    item = Item.objects.filter(ratings__rater__key="ann").first()
    assert item is not None
    code = Rating.objects.get(item=item, rater__key="ann").code
    before = RaterConfusion.objects.get(rater__key="ann").accuracy
    decisions.create_decision(question=labelled_question, item=item, code=(code + 2) % 4, by=lead)
    recomputation.recompute_question(labelled_question.pk, at_once=True)
    assert RaterConfusion.objects.get(rater__key="ann").accuracy < before


def test_invalid_decision_changes_nothing(labelled_question: Question, lead: User) -> None:
    item = Item.objects.get(key="i00")
    before = list(ItemLabel.objects.order_by("pk").values())
    for field, code, reason in (("label", 9, ""), ("label", None, ""), ("reason", 1, "x" * 4001)):
        with pytest.raises(decisions.InvalidDecision) as error_info:
            decisions.create_decision(
                question=labelled_question, item=item, code=code, reason=reason, by=lead
            )
        assert error_info.value.field == field
    assert not Decision.objects.exists()
    assert list(ItemLabel.objects.order_by("pk").values()) == before


def test_two_adjudicators_get_the_two_most_uncertain_items(
    labelled_question: Question, lead: User, admin: User
) -> None:
    lead_label = decisions.claim_next_label(question=labelled_question, by=lead)
    admin_label = decisions.claim_next_label(question=labelled_question, by=admin)
    assert lead_label is not None
    assert admin_label is not None
    item_ids = list(decisions.get_review_queue(labelled_question).values_list("item_id", flat=True))
    assert [lead_label.item_id, admin_label.item_id] == item_ids[:2]
    claimed_again = decisions.claim_next_label(question=labelled_question, by=lead)
    assert claimed_again == lead_label
    with pytest.raises(decisions.ItemClaimed):
        decisions.create_decision(
            question=labelled_question, item=lead_label.item, code=1, by=admin
        )
    decisions.create_decision(question=labelled_question, item=lead_label.item, code=1, by=lead)
    assert not ReviewClaim.objects.filter(item=lead_label.item).exists()


def test_claim_expires_and_passing_gives_another_item(
    labelled_question: Question, lead: User, admin: User
) -> None:
    first_label = decisions.claim_next_label(question=labelled_question, by=lead)
    assert first_label is not None
    decisions.claim_item(question=labelled_question, item=first_label.item, by=lead, postponed=True)
    second_label = decisions.claim_next_label(question=labelled_question, by=lead)
    assert second_label is not None
    assert second_label.item != first_label.item
    ReviewClaim.objects.update(expires_at=timezone.now() - datetime.timedelta(seconds=1))
    assert decisions.claim_next_label(question=labelled_question, by=admin) == first_label


def test_no_item_to_claim_without_uncertain_labels(labelled_question: Question, lead: User) -> None:
    ItemLabel.objects.update(doubt=0.09)
    assert decisions.claim_next_label(question=labelled_question, by=lead) is None


def test_confidence_threshold_of_the_question_limits_the_queue_and_the_inbox(
    labelled_question: Question, lead: User
) -> None:
    numbers = []
    for certain_from in (0.5, None, 0.999):
        if certain_from is not None:
            set_label_rules(question=labelled_question, by=lead, certain_from=certain_from)
        else:
            LabelRules.objects.all().delete()  # the default, 0.9
        limit = 1 - (certain_from or 0.9)
        n_expected = ItemLabel.objects.filter(n_ratings__gte=2, doubt__gt=limit).count()
        assert decisions.get_review_queue(labelled_question).count() == n_expected
        assert count_uncertain_items(labelled_question.project, 1000) == n_expected
        numbers.append(n_expected)
    assert numbers[0] < numbers[1] < numbers[2]


def test_saved_decision_cannot_be_changed_or_deleted(
    labelled_question: Question, lead: User
) -> None:
    decision = decisions.create_decision(
        question=labelled_question, item=Item.objects.get(key="i00"), code=1, by=lead
    )
    with pytest.raises(TypeError):
        decision.save()
    with pytest.raises(TypeError):
        decision.delete()


def test_viewing_names_is_recorded(labelled_question: Question, lead: User) -> None:
    item: Any = Item.objects.get(key="i00")
    assert not decisions.has_seen_names(question=labelled_question, item=item, by=lead)
    decisions.record_names_seen(question=labelled_question, item=item, by=lead)
    decisions.record_names_seen(question=labelled_question, item=item, by=lead)
    assert decisions.has_seen_names(question=labelled_question, item=item, by=lead)


def test_items_sent_to_review_come_first(
    labelled_question: Question, lead: User, client_for: Any
) -> None:
    doubtful = decisions.get_review_queue(labelled_question)
    certain_label = (
        ItemLabel.objects.filter(question=labelled_question).order_by("doubt", "item_id").first()
    )
    assert certain_label is not None
    assert not doubtful.filter(pk=certain_label.pk).exists()
    unrated = Item.objects.create(project=labelled_question.project, key="unrated")
    form_data = {
        "item": [certain_label.item_id, unrated.pk],
        "action": "decide",
        "question": labelled_question.key,
    }
    page = f"/projects/{labelled_question.project_id}/selected-items/"
    response = client_for(lead).post(page, form_data, follow=True)
    messages = [str(message) for message in response.context["messages"]]
    assert messages[0].startswith("1 item sent to review")
    assert messages[1].startswith("Left out:")
    assert ReviewAssignment.objects.get().item_id == certain_label.item_id
    first_label = decisions.claim_next_label(question=labelled_question, by=lead)
    assert first_label is not None
    assert first_label.item_id == certain_label.item_id
    decisions.create_decision(question=labelled_question, item=certain_label.item, code=1, by=lead)
    assert not ReviewAssignment.objects.exists()
    assert (
        views.assign_for_review(
            question=labelled_question, item_ids=[certain_label.item_id], by=lead
        )
        == 0
    )  # decided
    next_label = decisions.get_review_queue(labelled_question).first()
    assert next_label is not None
    assert next_label.item_id != certain_label.item_id


def test_archived_project_takes_no_decision(
    labelled_question: Question, lead: User, api_for: Any, client_for: Any
) -> None:
    item = Item.objects.get(key="i00")
    decisions.create_decision(question=labelled_question, item=item, code=1, by=lead)
    Project.objects.update(archived_at=timezone.now())
    address = f"/api/v1/projects/{labelled_question.project_id}/labels/"
    for label in ("minor", None):
        response = api_for(lead).post(address, {"item": "i00", "label": label}, format="json")
        assert response.status_code == 400
        assert "archived" in response.json()["error"]["fields"]["item"]
    with pytest.raises(decisions.InvalidDecision):
        decisions.submit_answer(question=labelled_question, item=item, code=2, by=lead)
    assert Decision.objects.count() == 1
