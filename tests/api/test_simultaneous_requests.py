"""Tests of the same request from many clients at the same moment.

One row is stored, no response is lost, and none is a 5xx.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from rest_framework.test import APIClient

from projects.models import Item, Member, Project, Rater
from projects.services import tokens
from ratings.models import Rating, Revision

pytestmark = pytest.mark.django_db(transaction=True)

CLIENTS = 6


@pytest.fixture
def send_simultaneously(lead: User) -> Callable[..., list[Any]]:
    """Return ``send_simultaneously(path, bodies)``.

    Each body is sent by its own client, all of them start together, and the responses are returned.
    """
    token = tokens.create_token(user=lead)

    def send_all(path: str, bodies: list[Any]) -> list[Any]:
        start = Barrier(len(bodies))

        def send_one(body: Any) -> Any:
            client = APIClient(headers={"Authorization": f"Bearer {token}"})
            try:
                start.wait(30)
                return client.post(path, body, format="json")
            finally:
                connection.close()

        with ThreadPoolExecutor(len(bodies)) as pool:
            return list(pool.map(send_one, bodies))

    return send_all


def sum_results(responses: list[Any]) -> Counter[str]:
    """Assert that all responses are 200, and add up their numbers."""
    assert [response.status_code for response in responses] == [200] * len(responses), [
        response.content for response in responses
    ]
    totals: Counter[str] = Counter()
    for response in responses:
        totals.update(response.json())
    return totals


def test_simultaneous_equal_ratings_create_one_row(
    send_simultaneously: Callable[..., Any], stocked: Project, address: Callable[..., str]
) -> None:
    for number in range(5):
        body = {"item": f"i{number}", "rater": "ben", "label": "minor"}
        sum_results(send_simultaneously(address("ratings/"), [body] * CLIENTS))
    assert Rating.objects.count() == 5
    assert set(Rating.objects.values_list("code", flat=True)) == {1}


def test_simultaneous_ratings_in_opposite_orders_are_all_stored(
    send_simultaneously: Callable[..., Any], stocked: Project, address: Callable[..., str]
) -> None:
    Item.objects.bulk_create(Item(project=stocked, key=f"k{number}") for number in range(300))
    rows = [
        {"item": f"k{number}", "rater": rater, "label": "major"}
        for number in range(300)
        for rater in ("ben", "cleo")
    ]
    sum_results(send_simultaneously(address("ratings/"), [rows, rows[::-1]] * 2))
    assert Rating.objects.count() == 600
    assert Revision.objects.count() >= 600


def test_simultaneous_items_are_stored_once(
    send_simultaneously: Callable[..., Any], project: Project, address: Callable[..., str]
) -> None:
    rows = [{"key": f"k{number}", "body": {"text": "x"}} for number in range(300)]
    sum_results(send_simultaneously(address("items/"), [rows, rows[::-1]] * 2))
    assert Item.objects.count() == 300


def test_simultaneous_requests_link_an_account_to_one_rater(
    send_simultaneously: Callable[..., Any],
    project: Project,
    address: Callable[..., str],
    colleague: User,
) -> None:
    responses = send_simultaneously(
        address("raters/"), [{"key": f"k{n}", "username": "stranger"} for n in range(CLIENTS)]
    )
    assert Counter(response.status_code for response in responses) == {200: 1, 400: CLIENTS - 1}
    assert Rater.objects.filter(user=colleague).count() == 1
    assert Member.objects.filter(project=project, user=colleague).count() == 1
