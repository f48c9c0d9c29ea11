"""Hidden gold on the rating page: a check for the lead, an ordinary item for the rater."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from metrics.jobs.question_updates import update_question
from projects.models import Item, Project, Question, QueueOrder, Rater
from projects.services.gold import retire_gold_answer, set_gold_answer
from ratings.annotation import submission
from ratings.annotation.assignments import hidden_checks, queue
from ratings.models import Assignment, CheckAnswer, Rating, Revision
from tests.ratings.annotation.assignments.test_queue_concurrency import run_in_threads
from tests.ratings.annotation.test_rate import get_rate_url, submit

pytestmark = pytest.mark.django_db

SHEET = {"X-Annotation": "sheet"}


@pytest.fixture
def items(project: Project) -> list[Item]:
    return Item.objects.bulk_create(
        Item(project=project, key=f"i{number}", body={"text": f"Text number {number}"})
        for number in range(12)
    )


@pytest.fixture
def project_with_gold(project: Project, items: list[Item], question: Question) -> Project:
    """Return a project in which half of the assigned items are to be gold; four of twelve can be."""
    Project.objects.update(gold_percent=50, queue_order=QueueOrder.RANDOM)
    for item in items[:4]:
        set_gold_answer(item=item, question=question, answer=[1], by=None)
    project.refresh_from_db()
    return project


@pytest.fixture
def always_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every item a check as long as there are any."""
    monkeypatch.setattr(hidden_checks, "_draw_fraction", lambda *_about: 0.0)


@pytest.fixture
def alternate_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every second item a check, whatever the rater's random numbers are."""
    monkeypatch.setattr(
        hidden_checks, "_draw_fraction", lambda _rater, position, _purpose: position % 2 / 2
    )


@pytest.fixture
def annotator_client(client_for: Any, annotator: Any) -> Client:
    return client_for(annotator)


def get_open_item(client: Client, project: Project) -> Item:
    client.get(get_rate_url(project))
    return Assignment.objects.get(state="open", rater__key="ann").item


def test_share_of_the_queue_is_gold_and_stored_as_check_answers(
    project_with_gold: Project,
    annotator_client: Client,
    question: Question,
    items: list[Item],
    alternate_checks: None,
) -> None:
    for _ in range(12):
        assert (
            submit(
                annotator_client,
                project_with_gold,
                get_open_item(annotator_client, project_with_gold),
                question,
                2,
            ).status_code
            == 302
        )
    assert (
        "12 rated in total, 12 today."
        in annotator_client.get(f"/projects/{project_with_gold.pk}/my-ratings/").text
    )
    assert Assignment.objects.filter(state="done").count() == 12  # each item once
    check_item_ids = set(Assignment.objects.filter(kind="gold").values_list("item", flat=True))
    assert check_item_ids and check_item_ids <= {item.pk for item in items[:4]}
    check_answers = CheckAnswer.objects.all()
    assert {row.item_id for row in check_answers} == check_item_ids
    assert {(row.code, row.kind, row.is_current, row.source) for row in check_answers} == {
        (2, "gold", True, "form")
    }
    assert all(row.seconds is not None and row.item_version == 1 for row in check_answers)
    assert not set(Rating.objects.values_list("item", flat=True)) & check_item_ids
    assert Rating.objects.count() == Revision.objects.count() == 12 - len(check_item_ids)
    slots_taken = dict(Item.objects.values_list("pk", "slots_taken"))
    assert slots_taken == {item.pk: 0 if item.pk in check_item_ids else 1 for item in items}


@pytest.mark.parametrize(
    ("n_gold", "text"),
    [
        (1, "without 1 check or repeat"),
        (4, "without 4 checks and repeats"),
    ],
)
def test_lead_sees_how_many_checks_a_rater_answered(
    project_with_gold: Project,
    annotator_client: Client,
    question: Question,
    items: list[Item],
    lead: User,
    client_for: Any,
    always_check: None,
    n_gold: int,
    text: str,
) -> None:
    """Raters who are paid by the item count checks, too."""
    for item in items[n_gold:4]:
        retire_gold_answer(item=item, question=question, by=None)
    for _ in range(12):
        submit(
            annotator_client,
            project_with_gold,
            get_open_item(annotator_client, project_with_gold),
            question,
            2,
        )
    update_question(question.pk)
    page = client_for(lead).get(f"/projects/{project_with_gold.pk}/raters/ann/")
    assert page.context["whole"].n_ratings == 12 - n_gold
    assert text in page.text


def test_without_a_gold_share_there_are_no_checks(
    project_with_gold: Project, annotator_client: Client, question: Question, always_check: None
) -> None:
    Project.objects.update(gold_percent=0)
    for _ in range(12):
        submit(
            annotator_client,
            project_with_gold,
            get_open_item(annotator_client, project_with_gold),
            question,
            2,
        )
    assert Rating.objects.count() == 12


def test_least_shown_gold_comes_first_and_retired_gold_never(
    project_with_gold: Project,
    annotator_client: Client,
    question: Question,
    items: list[Item],
    always_check: None,
) -> None:
    for key, positions in (("x", (0, 1, 2)), ("y", (0, 2))):
        other_rater = Rater.objects.create(project=project_with_gold, key=key)
        for position in positions:
            Assignment.objects.create(
                item=items[position],
                rater=other_rater,
                kind="gold",
                leased_until="2030-01-01T00:00Z",
            )
    retire_gold_answer(item=items[3], question=question, by=None)
    assigned_keys = []
    for _ in range(3):
        assigned_keys.append(get_open_item(annotator_client, project_with_gold).key)
        submit(
            annotator_client,
            project_with_gold,
            get_open_item(annotator_client, project_with_gold),
            question,
            2,
        )
    assert assigned_keys == ["i1", "i0", "i2"]
    assert get_open_item(annotator_client, project_with_gold).key not in assigned_keys
    assert Assignment.objects.get(state="open", rater__key="ann").kind == ""


