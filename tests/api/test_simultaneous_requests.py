"""The same request from many clients at the same moment: one row, no lost answer, no 5xx."""

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

from projects import authentication
from projects.models import Item, Member, Project, Rater
from ratings.models import Rating, Revision

pytestmark = pytest.mark.django_db(transaction=True)

CLIENTS = 6


@pytest.fixture
def at_once(lead: User) -> Callable[..., list[Any]]:
    """``at_once(path, bodies)``: a client for each body, all beginning together; their answers."""
    token = authentication.create_token(user=lead)

    def send(path: str, bodies: list[Any]) -> list[Any]:
        start = Barrier(len(bodies))

        def one(body: Any) -> Any:
            client = APIClient(headers={"Authorization": f"Bearer {token}"})
            try:
                start.wait(30)
                return client.post(path, body, format="json")
            finally:
                connection.close()

        with ThreadPoolExecutor(len(bodies)) as pool:
            return list(pool.map(one, bodies))

    return send


def total(answers: list[Any]) -> Counter[str]:
    assert [answer.status_code for answer in answers] == [200] * len(answers), [
        answer.content for answer in answers
    ]
    found: Counter[str] = Counter()
    for answer in answers:
        found.update(answer.json())
    return found


def test_one_rating(
    at_once: Callable[..., Any], stocked: Project, address: Callable[..., str]
) -> None:
    for number in range(5):
        body = {"item": f"i{number}", "rater": "ben", "label": "minor"}
        total(at_once(address("ratings/"), [body] * CLIENTS))
    assert Rating.objects.count() == 5
    assert set(Rating.objects.values_list("code", flat=True)) == {1}


def test_many_ratings_in_opposite_orders(
    at_once: Callable[..., Any], stocked: Project, address: Callable[..., str]
) -> None:
    Item.objects.bulk_create(Item(project=stocked, key=f"k{number}") for number in range(300))
    rows = [
        {"item": f"k{number}", "rater": rater, "label": "major"}
        for number in range(300)
        for rater in ("ben", "cleo")
    ]
    total(at_once(address("ratings/"), [rows, rows[::-1]] * 2))
    assert Rating.objects.count() == 600
    assert Revision.objects.count() >= 600


def test_items(at_once: Callable[..., Any], project: Project, address: Callable[..., str]) -> None:
    rows = [{"key": f"k{number}", "body": {"text": "x"}} for number in range(300)]
    total(at_once(address("items/"), [rows, rows[::-1]] * 2))
    assert Item.objects.count() == 300


def test_an_account_is_tied_to_one_rater(
    at_once: Callable[..., Any], project: Project, address: Callable[..., str], colleague: User
) -> None:
    answers = at_once(
        address("raters/"), [{"key": f"k{n}", "username": "stranger"} for n in range(CLIENTS)]
    )
    assert Counter(answer.status_code for answer in answers) == {200: 1, 400: CLIENTS - 1}
    assert Rater.objects.filter(user=colleague).count() == 1
    assert Member.objects.filter(project=project, user=colleague).count() == 1
