"""Hidden gold at the desk, through HTTP: a test to the lead, an item like others to the rater."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from metrics.jobs.question_updates import update_question
from projects.models import Item, Project, Question, QueueOrder, Rater
from projects.services.items.gold import retire_gold_answer, set_gold_answer
from ratings.annotation import submission
from ratings.annotation.assignments import hidden_checks, queue
from ratings.models import Apart, Assignment, Rating, Revision
from tests.ratings.annotation.assignments.test_queue_concurrency import in_threads
from tests.ratings.annotation.test_rate import rate_url, submit

pytestmark = pytest.mark.django_db

SHEET = {"X-Desk": "sheet"}


@pytest.fixture
def items(project: Project) -> list[Item]:
    return Item.objects.bulk_create(
        Item(project=project, key=f"i{number}", body={"text": f"Text number {number}"})
        for number in range(12)
    )


@pytest.fixture
def tested(project: Project, items: list[Item], question: Question) -> Project:
    """Half of the items that the desk asks are to be gold; four of twelve can be."""
    Project.objects.update(gold_percent=50, queue_order=QueueOrder.RANDOM)
    for item in items[:4]:
        set_gold_answer(item=item, question=question, answer=[1], by=None)
    project.refresh_from_db()
    return project


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every item is to be a test as long as there are any."""
    monkeypatch.setattr(hidden_checks, "_draw_fraction", lambda *_about: 0.0)