def test_undo_correction_skip_and_expiry_work_as_for_any_item(
    project_with_gold: Project, annotator_client: Client, question: Question, always_check: None
) -> None:
    item = get_open_item(annotator_client, project_with_gold)
    submit(
        annotator_client,
        project_with_gold,
        item,
        question,
        2,
        comment="a thought",
        answer_version="",
    )
    annotator_client.get(get_rate_url(project_with_gold))
    page = annotator_client.post(
        get_rate_url(project_with_gold, tail="undo/"), {}, headers=SHEET
    ).text
    assert 'data-undone="Undone: major"' in page
    assert "a thought" in page
    assignment = Assignment.objects.get(item=item)
    assert (assignment.state, assignment.kind) == ("open", "gold")
    submit(annotator_client, project_with_gold, item, question, 3)
    submit(annotator_client, project_with_gold, item, question, 1)
    check_answers = CheckAnswer.objects.filter(item=item).order_by("pk")
    assert [(row.code, row.is_current) for row in check_answers] == [
        (2, False),
        (-1, False),
        (3, False),
        (1, True),
    ]
    assert check_answers[2].rated_at == check_answers[3].rated_at > check_answers[1].rated_at
    stale_response = submit(
        annotator_client, project_with_gold, item, question, 0, answer_version=""
    )
    assert stale_response.status_code == 409
    second_item = Assignment.objects.get(state="open").item
    annotator_client.post(
        get_rate_url(project_with_gold, second_item, "skip/"), {"reason": "unclear"}
    )
    assert (
        "Undone: skipped"
        in annotator_client.post(
            get_rate_url(project_with_gold, tail="undo/"), {}, headers=SHEET
        ).text
    )
    assert Assignment.objects.get(item=second_item).kind == "gold"
    Assignment.objects.filter(item=second_item).update(leased_until="2026-01-01T00:00Z")
    queue.release_expired_assignments()
    assert Assignment.objects.get(item=second_item).state == "expired"
    assert submit(annotator_client, project_with_gold, second_item, question, 2).status_code == 302
    assert CheckAnswer.objects.get(item=second_item).code == 2
    Project.objects.update(allows_corrections=False)
    assert submit(annotator_client, project_with_gold, second_item, question, 0).status_code == 403
    assert submit(annotator_client, project_with_gold, second_item, question, 2).status_code == 302
    assert not Rating.objects.exists()


def test_api_lists_check_answers_for_the_rater_but_not_the_lead(
    project_with_gold: Project, api_for: Any, annotator: Any, lead: Any, always_check: None
) -> None:
    api, lead_api = api_for(annotator), api_for(lead)
    base = f"/api/v1/projects/{project_with_gold.pk}/"
    key = api.get(f"{base}next/").json()["item"]["key"]
    for label in ("minor", "major"):
        data = {"item": key, "answers": {"severity": label}}
        assert api.post(f"{base}next/", data, format="json").status_code == 200
    assert CheckAnswer.objects.get(is_current=True).source == "form"
    [own_rating] = api.get(f"{base}ratings/").json()["results"]
    assert (own_rating["item"], own_rating["label"], own_rating["item_version"]) == (
        key,
        "major",
        1,
    )
    assert lead_api.get(f"{base}ratings/").json()["results"] == []
    history = f"{base}ratings/history/?item={key}&rater=ann"
    revisions = api.get(history).json()["results"]
    assert [revision["label"] for revision in revisions] == ["minor", "major"]
    assert lead_api.get(history).json()["results"] == []
    # What is sent to ratings/ is a check answer, too.
    other_key = api.get(f"{base}next/").json()["item"]["key"]
    rating_row = {"item": other_key, "rater": "ann", "label": "none"}
    assert api.post(f"{base}ratings/", rating_row, format="json").json()["created"] == 1
    assert api.get(f"{base}next/").json()["item"]["key"] != other_key
    assert not Rating.objects.exists()
    assert CheckAnswer.objects.latest("pk").source == "api"
    label_by_item = {
        row["item"]: row["label"] for row in api.get(f"{base}ratings/").json()["results"]
    }
    assert label_by_item == {key: "major", other_key: "none"}


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

    def rate_until_empty(rater_id: int) -> None:
        rater = Rater.objects.select_related("project").get(pk=rater_id)
        while (item := queue.get_next_item(rater)) is not None:
            submission.submit_answers(
                rater=rater, item=item, codes={question: 1}, comment="", flagged=False, by=None
            )

    run_in_threads(rate_until_empty, [rater.pk for rater in raters])
    per_item = Counter(Rating.objects.values_list("item_id", flat=True))
    assert Counter(per_item.values()) == {2: 16}
    assert set(Item.objects.values_list("slots_taken", flat=True)) == {2}
    assert CheckAnswer.objects.exists()
    pairs = Counter(CheckAnswer.objects.values_list("item", "rater"))
    assert set(pairs.values()) == {1}
    assert not pairs.keys() & set(Rating.objects.values_list("item", "rater"))
