"""An item in doubt after its planned ratings is asked for again, never more often than allowed."""

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
from quality.consensus import recompute
from quality.escalation import rating_requests, settings
from quality.models import Escalation, ItemLabel, LabelRules
from quality.review import decisions
from quality.validation import InvalidSettings
from ratings.annotation.assignments import queue
from ratings.models import Rating
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings

pytestmark = pytest.mark.django_db

PLANNED = 2
RULE: dict[str, Any] = {"escalate": True, "sure_from": 0.9, "most": 4, "budget": 100}


@pytest.fixture
def study(project: Project) -> Project:
    """Thirty items, asked for twice each; ten annotators at their desks."""
    project.overlap = PLANNED
    project.save()
    Rater.objects.all().delete()
    project.members.filter(role=Member.Role.ANNOTATOR).delete()
    Item.objects.bulk_create(
        Item(project=project, key=f"i{number:02}", body={"text": "x"}) for number in range(30)
    )
    for number in range(10):
        add(project, f"desk{number}")
    return project


def add(project: Project, name: str) -> Rater:
    user = User.objects.create_user(name)
    Member.objects.create(project=project, user=user, role=Member.Role.ANNOTATOR)
    return Rater.objects.create(project=project, key=name, user=user)


@pytest.fixture
def question(study: Project) -> Question:
    return study.questions.get()


def says(question: Question, item: Item, rater: Rater) -> int:
    """Everybody says 0 of most items; of every fourth one anything."""
    number = int(item.key[1:])
    return 0 if number % 4 else random.Random(f"{item.key} {rater.key}").randrange(4)


def work(question: Question, rater: Rater) -> int:
    """Some of what the rater's queue has for them."""
    rater = Rater.objects.select_related("project").get(pk=rater.pk)
    done = 0
    while done < 4 and (item := queue.get_next_item(rater)) is not None:
        said = Judgement(item.pk, rater.pk, says(question, item, rater))
        record_ratings({question: [said]}, by=None, source="form")
        done += 1
    return done


def everybody(question: Question) -> int:
    """All work that there is."""
    done = 0
    while some := sum(work(question, rater) for rater in question.project.raters.all()):
        done += some
    return done


def look(question: Question) -> int:
    question_updates.update_question(question.pk)
    recompute.recompute_question(question.pk, at_once=True)
    return rating_requests.update_requests(question)


def per_item() -> dict[str, int]:
    return Counter(Rating.objects.current().values_list("item__key", flat=True))


def test_nothing_is_asked_again_before_a_lead_says_so(question: Question, lead: User) -> None:
    everybody(question)
    question_updates.update_question(question.pk)
    recompute.recompute_question(question.pk)
    assert rating_requests.sweep() == 0
    assert not Escalation.objects.exists()
    assert everybody(question) == 0


def test_what_is_in_doubt_is_asked_again_until_enough_stand(question: Question, lead: User) -> None:
    settings.set_label_rules(question=question, by=lead, **RULE)
    everybody(question)
    assert set(per_item().values()) == {PLANNED}
    while look(question):
        everybody(question)
    doubtful = set(ItemLabel.objects.filter(doubt__gt=0.1).values_list("item__key", flat=True))
    given = per_item()
    assert {given[key] for key in doubtful} == {4}
    rows = Escalation.objects.filter(item__key__in=doubtful)
    assert set(rows.values_list("state", "why", "asked")) == {("decide", "most", 2)}
    sure = Escalation.objects.exclude(item__key__in=doubtful)
    assert set(sure.values_list("state", flat=True)) <= {"sure"}
    rules = LabelRules.objects.get()
    assert rules.used == sum(given.values()) - 30 * PLANNED > 0
    assert look(question) == 0


def test_the_budget_is_never_passed_and_more_of_it_goes_on(question: Question, lead: User) -> None:
    settings.set_label_rules(question=question, by=lead, **RULE | {"budget": 3})
    everybody(question)
    assert look(question)
    assert LabelRules.objects.get().used == 3
    assert Escalation.objects.filter(state="waiting").count() == 3
    assert Escalation.objects.filter(why="budget").exists()
    assert everybody(question) == 3
    look(question)
    assert LabelRules.objects.get().used == 3
    settings.set_label_rules(question=question, by=lead, **RULE | {"budget": 5})
    look(question)
    assert LabelRules.objects.get().used == 5
    assert everybody(question) == 2


def test_a_stale_label_asks_for_nothing(question: Question, lead: User) -> None:
    """The rating that makes an item sure may be on its way already."""
    settings.set_label_rules(question=question, by=lead, **RULE | {"sure_from": 0.999})
    everybody(question)
    question_updates.update_question(question.pk)
    recompute.recompute_question(question.pk)
    odd = ItemLabel.objects.order_by("-doubt").first()
    assert odd is not None
    rater = Rater.objects.exclude(ratings__item=odd.item).first()
    assert rater is not None
    said = {rating.code for rating in odd.item.ratings.all()}
    another = min({0, 1, 2, 3} - said)
    record_ratings({question: [Judgement(odd.item_id, rater.pk, another)]}, by=None, source="api")
    rating_requests.update_requests(question)
    assert not Escalation.objects.filter(item=odd.item).exists()
    look(question)
    everybody(question)
    assert per_item()[odd.item.key] == 4  # one more than the three there were


