"""Two adjudicators on one item: the second one decides blind, and no label changes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from projects.models import Item, Member, Question
from quality.consensus import recompute
from quality.models import Decision, ItemLabel, LabelRules, SecondOpinion
from quality.review import decisions, second_opinions
from tests.cast import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def made_once(answered_once: Cast) -> Cast:
    return answered_once


@pytest.fixture
def labelled(answered: Question) -> Question:
    recompute.recompute_question(answered.pk)
    LabelRules.objects.create(question=answered, second_share=1.0)
    return answered


@pytest.fixture
def other(labelled: Question) -> User:
    user = User.objects.create_user("other")
    role = Member.Role.ADJUDICATOR
    Member.objects.create(project=labelled.project, user=user, role=role)
    return user


def decided(question: Question, by: User, codes: dict[str, int]) -> None:
    for key, code in codes.items():
        decisions.create_decision(
            question=question, item=Item.objects.get(key=key), code=code, by=by
        )


def test_what_somebody_else_decided_comes_up_blind(
    labelled: Question, lead: User, other: User, client_for: Callable[[User], Client]
) -> None:
    decided(labelled, lead, {"i00": 1})
    item = Item.objects.get(key="i00")
    page = f"/projects/{labelled.project_id}/adjudicate/"
    seen = client_for(other).get(f"{page}?item=i00")
    assert seen.context["decisions"] == []
    assert seen.context["label"] is None
    assert seen.context["expected"] == {}
    assert client_for(lead).get(f"{page}?item=i00").context["decisions"]
    client_for(other).post(f"{page}{item.pk}/decide/", {"code": "2", "reason": "so"})
    made = SecondOpinion.objects.get()
    assert (made.item, made.code, made.reason, made.by) == (item, 2, "so", other)
    assert made.decision == Decision.objects.get()
    assert ItemLabel.objects.get(item=item).code == 1
    # Then it is open to them, and what they say next is a decision.
    assert client_for(other).get(f"{page}?item=i00").context["decisions"]
    assert isinstance(
        decisions.submit_answer(question=labelled, item=item, code=2, by=other),
        Decision,
    )


def test_second_opinions_are_among_what_an_adjudicator_gets(
    labelled: Question, lead: User, other: User
) -> None:
    decided(labelled, lead, {"i00": 1, "i01": 1, "i02": 1})
    got = []
    while (label := decisions.claim_next(question=labelled, by=other, doubt=0.3)) is not None:
        got.append(label.item.key)
        decisions.submit_answer(question=labelled, item=label.item, code=1, by=other)
    assert set(got) >= {"i00", "i01", "i02"}
    assert SecondOpinion.objects.count() == 3
    assert (
        second_opinions.find_next_label(question=labelled, by=lead) is not None
    )  # what the other one decided


def test_nobody_gives_a_second_opinion_on_their_own_decision(
    labelled: Question, lead: User, other: User
) -> None:
    decided(labelled, lead, {"i00": 1})
    item = Item.objects.get(key="i00")
    assert not second_opinions.is_second_opinion(question=labelled, item=item, by=lead)
    assert second_opinions.is_second_opinion(question=labelled, item=item, by=other)
    LabelRules.objects.update(second_share=0)
    assert not second_opinions.is_second_opinion(question=labelled, item=item, by=other)
    assert second_opinions.find_next_label(question=labelled, by=other) is None


def test_a_share_of_the_items_is_drawn(labelled: Question) -> None:
    drawn = sum(second_opinions._is_sampled(labelled, item, 0.2) for item in range(20_000))
    assert 3_600 < drawn < 4_400  # seven standard deviations on either side


def test_their_agreement_with_its_interval(labelled: Question, lead: User, other: User) -> None:
    assert second_opinions.compute_agreement(labelled).kappa is None
    firsts = {f"i{number:02}": number % 2 for number in range(12)}
    decided(labelled, lead, firsts)
    for key, code in firsts.items():
        said = 3 if key == "i03" else code
        decisions.submit_answer(
            question=labelled, item=Item.objects.get(key=key), code=said, by=other
        )
    found = second_opinions.compute_agreement(labelled)
    assert (found.n, found.same, found.differing_items) == (12, 11, ["i03"])
    assert found.kappa is not None
    assert 0.5 < found.kappa["low"] < found.kappa["value"] < 1


def test_a_second_opinion_that_cannot_be_changes_nothing(
    labelled: Question, lead: User, other: User
) -> None:
    decided(labelled, lead, {"i00": 1})
    item = Item.objects.get(key="i00")
    with pytest.raises(decisions.InvalidDecision):
        decisions.submit_answer(question=labelled, item=item, code=9, by=other)
    decisions.submit_answer(question=labelled, item=item, code=1, by=other)
    with pytest.raises(TypeError):
        SecondOpinion.objects.get().save()


def test_the_page_of_labels_says_how_far_they_agree(
    labelled: Question, lead: User, other: User, client_for: Callable[[User], Client]
) -> None:
    decided(labelled, lead, {"i00": 1, "i01": 2})
    for key in ("i00", "i01"):
        decisions.submit_answer(question=labelled, item=Item.objects.get(key=key), code=1, by=other)
    page = client_for(lead).get(f"/projects/{labelled.project_id}/labels/")
    assert "2 decided items were put before a second adjudicator" in " ".join(page.text.split())
    assert "item=i01" in page.text
