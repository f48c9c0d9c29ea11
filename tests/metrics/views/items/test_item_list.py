"""The item list: number of matches, skipped items and decisions."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from projects.models import Item, Rater
from projects.services import gold
from quality.review import decisions
from ratings.items import item_search
from ratings.models import Assignment

pytestmark = pytest.mark.django_db


@pytest.fixture
def items(project: Any, question: Any, rate: Any) -> list[Item]:
    """Create seventy items; r1 rated all of them, r2 the first ten, every other one differently."""
    Item.objects.bulk_create(
        Item(project=project, key=f"i{number:02}", body={"text": f"Text {number:02}"})
        for number in range(70)
    )
    Rater.objects.create(project=project, key="r1", name="Ann Lee")
    for number in range(70):
        rate(question, f"i{number:02}", "r1", "none")
        if number < 10:
            rate(question, f"i{number:02}", "r2", "none" if number % 2 else "major")
    return list(Item.objects.order_by("pk"))


@pytest.fixture
def get_page(client_for: Any, lead: Any, project: Any, items: Any) -> Any:
    client = client_for(lead)

    def get_html(query: str = "") -> str:
        text: str = client.get(f"/projects/{project.pk}/items/{query}").content.decode()
        return text

    return get_html


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("?answers=differ", "5 of 70 items match"),
        ("?answers=differ&search=Text+04", "1 of 70 items matches"),
        ("?search=nothing+like+it", "0 of 70 items match"),
        ("?state=withdrawn", "0 of 70 items match"),
        ("?rater=r2", "10 of 70 items match"),
        ("?rater=r2&answers=same", "5 of 70 items match"),
        ("?rater=r2&search=Text+0", "10 of 70 items match"),
        ("?answers=differ&sort=disagreement", "5 of 70 items match"),
        ("?ratings=1&sort=rated", "60 of 70 items match"),
        ("?ratings=0&sort=ratings", "0 of 70 items match"),
    ],
)
def test_filter_shows_number_of_matching_items(get_page: Any, query: str, text: str) -> None:
    assert f"<strong>{text}</strong>" in get_page(query)


def test_sorted_list_counts_only_rated_items(get_page: Any, project: Any) -> None:
    Item.objects.create(project=project, key="unrated", body={"text": "Text"})
    assert "71 of 71 items match" in get_page("?state=active")
    assert "70 of 71 items match" in get_page("?state=active&sort=ratings")


def test_unfiltered_list_shows_no_match_count(get_page: Any) -> None:
    assert "items match" not in get_page()


def test_match_count_above_limit_is_shown_as_more(get_page: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(item_search, "MAX_COUNTED", 55)
    assert "Over 55 of 70 items match" in get_page("?ratings=1")
    assert "1 to 50 of over 55" in get_page("?ratings=1")
    monkeypatch.setattr(item_search, "MAX_COUNTED_TEXTS", 52)
    assert "Over 52 of 70 items match" in get_page("?search=Text")


def test_large_project_searches_first_items_only(get_page: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(item_search, "MAX_ITEMS_SCANNED", 40)
    assert "30 of the first 40 of 70 items match" in get_page("?ratings=1")


@pytest.mark.parametrize(
    ("query", "first_range", "second_range"),
    [
        ("", "1 to 50 of 70", "51 to 70 of 70"),
        ("?ratings=1", "1 to 50 of 60", "51 to 60 of 60"),
        ("?sort=ratings", "1 to 50 of 70", "51 to 70 of 70"),
    ],
)
def test_page_shows_range_of_items(
    get_page: Any, query: str, first_range: str, second_range: str
) -> None:
    first = get_page(query)
    assert f"<span>{first_range}</span>" in first
    link = first.split('rel="next"')[0].rsplit('href="', 1)[1].split('"')[0]
    assert f"<span>{second_range}</span>" in get_page(link.replace("&amp;", "&"))


def test_page_without_known_position_shows_no_range(get_page: Any, items: Any) -> None:
    assert " of 70</span>" not in get_page(f"?after={items[49].pk}")
    assert " of 70</span>" not in get_page(f"?after={items[49].pk}&seen=x")


@pytest.mark.parametrize("rater", ["r1", "Ann Lee", "ann lee", "R1"])
def test_rater_filter_accepts_key_and_name(get_page: Any, rater: str) -> None:
    assert "70 of 70 items match" in get_page(f"?rater={rater}")


def test_ambiguous_rater_name_requires_key(get_page: Any, project: Any) -> None:
    Rater.objects.create(project=project, key="r9", name="Ann Lee")
    html = get_page("?rater=Ann+Lee")
    assert "Several raters named “Ann Lee”" in html
    assert "No matches." in html


def test_raters_are_suggested_unless_there_are_many(get_page: Any, monkeypatch: Any) -> None:
    assert '<option value="r1">Ann Lee</option>' in get_page()
    monkeypatch.setattr("metrics.views.items.views.MAX_OFFERED_RATERS", 1)
    assert "<datalist" not in get_page()


def set_item_aside(item: Item, **fields: Any) -> None:
    now = timezone.now()
    rater = Rater.objects.get(key="r1")
    Assignment.objects.create(item=item, rater=rater, leased_until=now, closed_at=now, **fields)


def test_list_shows_who_set_item_aside_and_why(
    get_page: Any, items: Any, question: Any, rate: Any, project: Any, client_for: Any, viewer: Any
) -> None:
    set_item_aside(items[0], state="skipped", skip_reason="I cannot read it")
    rate(question, "i01", "r1", "none", comment="Cut off")
    set_item_aside(items[1], state="done", flagged=True)
    for query in (
        "?state=skipped",
        f"?item={items[0].pk}&state=gold",
    ):  # in the list and in the item panel
        assert "I cannot read it" in get_page(query)
        assert "Ann Lee" in get_page(query)
    assert "Cut off" in get_page("?state=flagged")
    assert f'<a href="/projects/{project.pk}/skipped/">skipped or flagged 2 times</a>' in get_page()
    viewer_page = client_for(viewer).get(f"/projects/{project.pk}/items/").content.decode()
    assert "I cannot read it" not in viewer_page
    assert "/skipped/" not in viewer_page


def test_count_of_items_set_aside_is_limited(get_page: Any, items: Any, monkeypatch: Any) -> None:
    set_item_aside(items[0], state="skipped")
    assert ">skipped or flagged once</a>" in get_page()
    set_item_aside(items[1], state="skipped")
    monkeypatch.setattr("ratings.annotation.skipped_and_flagged.MAX_COUNTED", 2)
    assert ">skipped or flagged 2 or more times</a>" in get_page()


def test_decided_and_gold_items_are_marked(
    get_page: Any, items: Any, question: Any, lead: Any, project: Any, client_for: Any, viewer: Any
) -> None:
    assert ">decided<" not in get_page()
    decisions.create_decision(question=question, item=items[0], code=1, by=lead)
    gold.set_gold_answer(item=items[1], question=question, answer=[0], by=lead)
    assert (get_page().count(">decided<"), get_page().count(">gold<")) == (1, 1)
    viewer_page = client_for(viewer).get(f"/projects/{project.pk}/items/").content.decode()
    assert (viewer_page.count(">decided<"), viewer_page.count(">gold<")) == (1, 0)
    decisions.create_decision(question=question, item=items[0], code=None, by=lead)
    assert ">decided<" not in get_page()
