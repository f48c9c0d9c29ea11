"""The number of remaining items on the rating page is never lower than the number assigned."""

from __future__ import annotations

import datetime
import re
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from projects.models import Item, Project, Question, QueueOrder, Rater
from projects.services.gold import set_gold_answer
from ratings.annotation.assignments import hidden_checks
from ratings.models import Assignment
from tests.ratings.annotation.test_rate import get_rate_url, submit

pytestmark = pytest.mark.django_db


@pytest.fixture
def items(project: Project) -> list[Item]:
    return Item.objects.bulk_create(
        Item(project=project, key=f"i{number:02}", body={"text": f"Text {number}"})
        for number in range(12)
    )


@pytest.fixture
def annotator_client(client_for: Any, annotator: Any) -> Client:
    return client_for(annotator)


def get_remaining_and_progress(client: Client, project: Project) -> tuple[int, float]:
    """Return the number of remaining items that the page shows, and how full its progress bar is."""
    page = client.get(get_rate_url(project)).text
    match = re.search(r"up to (\d+) left", page)
    total, done = re.findall(r'<progress[^>]* max="(\d+)" value="(\d+)"', page)[0]
    return int(match[1]) if match else 0, int(done) / int(total)


def get_open_item(client: Client, project: Project) -> Item | None:
    client.get(get_rate_url(project))
    assignment = Assignment.objects.filter(state="open", rater__key="ann").first()
    return assignment.item if assignment is not None else None


def rate_until_empty(client: Client, project: Project, question: Question) -> list[int]:
    """Rate all items; return the remaining number that was shown before each answer."""
    numbers = []
    while (item := get_open_item(client, project)) is not None:
        numbers.append(get_remaining_and_progress(client, project)[0])
        assert submit(client, project, item, question, 1).status_code == 302
    return numbers


def test_items_filled_by_others_do_not_remain(
    items: list[Item], project: Project, question: Question, annotator_client: Client, rate: Any
) -> None:
    assert get_remaining_and_progress(annotator_client, project) == (12, 0.0)
    for item in items[2:]:
        for number in range(project.overlap):
            rate(question, item.key, f"other{number}", "minor")
    assert get_remaining_and_progress(annotator_client, project) == (2, 0.0)
    assert rate_until_empty(annotator_client, project, question) == [2, 1]
    assert get_remaining_and_progress(annotator_client, project) == (0, 1.0)


def test_rater_without_items_has_no_progress_bar(
    items: list[Item], project: Project, annotator_client: Client
) -> None:
    Item.objects.update(slots_taken=project.overlap)
    page = annotator_client.get(get_rate_url(project)).text
    assert "No items left for you" in page and "<progress" not in page


def test_skipped_items_count_as_progress(
    items: list[Item], project: Project, annotator_client: Client
) -> None:
    for n_skipped in range(12):
        assert get_remaining_and_progress(annotator_client, project) == (
            12 - n_skipped,
            n_skipped / 12,
        )
        item = get_open_item(annotator_client, project)
        annotator_client.post(get_rate_url(project, item, "skip/"), {"reason": "unclear"})
    assert get_remaining_and_progress(annotator_client, project) == (0, 1.0)


def test_remaining_number_is_exact_with_hidden_checks(
    items: list[Item],
    project: Project,
    question: Question,
    annotator_client: Client,
    rate: Any,
    lead: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every answer lowers the number by one, so no check can be recognized.

    Gold is among the new items and beside them, and there are repeats.
    """
    original, gold_draw, new_draw, repeat_draw = hidden_checks._draw_fraction, 0.0, 0.99, 0.4
    draws = [new_draw, gold_draw, repeat_draw, new_draw]
    monkeypatch.setattr(
        hidden_checks,
        "_draw_fraction",
        lambda rater, position, purpose: (
            draws[position % 4] if purpose == "test" else original(rater, position, purpose)
        ),
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
    for item in items[6:]:  # shown already: items with a free slot come first
        for number in range(project.overlap):
            rate(question, item.key, f"other{number}", "minor")
        other_rater = Rater.objects.get(key="other0")
        Assignment.objects.create(
            item=item, rater=other_rater, kind="gold", leased_until=timezone.now()
        )
    with time_machine.travel(timezone.now(), tick=False):
        numbers = rate_until_empty(annotator_client, project, question)
    assert set(Assignment.objects.values_list("kind", flat=True)) >= {"gold", "repeat"}
    assert numbers == [numbers[0] - position for position in range(len(numbers))]
    assert get_remaining_and_progress(annotator_client, project) == (0, 1.0)


def test_disabled_repeats_do_not_remain(
    items: list[Item], project: Project, question: Question, annotator_client: Client
) -> None:
    more_items = [
        Item(project=project, key=f"m{number}", body={"text": "x"}) for number in range(28)
    ]
    Item.objects.bulk_create(more_items)
    Project.objects.update(repeat_percent=20, repeat_after_items=10, repeat_after_days=1)
    before = get_remaining_and_progress(annotator_client, project)[0]
    assert before > 40
    Project.objects.update(repeat_percent=0)
    assert get_remaining_and_progress(annotator_client, project)[0] == 40
    assert len(rate_until_empty(annotator_client, project, question)) == 40
    assert get_remaining_and_progress(annotator_client, project) == (0, 1.0)


def test_project_finished_by_others_is_not_offered_next(
    items: list[Item],
    project: Project,
    question: Question,
    annotator_client: Client,
    make_project: Any,
    annotator: Any,
) -> None:
    other_project = make_project("Dialogues")
    other_project.members.create(user=annotator, role="annotator")
    other_project.raters.create(key="ann", user=annotator)
    Item.objects.create(project=other_project, key="x", body={"text": "x"})
    Item.objects.filter(project=project).exclude(pk=items[0].pk).delete()
    rate_until_empty(annotator_client, project, question)
    assert "Continue with Dialogues" in annotator_client.get(get_rate_url(project)).text
    other_project.items.update(slots_taken=other_project.overlap)
    assert "Continue with" not in annotator_client.get(get_rate_url(project)).text
