"""Test requests for more ratings of uncertain items, and their limits."""

from __future__ import annotations

import itertools
import random
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from events.models import Event
from metrics.jobs import question_updates
from projects.models import Item, Member, Project, Question, Rater
from quality.consensus import recomputation
from quality.models import Escalation, ItemLabel, LabelRules
from quality.review import decisions, label_rules, rating_requests
from quality.settings_changes import InvalidSettings
from ratings.annotation.assignments import queue
from ratings.models import Rating
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings

pytestmark = pytest.mark.django_db

PLANNED = 2
RULE: dict[str, Any] = {
    "request_ratings": True,
    "certain_from": 0.9,
    "max_ratings": 4,
    "budget": 100,
}


@pytest.fixture
def study(project: Project) -> Project:
    """Thirty items with two planned ratings each, and ten annotators."""
    project.overlap = PLANNED
    project.save()
    Rater.objects.all().delete()
    project.members.filter(role=Member.Role.ANNOTATOR).delete()
    Item.objects.bulk_create(
        Item(project=project, key=f"i{number:02}", body={"text": "x"}) for number in range(30)
    )
    for number in range(10):
        add_annotator(project, f"desk{number}")
    return project


def add_annotator(project: Project, name: str) -> Rater:
    user = User.objects.create_user(name)
    Member.objects.create(project=project, user=user, role=Member.Role.ANNOTATOR)
    return Rater.objects.create(project=project, key=name, user=user)


@pytest.fixture
def question(study: Project) -> Question:
    return study.questions.get()


def choose_code(question: Question, item: Item, rater: Rater) -> int:
    """Return 0 for most items, and any category for every fourth item."""
    number = int(item.key[1:])
    return 0 if number % 4 else random.Random(f"{item.key} {rater.key}").randrange(4)


def rate_some_items(question: Question, rater: Rater) -> int:
    """Rate up to four items of the rater's queue and return how many were rated."""
    rater = Rater.objects.select_related("project").get(pk=rater.pk)
    n_rated = 0
    while n_rated < 4 and (item := queue.get_next_item(rater)) is not None:
        judgement = Judgement(item.pk, rater.pk, choose_code(question, item, rater))
        record_ratings({question: [judgement]}, by=None, source="form")
        n_rated += 1
    return n_rated


def rate_all_items(question: Question) -> int:
    """Let all raters rate until no queue has items; return how many were rated."""
    n_rated = 0
    while n_new := sum(rate_some_items(question, rater) for rater in question.project.raters.all()):
        n_rated += n_new
    return n_rated


def recompute_and_scan(question: Question) -> int:
    question_updates.update_question(question.pk)
    recomputation.recompute_question(question.pk, at_once=True)
    return rating_requests.update_rating_requests(question)


def count_ratings_by_item() -> dict[str, int]:
    return Counter(Rating.objects.current().values_list("item__key", flat=True))


def test_no_requests_until_a_lead_enables_them(question: Question, lead: User) -> None:
    rate_all_items(question)
    question_updates.update_question(question.pk)
    recomputation.recompute_question(question.pk)
    assert rating_requests.sweep_rating_requests() == 0
    assert not Escalation.objects.exists()
    assert rate_all_items(question) == 0


def test_uncertain_items_get_ratings_up_to_the_maximum(question: Question, lead: User) -> None:
    label_rules.set_label_rules(question=question, by=lead, **RULE)
    rate_all_items(question)
    assert set(count_ratings_by_item().values()) == {PLANNED}
    while recompute_and_scan(question):
        rate_all_items(question)
    doubtful = set(ItemLabel.objects.filter(doubt__gt=0.1).values_list("item__key", flat=True))
    n_by_item = count_ratings_by_item()
    assert {n_by_item[key] for key in doubtful} == {4}
    rows = Escalation.objects.filter(item__key__in=doubtful)
    assert set(rows.values_list("state", "reason", "n_requested")) == {("review", "max_ratings", 2)}
    certain = Escalation.objects.exclude(item__key__in=doubtful)
    assert set(certain.values_list("state", flat=True)) <= {"certain"}
    rules = LabelRules.objects.get()
    assert rules.n_requested == sum(n_by_item.values()) - 30 * PLANNED > 0
    assert recompute_and_scan(question) == 0


