"""Test the settings for uncertain labels and their effect on the pages."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from projects.models import Member, Question, Rater
from quality.consensus import recomputation
from quality.models import Escalation, ItemLabel, LabelRules
from quality.review import rating_requests
from tests.cast import Cast

pytestmark = pytest.mark.django_db

RULE = {
    "request_ratings": "on",
    "certain_from": "0.95",
    "max_ratings": "6",
    "budget": "4",
    "second_opinion_share": "0",
    "show_after_days": "7",
}


@pytest.fixture(scope="module")
def module_cast(rated_cast: Cast) -> Cast:
    return rated_cast


@pytest.fixture
def base_url(rated_question: Question) -> str:
    """Base URL of a project whose items have four ratings at most, three of them planned."""
    recomputation.recompute_question(rated_question.pk)
    return f"/projects/{rated_question.project_id}/"


@pytest.fixture
def client(client_for: Callable[[User], Client], lead: User) -> Client:
    return client_for(lead)


def test_lead_enables_escalation_and_sees_its_use(
    client: Client, base_url: str, rated_question: Question
) -> None:
    for name in ("one", "two"):
        user = User.objects.create_user(name)
        Member.objects.create(project=rated_question.project, user=user, role=Member.Role.ANNOTATOR)
        Rater.objects.create(project=rated_question.project, key=name, user=user)
    assert ">Off<" not in client.get(f"{base_url}labels/").text
    assert client.post(f"{base_url}labels/rules/", RULE).status_code == 302
    rules = LabelRules.objects.get()
    assert (rules.request_ratings, rules.certain_from, rules.max_ratings, rules.budget) == (
        True,
        0.95,
        6,
        4,
    )
    before = client.get(f"{base_url}review/").context["n_remaining"]
    rating_requests.sweep_rating_requests()
    waiting_escalations = Escalation.objects.filter(state="requested")
    assert waiting_escalations.count() == 4
    for address in ("labels/rules/", "labels/"):
        assert "4 of 4 extra ratings requested." in " ".join(
            client.get(base_url + address).text.split()
        )
    review_page = client.get(f"{base_url}review/")
    assert review_page.context["n_remaining"] == before - 4
    escalation_to_decide = Escalation.objects.filter(state="review").first()
    assert escalation_to_decide is not None
    review_page = client.get(f"{base_url}review/?item={escalation_to_decide.item.key}")
    assert "budget used up" in review_page.text


def test_invalid_rule_shows_the_error(client: Client, base_url: str) -> None:
    response = client.post(f"{base_url}labels/rules/", RULE | {"max_ratings": "3"})
    assert response.status_code == 400
    assert "Must exceed the 3 planned ratings per item." in response.text
    assert not LabelRules.objects.exists()


@pytest.mark.parametrize("role", ["annotator", "viewer", "adjudicator"])
def test_only_leads_change_the_rules(
    client_for: Callable[[User], Client], base_url: str, rated_question: Question, role: str
) -> None:
    user = User.objects.create_user("other")
    Member.objects.create(project=rated_question.project, user=user, role=role)
    assert client_for(user).post(f"{base_url}labels/rules/", RULE).status_code == 403
    assert not LabelRules.objects.exists()


def test_label_list_shows_requested_ratings(
    client: Client, base_url: str, rated_question: Question
) -> None:
    label = ItemLabel.objects.order_by("item_id").first()
    assert label is not None
    Escalation.objects.create(
        question=rated_question,
        item=label.item,
        state="requested",
        n_requested=2,
        changed_at=label.computed_at,
    )
    rows = client.get(f"{base_url}labels/").context["rows"]
    assert [row["escalation"].n_requested for row in rows if row["escalation"]] == [2]
