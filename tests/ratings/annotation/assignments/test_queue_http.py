"""Thirty-two annotators rate at once through the site: every item gets exactly its ratings."""

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
SHEET = {"X-Annotation": "sheet"}

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def project_and_clients(
    make_project: Callable[..., Project], client_for: Callable[[User], Client]
) -> tuple[Project, list[Client]]:
    """Return a project and the signed-in clients of its annotators."""
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


def get_item_id(response: Any) -> str:
    """Return the item id of the sheet, or an empty text when nothing is left."""
    assert response.status_code == 200, response.content[:500]
    match = re.search(r'data-item="(\d*)"', response.content.decode())
    assert match
    return match[1]


def rate_until_empty(project: Project, client: Client, *, skips: bool) -> None:
    """Rate the assigned items until none is left; with ``skips``, skip the first item."""
    rate_url, field = f"/projects/{project.pk}/rate/", f"question-{project.questions.get().pk}"
    item = get_item_id(client.get(rate_url, headers=SHEET))
    if item and skips:
        item = get_item_id(
            client.post(f"{rate_url}{item}/skip/", {"reason": "cannot read it"}, headers=SHEET)
        )
    while item:
        item = get_item_id(client.post(f"{rate_url}{item}/", {field: int(item) % 4}, headers=SHEET))


def test_every_item_gets_exactly_its_ratings(
    project_and_clients: tuple[Project, list[Client]],
) -> None:
    project, clients = project_and_clients

    def rate_and_close(number: int) -> None:
        try:
            rate_until_empty(project, clients[number], skips=number % 8 == 0)
        finally:
            connection.close()

    with ThreadPoolExecutor(ANNOTATORS) as pool:
        list(pool.map(rate_and_close, range(ANNOTATORS)))
    for client in clients[:8]:  # items that were skipped when no other rater was left
        rate_until_empty(project, client, skips=False)
    per_item = Counter(Rating.objects.values_list("item_id", flat=True))
    assert Counter(per_item.values()) == {OVERLAP: ITEMS}
    assert Rating.objects.values("item", "rater").distinct().count() == OVERLAP * ITEMS
    assert set(Item.objects.values_list("slots_taken", flat=True)) == {OVERLAP}
    assert not Assignment.objects.filter(state=Assignment.State.OPEN).exists()
