"""What comes first where the queue is planned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from metrics.on_request import slices
from metrics.work import sweep
from projects.models import Item, Project, Question, QueueOrder, Rater
from projects.setup import projects
from quality.adjudication import deciding
from quality.consensus import renew
from quality.models import ItemLabel
from quality.planning import ordering
from quality.planning.overlaps import overlaps
from ratings.desk import queue, search
from ratings.models import Assignment
from ratings.recording.judgement import Judgement
from ratings.recording.record import record

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordering, "_made", {})
    monkeypatch.setattr(search, "UNPLANNED", 2**64)  # none at random


@pytest.fixture
def study(answered: Question) -> Project:
    """Sixty items with some ratings, six wanted of each, and five that nobody has rated."""
    project = answered.project
    project.overlap = 6
    project.queue_order = QueueOrder.LABELS
    project.save()
    Item.objects.bulk_create(
        Item(project=project, key=f"new{number}", body={"text": "x"}) for number in range(5)
    )
    renew.renew(answered.pk)
    return project


def in_turn(project: Project) -> list[int]:
    rows = Item.objects.filter(project=project, turn__isnull=False).order_by("turn")
    return list(rows.values_list("pk", flat=True))


def test_what_a_rating_tells_most_of_comes_first_and_what_is_sure_last(study: Project) -> None:
    assert ordering.sweep() == 1
    planned = in_turn(study)
    new = set(Item.objects.filter(key__startswith="new").values_list("pk", flat=True))
    assert set(planned[:5]) == new  # nothing is known of them
    doubts = dict(ItemLabel.objects.values_list("item_id", "doubt"))
    rated = [item for item in planned if item not in new]
    assert set(rated) == {item for item, doubt in doubts.items() if doubt > 0.05}
    assert doubts[rated[0]] > 0.4 > doubts[rated[-1]]
    rater = Rater.objects.create(project=study, key="late")
    given = queue.next_item(Rater.objects.select_related("project").get(pk=rater.pk))
    assert given is not None
    assert given.pk == planned[0]
    assert in_turn(study) == planned[1:]  # handed out once a plan


def test_a_plan_is_made_anew_when_labels_are_and_not_before(
    study: Project, answered: Question, lead: User
) -> None:
    assert [ordering.sweep(), ordering.sweep()] == [1, 0]
    first = next(pk for pk in in_turn(study) if Item.objects.get(pk=pk).key[0] == "i")
    deciding.decide(question=answered, item=Item.objects.get(pk=first), code=1, by=lead)
    renew.renew(answered.pk, at_once=True)
    assert ordering.sweep() == 1
    assert first not in in_turn(study)
    projects.change_project(project=study, by=lead, queue_order=QueueOrder.RANDOM)
    assert ordering.sweep() == 0


def test_full_withdrawn_and_open_items_are_not_planned(study: Project) -> None:
    new = list(Item.objects.filter(key__startswith="new").order_by("pk"))
    Item.objects.filter(pk=new[0].pk).update(places_taken=6)
    Item.objects.filter(pk=new[1].pk).update(has_content=False)
    rater = Rater.objects.create(project=study, key="late")
    ordering.plan(study)
    open_item = queue.next_item(Rater.objects.select_related("project").get(pk=rater.pk))
    assert open_item == new[2]
    ordering.plan(study)
    assert in_turn(study)[:2] == [new[3].pk, new[4].pk]


def test_for_a_narrow_interval_items_are_completed_before_others_begin(
    study: Project, answered: Question
) -> None:
    study.queue_order = QueueOrder.NARROW
    study.save()
    best = overlaps(answered).cheapest
    assert best is not None
    ordering.sweep()
    taken = dict(Item.objects.values_list("pk", "places_taken"))
    found = [taken[item] for item in in_turn(study)]
    assert found == sorted(found, key=lambda n: (n == 0, -n))
    assert max(found) < best.m
    assert found[-1] == 0


def test_what_was_chosen_for_its_doubt_can_be_left_out_of_agreement(
    study: Project,
    answered: Question,
    lead: User,
    client_for: Callable[[User], Client],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rater = Rater.objects.create(project=study, key="late")

    def rate_next() -> Assignment:
        asked = queue.next_item(Rater.objects.select_related("project").get(pk=rater.pk))
        assert asked is not None
        record({answered: [Judgement(asked.pk, rater.pk, 3)]}, by=None, source="form")
        return Assignment.objects.get(rater=rater, item=asked)

    def dashboard(query: str = "") -> Any:
        client = client_for(lead)
        client.get(f"/projects/{study.pk}/{query}")
        slices.WORK.sweep()
        return client.get(f"/projects/{study.pk}/{query}").context

    before = dashboard()["headline"]
    ordering.sweep()
    planned = [rate_next() for _ in in_turn(study)[:15]]
    assert len(planned) > 10
    assert all(one.planned for one in planned)
    sweep.bring_up_to_date(answered.pk)
    shown = dashboard()
    assert shown["headline"]["value"] != pytest.approx(before["value"])
    assert shown["drawn"].reading["value"] == pytest.approx(before["value"])
    assert dashboard("?drawn=random")["headline"]["n_items"] == before["n_items"]
    assert client_for(lead).get(f"/projects/{study.pk}/?drawn=odd").status_code == 400
    # One drawn at random, and one of an order that knows nothing of what was said, are not left out.
    monkeypatch.setattr(search, "UNPLANNED", 0)
    assert not rate_next().planned
    monkeypatch.setattr(search, "UNPLANNED", 2**64)
    projects.change_project(project=study, by=lead, queue_order=QueueOrder.NARROW)
    ordering.sweep()
    assert not rate_next().planned
    assert dashboard()["drawn"] is None


def test_without_labels_what_nobody_rated_is_planned(project: Project) -> None:
    project.queue_order = QueueOrder.LABELS
    project.save()
    item = Item.objects.create(project=project, key="a", body={"text": "x"})
    assert ordering.sweep() == 1
    assert in_turn(project) == [item.pk]


def test_the_page_says_how_many_ratings_an_item_are_cheapest(
    client_for: Callable[[User], Client], lead: User, answered: Question
) -> None:
    page = client_for(lead).get(f"/projects/{answered.project_id}/plan/")
    found = page.context["overlaps"]
    assert [plan.m for plan in found.plans] == [2, 3, 4]
    assert found.cheapest.ratings == min(plan.ratings for plan in found.plans)
    assert f"With {found.cheapest.m} ratings an item" in " ".join(page.text.split())


def test_too_many_ratings_an_item_are_not_worked_out(project: Project, question: Question) -> None:
    raters = Rater.objects.bulk_create(Rater(project=project, key=f"r{n}") for n in range(30))
    item = Item.objects.create(project=project, key="a", body={"text": "x"})
    said = [Judgement(item.pk, rater.pk, rater.pk % 4) for rater in raters]
    record({question: said}, by=None, source="api")
    sweep.bring_up_to_date(question.pk)
    assert overlaps(question).too_many
