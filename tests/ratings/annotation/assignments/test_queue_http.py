"""Thirty-two annotators at their desks at once, through the site: every item is rated by as many as
it shall be."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from projects.models import Item, Member, Project, Rater
from ratings.models import Assignment, Rating

ANNOTATORS = 32
OVERLAP = 3
ITEMS = 12
SHEET = {"X-Desk": "sheet"}

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def crowd(
    make_project: Callable[..., Project], client_for: Callable[[User], Client]
) -> tuple[Project, list[Client]]:
    """A project and its annotators, signed in."""
    project = make_project(overlap=OVERLAP)
    Item.objects.bulk_create(
        Item(project=project, key=f"i{number}", body={"text": "x"}) for number in range(ITEMS)
    )
    clients = []
    for number in range(ANNOTATORS):
        user = User.objects.create_user(f"annotator{number}")
        Member.objects.create(project=project, user=user, role=Member.Role.ANNOTATOR)
        Rater.objects.create(project=project, key=f"r{number}", user=user)
        clients.append(client_for(user))
    return project, clients


def item_on(answer: Any) -> str:
    """The item of the sheet; empty when nothing is left."""
    assert answer.status_code == 200, answer.content[:500]
    found = re.search(r'data-item="(\d*)"', answer.content.decode())
    assert found
    return found[1]


def rate_all(project: Project, client: Client, *, skips: bool) -> None:
    """Rate what is given until nothing is left; the first item is put aside when ``skips``."""
    desk, field = f"/projects/{project.pk}/rate/", f"question-{project.questions.get().pk}"
    item = item_on(client.get(desk, headers=SHEET))
    if item and skips:
        item = item_on(
            client.post(f"{desk}{item}/skip/", {"reason": "cannot read it"}, headers=SHEET)
        )
    while item:
        item = item_on(client.post(f"{desk}{item}/", {field: int(item) % 4}, headers=SHEET))


def test_every_item_gets_exactly_its_ratings(crowd: tuple[Project, list[Client]]) -> None:
    project, clients = crowd

    def work(number: int) -> None:
        try:
            rate_all(project, clients[number], skips=number % 8 == 0)
        finally:
            connection.close()

    with ThreadPoolExecutor(ANNOTATORS) as pool:
        list(pool.map(work, range(ANNOTATORS)))
    for client in clients[:8]:  # what was put aside when nobody was left to take it
        rate_all(project, client, skips=False)
    per_item = Counter(Rating.objects.values_list("item_id", flat=True))
    assert Counter(per_item.values()) == {OVERLAP: ITEMS}
    assert Rating.objects.values("item", "rater").distinct().count() == OVERLAP * ITEMS
    assert set(Item.objects.values_list("places_taken", flat=True)) == {OVERLAP}
    assert not Assignment.objects.filter(state=Assignment.State.OPEN).exists()
