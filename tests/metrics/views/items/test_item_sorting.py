"""Items sorted by disagreement and number of ratings in a project too large to sort during a request.

A worker sorts all of them.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from metrics.filtered import filtered_jobs, item_ranking
from metrics.jobs.question_updates import update_question
from metrics.results import disputed_items
from projects.models import Item, Rater
from ratings.models import Rating

pytestmark = pytest.mark.django_db


@pytest.fixture
def large_question(question: Any, rate: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a question with forty items of one to four ratings, more ratings than are sorted at once.

    The oldest item is the most disputed one.
    """
    monkeypatch.setattr(item_ranking, "MAX_SORTED_RATINGS", 20)
    monkeypatch.setattr(disputed_items, "MAX_RATINGS_READ", 20)
    rng = random.Random(5)
    for number in range(1, 41):
        for rater in "abcd"[: 4 if number == 1 else rng.randint(1, 4)]:
            is_same = number == 1 and rater in "ab"
            label = "none" if is_same else "major" if number == 1 else rng.choice(LABELS)
            rate(question, f"i{number}", rater, label)
    update_question(question.pk)
    return question


LABELS = ("none", "minor", "major")


def list_item_keys(client: Any, address: str) -> list[str]:
    return [row.item.key for row in client.get(address).context["rows"]]


def sort_item_keys(question: Any, key: Any) -> list[str]:
    """Return the keys of rated items, sorted by ``key`` of the item's codes, as a slow reference."""
    codes_by_item: dict[int, list[int]] = {}
    for item, code in Rating.objects.filter(question=question).values_list("item_id", "code"):
        codes_by_item.setdefault(item, []).append(code)
    ids = sorted(
        codes_by_item, key=lambda pk: (-key(codes_by_item[pk]), -len(codes_by_item[pk]), -pk)
    )
    keys = dict(Item.objects.values_list("pk", "key"))
    return [keys[pk] for pk in ids]


def compute_share_of_differing_pairs(codes: list[int]) -> float:
    pairs = [(a, b) for i, a in enumerate(codes) for b in codes[i + 1 :]]
    return sum(a != b for a, b in pairs) / len(pairs) if pairs else 0.0


def test_worker_sorts_all_items(
    large_question: Any, lead: Any, client_for: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = client_for(lead)
    base = f"/projects/{large_question.project_id}/items/?weights=none&sort="
    for order, key in (("disagreement", compute_share_of_differing_pairs), ("ratings", len)):
        first_page = client.get(base + order)
        if order == "disagreement":
            assert first_page.context["pending"]
            assert "Sorting …" in first_page.content.decode()
            assert client.get(base + order, headers={"X-Shown-Version": ""}).status_code == 204
            filtered_jobs.FILTERED_RESULT_JOB.sweep()
            polled_page = client.get(base + order, headers={"X-Shown-Version": ""})
            assert polled_page.headers["HX-Refresh"] == "true"
        assert list_item_keys(client, base + order) == sort_item_keys(large_question, key)


def test_page_says_that_only_first_items_are_listed(
    large_question: Any, lead: Any, client_for: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metrics.filtered.dashboard_results.MAX_ORDERED_ITEMS", 7)
    monkeypatch.setattr("metrics.filtered.dashboard_results.MAX_CELLS", 9)  # three items at a time
    client = client_for(lead)
    address = f"/projects/{large_question.project_id}/items/?weights=none&sort=disagreement"
    client.get(address)
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    page = client.get(address)
    assert "The top 7 of 40 rated items." in page.content.decode()
    assert (
        list_item_keys(client, address)
        == sort_item_keys(large_question, compute_share_of_differing_pairs)[:7]
    )
    filtered_keys = list_item_keys(client, f"{address}&search=i1")
    assert filtered_keys == [key for key in list_item_keys(client, address) if key.startswith("i1")]


def test_small_project_is_sorted_in_the_request(
    large_question: Any, lead: Any, client_for: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_ranking, "MAX_SORTED_RATINGS", 1_000)
    address = f"/projects/{large_question.project_id}/items/?weights=none&sort=disagreement"
    assert list_item_keys(client_for(lead), address) == sort_item_keys(
        large_question, compute_share_of_differing_pairs
    )


@pytest.mark.parametrize("max_sorted", [20, 1_000])  # a worker sorts, or the request
def test_statistics_show_the_first_items_of_the_list(
    large_question: Any,
    lead: Any,
    client_for: Any,
    api_for: Any,
    monkeypatch: pytest.MonkeyPatch,
    max_sorted: int,
) -> None:
    """Regression: they showed the most disputed of the newest items only."""
    monkeypatch.setattr(item_ranking, "MAX_SORTED_RATINGS", max_sorted)
    client, base = client_for(lead), f"/projects/{large_question.project_id}/"
    poll = {"X-Shown-Version": "pending"}
    if max_sorted == 20:
        page = client.get(f"{base}statistics/?weights=none")
        assert "Sorting …" in page.text.split('id="disputes"')[1].split("</section>")[0]
        assert client.get(f"{base}statistics/", headers=poll).status_code == 204
        api_url = f"/api/v1{base}agreement/disputed/?weights=none"
        assert api_for(lead).get(api_url).status_code == 202
        filtered_jobs.FILTERED_RESULT_JOB.sweep()
        polled_page = client.get(f"{base}statistics/", headers=poll)
        assert polled_page.headers["HX-Refresh"] == "true"
        answer = api_for(lead).get(api_url).json()
        assert len(answer["items"]) == 10 and answer["items_examined"] == 40
    disputes = client.get(f"{base}statistics/?weights=none").context["disputes"]
    keys = [dispute.item.key for dispute in disputes.items]
    rows = client.get(f"{base}items/?weights=none&sort=disagreement").context["rows"]
    assert keys == [row.item.key for row in rows[:10]]
    assert keys == sort_item_keys(large_question, compute_share_of_differing_pairs)[:10]
    assert [dispute.disagreement for dispute in disputes.items] == [
        row.disagreement for row in rows[:10]
    ]


def test_disputed_items_leave_models_out(
    large_question: Any, project: Any, rate: Any, lead: Any, client_for: Any
) -> None:
    model = Rater.objects.create(project=project, key="gpt", kind=Rater.Kind.MODEL)
    for number in range(1, 41):
        rate(large_question, f"i{number}", model.key, "minor")
    update_question(large_question.pk)
    client, base = client_for(lead), f"/projects/{project.pk}/"
    client.get(f"{base}statistics/")
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    disputes = client.get(f"{base}statistics/?weights=none").context["disputes"]
    people_page = client.get(f"{base}statistics/?weights=none&kind=human")
    if people_page.context["pending"]:
        filtered_jobs.FILTERED_RESULT_JOB.sweep()
        people_page = client.get(f"{base}statistics/?weights=none&kind=human")
    assert disputes.items == people_page.context["disputes"].items
    assert {dispute.n_ratings for dispute in disputes.items} <= {2, 3, 4}  # not five