def test_what_was_asked_for_and_is_not_needed_is_taken_back(question: Question, lead: User) -> None:
    settings.set_label_rules(question=question, by=lead, **RULE)
    everybody(question)
    look(question)
    used = LabelRules.objects.get().used
    item = Item.objects.filter(extra_places=1).first()
    assert item is not None
    decisions.create_decision(question=question, item=item, code=1, by=lead)
    look(question)
    assert Escalation.objects.get(item=item).state == "sure"
    assert LabelRules.objects.get().used < used
    settings.set_label_rules(question=question, by=lead, **RULE | {"escalate": False})
    rating_requests.sweep()
    assert not Item.objects.filter(extra_places__gt=0).exists()
    assert not Escalation.objects.filter(state="waiting").exists()
    assert LabelRules.objects.get().used == 0
    assert everybody(question) == 0
    assert rating_requests.sweep() == 0


def test_what_comes_back_of_the_budget_goes_to_what_it_was_too_small_for(
    question: Question, lead: User
) -> None:
    settings.set_label_rules(question=question, by=lead, **RULE | {"budget": 1})
    everybody(question)
    look(question)
    asked = Escalation.objects.get(state="waiting")
    assert Escalation.objects.filter(why="budget").count() > 1
    decisions.create_decision(question=question, item=asked.item, code=1, by=lead)
    look(question)
    another = Escalation.objects.get(state="waiting")
    assert another.item != asked.item
    assert LabelRules.objects.get().used == 1


def test_an_item_that_nobody_is_left_for_goes_to_a_decision(question: Question, lead: User) -> None:
    settings.set_label_rules(question=question, by=lead, **RULE)
    Rater.objects.exclude(key__in=["desk0", "desk1"]).update(paused=True)
    everybody(question)
    look(question)
    assert set(Escalation.objects.values_list("state", "why")) == {("decide", "nobody")}
    Rater.objects.update(paused=False)
    look(question)
    assert set(Escalation.objects.values_list("state", flat=True)) == {"waiting"}
    Rater.objects.exclude(key__in=["desk0", "desk1"]).update(paused=True)
    look(question)
    assert set(Escalation.objects.values_list("why", flat=True)) == {"nobody"}
    assert LabelRules.objects.get().used == 0
    add(question.project, "newcomer")
    look(question)
    assert set(Escalation.objects.values_list("state", flat=True)) == {"waiting"}


@pytest.mark.parametrize(
    ("field", "value"),
    [("sure_from", 0.2), ("sure_from", float("nan")), ("most", 2), ("most", 1001), ("budget", -1)],
)
def test_a_rule_that_cannot_be_changes_nothing(
    question: Question, lead: User, field: str, value: Any
) -> None:
    with pytest.raises(InvalidSettings) as refused:
        settings.set_label_rules(question=question, by=lead, **RULE | {field: value})
    assert list(refused.value.fields) == [field]
    assert not LabelRules.objects.exists()


def test_a_change_of_the_rule_is_written_down_once(question: Question, lead: User) -> None:
    for _ in range(2):
        settings.set_label_rules(question=question, by=lead, **RULE)
    event = Event.objects.get(kind="label_rules_changed")
    assert (event.by, event.data["after"]["most"]) == (lead, 4)


@pytest.mark.django_db(transaction=True)
def test_many_annotators_and_sweeps_at_once(
    question: Question, lead: User, in_threads: Callable[..., None]
) -> None:
    """Never more ratings than the rule allows, none lost, and the budget to the point: far more is
    in doubt than it is enough for."""
    for number in range(22):
        add(question.project, f"late{number}")
    settings.set_label_rules(question=question, by=lead, **RULE | {"budget": 5, "sure_from": 0.999})
    everyone = list(question.project.raters.values_list("pk", flat=True))
    stop = threading.Event()
    working = itertools.count()

    def one(rater_id: int | None) -> None:
        if rater_id is None:
            while not stop.is_set():
                look(question)
            return
        while work(question, Rater.objects.get(pk=rater_id)):
            pass
        if next(working) == len(everyone) - 1:
            stop.set()

    in_threads(one, [None, None, *everyone])
    while look(question) or everybody(question):
        pass
    given = per_item()
    assert len(given) == 30
    assert min(given.values()) == PLANNED
    assert max(given.values()) <= 4
    rules = LabelRules.objects.get()
    assert rules.used == sum(given.values()) - 30 * PLANNED == 5
    assert rules.used == sum(Escalation.objects.values_list("asked", flat=True))
    assert rules.used == sum(Item.objects.values_list("extra_places", flat=True))


@pytest.fixture
def in_threads() -> Callable[..., None]:
    def run(do: Callable[[Any], None], arguments: list[Any]) -> None:
        errors: list[Exception] = []
        start = threading.Barrier(len(arguments))

        def body(argument: Any) -> None:
            try:
                start.wait()
                do(argument)
            except Exception as error:
                errors.append(error)
            finally:
                connection.close()

        threads = [threading.Thread(target=body, args=(one,)) for one in arguments]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]

    return run
