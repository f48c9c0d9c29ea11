"""Gold answers: versions and valid values."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from projects.models import GoldAnswer, Item, Project
from projects.services import gold
from projects.services.project_validation import InvalidProjectChange
from projects.services.question_validation import NewCategory
from projects.services.questions import change_categories

pytestmark = pytest.mark.django_db

CODES = {"none": 0, "minor": 1, "major": 2, "critical": 3}


@pytest.fixture
def item(project: Project) -> Item:
    return Item.objects.create(project=project, key="i1", body={"text": "One"})


def test_changed_answer_creates_a_version(item: Item, question: Any, lead: Any) -> None:
    first = gold.set_gold_answer(
        item=item, question=question, answer=[2], by=lead, explanation="See 3."
    )
    assert (first.version, first.answer, first.explanation, first.by) == (1, [2], "See 3.", lead)
    unchanged = gold.set_gold_answer(
        item=item, question=question, answer=[2], by=lead, explanation="See 3."
    )
    assert unchanged == first
    second = gold.set_gold_answer(item=item, question=question, answer=[3, 2], by=lead)
    assert (second.version, second.answer, second.explanation) == (2, [2, 3], "")
    first.refresh_from_db()
    assert first.retired_at == second.created_at
    assert first.retired_by == lead
    assert list(GoldAnswer.objects.in_force()) == [second]


def test_retired_answer_is_kept(item: Item, question: Any, lead: Any) -> None:
    gold.set_gold_answer(item=item, question=question, answer=[2], by=lead)
    assert gold.retire_gold_answer(item=item, question=question, by=lead)
    assert not gold.retire_gold_answer(item=item, question=question, by=lead)
    assert not GoldAnswer.objects.in_force().exists()
    assert gold.set_gold_answer(item=item, question=question, answer=[2], by=lead).version == 2
    assert GoldAnswer.objects.count() == 2


def test_stored_answer_cannot_be_changed(item: Item, question: Any, lead: Any) -> None:
    row = gold.set_gold_answer(item=item, question=question, answer=[2], by=lead)
    row.answer = [1]
    with pytest.raises(TypeError, match="written once"):
        row.save()
    with pytest.raises(IntegrityError), transaction.atomic():
        GoldAnswer.objects.create(
            item=item, question=question, version=2, answer=[1], created_at=row.created_at
        )


@pytest.mark.parametrize(
    ("labels", "stored", "formatted"),
    [
        ("major", [2], "major"),
        (["major"], [2], "major"),
        (["critical", "minor"], [1, 3], ["minor", "critical"]),
        ({"major": 0.75, "minor": 0.25}, {"1": 0.25, "2": 0.75}, {"minor": 0.25, "major": 0.75}),
        ({"major": 1, "minor": 0}, [2], "major"),
        ({"none": 1.0, "minor": 1e-320}, None, None),
    ],
)
def test_answers_are_parsed_and_formatted_by_labels(
    item: Item, question: Any, lead: Any, labels: Any, stored: Any, formatted: Any
) -> None:
    answer = gold.parse_answer(labels, CODES)
    row = gold.set_gold_answer(item=item, question=question, answer=answer, by=lead)
    row.refresh_from_db()
    if stored is not None:
        assert row.answer == stored
        assert (
            gold.format_answer(row.answer, {code: label for label, code in CODES.items()})
            == formatted
        )
    states = gold.set_gold_answers(
        question=question, answers=[gold.NewGoldAnswer(item.pk, answer)], by=lead
    )
    assert states == {item.pk: "unchanged"}


def test_rounded_shares_add_up_to_one(item: Item, question: Any, lead: Any) -> None:
    answer = gold.parse_answer({"none": 0.333, "minor": 0.333, "major": 0.333}, CODES)
    row = gold.set_gold_answer(item=item, question=question, answer=answer, by=lead)
    assert sum(row.answer.values()) == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([], "names no category"),
        ({}, "names no category"),
        ("mjor", "unknown label 'mjor'; one of none, minor, major, critical"),
        (["major", "major"], "twice"),
        (["major", 3], "must be a label"),
        (7, "must be a label"),
        ({"major": 0.5, "minor": 0.4}, "must add up to 1, not 0.9"),
        ({"major": 1.5, "minor": -0.5}, "negative"),
        ({"major": float("nan")}, "endless"),
        ({"major": float("inf")}, "endless"),
        ({"major": True}, "a number"),
        ({"major": "1"}, "a number"),
    ],
)
def test_invalid_answer_is_rejected(labels: Any, words: str) -> None:
    with pytest.raises(gold.InvalidGoldAnswer, match=words):
        gold.parse_answer(labels, CODES)


def test_one_invalid_answer_stores_none(
    item: Item, question: Any, lead: Any, make_project: Any
) -> None:
    foreign_item = Item.objects.create(project=make_project("Other"), key="i1")
    for invalid_answer, words in (
        (gold.NewGoldAnswer(foreign_item.pk, [1]), "not of the question's project"),
        (gold.NewGoldAnswer(item.pk, [9]), "no category with the code 9"),
        (gold.NewGoldAnswer(item.pk, [1], "a\x00b"), "no NUL"),
    ):
        valid_item = Item.objects.create(project=item.project, key=f"good {words}")
        with pytest.raises(gold.InvalidGoldAnswer, match=words):
            gold.set_gold_answers(
                question=question,
                answers=[gold.NewGoldAnswer(valid_item.pk, [1]), invalid_answer],
                by=lead,
            )
    assert not GoldAnswer.objects.exists()


def test_many_answers_are_set_and_retired_at_once(
    project: Project, question: Any, lead: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(gold, "BATCH_SIZE", 7)
    items = Item.objects.bulk_create(Item(project=project, key=f"k{n}") for n in range(30))
    answers = [gold.NewGoldAnswer(item.pk, [n % 4], f"{n}") for n, item in enumerate(items)]
    assert set(gold.set_gold_answers(question=question, answers=answers, by=lead).values()) == {
        "created"
    }
    assert set(gold.set_gold_answers(question=question, answers=answers, by=lead).values()) == {
        "unchanged"
    }
    # an unchanged answer that is sent without an explanation keeps the stored one
    answers_without_explanation = [answer._replace(explanation=None) for answer in answers]
    assert set(
        gold.set_gold_answers(
            question=question, answers=answers_without_explanation, by=lead
        ).values()
    ) == {"unchanged"}
    ids = [item.pk for item in items]
    assert (
        sorted(gold.retire_gold_answers(question=question, item_ids=ids[:20], by=lead)) == ids[:20]
    )
    assert GoldAnswer.objects.in_force().count() == 10


def test_category_used_by_a_gold_answer_is_not_removed(
    item: Item, question: Any, lead: Any
) -> None:
    gold.set_gold_answer(item=item, question=question, answer={1: 0.5, 2: 0.5}, by=lead)
    remaining = [
        (category.code, NewCategory(category.label, category.value, category.hotkey))
        for category in question.active_categories()
        if category.label != "major"
    ]
    change = {"question": question, "scale": "ordinal", "categories": remaining, "by": lead}
    with pytest.raises(
        InvalidProjectChange,
        match="“major” has 1 rating or gold answer",
    ):
        change_categories(**change)
    gold.retire_gold_answer(item=item, question=question, by=lead)
    change_categories(**change)
