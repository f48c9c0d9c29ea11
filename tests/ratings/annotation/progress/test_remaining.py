"""How many items are still to come, as the desk says it: never fewer than it hands out."""

from __future__ import annotations

import datetime
import re
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from projects.models import Item, Project, Question, QueueOrder, Rater
from projects.services.items.gold import set_gold_answer
from ratings.annotation.assignments import hidden_checks
from ratings.models import Assignment
from tests.ratings.annotation.test_rate import rate_url, submit

pytestmark = pytest.mark.django_db


@pytest.fixture
def items(project: Project) -> list[Item]:
    return Item.objects.bulk_create(
        Item(project=project, key=f"i{number:02}", body={"text": f"Text {number}"})
        for number in range(12)
    )


@pytest.fixture
def desk(client_for: Any, annotator: Any) -> Client:
    return client_for(annotator)


def said(desk: Client, project: Project) -> tuple[int, float]:
    """What the desk says is still to come, and how full its bar is."""
    page = desk.get(rate_url(project)).text
    found = re.search(r"up to (\d+) more", page)
    whole, done = re.findall(r'<progress max="(\d+)" value="(\d+)"', page)[0]
    return int(found[1]) if found else 0, int(done) / int(whole)


def on_desk(desk: Client, project: Project) -> Item | None:
    desk.get(rate_url(project))
    mine = Assignment.objects.filter(state="open", rater__key="ann").first()
    return mine.item if mine is not None else None


def to_the_end(desk: Client, project: Project, question: Question) -> list[int]:
    """What was said before each answer."""
    numbers = []
    while (item := on_desk(desk, project)) is not None:
        numbers.append(said(desk, project)[0])
        assert submit(desk, project, item, question, 1).status_code == 302
    return numbers


def test_items_that_others_have_filled_are_not_to_come(
    items: list[Item], project: Project, question: Question, desk: Client, rate: Any
) -> None:
    assert said(desk, project) == (12, 0.0)
    for item in items[2:]:
        for number in range(project.overlap):
            rate(question, item.key, f"other{number}", "minor")
    assert said(desk, project) == (2, 0.0)
    assert to_the_end(desk, project, question) == [2, 1]
    assert said(desk, project) == (0, 1.0)


def test_who_was_given_nothing_has_no_bar(
    items: list[Item], project: Project, desk: Client
) -> None:
    Item.objects.update(places_taken=project.overlap)
    page = desk.get(rate_url(project)).text
    assert "Nothing left for you" in page and "<progress" not in page


def test_what_is_skipped_is_dealt_with(items: list[Item], project: Project, desk: Client) -> None:
    for place in range(12):
        assert said(desk, project) == (12 - place, place / 12)
        item = on_desk(desk, project)
        desk.post(rate_url(project, item, "skip/"), {"reason": "unclear"})
    assert said(desk, project) == (0, 1.0)


def test_no_more_come_than_were_told_of_with_tests_between_them(
    items: list[Item],
    project: Project,
    question: Question,
    desk: Client,
    rate: Any,
    lead: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Gold among the new items and beside them, and repeats: each answer takes one away, whatever
    it was, and no test tells itself."""
    real, gold, new, repeat = hidden_checks._draw_fraction, 0.0, 0.99, 0.4
    order = [new, gold, repeat, new]
    monkeypatch.setattr(
        hidden_checks,
        "_draw_fraction",
        lambda rater, place, what: order[place % 4] if what == "test" else real(rater, place, what),
    )
    Project.objects.update(
        gold_percent=30,
        repeat_percent=20,
        repeat_after_items=10,
        repeat_after_days=1,
        queue_order=QueueOrder.RANDOM,
    )
    for number in range(20):
        rate(question, f"done{number}", "ann", "minor")
        Item.objects.filter(key=f"done{number}").update(body={"text": "x"}, has_content=True)
    long_ago = timezone.now() - datetime.timedelta(days=9)
    rater = Rater.objects.get(key="ann")
    for item in Item.objects.filter(key__startswith="done"):
        long_ago += datetime.timedelta(hours=1)
        Assignment.objects.create(
            item=item, rater=rater, state="done", closed_at=long_ago, leased_until=long_ago
        )
        item.ratings.update(changed_at=long_ago, rated_at=long_ago)
    for item in [*items[:2], *items[6:]]:
        set_gold_answer(item=item, question=question, answer=[1], by=lead)
    for item in items[6:]:  # shown already: those with a place come first
        for number in range(project.overlap):
            rate(question, item.key, f"other{number}", "minor")
        other = Rater.objects.get(key="other0")
        Assignment.objects.create(item=item, rater=other, why="gold", leased_until=timezone.now())
    with time_machine.travel(timezone.now(), tick=False):
        numbers = to_the_end(desk, project, question)
    assert set(Assignment.objects.values_list("why", flat=True)) >= {"gold", "repeat"}
    assert numbers == [numbers[0] - place for place in range(len(numbers))]
    assert said(desk, project) == (0, 1.0)


def test_repeats_that_were_switched_off_leave_nothing_to_come(
    items: list[Item], project: Project, question: Question, desk: Client
) -> None:
    more = [Item(project=project, key=f"m{number}", body={"text": "x"}) for number in range(28)]
    Item.objects.bulk_create(more)
    Project.objects.update(repeat_percent=20, repeat_after_items=10, repeat_after_days=1)
    before = said(desk, project)[0]
    assert before > 40
    Project.objects.update(repeat_percent=0)
    assert said(desk, project)[0] == 40
    assert len(to_the_end(desk, project, question)) == 40
    assert said(desk, project) == (0, 1.0)


def test_a_project_that_others_finished_is_not_the_next_one(
    items: list[Item],
    project: Project,
    question: Question,
    desk: Client,
    make_project: Any,
    annotator: Any,
) -> None:
    other = make_project("Dialogues")
    other.members.create(user=annotator, role="annotator")
    other.raters.create(key="ann", user=annotator)
    Item.objects.create(project=other, key="x", body={"text": "x"})
    Item.objects.filter(project=project).exclude(pk=items[0].pk).delete()
    to_the_end(desk, project, question)
    assert "Go on with Dialogues" in desk.get(rate_url(project)).text
    other.items.update(places_taken=other.overlap)
    assert "Go on with" not in desk.get(rate_url(project)).text
