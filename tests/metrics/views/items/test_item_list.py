"""What the list of items says beside them: how many fit, who set one aside, what is decided."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from projects.models import Item, Rater
from projects.services.items import gold
from quality.review import decisions
from ratings.items import item_search
from ratings.models import Assignment

pytestmark = pytest.mark.django_db


@pytest.fixture
def items(project: Any, question: Any, rate: Any) -> list[Item]:
    """Seventy items; "ann" rated all of them, "bob" the first ten, every other one differently."""
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
def page(client_for: Any, lead: Any, project: Any, items: Any) -> Any:
    client = client_for(lead)

    def read(query: str = "") -> str:
        text: str = client.get(f"/projects/{project.pk}/items/{query}").content.decode()
        return text

    return read


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("?answers=differ", "5 of 70 items fit"),
        ("?answers=differ&search=Text+04", "1 of 70 items fits"),
        ("?search=nothing+like+it", "0 of 70 items fit"),
        ("?state=withdrawn", "0 of 70 items fit"),
        ("?rater=r2", "10 of 70 items fit"),
        ("?rater=r2&answers=same", "5 of 70 items fit"),
        ("?rater=r2&search=Text+0", "10 of 70 items fit"),
        ("?answers=differ&sort=disagreement", "5 of 70 items fit"),
        ("?ratings=1&sort=rated", "60 of 70 items fit"),
        ("?ratings=0&sort=ratings", "0 of 70 items fit"),
    ],
)
def test_a_filter_says_how_many_items_fit(page: Any, query: str, words: str) -> None:
    assert f"<strong>{words}</strong>" in page(query)


def test_a_sorted_list_counts_the_items_with_ratings_which_it_lists(
    page: Any, project: Any
) -> None:
    Item.objects.create(project=project, key="unrated", body={"text": "Text"})
    assert "71 of 71 items fit" in page("?state=asked")
    assert "70 of 71 items fit" in page("?state=asked&sort=ratings")


def test_without_a_filter_nothing_is_said_to_fit(page: Any) -> None:
    assert "items fit" not in page()


def test_more_than_are_counted_are_told_as_more(page: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(item_search, "MAX_COUNTED", 55)
    assert "More than 55 of 70 items fit" in page("?ratings=1")
    assert "1 to 50 of more than 55" in page("?ratings=1")
    monkeypatch.setattr(item_search, "MAX_COUNTED_TEXTS", 52)
    assert "More than 52 of 70 items fit" in page("?search=Text")


def test_of_a_large_project_the_first_items_are_looked_at(page: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(item_search, "MAX_ITEMS_SCANNED", 40)
    assert "Of the first 40 items 30 fit; there are 70" in page("?ratings=1")


@pytest.mark.parametrize(
    ("query", "here", "behind"),
    [
        ("", "1 to 50 of 70", "51 to 70 of 70"),
        ("?ratings=1", "1 to 50 of 60", "51 to 60 of 60"),
        ("?sort=ratings", "1 to 50 of 70", "51 to 70 of 70"),
    ],
)
def test_a_page_says_which_items_it_shows(page: Any, query: str, here: str, behind: str) -> None:
    first = page(query)
    assert f"<span>{here}</span>" in first
    link = first.split('rel="next"')[0].rsplit('href="', 1)[1].split('"')[0]
    assert f"<span>{behind}</span>" in page(link.replace("&amp;", "&"))


def test_an_address_without_its_place_says_none(page: Any, items: Any) -> None:
    assert " of 70</span>" not in page(f"?after={items[49].pk}")
    assert " of 70</span>" not in page(f"?after={items[49].pk}&seen=x")


@pytest.mark.parametrize("said", ["r1", "Ann Lee", "ann lee", "R1"])
def test_a_rater_is_found_by_key_and_by_name(page: Any, said: str) -> None:
    assert "70 of 70 items fit" in page(f"?rater={said}")


def test_a_name_of_several_raters_asks_for_a_key(page: Any, project: Any) -> None:
    Rater.objects.create(project=project, key="r9", name="Ann Lee")
    found = page("?rater=Ann+Lee")
    assert "Several raters are called “Ann Lee”" in found
    assert "No item fits." in found


def test_raters_are_offered_unless_they_are_many(page: Any, monkeypatch: Any) -> None:
    assert '<option value="r1">Ann Lee</option>' in page()
    monkeypatch.setattr("metrics.views.items.views.MAX_OFFERED_RATERS", 1)
    assert "<datalist" not in page()


def put_aside(item: Item, **fields: Any) -> None:
    now = timezone.now()
    rater = Rater.objects.get(key="r1")
    Assignment.objects.create(item=item, rater=rater, leased_until=now, closed_at=now, **fields)


def test_the_list_says_who_set_an_item_aside_and_why(
    page: Any, items: Any, question: Any, rate: Any, project: Any, client_for: Any, viewer: Any
) -> None:
    put_aside(items[0], state="skipped", skip_reason="I cannot read it")
    rate(question, "i01", "r1", "none", comment="Cut off")
    put_aside(items[1], state="done", flagged=True)
    for query in ("?state=skipped", f"?item={items[0].pk}&state=gold"):  # in the list; beside it
        assert "I cannot read it" in page(query)
        assert "Ann Lee" in page(query)
    assert "Cut off" in page("?state=flagged")
    assert f'<a href="/projects/{project.pk}/set-aside/">skipped or flagged 2 times</a>' in page()
    others = client_for(viewer).get(f"/projects/{project.pk}/items/").content.decode()
    assert "I cannot read it" not in others
    assert "set-aside" not in others


def test_what_was_set_aside_often_is_counted_to_a_bound(
    page: Any, items: Any, monkeypatch: Any
) -> None:
    put_aside(items[0], state="skipped")
    assert ">skipped or flagged once</a>" in page()
    put_aside(items[1], state="skipped")
    monkeypatch.setattr("ratings.annotation.skips.MAX_COUNTED", 2)
    assert ">skipped or flagged 2 times and more</a>" in page()


def test_what_is_decided_and_what_is_gold_is_marked(
    page: Any, items: Any, question: Any, lead: Any, project: Any, client_for: Any, viewer: Any
) -> None:
    assert ">decided<" not in page()
    decisions.create_decision(question=question, item=items[0], code=1, by=lead)
    gold.set_gold_answer(item=items[1], question=question, answer=[0], by=lead)
    assert (page().count(">decided<"), page().count(">gold<")) == (1, 1)
    others = client_for(viewer).get(f"/projects/{project.pk}/items/").content.decode()
    assert (others.count(">decided<"), others.count(">gold<")) == (1, 0)
    decisions.create_decision(question=question, item=items[0], code=None, by=lead)
    assert ">decided<" not in page()
