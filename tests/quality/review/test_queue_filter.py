"""Test the filter of the review queue, and turning a decision into gold or an example."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from projects.models import GoldAnswer, Item, Question, Rater
from quality.consensus import recomputation
from quality.models import Escalation, ItemLabel, ReviewAssignment
from quality.review.queue_filter import ReviewFilter
from ratings.models import Assignment
from tests.cast import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def module_cast(rated_cast: Cast) -> Cast:
    return rated_cast


@pytest.fixture
def review_url(rated_question: Question) -> str:
    recomputation.recompute_question(rated_question.pk)
    return f"/projects/{rated_question.project_id}/review/"


@pytest.fixture
def client(client_for: Callable[[User], Client], lead: User) -> Client:
    return client_for(lead)


def list_uncertain_items() -> list[Item]:
    rows = ItemLabel.objects.filter(n_ratings__gte=2, doubt__gt=0.1).order_by("-doubt", "item_id")
    return [row.item for row in rows.select_related("item")]


def test_queue_is_filtered_by_attribute_flag_and_confidence(
    client: Client, review_url: str, rated_question: Question
) -> None:
    items = list_uncertain_items()
    Item.objects.filter(pk=items[3].pk).update(attributes={"lang": "de"})
    ann = Rater.objects.get(project=rated_question.project, key="ann")
    Assignment.objects.create(
        item=items[4],
        rater=ann,
        state="done",
        flagged=True,
        leased_until=timezone.now(),
        closed_at=timezone.now(),
    )
    Escalation.objects.create(
        question=rated_question,
        item=items[5],
        state="review",
        reason="max_ratings",
        changed_at=timezone.now(),
    )
    for query, index in (("item.lang=de", 3), ("flagged=1", 4), ("escalated=1", 5)):
        review_page = client.get(f"{review_url}?{query}")
        assert (review_page.context["n_remaining"], review_page.context["item"]) == (
            1,
            items[index],
        )
    disagreeing = [
        item for item in items if len({rating.code for rating in item.ratings.all()}) > 1
    ]
    assert client.get(f"{review_url}?split=1").context["n_remaining"] == len(disagreeing)
    n_less_certain = ItemLabel.objects.filter(item__in=items, doubt__gt=0.4).count()
    assert client.get(f"{review_url}?max_confidence=0.6").context["n_remaining"] == n_less_certain
    empty_page = client.get(f"{review_url}?item.lang=fr")
    assert (empty_page.context["n_remaining"], empty_page.context["item"]) == (0, None)


def test_page_states_the_confidence_below_which_items_are_uncertain(
    client: Client, review_url: str
) -> None:
    """It is that of the filter, whose first choice is the limit of the queue."""
    page = client.get(review_url).text
    limit = page.split('<option value="">')[1].split("<")[0]
    assert float(limit) > 0.8
    assert f"· Confidence below {limit}" in page
    page = client.get(f"{review_url}?max_confidence=0.6").text
    assert "· Confidence below 0.6" in page
    assert "· Confidence below" not in client.get(f"{review_url}?contested=1").text


def test_uncertain_items_with_one_rating_are_counted_beside_the_queue(
    client: Client, review_url: str, rated_question: Question
) -> None:
    """Queue and note add up to the labels below the limit, on Review and on Labels."""
    n_queued = len(list_uncertain_items())
    single_labels = ItemLabel.objects.filter(n_ratings=1)
    n_single = single_labels.update(doubt=0.3)
    item = list_uncertain_items()[0]
    ItemLabel.objects.filter(item=item).update(n_ratings=1, doubt=0.3)
    for address in (review_url, review_url.replace("/review/", "/labels/")):
        page = client.get(address).text
        assert f"{n_queued - 1} uncertain items · Confidence below 0.9 · " in page
        assert f"· {n_single + 1} more " in page
    for query in ("max_confidence=0.6", "contested=1"):
        assert "one rating" not in client.get(f"{review_url}?{query}").text
    ReviewAssignment.objects.create(question=rated_question, item=item)
    page = client.get(review_url).text
    assert f"{n_queued} uncertain items · " in page and f"· {n_single} more " in page


def test_filter_is_kept_while_deciding(client: Client, review_url: str) -> None:
    first_page = client.get(f"{review_url}?split=1&max_confidence=0.8")
    item = first_page.context["item"]
    address = f"{review_url}{item.pk}/decide/?{first_page.context['query']}"
    assert address in first_page.text.replace("&amp;", "&")
    response = client.post(address, {"code": "1"})
    query = parse_qs(urlsplit(response["Location"]).query)
    assert (query["split"], query["max_confidence"], query["last"]) == (
        ["1"],
        ["0.8"],
        [str(item.pk)],
    )


def test_invalid_filter_values_are_ignored() -> None:
    from metrics.filters import NO_FILTER

    queue_filter_values = ReviewFilter.from_query(
        {"flagged": "yes", "max_confidence": "2", "split": ""}, NO_FILTER
    )
    assert queue_filter_values == ReviewFilter()
    assert queue_filter_values.parameters == {}


def test_decision_becomes_gold_or_an_example(
    client: Client, review_url: str, rated_question: Question
) -> None:
    item = client.get(review_url).context["item"]
    next_page = client.post(
        f"{review_url}{item.pk}/decide/", {"code": "2", "reason": "see *3.1*"}, follow=True
    )
    label = rated_question.categories.get(code=2).label
    assert f"Item {item.key}: <strong>" in " ".join(next_page.text.split())
    assert next_page.context["last_decision"]["label"] == label
    client.post(f"{review_url}{item.pk}/gold/")
    assert GoldAnswer.objects.get().item == item
    client.post(f"{review_url}{item.pk}/example/")
    rated_question.project.refresh_from_db()
    guidelines = rated_question.project.guidelines
    assert guidelines.endswith(f"**{label}**\n\n> {item.body['text']}\n\nsee *3.1*\n")
    assert rated_question.project.guidelines_version >= 1
    other = Item.objects.exclude(pk=item.pk).first()
    assert other is not None
    assert client.post(f"{review_url}{other.pk}/example/").status_code == 404
