"""Many annotators at the same time, with real transactions, on the database of the test run."""

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


def run_in_threads(work, arguments):
    """Run ``work(argument)`` in one thread per argument, all at once, and raise errors here."""
    errors = []
    start = threading.Barrier(len(arguments))

    def run_and_close(argument):
        try:
            start.wait()
            work(argument)
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run_and_close, args=(argument,)) for argument in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.fixture
def crowded_project(make_project):
    project = make_project(overlap=OVERLAP)
    Item.objects.bulk_create(
        Item(project=project, key=f"i{number}", body={"text": "x"}) for number in range(ITEMS)
    )
    Rater.objects.bulk_create(
        Rater(project=project, key=f"r{number}") for number in range(ANNOTATORS)
    )
    return project


def build_rate_all(question):
    """Return a function that rates every item that the queue assigns to a rater."""

    def rate_until_empty(rater_id):
        rater = Rater.objects.select_related("project").get(pk=rater_id)
        while (item := queue.get_next_item(rater)) is not None:
            record_ratings(
                {question: [Judgement(item.pk, rater.pk, item.pk % 4)]}, by=None, source="form"
            )

    return rate_until_empty


def test_every_item_gets_exactly_the_overlap(crowded_project):
    question = crowded_project.questions.get()
    run_in_threads(
        build_rate_all(question), list(crowded_project.raters.values_list("id", flat=True))
    )
    per_item = Counter(Rating.objects.values_list("item_id", flat=True))
    assert Counter(per_item.values()) == {OVERLAP: ITEMS}
    assert set(Item.objects.values_list("slots_taken", flat=True)) == {OVERLAP}


def test_simultaneous_ratings_by_api_leave_exact_slot_counts(crowded_project):
    question = crowded_project.questions.get()
    ids = list(crowded_project.items.values_list("id", flat=True))
    api_raters = Rater.objects.bulk_create(
        Rater(project=crowded_project, key=f"api{number}") for number in range(4)
    )

    def rate_by_source(rater_id):
        if rater_id in {rater.pk for rater in api_raters}:
            for code in (0, -1, 1):
                record_ratings(
                    {question: [Judgement(item, rater_id, code) for item in ids]},
                    by=None,
                    source="api",
                )
        else:
            build_rate_all(question)(rater_id)

    run_in_threads(
        rate_by_source,
        [
            *[rater.pk for rater in api_raters],
            *crowded_project.raters.exclude(key__startswith="api").values_list("id", flat=True)[:8],
        ],
    )
    for item in Item.objects.all():
        n_ratings = Rating.objects.filter(item=item).current().count()
        assert OVERLAP <= item.slots_taken <= n_ratings


def test_last_slot_goes_to_one_of_many(crowded_project):
    crowded_project.overlap = 1
    crowded_project.save()
    crowded_project.items.exclude(key="i0").delete()
    run_in_threads(
        lambda rater_id: queue.get_next_item(Rater.objects.get(pk=rater_id)),
        list(crowded_project.raters.values_list("id", flat=True)),
    )
    assert Assignment.objects.count() == 1


def test_two_windows_of_one_rater_show_the_same_item(crowded_project):
    rater = crowded_project.raters.first()
    run_in_threads(
        lambda rater_id: queue.get_next_item(Rater.objects.get(pk=rater_id)), [rater.pk] * 8
    )
    assert Assignment.objects.count() == 1


def test_rating_pages_and_imports_with_two_questions_at_once(crowded_project):
    """There is no deadlock, and every answer is stored completely."""
    first_question = crowded_project.questions.get()
    second_question = Question.objects.create(
        project=crowded_project, key="fluent", text="Fluent?", position=1
    )
    Category.objects.bulk_create(
        Category(question=second_question, code=code, label=label, position=code)
        for code, label in enumerate(("no", "yes"))
    )
    ids = list(crowded_project.items.values_list("id", flat=True))
    file_rater_ids = [
        rater.pk
        for rater in Rater.objects.bulk_create(
            Rater(project=crowded_project, key=f"f{n}") for n in range(3)
        )
    ]

    def record_file(rater_id):
        for item_ids in (ids[20:30], ids[10:30], ids):
            for question, code in (
                (first_question, 3),
                (second_question, 1),
                (first_question, -1),
                (first_question, 2),
            ):
                ratings = [Judgement(item, rater_id, code) for item in item_ids]
                record_ratings({question: ratings}, by=None, source="import")

    def rate_until_empty(rater_id):
        rater = Rater.objects.select_related("project").get(pk=rater_id)
        while (item := queue.get_next_item(rater)) is not None:
            submission.submit_answers(
                rater=rater,
                item=item,
                codes={first_question: 0, second_question: 0},
                comment="",
                flagged=False,
                by=None,
            )

    def rate_by_source(rater_id):
        (record_file if rater_id in file_rater_ids else rate_until_empty)(rater_id)

    raters = list(
        crowded_project.raters.exclude(pk__in=file_rater_ids).values_list("id", flat=True)[:12]
    )
    run_in_threads(rate_by_source, [*file_rater_ids, *raters])
    rating_counts = Counter(Rating.objects.values_list("item_id", "rater_id"))
    assert set(rating_counts.values()) == {2}
    per_item = Counter(item for item, _ in rating_counts)
    assert all(per_item[item] >= OVERLAP for item in ids)
    slots_by_item = Counter(
        Rating.objects.filter(rater__in=raters, question=first_question).values_list(
            "item_id", flat=True
        )
    )
    assert max(slots_by_item.values()) <= OVERLAP
