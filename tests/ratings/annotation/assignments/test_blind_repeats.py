"""Blind repeats on the rating page, through HTTP: the first answer stays the current rating."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from projects.models import Item, Project, Question, QueueOrder, Rater
from projects.services import item_upsert
from ratings.annotation.assignments import hidden_checks
from ratings.models import Assignment, CheckAnswer, Rating, Revision
from tests.ratings.annotation.test_rate import get_rate_url, submit

pytestmark = pytest.mark.django_db

SHEET = {"X-Annotation": "sheet"}


@pytest.fixture
def rated_items(project: Project, question: Question, rate: Any) -> list[Item]:
    """Return fourteen items that ann answered nine days ago, one each hour.

    The last ten of them are too recent to be repeated. There is one new item, too.
    """
    Project.objects.update(
        repeat_percent=20, repeat_after_items=10, repeat_after_days=7, queue_order=QueueOrder.RANDOM
    )
    project.refresh_from_db()
    rater = Rater.objects.get(key="ann")
    items = []
    for number in range(14):
        rated_at = timezone.now() - datetime.timedelta(days=9, hours=-number)
        with time_machine.travel(rated_at, tick=False):
            rate(question, f"i{number:02}", "ann", "minor")
            item = Item.objects.get(key=f"i{number:02}")
            Assignment.objects.create(
                item=item, rater=rater, state="done", closed_at=rated_at, leased_until=rated_at
            )
        items.append(item)
    Item.objects.create(project=project, key="new", body={"text": "new"})
    return items


@pytest.fixture
def alternate_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every other item a repeat as long as there are any."""
    original = hidden_checks._draw_fraction

    def draw_number(rater: Rater, n_assigned: int, purpose: str) -> float:
        if purpose != "test":
            return original(rater, n_assigned, purpose)
        return 0.0 if n_assigned % 2 == 0 else 0.99

    monkeypatch.setattr(hidden_checks, "_draw_fraction", draw_number)


@pytest.fixture
def annotator_client(client_for: Any, annotator: Any) -> Client:
    return client_for(annotator)


def get_open_item(client: Client, project: Project) -> Item | None:
    client.get(get_rate_url(project))
    assignment = Assignment.objects.filter(state="open", rater__key="ann").first()
    return assignment.item if assignment is not None else None


def test_repeat_is_stored_separately_from_the_rating(
    rated_items: list[Item],
    project: Project,
    question: Question,
    annotator_client: Client,
    alternate_repeats: None,
) -> None:
    before = list(Rating.objects.order_by("pk").values())
    item = get_open_item(annotator_client, project)
    assert item in rated_items[:4]
    page = annotator_client.get(get_rate_url(project)).text
    assert "checked" not in page
    assert "minor" in page and "Total rated" not in page
    list_page = annotator_client.get(f"/projects/{project.pk}/my-ratings/").text
    assert "14 rated in total" in list_page
    assert f">{item.key}<" not in list_page and ">i13<" in list_page
    submit(annotator_client, project, item, question, 2, answer_version="")
    [check_answer] = CheckAnswer.objects.filter(is_current=True)
    assert (check_answer.item, check_answer.kind, check_answer.code, check_answer.rated_code) == (
        item,
        "repeat",
        2,
        1,
    )
    assert list(Rating.objects.order_by("pk").values()) == before
    assert Revision.objects.count() == 14
    assert set(Item.objects.exclude(key="new").values_list("slots_taken", flat=True)) == {1}
    list_page = annotator_client.get(f"/projects/{project.pk}/my-ratings/").text
    assert "15 rated in total" in list_page
    assert "1 repeated item is listed once" in list_page
    assert list_page.count('class="own__row"') == 14
    assert list_page.count(f'small">{item.key}<') == 1
    # There are never two repeats in a row, and no item comes a third time.
    assert get_open_item(annotator_client, project) == Item.objects.get(key="new")
    undo_page = annotator_client.post(get_rate_url(project, tail="undo/"), {}, headers=SHEET).text
    assert 'data-undone="Undone: major"' in undo_page
    assert CheckAnswer.objects.get(is_current=True).code == -1
    assert list(Rating.objects.order_by("pk").values()) == before