def test_budget_is_never_exceeded_and_can_be_raised(question: Question, lead: User) -> None:
    label_rules.set_label_rules(question=question, by=lead, **RULE | {"budget": 3})
    rate_all_items(question)
    assert recompute_and_scan(question)
    assert LabelRules.objects.get().n_requested == 3
    assert Escalation.objects.filter(state="requested").count() == 3
    assert Escalation.objects.filter(reason="budget").exists()
    assert rate_all_items(question) == 3
    recompute_and_scan(question)
    assert LabelRules.objects.get().n_requested == 3
    label_rules.set_label_rules(question=question, by=lead, **RULE | {"budget": 5})
    recompute_and_scan(question)
    assert LabelRules.objects.get().n_requested == 5
    assert rate_all_items(question) == 2


def test_stale_label_requests_no_ratings(question: Question, lead: User) -> None:
    """The rating that makes an item certain may already be stored."""
    label_rules.set_label_rules(question=question, by=lead, **RULE | {"certain_from": 0.999})
    rate_all_items(question)
    question_updates.update_question(question.pk)
    recomputation.recompute_question(question.pk)
    uncertain_label = ItemLabel.objects.order_by("-doubt").first()
    assert uncertain_label is not None
    rater = Rater.objects.exclude(ratings__item=uncertain_label.item).first()
    assert rater is not None
    codes = {rating.code for rating in uncertain_label.item.ratings.all()}
    other_code = min({0, 1, 2, 3} - codes)
    record_ratings(
        {question: [Judgement(uncertain_label.item_id, rater.pk, other_code)]},
        by=None,
        source="api",
    )
    rating_requests.update_rating_requests(question)
    assert not Escalation.objects.filter(item=uncertain_label.item).exists()
    recompute_and_scan(question)
    rate_all_items(question)
    assert count_ratings_by_item()[uncertain_label.item.key] == 4  # one more than the three before


def test_requests_no_longer_needed_are_withdrawn(question: Question, lead: User) -> None:
    label_rules.set_label_rules(question=question, by=lead, **RULE)
    rate_all_items(question)
    recompute_and_scan(question)
    used = LabelRules.objects.get().n_requested
    item = Item.objects.filter(extra_slots=1).first()
    assert item is not None
    decisions.create_decision(question=question, item=item, code=1, by=lead)
    recompute_and_scan(question)
    assert Escalation.objects.get(item=item).state == "certain"
    assert LabelRules.objects.get().n_requested < used
    label_rules.set_label_rules(question=question, by=lead, **RULE | {"request_ratings": False})
    rating_requests.sweep_rating_requests()
    assert not Item.objects.filter(extra_slots__gt=0).exists()
    assert not Escalation.objects.filter(state="requested").exists()
    assert LabelRules.objects.get().n_requested == 0
    assert rate_all_items(question) == 0
    assert rating_requests.sweep_rating_requests() == 0


def test_returned_budget_goes_to_items_that_lacked_it(question: Question, lead: User) -> None:
    label_rules.set_label_rules(question=question, by=lead, **RULE | {"budget": 1})
    rate_all_items(question)
    recompute_and_scan(question)
    first_request = Escalation.objects.get(state="requested")
    assert Escalation.objects.filter(reason="budget").count() > 1
    decisions.create_decision(question=question, item=first_request.item, code=1, by=lead)
    recompute_and_scan(question)
    second_request = Escalation.objects.get(state="requested")
    assert second_request.item != first_request.item
    assert LabelRules.objects.get().n_requested == 1


