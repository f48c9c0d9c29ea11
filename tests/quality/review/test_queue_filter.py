"""An adjudicator chooses which items in doubt come, and a lead makes something of a decision."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from projects.models import GoldAnswer, Item, Question, Rater
from quality.consensus import recompute
from quality.models import Escalation, ItemLabel
from quality.review.queue_filter import ReviewFilter
from ratings.models import Assignment
from tests.cast import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def made_once(answered_once: Cast) -> Cast:
    return answered_once


@pytest.fixture
def page(answered: Question) -> str:
    recompute.recompute_question(answered.pk)
    return f"/projects/{answered.project_id}/adjudicate/"


@pytest.fixture
def client(client_for: Callable[[User], Client], lead: User) -> Client:
    return client_for(lead)


def doubtful() -> list[Item]:
    rows = ItemLabel.objects.filter(n_ratings__gte=2, doubt__gt=0.05).order_by("-doubt", "item_id")
    return [row.item for row in rows.select_related("item")]


def test_by_attribute_flag_disagreement_and_certainty(
    client: Client, page: str, answered: Question
) -> None:
    items = doubtful()
    Item.objects.filter(pk=items[3].pk).update(attributes={"lang": "de"})
    ann = Rater.objects.get(project=answered.project, key="ann")
    Assignment.objects.create(
        item=items[4],
        rater=ann,
        state="done",
        flagged=True,
        leased_until=timezone.now(),
        closed_at=timezone.now(),
    )
    Escalation.objects.create(
        question=answered, item=items[5], state="decide", why="most", changed_at=timezone.now()
    )
    for query, place in (("item.lang=de", 3), ("flagged=1", 4), ("escalated=1", 5)):
        seen = client.get(f"{page}?{query}")
        assert (seen.context["left"], seen.context["item"]) == (1, items[place])
    differ = [item for item in items if len({one.code for one in item.ratings.all()}) > 1]
    assert client.get(f"{page}?split=1").context["left"] == len(differ)
    less = ItemLabel.objects.filter(item__in=items, doubt__gt=0.4).count()
    assert client.get(f"{page}?less_sure=0.6").context["left"] == less
    none = client.get(f"{page}?item.lang=fr")
    assert (none.context["left"], none.context["item"]) == (0, None)


def test_what_was_chosen_stays_chosen_while_deciding(client: Client, page: str) -> None:
    first = client.get(f"{page}?split=1&less_sure=0.8")
    item = first.context["item"]
    address = f"{page}{item.pk}/decide/?{first.context['query']}"
    assert address in first.text.replace("&amp;", "&")
    answer = client.post(address, {"code": "1"})
    asked = parse_qs(urlsplit(answer["Location"]).query)
    assert (asked["split"], asked["less_sure"], asked["last"]) == (["1"], ["0.8"], [str(item.pk)])


def test_what_is_not_known_is_passed_over() -> None:
    from metrics.filters import NO_FILTER

    found = ReviewFilter.from_query({"flagged": "yes", "less_sure": "2", "split": ""}, NO_FILTER)
    assert found == ReviewFilter()
    assert found.parameters == {}


def test_a_decision_becomes_gold_or_an_example_by_one_click(
    client: Client, page: str, answered: Question
) -> None:
    item = client.get(page).context["item"]
    then = client.post(
        f"{page}{item.pk}/decide/", {"code": "2", "reason": "see *3.1*"}, follow=True
    )
    label = answered.categories.get(code=2).label
    assert f"Item {item.key} is" in " ".join(then.text.split())
    assert then.context["last"]["label"] == label
    client.post(f"{page}{item.pk}/gold/")
    assert GoldAnswer.objects.get().item == item
    client.post(f"{page}{item.pk}/example/")
    answered.project.refresh_from_db()
    said = answered.project.guidelines
    assert said.endswith(f"**{label}**\n\n> {item.body['text']}\n\nsee *3.1*\n")
    assert answered.project.guidelines_version >= 1
    other = Item.objects.exclude(pk=item.pk).first()
    assert other is not None
    assert client.post(f"{page}{other.pk}/example/").status_code == 404
