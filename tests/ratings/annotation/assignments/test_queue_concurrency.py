"""Many annotators at once, with real transactions, on the database of the run."""

import threading
from collections import Counter

import pytest
from django.db import connection

from projects.models import Category, Item, Question, Rater
from ratings.annotation import submission
from ratings.annotation.assignments import queue
from ratings.models import Assignment, Rating
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings

ANNOTATORS = 32
OVERLAP = 3
ITEMS = 40

pytestmark = pytest.mark.django_db(transaction=True)


def in_threads(work, arguments):
    """Run ``work(argument)`` in a thread each, all at once; errors are raised here."""
    errors = []
    start = threading.Barrier(len(arguments))

    def body(argument):
        try:
            start.wait()
            work(argument)
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=body, args=(argument,)) for argument in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.fixture
def crowd(make_project):
    project = make_project(overlap=OVERLAP)
    Item.objects.bulk_create(
        Item(project=project, key=f"i{number}", body={"text": "x"}) for number in range(ITEMS)
    )
    Rater.objects.bulk_create(
        Rater(project=project, key=f"r{number}") for number in range(ANNOTATORS)
    )
    return project


def rate_all(question):
    def work(rater_id):
        rater = Rater.objects.select_related("project").get(pk=rater_id)
        while (item := queue.get_next_item(rater)) is not None:
            record_ratings(
                {question: [Judgement(item.pk, rater.pk, item.pk % 4)]}, by=None, source="form"
            )

    return work


def test_every_item_gets_exactly_the_overlap(crowd):
    question = crowd.questions.get()
    in_threads(rate_all(question), list(crowd.raters.values_list("id", flat=True)))
    per_item = Counter(Rating.objects.values_list("item_id", flat=True))
    assert Counter(per_item.values()) == {OVERLAP: ITEMS}
    assert set(Item.objects.values_list("places_taken", flat=True)) == {OVERLAP}


def test_ratings_from_elsewhere_at_the_same_time_leave_no_wrong_count(crowd):
    question = crowd.questions.get()
    ids = list(crowd.items.values_list("id", flat=True))
    outside = Rater.objects.bulk_create(
        Rater(project=crowd, key=f"api{number}") for number in range(4)
    )

    def work(rater_id):
        if rater_id in {rater.pk for rater in outside}:
            for code in (0, -1, 1):
                record_ratings(
                    {question: [Judgement(item, rater_id, code) for item in ids]},
                    by=None,
                    source="api",
                )
        else:
            rate_all(question)(rater_id)

    in_threads(
        work,
        [
            *[rater.pk for rater in outside],
            *crowd.raters.exclude(key__startswith="api").values_list("id", flat=True)[:8],
        ],
    )
    for item in Item.objects.all():
        rated = Rating.objects.filter(item=item).current().count()
        assert OVERLAP <= item.places_taken <= rated


def test_the_last_place_goes_to_one_of_many(crowd):
    crowd.overlap = 1
    crowd.save()
    crowd.items.exclude(key="i0").delete()
    in_threads(
        lambda rater_id: queue.get_next_item(Rater.objects.get(pk=rater_id)),
        list(crowd.raters.values_list("id", flat=True)),
    )
    assert Assignment.objects.count() == 1


def test_two_windows_of_one_rater_show_the_same_item(crowd):
    rater = crowd.raters.first()
    in_threads(lambda rater_id: queue.get_next_item(Rater.objects.get(pk=rater_id)), [rater.pk] * 8)
    assert Assignment.objects.count() == 1


def test_desks_with_two_questions_and_a_file_at_once(crowd):
    """Nobody waits for each other in a circle, and every answer is stored whole."""
    first = crowd.questions.get()
    second = Question.objects.create(project=crowd, key="fluent", text="Fluent?", position=1)
    Category.objects.bulk_create(
        Category(question=second, code=code, label=label, position=code)
        for code, label in enumerate(("no", "yes"))
    )
    ids = list(crowd.items.values_list("id", flat=True))
    outside = [
        rater.pk
        for rater in Rater.objects.bulk_create(Rater(project=crowd, key=f"f{n}") for n in range(3))
    ]

    def from_a_file(rater_id):
        for part in (ids[20:30], ids[10:30], ids):
            for question, code in ((first, 3), (second, 1), (first, -1), (first, 2)):
                ratings = [Judgement(item, rater_id, code) for item in part]
                record_ratings({question: ratings}, by=None, source="import")

    def at_the_desk(rater_id):
        rater = Rater.objects.select_related("project").get(pk=rater_id)
        while (item := queue.get_next_item(rater)) is not None:
            submission.submit_answers(
                rater=rater,
                item=item,
                codes={first: 0, second: 0},
                comment="",
                flagged=False,
                by=None,
            )

    def work(rater_id):
        (from_a_file if rater_id in outside else at_the_desk)(rater_id)

    raters = list(crowd.raters.exclude(pk__in=outside).values_list("id", flat=True)[:12])
    in_threads(work, [*outside, *raters])
    given = Counter(Rating.objects.values_list("item_id", "rater_id"))
    assert set(given.values()) == {2}
    per_item = Counter(item for item, _ in given)
    assert all(per_item[item] >= OVERLAP for item in ids)
    by_desk = Counter(
        Rating.objects.filter(rater__in=raters, question=first).values_list("item_id", flat=True)
    )
    assert max(by_desk.values()) <= OVERLAP
