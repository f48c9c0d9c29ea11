"""Test the order of the queue where it is planned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from metrics import reports
from metrics.filtered import filtered_jobs
from metrics.integrity import audit
from metrics.jobs import question_updates
from metrics.models import CountState
from metrics.results import refresh
from metrics.results.headline import random_sample
from metrics.views.common import insights
from metrics.views.reports import cautions_and_methods
from projects.models import Item, Project, Question, QueueOrder, Rater
from projects.services import projects
from quality.alerts import scan
from quality.consensus import recomputation
from quality.labels import data_card
from quality.models import ItemLabel
from quality.planning import planned_queues
from quality.planning.sample_size import compute_overlap_plans
from quality.review import decisions
from ratings.annotation.assignments import candidates, queue
from ratings.models import Assignment
from ratings.services import slots
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings
from tests.cast import Cast

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def module_cast(rated_cast: Cast) -> Cast:
    return rated_cast


@pytest.fixture(autouse=True)
def no_cached_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planned_queues, "_input_version_of", {})
    monkeypatch.setattr(candidates, "RANDOM_EVERY", 2**64)  # none at random


@pytest.fixture
def study(rated_question: Question) -> Project:
    """Sixty items with some of the six wanted ratings each, and five items without ratings."""
    project = rated_question.project
    project.overlap = 6
    project.queue_order = QueueOrder.PLANNED_LABELS
    project.save()
    Item.objects.bulk_create(
        Item(project=project, key=f"new{number}", body={"text": "x"}) for number in range(5)
    )
    recomputation.recompute_question(rated_question.pk)
    return project


def list_planned_items(project: Project) -> list[int]:
    rows = Item.objects.filter(project=project, planned_position__isnull=False).order_by(
        "planned_position"
    )
    return list(rows.values_list("pk", flat=True))


def test_most_informative_items_come_first(study: Project) -> None:
    assert planned_queues.sweep_planned_queues() == 1
    planned = list_planned_items(study)
    new_items = set(Item.objects.filter(key__startswith="new").values_list("pk", flat=True))
    assert set(planned[:5]) == new_items  # these have no ratings
    doubt_by_item = dict(ItemLabel.objects.values_list("item_id", "doubt"))
    rated_items = [item for item in planned if item not in new_items]
    assert set(rated_items) == {item for item, doubt in doubt_by_item.items() if doubt > 0.1}
    assert doubt_by_item[rated_items[0]] > 0.4 > doubt_by_item[rated_items[-1]]
    rater = Rater.objects.create(project=study, key="late")
    next_item = queue.get_next_item(Rater.objects.select_related("project").get(pk=rater.pk))
    assert next_item is not None
    assert next_item.pk == planned[0]
    assert list_planned_items(study) == planned[1:]  # each item is assigned once per plan


def test_plan_is_recomputed_only_after_labels_are(
    study: Project, rated_question: Question, lead: User
) -> None:
    assert [planned_queues.sweep_planned_queues(), planned_queues.sweep_planned_queues()] == [1, 0]
    first_rated = next(
        pk for pk in list_planned_items(study) if Item.objects.get(pk=pk).key[0] == "i"
    )
    decisions.create_decision(
        question=rated_question, item=Item.objects.get(pk=first_rated), code=1, by=lead
    )
    recomputation.recompute_question(rated_question.pk, at_once=True)
    assert planned_queues.sweep_planned_queues() == 1
    assert first_rated not in list_planned_items(study)
    projects.change_project(project=study, by=lead, queue_order=QueueOrder.RANDOM)
    assert planned_queues.sweep_planned_queues() == 0


def test_full_withdrawn_and_open_items_are_not_planned(study: Project) -> None:
    new_items = list(Item.objects.filter(key__startswith="new").order_by("pk"))
    Item.objects.filter(pk=new_items[0].pk).update(slots_taken=6)
    Item.objects.filter(pk=new_items[1].pk).update(has_content=False)
    rater = Rater.objects.create(project=study, key="late")
    planned_queues.plan_queue(study)
    open_item = queue.get_next_item(Rater.objects.select_related("project").get(pk=rater.pk))
    assert open_item == new_items[2]
    planned_queues.plan_queue(study)
    assert list_planned_items(study)[:2] == [new_items[3].pk, new_items[4].pk]


def test_narrow_order_completes_items_before_starting_others(
    study: Project, rated_question: Question
) -> None:
    study.queue_order = QueueOrder.PLANNED_INTERVAL
    study.save()
    cheapest_plan = compute_overlap_plans(rated_question).cheapest
    assert cheapest_plan is not None
    planned_queues.sweep_planned_queues()
    slots_taken_by_item = dict(Item.objects.values_list("pk", "slots_taken"))
    slots_taken = [slots_taken_by_item[item] for item in list_planned_items(study)]
    assert slots_taken == sorted(slots_taken, key=lambda n: (n == 0, -n))
    assert max(slots_taken) < cheapest_plan.m
    assert slots_taken[-1] == 0


@pytest.fixture
def rate_next(study: Project, rated_question: Question) -> Callable[[], Assignment]:
    """Return a function by which one more rater answers the next item of the queue."""
    rater = Rater.objects.create(project=study, key="late")

    def rate_one() -> Assignment:
        item = queue.get_next_item(Rater.objects.select_related("project").get(pk=rater.pk))
        assert item is not None
        record_ratings({rated_question: [Judgement(item.pk, rater.pk, 3)]}, by=None, source="form")
        return Assignment.objects.get(rater=rater, item=item)

    return rate_one


def test_headline_uses_only_randomly_sampled_ratings(
    study: Project,
    rated_question: Question,
    lead: User,
    client_for: Callable[[User], Client],
    rate_next: Callable[[], Assignment],
) -> None:
    client = client_for(lead)
    home, api = f"/projects/{study.pk}/", f"/api/v1/projects/{study.pk}/agreement/"

    def load_dashboard(query: str = "") -> Any:
        client.get(f"{home}{query}")
        filtered_jobs.FILTERED_RESULT_JOB.sweep()
        return client.get(f"{home}{query}").context

    before = (first_page := load_dashboard())["headline"]
    api_before = client.get(api).json()["headline"]
    assert (api_before["sample"], api_before["pooled"]) == (None, None)
    planned_queues.sweep_planned_queues()
    planned = [rate_next() for _ in list_planned_items(study)[:15]]
    assert len(planned) > 10
    assert all(assignment.planned for assignment in planned)
    question_updates.update_question(rated_question.pk)

    default_page = load_dashboard()
    with_all, random_only = load_dashboard("?sample=all"), load_dashboard("?sample=random")
    assert default_page["headline"]["value"] == pytest.approx(before["value"])
    assert default_page["sample"].n_left_out == len(planned)
    assert (default_page["headline"]["n_ratings"], default_page["single_ratings"]) == (
        before["n_ratings"],
        first_page["single_ratings"],
    )
    assert "The rest is a random sample." in client.get(f"{home}statistics/").text
    assert with_all["headline"]["value"] != pytest.approx(before["value"])
    assert default_page["sample"].pooled["value"] == pytest.approx(with_all["headline"]["value"])
    assert random_only["headline"]["value"] == pytest.approx(before["value"])
    assert (with_all["sample"], random_only["sample"]) == (None, None)
    assert client.get(f"{home}?sample=odd").status_code == 400
    assert default_page["changes"] == []
    # A filtered page uses the random ones among its ratings, too.
    assert load_dashboard("?kind=human")["sample"].n_left_out == len(planned)

    api_headline = client.get(api).json()["headline"]
    assert api_headline["value"] == pytest.approx(before["value"])
    assert api_headline["sample"] == {
        "ratings": rated_question.ratings.count() - len(planned),
        "left_out": len(planned),
    }
    assert api_headline["pooled"]["value"] == pytest.approx(with_all["headline"]["value"])
    for page in ("/", f"{home}questions/"):
        assert "of the random sample" in client.get(page).content.decode()
    facts = reports.compute_report_facts(rated_question, timezone.now())
    assert facts["headline"]["value"]["value"] == pytest.approx(before["value"])
    assert "requested for uncertain items" in str(cautions_and_methods.build_methods(facts))
    assert f"{len(planned)} ratings were requested because" in data_card.build_data_card(
        rated_question
    )
    assert not audit.audit_question(rated_question.pk).differences

    # A recount gives the same, also after the order was switched off.
    question_updates.delete_counts_and_results(rated_question)
    projects.change_project(project=study, by=lead, queue_order=QueueOrder.RANDOM)
    question_updates.update_question(rated_question.pk)
    assert load_dashboard()["headline"]["value"] == pytest.approx(before["value"])


def test_planned_ratings_are_not_scanned_for_alerts(
    rated_question: Question, rate_next: Callable[[], Assignment]
) -> None:
    planned_queues.sweep_planned_queues()
    before = rated_question.ratings.count()
    assert rate_next().planned
    assert scan.scan_question(rated_question, today=timezone.localdate()).n_ratings == before


def test_rater_of_planned_items_is_not_listed_as_outlier(
    study: Project, rated_question: Question, rate_next: Callable[[], Assignment]
) -> None:
    """All raters agree less on uncertain items; the rater is compared with others on these."""
    planned_queues.sweep_planned_queues()
    for _ in range(20):
        rate_next()
    question_updates.update_question(rated_question.pk)
    findings = insights.get_stored_findings([rated_question.pk])
    outliers = insights.get_outlier_raters_by_question(findings).get(rated_question.pk, [])
    assert "late" not in [rater.key for rater in outliers]


def test_page_says_when_the_random_sample_is_too_small(
    study: Project,
    rated_question: Question,
    lead: User,
    client_for: Callable[[User], Client],
) -> None:
    items = rated_question.ratings.values_list("item_id", "rater_id")
    Assignment.objects.bulk_create(
        Assignment(item_id=item, rater_id=rater, planned=True, leased_until=timezone.now())
        for item, rater in items
    )
    CountState.objects.update(deferred_version=0)
    refresh.recompute_deferred_results(rated_question.pk)
    page = client_for(lead).get(f"/projects/{study.pk}/statistics/")
    assert page.context["headline"]["reason"] == "no_pairable_items"
    assert page.context["sample"].is_small
    assert "random sample is too small" in page.content.decode()
    assert "The rest is a random sample." not in page.text
    assert page.context["sample"].pooled["value"] is not None


def test_slow_random_sample_results_are_rate_limited(
    study: Project, rated_question: Question, rate_next: Callable[[], Assignment],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(random_sample, "QUICK_SECONDS", 0)
    monkeypatch.setattr(random_sample, "PAUSE_FACTOR", 1e6)
    planned_queues.sweep_planned_queues()
    left_out = []
    for _ in range(2):
        rate_next()
        question_updates.update_question(rated_question.pk)
        state = CountState.objects.get(pk=rated_question.pk)
        left_out.append((state.sample_headline["sample"]["left_out"], state.sample_is_stale))
    assert left_out == [(1, False), (1, True)]
    CountState.objects.update(sample_paused_until=timezone.now())
    refresh.refresh_deferred_results()
    state = CountState.objects.get(pk=rated_question.pk)
    assert (state.sample_headline["sample"]["left_out"], state.sample_is_stale) == (2, False)


def test_random_and_narrow_assignments_are_not_planned(
    study: Project,
    lead: User,
    rate_next: Callable[[], Assignment],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planned_queues.sweep_planned_queues()
    monkeypatch.setattr(candidates, "RANDOM_EVERY", 0)
    assert not rate_next().planned
    monkeypatch.setattr(candidates, "RANDOM_EVERY", 2**64)
    projects.change_project(project=study, by=lead, queue_order=QueueOrder.PLANNED_INTERVAL)
    planned_queues.sweep_planned_queues()
    assert not rate_next().planned


def test_slot_beyond_the_overlap_is_planned(
    study: Project, rate_next: Callable[[], Assignment]
) -> None:
    Project.objects.update(queue_order=QueueOrder.FIXED, overlap=3)
    Item.objects.filter(key__startswith="new").update(withdrawn_at=timezone.now())
    full_items = Item.objects.filter(project=study, ratings__isnull=False).distinct()
    Item.objects.filter(pk__in=full_items).update(slots_taken=3)
    full_item = next(
        item for item in full_items if item.ratings.values("rater").distinct().count() == 3
    )
    slots.set_requested_slots(full_item.pk, 4, overlap=3)
    assignment = rate_next()
    assert (assignment.item_id, assignment.planned) == (full_item.pk, True)


def test_reopened_assignment_of_planned_item_stays_planned(study: Project) -> None:
    planned_queues.sweep_planned_queues()
    rater = Rater.objects.select_related("project").get(
        pk=Rater.objects.create(project=study, key="late").pk
    )
    item = queue.get_next_item(rater)
    assert item is not None
    assignments = Assignment.objects.filter(rater=rater, item=item)
    assignments.update(state=Assignment.State.EXPIRED, closed_at=timezone.now())
    assert queue.reclaim_slot(rater, item)
    assignment = assignments.get()
    assert (assignment.state, assignment.planned) == (Assignment.State.OPEN, True)


def test_unrated_items_are_planned_without_labels(project: Project) -> None:
    project.queue_order = QueueOrder.PLANNED_LABELS
    project.save()
    item = Item.objects.create(project=project, key="a", body={"text": "x"})
    assert planned_queues.sweep_planned_queues() == 1
    assert list_planned_items(project) == [item.pk]


def test_plan_page_shows_cheapest_number_of_ratings(
    client_for: Callable[[User], Client], lead: User, rated_question: Question
) -> None:
    page = client_for(lead).get(f"/projects/{rated_question.project_id}/plan/")
    plans = page.context["overlaps"]
    assert [plan.m for plan in plans.plans] == [2, 3]  # few items have four ratings
    assert plans.cheapest.ratings == min(plan.ratings for plan in plans.plans)
    assert f"with {plans.cheapest.m} per item." in " ".join(page.text.split())


def test_overlaps_are_not_computed_for_too_many_ratings(
    project: Project, question: Question
) -> None:
    raters = Rater.objects.bulk_create(Rater(project=project, key=f"r{n}") for n in range(30))
    item = Item.objects.create(project=project, key="a", body={"text": "x"})
    judgements = [Judgement(item.pk, rater.pk, rater.pk % 4) for rater in raters]
    record_ratings({question: judgements}, by=None, source="api")
    question_updates.update_question(question.pk)
    assert compute_overlap_plans(question).too_many