def test_correction_of_a_repeated_item_changes_the_rating(
    rated_items: list[Item],
    project: Project,
    question: Question,
    annotator_client: Client,
    alternate_repeats: None,
) -> None:
    item = get_open_item(annotator_client, project)
    assert item is not None
    submit(annotator_client, project, item, question, 2, answer_version="")
    first_rating = Rating.objects.get(item=item)
    assert first_rating.code == 1
    for code, comment in ((3, ""), (0, "why")):
        submit(annotator_client, project, item, question, code, comment=comment)
        [check_answer] = CheckAnswer.objects.filter(is_current=True)
        assert (check_answer.code, check_answer.rated_code) == (code, 1)
        current_rating = Rating.objects.get(item=item)
        assert (current_rating.code, current_rating.comment, current_rating.rated_at) == (
            code,
            comment,
            first_rating.rated_at,
        )
    assert Revision.objects.filter(rating__item=item).count() == 3
    row = annotator_client.get(f"/projects/{project.pk}/my-ratings/").context["rows"][0]
    assert (row["item"], row["answers"][0]["label"]) == (item, "none")
    assert row["answers"][0]["changed"]


def test_flagged_commented_changed_or_recent_items_are_not_repeated(
    rated_items: list[Item],
    project: Project,
    question: Question,
    annotator_client: Client,
    rate: Any,
    lead: Any,
    alternate_repeats: None,
) -> None:
    Assignment.objects.filter(item=rated_items[0]).update(flagged=True)
    Rating.objects.filter(item=rated_items[1]).update(comment="hard to say")
    rate(question, "i02", "ann", "major")  # corrected just now
    new_content = {"key": "i03", "body": {"text": "something else"}}
    item_upsert.upsert_items(project=project, rows=[new_content], by=lead)
    assert get_open_item(annotator_client, project) == Item.objects.get(key="new")
    assert not Assignment.objects.checks().exists()


def test_repeat_needs_both_enough_days_and_enough_items(
    rated_items: list[Item], project: Project, annotator_client: Client, alternate_repeats: None
) -> None:
    Project.objects.update(repeat_after_days=10)
    assert get_open_item(annotator_client, project) == Item.objects.get(key="new")
    Assignment.objects.filter(state="open").delete()
    Project.objects.update(repeat_after_days=7, repeat_after_items=14)
    assert get_open_item(annotator_client, project) == Item.objects.get(key="new")


def test_skipped_or_expired_repeat_changes_no_rating(
    rated_items: list[Item],
    project: Project,
    question: Question,
    annotator_client: Client,
    alternate_repeats: None,
) -> None:
    before = list(Rating.objects.order_by("pk").values())
    item = get_open_item(annotator_client, project)
    annotator_client.post(get_rate_url(project, item, "skip/"), {"reason": "unclear"})
    annotator_client.post(get_rate_url(project, tail="undo/"), {}, headers=SHEET)
    assert get_open_item(annotator_client, project) == item
    Assignment.objects.filter(item=item).update(state="expired", closed_at=timezone.now())
    submit(annotator_client, project, item, question, 0)
    assert CheckAnswer.objects.get().code == 0
    assert list(Rating.objects.order_by("pk").values()) == before


def test_answer_by_api_to_a_repeat_is_a_check_answer(
    rated_items: list[Item],
    project: Project,
    annotator_client: Client,
    api_for: Any,
    annotator: Any,
    alternate_repeats: None,
) -> None:
    item = get_open_item(annotator_client, project)
    assert item is not None
    row = {"item": item.key, "rater": "ann", "label": "none"}
    api = api_for(annotator)
    address = f"/api/v1/projects/{project.pk}/ratings/"
    assert api.get(f"{address}?item={item.key}").json()["results"] == []
    # As for an item that is new to the rater: the first rating must not show.
    assert api.post(address, row, format="json").json()["created"] == 1
    assert get_open_item(annotator_client, project) != item
    assert Rating.objects.get(item=item).code == 1
    assert CheckAnswer.objects.get(item=item).code == 0
    assert Assignment.objects.get(item=item).kind == "repeat"
    [rating_data] = api.get(f"{address}?item={item.key}").json()["results"]
    assert rating_data["label"] == "none"
    # A correction changes the rating, too.
    assert api.post(address, row | {"label": "major"}, format="json").json()["changed"] == 1
    assert Rating.objects.get(item=item).code == 2
    assert CheckAnswer.objects.get(item=item, is_current=True).rated_code == 1


def test_finished_rater_gets_no_repeats(
    rated_items: list[Item], project: Project, annotator_client: Client, alternate_repeats: None
) -> None:
    Item.objects.filter(key="new").delete()
    assert get_open_item(annotator_client, project) is None
