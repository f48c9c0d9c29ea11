"""What comes first where the queue is planned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from metrics.agreement.explain import bands
from metrics.filtered import filtered_jobs
from metrics.integrity import audit
from metrics.jobs import question_updates
from metrics.models import CountState, Reading
from metrics.reports import report_facts
from metrics.results import deferred_results
from metrics.results.headline import random_sample
from metrics.views.common import insights
from metrics.views.reports import texts
from projects.models import Item, Project, Question, QueueOrder, Rater
from projects.services import projects
from quality.alerts.detection import scan
from quality.consensus import recompute
from quality.labels import data_card
from quality.models import ItemLabel
from quality.planning import queue_order
from quality.planning.overlaps import compute_overlap_plans
from quality.review import decisions
from ratings.annotation.assignments import candidates, queue
from ratings.models import Assignment
from ratings.services import slots
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.cast import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def made_once(answered_once: Cast) -> Cast:
    return answered_once


@pytest.fixture(autouse=True)
def afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_order, "_input_version_of", {})
    monkeypatch.setattr(candidates, "RANDOM_EVERY", 2**64)  # none at random


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
    recompute.recompute_question(answered.pk)
    return project


def in_turn(project: Project) -> list[int]:
    rows = Item.objects.filter(project=project, turn__isnull=False).order_by("turn")
    return list(rows.values_list("pk", flat=True))


def test_what_a_rating_tells_most_of_comes_first_and_what_is_sure_last(study: Project) -> None:
    assert queue_order.sweep() == 1
    planned = in_turn(study)
    new = set(Item.objects.filter(key__startswith="new").values_list("pk", flat=True))
    assert set(planned[:5]) == new  # nothing is known of them
    doubts = dict(ItemLabel.objects.values_list("item_id", "doubt"))
    rated = [item for item in planned if item not in new]
    assert set(rated) == {item for item, doubt in doubts.items() if doubt > 0.05}
    assert doubts[rated[0]] > 0.4 > doubts[rated[-1]]
    rater = Rater.objects.create(project=study, key="late")
    given = queue.get_next_item(Rater.objects.select_related("project").get(pk=rater.pk))
    assert given is not None
    assert given.pk == planned[0]
    assert in_turn(study) == planned[1:]  # handed out once a plan


def test_a_plan_is_made_anew_when_labels_are_and_not_before(
    study: Project, answered: Question, lead: User
) -> None:
    assert [queue_order.sweep(), queue_order.sweep()] == [1, 0]
    first = next(pk for pk in in_turn(study) if Item.objects.get(pk=pk).key[0] == "i")
    decisions.create_decision(question=answered, item=Item.objects.get(pk=first), code=1, by=lead)
    recompute.recompute_question(answered.pk, at_once=True)
    assert queue_order.sweep() == 1
    assert first not in in_turn(study)
    projects.change_project(project=study, by=lead, queue_order=QueueOrder.RANDOM)
    assert queue_order.sweep() == 0


def test_full_withdrawn_and_open_items_are_not_planned(study: Project) -> None:
    new = list(Item.objects.filter(key__startswith="new").order_by("pk"))
    Item.objects.filter(pk=new[0].pk).update(places_taken=6)
    Item.objects.filter(pk=new[1].pk).update(has_content=False)
    rater = Rater.objects.create(project=study, key="late")
    queue_order.plan_queue(study)
    open_item = queue.get_next_item(Rater.objects.select_related("project").get(pk=rater.pk))
    assert open_item == new[2]
    queue_order.plan_queue(study)
    assert in_turn(study)[:2] == [new[3].pk, new[4].pk]


def test_for_a_narrow_interval_items_are_completed_before_others_begin(
    study: Project, answered: Question
) -> None:
    study.queue_order = QueueOrder.NARROW
    study.save()
    best = compute_overlap_plans(answered).cheapest
    assert best is not None
    queue_order.sweep()
    taken = dict(Item.objects.values_list("pk", "places_taken"))
    found = [taken[item] for item in in_turn(study)]
    assert found == sorted(found, key=lambda n: (n == 0, -n))
    assert max(found) < best.m
    assert found[-1] == 0


@pytest.fixture
def rate_next(study: Project, answered: Question) -> Callable[[], Assignment]:
    """What one more rater is asked, and says."""
    rater = Rater.objects.create(project=study, key="late")

    def rate() -> Assignment:
        asked = queue.get_next_item(Rater.objects.select_related("project").get(pk=rater.pk))
        assert asked is not None
        record_ratings({answered: [Judgement(asked.pk, rater.pk, 3)]}, by=None, source="form")
        return Assignment.objects.get(rater=rater, item=asked)

    return rate


def test_what_is_read_first_rests_on_what_was_drawn_at_random(
    study: Project,
    answered: Question,
    lead: User,
    client_for: Callable[[User], Client],
    rate_next: Callable[[], Assignment],
) -> None:
    client = client_for(lead)
    home, api = f"/projects/{study.pk}/", f"/api/v1/projects/{study.pk}/agreement/"

    def dashboard(query: str = "") -> Any:
        client.get(f"{home}{query}")
        filtered_jobs.FILTERED_RESULT_JOB.sweep()
        return client.get(f"{home}{query}").context

    before = dashboard()["headline"]
    told_before = client.get(api).json()["headline"]
    assert (told_before["drawn"], told_before["pooled"]) == (None, None)
    queue_order.sweep()
    planned = [rate_next() for _ in in_turn(study)[:15]]
    assert len(planned) > 10
    assert all(one.planned for one in planned)
    question_updates.update_question(answered.pk)

    shown = dashboard()
    every, alone = dashboard("?drawn=all"), dashboard("?drawn=random")
    assert shown["headline"]["value"] == pytest.approx(before["value"])
    assert shown["headline"]["n_ratings"] == before["n_ratings"]
    assert shown["drawn"].left_out == len(planned)
    assert every["headline"]["value"] != pytest.approx(before["value"])
    assert shown["drawn"].pooled["value"] == pytest.approx(every["headline"]["value"])
    assert alone["headline"]["value"] == pytest.approx(before["value"])
    assert (every["drawn"], alone["drawn"]) == (None, None)
    assert client.get(f"{home}?drawn=odd").status_code == 400
    assert shown["moves"] == []
    # A page of some ratings rests on the random ones among them, too.
    assert dashboard("?kind=human")["drawn"].left_out == len(planned)

    told = client.get(api).json()["headline"]
    assert told["value"] == pytest.approx(before["value"])
    assert told["drawn"] == {
        "ratings": answered.ratings.count() - len(planned),
        "left_out": len(planned),
    }
    assert told["pooled"]["value"] == pytest.approx(every["headline"]["value"])
    for page in ("/", f"{home}questions/"):
        assert "of what was drawn at random" in client.get(page).content.decode()
    facts = report_facts.compute_report_facts(answered, timezone.now())
    assert facts["headline"]["value"]["value"] == pytest.approx(before["value"])
    assert "left their items in doubt are left out" in str(texts.build_methods(facts))
    assert f"{len(planned)} ratings were asked for" in data_card.build_data_card(answered)
    assert not audit.audit_question(answered.pk).differences

    # Who counts anew finds the same, and after the order was switched off it stays so.
    question_updates.reset_counts(answered)
    projects.change_project(project=study, by=lead, queue_order=QueueOrder.RANDOM)
    question_updates.update_question(answered.pk)
    assert dashboard()["headline"]["value"] == pytest.approx(before["value"])


def test_what_was_chosen_for_its_doubt_raises_no_alarm(
    answered: Question, rate_next: Callable[[], Assignment]
) -> None:
    queue_order.sweep()
    before = answered.ratings.count()
    assert rate_next().planned
    assert scan.scan_question(answered, today=timezone.localdate()).n_ratings == before


def test_who_was_asked_what_was_in_doubt_is_not_told_to_be_apart(
    study: Project, answered: Question, rate_next: Callable[[], Assignment],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(bands, "MIN_ITEMS_ZERO_WIDTH", 1)  # another reason to tell nobody
    queue_order.sweep()
    for _ in range(20):
        rate_next()
    question_updates.update_question(answered.pk)
    reading = Reading.objects.get(question=answered, span="all")
    assert insights.list_outlier_raters({answered.pk: reading}) == {}
    Assignment.objects.filter(rater__key="late").update(planned=False)
    assert insights.list_outlier_raters({answered.pk: reading}) == {answered.pk: ["late"]}


def test_of_too_little_drawn_at_random_it_is_said(
    study: Project,
    answered: Question,
    lead: User,
    client_for: Callable[[User], Client],
) -> None:
    items = answered.ratings.values_list("item_id", "rater_id")
    Assignment.objects.bulk_create(
        Assignment(item_id=item, rater_id=rater, planned=True, leased_until=timezone.now())
        for item, rater in items
    )
    CountState.objects.update(bootstrapped=0)
    deferred_results.recompute_deferred_results(answered.pk)
    page = client_for(lead).get(f"/projects/{study.pk}/")
    assert page.context["headline"]["reason"] == "no_pairable_items"
    assert page.context["drawn"].few
    assert "is too little to tell much" in page.content.decode()
    assert page.context["drawn"].pooled["value"] is not None


def test_what_takes_long_rests(
    study: Project, answered: Question, rate_next: Callable[[], Assignment],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(random_sample, "QUICK_SECONDS", 0)
    monkeypatch.setattr(random_sample, "PAUSE_FACTOR", 1e6)
    queue_order.sweep()
    left_out = []
    for _ in range(2):
        rate_next()
        question_updates.update_question(answered.pk)
        state = CountState.objects.get(pk=answered.pk)
        left_out.append((state.drawn["drawn"]["left_out"], state.drawn_behind))
    assert left_out == [(1, False), (1, True)]
    CountState.objects.update(drawn_rests_until=timezone.now())
    deferred_results.refresh_deferred_results()
    state = CountState.objects.get(pk=answered.pk)
    assert (state.drawn["drawn"]["left_out"], state.drawn_behind) == (2, False)


def test_who_is_asked_at_random_or_by_no_doubt_is_not_left_out(
    study: Project,
    lead: User,
    rate_next: Callable[[], Assignment],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    queue_order.sweep()
    monkeypatch.setattr(candidates, "RANDOM_EVERY", 0)
    assert not rate_next().planned
    monkeypatch.setattr(candidates, "RANDOM_EVERY", 2**64)
    projects.change_project(project=study, by=lead, queue_order=QueueOrder.NARROW)
    queue_order.sweep()
    assert not rate_next().planned


def test_a_place_beyond_the_overlap_is_one_of_doubt(
    study: Project, rate_next: Callable[[], Assignment]
) -> None:
    Project.objects.update(queue_order=QueueOrder.FIXED, overlap=3)
    Item.objects.filter(key__startswith="new").update(withdrawn_at=timezone.now())
    full = Item.objects.filter(project=study, ratings__isnull=False).distinct()
    Item.objects.filter(pk__in=full).update(places_taken=3)
    chosen = next(one for one in full if one.ratings.values("rater").distinct().count() == 3)
    slots.set_requested_slots(chosen.pk, 4, overlap=3)
    found = rate_next()
    assert (found.item_id, found.planned) == (chosen.pk, True)


def test_who_comes_back_to_a_planned_item_was_asked_it_for_its_doubt(study: Project) -> None:
    queue_order.sweep()
    rater = Rater.objects.select_related("project").get(
        pk=Rater.objects.create(project=study, key="late").pk
    )
    item = queue.get_next_item(rater)
    assert item is not None
    mine = Assignment.objects.filter(rater=rater, item=item)
    mine.update(state=Assignment.State.EXPIRED, closed_at=timezone.now())
    assert queue.claim_slot(rater, item)
    found = mine.get()
    assert (found.state, found.planned) == (Assignment.State.OPEN, True)


def test_without_labels_what_nobody_rated_is_planned(project: Project) -> None:
    project.queue_order = QueueOrder.LABELS
    project.save()
    item = Item.objects.create(project=project, key="a", body={"text": "x"})
    assert queue_order.sweep() == 1
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
    record_ratings({question: said}, by=None, source="api")
    question_updates.update_question(question.pk)
    assert compute_overlap_plans(question).too_many