def test_item_without_available_raters_goes_to_review(question: Question, lead: User) -> None:
    label_rules.set_label_rules(question=question, by=lead, **RULE)
    Rater.objects.exclude(key__in=["desk0", "desk1"]).update(paused=True)
    rate_all_items(question)
    recompute_and_scan(question)
    assert set(Escalation.objects.values_list("state", "reason")) == {("review", "no_rater")}
    Rater.objects.update(paused=False)
    recompute_and_scan(question)
    assert set(Escalation.objects.values_list("state", flat=True)) == {"requested"}
    Rater.objects.exclude(key__in=["desk0", "desk1"]).update(paused=True)
    recompute_and_scan(question)
    assert set(Escalation.objects.values_list("reason", flat=True)) == {"no_rater"}
    assert LabelRules.objects.get().n_requested == 0
    add_annotator(question.project, "newcomer")
    recompute_and_scan(question)
    assert set(Escalation.objects.values_list("state", flat=True)) == {"requested"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("certain_from", 0.2),
        ("certain_from", float("nan")),
        ("max_ratings", 2),
        ("max_ratings", 1001),
        ("budget", -1),
    ],
)
def test_invalid_rule_changes_nothing(
    question: Question, lead: User, field: str, value: Any
) -> None:
    with pytest.raises(InvalidSettings) as error_info:
        label_rules.set_label_rules(question=question, by=lead, **RULE | {field: value})
    assert list(error_info.value.fields) == [field]
    assert not LabelRules.objects.exists()


def test_rule_change_is_recorded_once(question: Question, lead: User) -> None:
    for _ in range(2):
        label_rules.set_label_rules(question=question, by=lead, **RULE)
    event = Event.objects.get(kind="label_rules.changed")
    assert (event.by, event.data["after"]["max_ratings"]) == (lead, 4)


@pytest.mark.django_db(transaction=True)
def test_concurrent_annotators_and_sweeps_keep_the_limits(
    question: Question, lead: User, run_in_threads: Callable[..., None]
) -> None:
    """No item exceeds the maximum, no rating is lost, and exactly the budget is used.

    Far more items are uncertain than the budget covers.
    """
    for number in range(22):
        add_annotator(question.project, f"late{number}")
    label_rules.set_label_rules(
        question=question, by=lead, **RULE | {"budget": 5, "certain_from": 0.999}
    )
    rater_ids = list(question.project.raters.values_list("pk", flat=True))
    stop = threading.Event()
    finished_counter = itertools.count()

    def run_worker(rater_id: int | None) -> None:
        if rater_id is None:
            while not stop.is_set():
                recompute_and_scan(question)
            return
        while rate_some_items(question, Rater.objects.get(pk=rater_id)):
            pass
        if next(finished_counter) == len(rater_ids) - 1:
            stop.set()

    run_in_threads(run_worker, [None, None, *rater_ids])
    while recompute_and_scan(question) or rate_all_items(question):
        pass
    n_by_item = count_ratings_by_item()
    assert len(n_by_item) == 30
    assert min(n_by_item.values()) == PLANNED
    assert max(n_by_item.values()) <= 4
    rules = LabelRules.objects.get()
    assert rules.n_requested == sum(n_by_item.values()) - 30 * PLANNED == 5
    assert rules.n_requested == sum(Escalation.objects.values_list("n_requested", flat=True))
    assert rules.n_requested == sum(Item.objects.values_list("extra_slots", flat=True))


@pytest.fixture
def run_in_threads() -> Callable[..., None]:
    def run(do: Callable[[Any], None], arguments: list[Any]) -> None:
        errors: list[Exception] = []
        start = threading.Barrier(len(arguments))

        def run_one(argument: Any) -> None:
            try:
                start.wait()
                do(argument)
            except Exception as error:
                errors.append(error)
            finally:
                connection.close()

        threads = [
            threading.Thread(target=run_one, args=(argument_of_thread,))
            for argument_of_thread in arguments
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]

    return run
