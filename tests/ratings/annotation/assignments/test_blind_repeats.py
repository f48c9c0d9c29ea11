"""Blind repeats at the desk, through HTTP: the first answer stands whatever the second one is."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from projects.models import Item, Project, Question, QueueOrder, Rater
from projects.services.items import upsert as catalogue
from ratings.annotation.assignments import hidden_checks
from ratings.models import Apart, Assignment, Rating, Revision
from tests.ratings.annotation.test_rate import rate_url, submit

pytestmark = pytest.mark.django_db

SHEET = {"X-Desk": "sheet"}


@pytest.fixture
def rated(project: Project, question: Question, rate: Any) -> list[Item]:
    """Fourteen items that ann answered at the desk nine days ago, an hour each; the last ten of
    them are too near. And one new item."""
    Project.objects.update(
        repeat_percent=20, repeat_after_items=10, repeat_after_days=7, queue_order=QueueOrder.RANDOM
    )
    project.refresh_from_db()
    rater = Rater.objects.get(key="ann")
    items = []
    for number in range(14):
        then = timezone.now() - datetime.timedelta(days=9, hours=-number)
        with time_machine.travel(then, tick=False):
            rate(question, f"i{number:02}", "ann", "minor")
            item = Item.objects.get(key=f"i{number:02}")
            Assignment.objects.create(
                item=item, rater=rater, state="done", closed_at=then, leased_until=then
            )
        items.append(item)
    Item.objects.create(project=project, key="new", body={"text": "new"})
    return items


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other item is to be a repeat as long as there are any."""
    real = hidden_checks._draw_fraction

    def drawn(rater: Rater, handed_out: int, what: str) -> float:
        if what != "test":
            return real(rater, handed_out, what)
        return 0.0 if handed_out % 2 == 0 else 0.99

    monkeypatch.setattr(hidden_checks, "_draw_fraction", drawn)


@pytest.fixture
def desk(client_for: Any, annotator: Any) -> Client:
    return client_for(annotator)


def on_desk(desk: Client, project: Project) -> Item | None:
    desk.get(rate_url(project))
    mine = Assignment.objects.filter(state="open", rater__key="ann").first()
    return mine.item if mine is not None else None


def test_a_repeat_is_its_own_judgement_and_the_first_one_stands(
    rated: list[Item], project: Project, question: Question, desk: Client, always: None
) -> None:
    before = list(Rating.objects.order_by("pk").values())
    item = on_desk(desk, project)
    assert item in rated[:4]
    page = desk.get(rate_url(project)).text
    assert "checked" not in page
    assert "minor" in page and "Items rated" not in page
    listed = desk.get(f"/projects/{project.pk}/my-ratings/").text
    assert "Items rated: 14" in listed
    assert f">{item.key}<" not in listed and ">i13<" in listed
    submit(desk, project, item, question, 2, said="")
    [line] = Apart.objects.filter(stands=True)
    assert (line.item, line.why, line.code, line.first) == (item, "repeat", 2, 1)
    assert list(Rating.objects.order_by("pk").values()) == before
    assert Revision.objects.count() == 14
    assert set(Item.objects.exclude(key="new").values_list("places_taken", flat=True)) == {1}
    listed = desk.get(f"/projects/{project.pk}/my-ratings/").text
    assert "Items rated: 15" in listed
    assert "1 of them was asked twice: it counts twice and is listed once" in listed
    assert listed.count('class="own__row"') == 14
    assert listed.count(f'small">{item.key}<') == 1
    # Not two in a row; then no item comes a third time.
    assert on_desk(desk, project) == Item.objects.get(key="new")
    undone = desk.post(rate_url(project, tail="last/"), {}, headers=SHEET).text
    assert f'data-taken-back="{item.key}: major, taken back."' in undone
    assert Apart.objects.get(stands=True).code == -1
    assert list(Rating.objects.order_by("pk").values()) == before


def test_who_corrects_what_was_asked_twice_corrects_the_rating(
    rated: list[Item], project: Project, question: Question, desk: Client, always: None
) -> None:
    item = on_desk(desk, project)
    assert item is not None
    submit(desk, project, item, question, 2, said="")
    first = Rating.objects.get(item=item)
    assert first.code == 1
    for code, comment in ((3, ""), (0, "why")):
        submit(desk, project, item, question, code, comment=comment)
        [line] = Apart.objects.filter(stands=True)
        assert (line.code, line.first) == (code, 1)
        now = Rating.objects.get(item=item)
        assert (now.code, now.comment, now.rated_at) == (code, comment, first.rated_at)
    assert Revision.objects.filter(rating__item=item).count() == 3
    row = desk.get(f"/projects/{project.pk}/my-ratings/").context["rows"][0]
    assert (row["item"], row["answers"][0]["label"]) == (item, "none")
    assert row["answers"][0]["changed"]


def test_what_was_flagged_commented_changed_or_is_too_near_is_not_asked_again(
    rated: list[Item],
    project: Project,
    question: Question,
    desk: Client,
    rate: Any,
    lead: Any,
    always: None,
) -> None:
    Assignment.objects.filter(item=rated[0]).update(flagged=True)
    Rating.objects.filter(item=rated[1]).update(comment="hard to say")
    rate(question, "i02", "ann", "major")  # corrected just now
    changed = {"key": "i03", "body": {"text": "something else"}}
    catalogue.upsert_items(project=project, rows=[changed], by=lead)
    assert on_desk(desk, project) == Item.objects.get(key="new")
    assert not Assignment.objects.checks().exists()


def test_days_and_items_must_both_have_gone_by(
    rated: list[Item], project: Project, desk: Client, always: None
) -> None:
    Project.objects.update(repeat_after_days=10)
    assert on_desk(desk, project) == Item.objects.get(key="new")
    Assignment.objects.filter(state="open").delete()
    Project.objects.update(repeat_after_days=7, repeat_after_items=14)
    assert on_desk(desk, project) == Item.objects.get(key="new")


def test_a_repeat_that_is_skipped_or_over_touches_nothing(
    rated: list[Item], project: Project, question: Question, desk: Client, always: None
) -> None:
    before = list(Rating.objects.order_by("pk").values())
    item = on_desk(desk, project)
    desk.post(rate_url(project, item, "skip/"), {"reason": "unclear"})
    desk.post(rate_url(project, tail="last/"), {}, headers=SHEET)
    assert on_desk(desk, project) == item
    Assignment.objects.filter(item=item).update(state="expired", closed_at=timezone.now())
    submit(desk, project, item, question, 0)
    assert Apart.objects.get().code == 0
    assert list(Rating.objects.order_by("pk").values()) == before


def test_a_rating_by_api_meanwhile_is_an_ordinary_one(
    rated: list[Item], project: Project, desk: Client, api_for: Any, annotator: Any, always: None
) -> None:
    item = on_desk(desk, project)
    assert item is not None
    said = {"item": item.key, "rater": "ann", "label": "none"}
    api = api_for(annotator)
    address = f"/api/v1/projects/{project.pk}/ratings/"
    assert api.get(f"{address}?item={item.key}").json()["results"] == []
    assert api.post(address, said, format="json").json()["changed"] == 1
    assert on_desk(desk, project) != item
    assert Rating.objects.get(item=item).code == 0
    [shown] = api.get(f"{address}?item={item.key}").json()["results"]
    assert shown["label"] == "none"


def test_who_is_done_is_asked_nothing_again(
    rated: list[Item], project: Project, desk: Client, always: None
) -> None:
    Item.objects.filter(key="new").delete()
    assert on_desk(desk, project) is None
