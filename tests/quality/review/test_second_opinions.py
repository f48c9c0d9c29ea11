"""Test second opinions: the second adjudicator decides blind, and no label changes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from projects.models import Item, Member, Question
from quality.consensus import recomputation
from quality.models import Decision, ItemLabel, LabelRules, SecondOpinion
from quality.review import decisions, second_opinions
from tests.cast import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def module_cast(rated_cast: Cast) -> Cast:
    return rated_cast


@pytest.fixture
def labelled_question(rated_question: Question) -> Question:
    recomputation.recompute_question(rated_question.pk)
    LabelRules.objects.create(question=rated_question, second_opinion_share=1.0)
    return rated_question


@pytest.fixture
def second_adjudicator(labelled_question: Question) -> User:
    user = User.objects.create_user("other")
    role = Member.Role.ADJUDICATOR
    Member.objects.create(project=labelled_question.project, user=user, role=role)
    return user


def decide_items(question: Question, by: User, codes: dict[str, int]) -> None:
    for key, code in codes.items():
        decisions.create_decision(
            question=question, item=Item.objects.get(key=key), code=code, by=by
        )


def test_second_opinion_is_given_blind(
    labelled_question: Question,
    lead: User,
    second_adjudicator: User,
    client_for: Callable[[User], Client],
) -> None:
    decide_items(labelled_question, lead, {"i00": 1})
    item = Item.objects.get(key="i00")
    page = f"/projects/{labelled_question.project_id}/review/"
    review_page = client_for(second_adjudicator).get(f"{page}?item=i00")
    assert review_page.context["decisions"] == []
    assert review_page.context["label"] is None
    assert review_page.context["expected"] == {}
    assert client_for(lead).get(f"{page}?item=i00").context["decisions"]
    client_for(second_adjudicator).post(f"{page}{item.pk}/decide/", {"code": "2", "reason": "so"})
    opinion = SecondOpinion.objects.get()
    assert (opinion.item, opinion.code, opinion.reason, opinion.by) == (
        item,
        2,
        "so",
        second_adjudicator,
    )
    assert opinion.decision == Decision.objects.get()
    assert ItemLabel.objects.get(item=item).code == 1
    # Afterwards they see the decision, and their next answer is a decision.
    assert client_for(second_adjudicator).get(f"{page}?item=i00").context["decisions"]
    assert isinstance(
        decisions.submit_answer(
            question=labelled_question, item=item, code=2, by=second_adjudicator
        ),
        Decision,
    )


def test_claimed_items_include_second_opinions(
    labelled_question: Question, lead: User, second_adjudicator: User
) -> None:
    decide_items(labelled_question, lead, {"i00": 1, "i01": 1, "i02": 1})
    item_keys = []
    while (
        label := decisions.claim_next_label(question=labelled_question, by=second_adjudicator)
    ) is not None:
        item_keys.append(label.item.key)
        decisions.submit_answer(
            question=labelled_question, item=label.item, code=1, by=second_adjudicator
        )
    assert set(item_keys) >= {"i00", "i01", "i02"}
    assert SecondOpinion.objects.count() == 3
    assert (
        second_opinions.find_label_for_second_opinion(question=labelled_question, by=lead)
        is not None
    )  # what the other one decided


def test_nobody_gives_a_second_opinion_on_their_own_decision(
    labelled_question: Question, lead: User, second_adjudicator: User
) -> None:
    decide_items(labelled_question, lead, {"i00": 1})
    item = Item.objects.get(key="i00")
    assert not second_opinions.is_second_opinion(question=labelled_question, item=item, by=lead)
    assert second_opinions.is_second_opinion(
        question=labelled_question, item=item, by=second_adjudicator
    )
    LabelRules.objects.update(second_opinion_share=0)
    assert not second_opinions.is_second_opinion(
        question=labelled_question, item=item, by=second_adjudicator
    )
    assert (
        second_opinions.find_label_for_second_opinion(
            question=labelled_question, by=second_adjudicator
        )
        is None
    )


def test_share_of_the_items_is_sampled(labelled_question: Question) -> None:
    n_sampled = sum(
        second_opinions._is_sampled(labelled_question, item, 0.2) for item in range(20_000)
    )
    assert 3_600 < n_sampled < 4_400  # seven standard deviations on either side


def test_agreement_of_adjudicators_has_an_interval(
    labelled_question: Question, lead: User, second_adjudicator: User
) -> None:
    assert second_opinions.compute_adjudicator_agreement(labelled_question).kappa is None
    first_codes = {f"i{number:02}": number % 2 for number in range(12)}
    decide_items(labelled_question, lead, first_codes)
    for key, code in first_codes.items():
        code_of_second = 3 if key == "i03" else code
        decisions.submit_answer(
            question=labelled_question,
            item=Item.objects.get(key=key),
            code=code_of_second,
            by=second_adjudicator,
        )
    result = second_opinions.compute_adjudicator_agreement(labelled_question)
    assert (result.n, result.same, result.differing_items) == (12, 11, ["i03"])
    assert result.kappa is not None
    # Quadratic weights: 4/9 of a disagreement of 0.0370 in 12, 0.1096 expected by chance.
    assert result.kappa["value"] == pytest.approx(0.66197, abs=1e-5)
    assert 0 < result.kappa["low"] < result.kappa["value"] < result.kappa["high"] < 1


def test_invalid_second_opinion_changes_nothing(
    labelled_question: Question, lead: User, second_adjudicator: User
) -> None:
    decide_items(labelled_question, lead, {"i00": 1})
    item = Item.objects.get(key="i00")
    with pytest.raises(decisions.InvalidDecision):
        decisions.submit_answer(
            question=labelled_question, item=item, code=9, by=second_adjudicator
        )
    decisions.submit_answer(question=labelled_question, item=item, code=1, by=second_adjudicator)
    with pytest.raises(TypeError):
        SecondOpinion.objects.get().save()


def test_label_page_shows_agreement_of_adjudicators(
    labelled_question: Question,
    lead: User,
    second_adjudicator: User,
    client_for: Callable[[User], Client],
) -> None:
    decide_items(labelled_question, lead, {"i00": 1, "i01": 2})
    for key in ("i00", "i01"):
        decisions.submit_answer(
            question=labelled_question,
            item=Item.objects.get(key=key),
            code=1,
            by=second_adjudicator,
        )
    page = client_for(lead).get(f"/projects/{labelled_question.project_id}/labels/")
    assert "of 2 decisions" in " ".join(page.text.split())
    assert "item=i01" in page.text