@pytest.fixture
def by_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every second item is to be a test, whatever number the rater has here."""
    monkeypatch.setattr(hidden_checks, "_draw_fraction", lambda _rater, place, _what: place % 2 / 2)


@pytest.fixture
def desk(client_for: Any, annotator: Any) -> Client:
    return client_for(annotator)


def on_desk(desk: Client, project: Project) -> Item:
    desk.get(rate_url(project))
    return Assignment.objects.get(state="open", rater__key="ann").item


def test_a_share_of_the_queue_is_gold_and_stands_apart(
    tested: Project, desk: Client, question: Question, items: list[Item], by_turns: None
) -> None:
    for _ in range(12):
        assert submit(desk, tested, on_desk(desk, tested), question, 2).status_code == 302
    assert (
        "Items rated: 12, of them today: 12." in desk.get(f"/projects/{tested.pk}/my-ratings/").text
    )
    assert Assignment.objects.filter(state="done").count() == 12  # each once
    tests = set(Assignment.objects.filter(why="gold").values_list("item", flat=True))
    assert tests and tests <= {item.pk for item in items[:4]}
    apart = Apart.objects.all()
    assert {row.item_id for row in apart} == tests
    assert {(row.code, row.why, row.stands, row.source) for row in apart} == {
        (2, "gold", True, "form")
    }
    assert all(row.seconds is not None and row.item_version == 1 for row in apart)
    assert not set(Rating.objects.values_list("item", flat=True)) & tests
    assert Rating.objects.count() == Revision.objects.count() == 12 - len(tests)
    taken = dict(Item.objects.values_list("pk", "places_taken"))
    assert taken == {item.pk: 0 if item.pk in tests else 1 for item in items}


@pytest.mark.parametrize(
    ("n_gold", "said"),
    [
        (1, "and 1 answer to a hidden test, which stands apart"),
        (4, "and 4 answers to hidden tests, which stand apart"),
    ],
)
def test_the_lead_sees_what_the_rater_counts(
    tested: Project,
    desk: Client,
    question: Question,
    items: list[Item],
    lead: User,
    client_for: Any,
    always: None,
    n_gold: int,
    said: str,
) -> None:
    """Who is paid by the item counts tests, too."""
    for item in items[n_gold:4]:
        retire_gold_answer(item=item, question=question, by=None)
    for _ in range(12):
        submit(desk, tested, on_desk(desk, tested), question, 2)
    update_question(question.pk)
    page = client_for(lead).get(f"/projects/{tested.pk}/raters/ann/")
    assert page.context["whole"].n_ratings == 12 - n_gold
    assert said in page.text


def test_without_a_share_nothing_is_hidden(
    tested: Project, desk: Client, question: Question, always: None
) -> None:
    Project.objects.update(gold_percent=0)
    for _ in range(12):
        submit(desk, tested, on_desk(desk, tested), question, 2)
    assert Rating.objects.count() == 12


def test_what_was_shown_least_comes_first_and_what_is_retired_never(
    tested: Project, desk: Client, question: Question, items: list[Item], always: None
) -> None:
    for key, shown in (("x", (0, 1, 2)), ("y", (0, 2))):
        other = Rater.objects.create(project=tested, key=key)
        for place in shown:
            Assignment.objects.create(
                item=items[place], rater=other, why="gold", leased_until="2030-01-01T00:00Z"
            )
    retire_gold_answer(item=items[3], question=question, by=None)
    asked = []
    for _ in range(3):
        asked.append(on_desk(desk, tested).key)
        submit(desk, tested, on_desk(desk, tested), question, 2)
    assert asked == ["i1", "i0", "i2"]
    assert on_desk(desk, tested).key not in asked
    assert Assignment.objects.get(state="open", rater__key="ann").why == ""


def test_undo_correction_skip_and_time_over_are_those_of_any_item(
    tested: Project, desk: Client, question: Question, always: None
) -> None:
    item = on_desk(desk, tested)
    submit(desk, tested, item, question, 2, comment="a thought", said="")
    desk.get(rate_url(tested))
    page = desk.post(rate_url(tested, tail="last/"), {}, headers=SHEET).text
    assert f'data-taken-back="{item.key}: major, taken back."' in page
    assert "a thought" in page
    mine = Assignment.objects.get(item=item)
    assert (mine.state, mine.why) == ("open", "gold")
    submit(desk, tested, item, question, 3)
    submit(desk, tested, item, question, 1)
    lines = Apart.objects.filter(item=item).order_by("pk")
    assert [(row.code, row.stands) for row in lines] == [
        (2, False),
        (-1, False),
        (3, False),
        (1, True),
    ]
    assert lines[2].rated_at == lines[3].rated_at > lines[1].rated_at
    older = submit(desk, tested, item, question, 0, said="")
    assert older.status_code == 409
    second = Assignment.objects.get(state="open").item
    desk.post(rate_url(tested, second, "skip/"), {"reason": "unclear"})
    assert (
        "skipped, taken back." in desk.post(rate_url(tested, tail="last/"), {}, headers=SHEET).text
    )
    assert Assignment.objects.get(item=second).why == "gold"
    Assignment.objects.filter(item=second).update(leased_until="2026-01-01T00:00Z")
    queue.release_expired()
    assert Assignment.objects.get(item=second).state == "expired"
    assert submit(desk, tested, second, question, 2).status_code == 302
    assert Apart.objects.get(item=second).code == 2
    Project.objects.update(corrections=False)
    assert submit(desk, tested, second, question, 0).status_code == 403
    assert submit(desk, tested, second, question, 2).status_code == 302
    assert not Rating.objects.exists()


def test_by_api_the_rater_sees_it_among_his_ratings_and_the_lead_does_not(
    tested: Project, api_for: Any, annotator: Any, lead: Any, always: None
) -> None:
    api, leads = api_for(annotator), api_for(lead)
    base = f"/api/v1/projects/{tested.pk}/"
    key = api.get(f"{base}next/").json()["item"]["key"]
    for label in ("minor", "major"):
        said = {"item": key, "answers": {"severity": label}}
        assert api.post(f"{base}next/", said, format="json").status_code == 200
    assert Apart.objects.get(stands=True).source == "form"
    [mine] = api.get(f"{base}ratings/").json()["results"]
    assert (mine["item"], mine["label"], mine["item_version"]) == (key, "major", 1)
    assert leads.get(f"{base}ratings/").json()["results"] == []
    history = f"{base}ratings/history/?item={key}&rater=ann"
    lines = api.get(history).json()["results"]
    assert [line["label"] for line in lines] == ["minor", "major"]
    assert leads.get(history).json()["results"] == []
    # A plain rating is an ordinary one.
    other = api.get(f"{base}next/").json()["item"]["key"]
    plain = {"item": other, "rater": "ann", "label": "none"}
    assert api.post(f"{base}ratings/", plain, format="json").json()["created"] == 1
    assert api.get(f"{base}next/").json()["item"]["key"] != other
    assert Rating.objects.get().item.key == other
    shown = {row["item"]: row["label"] for row in api.get(f"{base}ratings/").json()["results"]}
    assert shown == {key: "major", other: "none"}


@pytest.mark.django_db(transaction=True)
def test_the_overlap_stays_exact_with_hidden_gold(make_project: Any) -> None:
    project = make_project(overlap=2, gold_percent=30, queue_order=QueueOrder.RANDOM)
    question = project.questions.get()
    items = Item.objects.bulk_create(
        Item(project=project, key=f"i{number}", body={"text": "x"}) for number in range(16)
    )
    raters = Rater.objects.bulk_create(Rater(project=project, key=f"r{n}") for n in range(8))
    for item in items[:6]:
        set_gold_answer(item=item, question=question, answer=[1], by=None)

    def at_the_desk(rater_id: int) -> None:
        rater = Rater.objects.select_related("project").get(pk=rater_id)
        while (item := queue.get_next_item(rater)) is not None:
            submission.submit_answers(
                rater=rater, item=item, codes={question: 1}, comment="", flagged=False, by=None
            )

    in_threads(at_the_desk, [rater.pk for rater in raters])
    per_item = Counter(Rating.objects.values_list("item_id", flat=True))
    assert Counter(per_item.values()) == {2: 16}
    assert set(Item.objects.values_list("places_taken", flat=True)) == {2}
    assert Apart.objects.exists()
    pairs = Counter(Apart.objects.values_list("item", "rater"))
    assert set(pairs.values()) == {1}
    assert not pairs.keys() & set(Rating.objects.values_list("item", "rater"))
