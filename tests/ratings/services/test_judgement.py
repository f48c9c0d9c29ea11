"""The list of a rating's fields is the same in the models, the API documentation and record()."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import models, transaction

from projects.models import Category, Item, Question, Rater
from ratings.models import CheckAnswer, Rating, Revision
from ratings.services.judgement import DETAIL_FIELDS, FIELDS, STORED_TEXTS, Judgement, UnknownCode
from ratings.services.record import record_ratings


@pytest.mark.parametrize("name", [field.name for field in DETAIL_FIELDS])
def test_a_detail_is_a_column_of_a_rating(name: str) -> None:
    field = Rating._meta.get_field(name)
    assert isinstance(field, models.Field) and field.column == name


@pytest.mark.parametrize("name", STORED_TEXTS)
def test_kept_field_is_a_text_with_history(name: str) -> None:
    assert name in Judgement._fields
    for model in (Rating, Revision, CheckAnswer):
        assert isinstance(model._meta.get_field(name), models.TextField)


@pytest.mark.parametrize("name", [field.name for field in FIELDS])
def test_field_is_documented_in_the_api_page(name: str) -> None:
    assert f'"{name}"' in (Path(settings.BASE_DIR) / "docs" / "api.md").read_text()


@pytest.fixture
def judgements_by_question(project: Any, question: Question) -> dict[Question, list[Judgement]]:
    """Return judgements of one item under two questions."""
    other_question = Question.objects.create(project=project, key="tone", text="Tone?", position=1)
    Category.objects.create(question=other_question, code=0, label="kind", position=0)
    item = Item.objects.create(project=project, key="i1")
    rater = Rater.objects.create(project=project, key="zoe")
    judgement = Judgement(item.pk, rater.pk, 0, comment="so")
    return {other_question: [judgement], question: [judgement]}


@pytest.mark.django_db
def test_several_questions_are_recorded_in_one_call(
    judgements_by_question: dict[Any, Any], lead: Any
) -> None:
    outcome = record_ratings(judgements_by_question, by=lead, source="api")
    assert outcome.created == 2
    assert list(Revision.objects.values_list("comment", "by")) == [("so", lead.pk)] * 2
    assert Item.objects.get().slots_taken == 1


@pytest.mark.django_db
def test_unknown_code_rejects_all_judgements(
    judgements_by_question: dict[Any, Any], question: Question
) -> None:
    [judgement] = judgements_by_question[question]
    judgements_by_question[question] = [judgement._replace(code=99)]
    with pytest.raises(UnknownCode, match="'severity' has the code 99"), transaction.atomic():
        record_ratings(judgements_by_question, by=None, source="api")
    assert not Rating.objects.exists()
    assert not Revision.objects.exists()
