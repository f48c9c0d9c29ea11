"""Items by disagreement and by number of ratings in a project too large to be sorted while the page
waits: a worker sorts all of them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from metrics.filtered import filtered_jobs
from metrics.jobs.question_updates import update_question
from metrics.views.items import sorting
from projects.models import Item
from ratings.models import Rating

pytestmark = pytest.mark.django_db


@pytest.fixture
def crowded(question: Any, rate: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Forty items with one to four ratings each, more ratings than are sorted at once; the oldest
    item is the one that is disputed most."""
    monkeypatch.setattr(sorting, "MAX_SORTED_RATINGS", 20)
    drawn = random.Random(5)
    for number in range(1, 41):
        for rater in "abcd"[: 4 if number == 1 else drawn.randint(1, 4)]:
            same = number == 1 and rater in "ab"
            label = "none" if same else "major" if number == 1 else drawn.choice(LABELS)
            rate(question, f"i{number}", rater, label)
    update_question(question.pk)
    return question


LABELS = ("none", "minor", "major")


def listed(client: Any, address: str) -> list[str]:
    return [row.item.key for row in client.get(address).context["rows"]]


def slowly(question: Any, key: Any) -> list[str]:
    """Keys of the items with ratings, by ``key`` of (codes of its ratings, id)."""
    said: dict[int, list[int]] = {}
    for item, code in Rating.objects.filter(question=question).values_list("item_id", "code"):
        said.setdefault(item, []).append(code)
    ids = sorted(said, key=lambda pk: (-key(said[pk]), -len(said[pk]), -pk))
    keys = dict(Item.objects.values_list("pk", "key"))
    return [keys[pk] for pk in ids]


def share_that_differs(codes: list[int]) -> float:
    pairs = [(a, b) for i, a in enumerate(codes) for b in codes[i + 1 :]]
    return sum(a != b for a, b in pairs) / len(pairs) if pairs else 0.0


def test_all_items_are_sorted_by_a_worker(
    crowded: Any, lead: Any, client_for: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = client_for(lead)
    base = f"/projects/{crowded.project_id}/items/?weights=none&sort="
    for order, key in (("disagreement", share_that_differs), ("ratings", len)):
        first = client.get(base + order)
        if order == "disagreement":
            assert first.context["waiting"]
            assert "All items are being sorted" in first.content.decode()
            assert client.get(base + order, headers={"X-Shown": ""}).status_code == 204
            filtered_jobs.FILTERED_RESULT_JOB.sweep()
            ready = client.get(base + order, headers={"X-Shown": ""})
            assert ready.headers["HX-Refresh"] == "true"
        assert listed(client, base + order) == slowly(crowded, key)


def test_the_first_of_all_are_told_as_such(
    crowded: Any, lead: Any, client_for: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metrics.filtered.dashboard_body.MAX_ORDERED_ITEMS", 7)
    monkeypatch.setattr("metrics.filtered.dashboard_body.MAX_CELLS", 9)  # three items at a time
    client = client_for(lead)
    address = f"/projects/{crowded.project_id}/items/?weights=none&sort=disagreement"
    client.get(address)
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    page = client.get(address)
    assert "All 40 items with ratings are sorted; these are the first 7." in page.content.decode()
    assert listed(client, address) == slowly(crowded, share_that_differs)[:7]
    narrowed = listed(client, f"{address}&search=i1")
    assert narrowed == [key for key in listed(client, address) if key.startswith("i1")]


def test_a_small_project_is_sorted_at_once(
    crowded: Any, lead: Any, client_for: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorting, "MAX_SORTED_RATINGS", 1_000)
    address = f"/projects/{crowded.project_id}/items/?weights=none&sort=disagreement"
    assert listed(client_for(lead), address) == slowly(crowded, share_that_differs)
