"""The one list of a rating's fields is what the models, the API's page, and record() know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import models, transaction

from projects.models import Category, Item, Question, Rater
from ratings.models import Apart, Rating, Revision
from ratings.services.judgement import DETAIL_FIELDS, FIELDS, STORED_TEXTS, Judgement, UnknownCode
from ratings.services.record import record_ratings


@pytest.mark.parametrize("name", [field.name for field in DETAIL_FIELDS])
def test_a_detail_is_a_column_of_a_rating(name: str) -> None:
    field = Rating._meta.get_field(name)
    assert isinstance(field, models.Field) and field.column == name


@pytest.mark.parametrize("name", STORED_TEXTS)
def test_what_is_kept_is_a_text_with_its_history(name: str) -> None:
    assert name in Judgement._fields
    for model in (Rating, Revision, Apart):
        assert isinstance(model._meta.get_field(name), models.TextField)


@pytest.mark.parametrize("name", [field.name for field in FIELDS])
def test_a_field_stands_on_the_page_about_the_api(name: str) -> None:
    assert f'"{name}"' in (Path(settings.BASE_DIR) / "docs" / "api.md").read_text()


@pytest.fixture
def judged(project: Any, question: Question) -> dict[Question, list[Judgement]]:
    """One item judged under two questions."""
    other = Question.objects.create(project=project, key="tone", text="Tone?", position=1)
    Category.objects.create(question=other, code=0, label="kind", position=0)
    item = Item.objects.create(project=project, key="i1")
    rater = Rater.objects.create(project=project, key="zoe")
    said = Judgement(item.pk, rater.pk, 0, comment="so")
    return {other: [said], question: [said]}


@pytest.mark.django_db
def test_several_questions_go_through_one_door(judged: dict[Any, Any], lead: Any) -> None:
    outcome = record_ratings(judged, by=lead, source="api")
    assert outcome.created == 2
    assert list(Revision.objects.values_list("comment", "by")) == [("so", lead.pk)] * 2
    assert Item.objects.get().places_taken == 1


@pytest.mark.django_db
def test_an_unknown_code_keeps_all_out(judged: dict[Any, Any], question: Question) -> None:
    [said] = judged[question]
    judged[question] = [said._replace(code=99)]
    with pytest.raises(UnknownCode, match="'severity' has the code 99"), transaction.atomic():
        record_ratings(judged, by=None, source="api")
    assert not Rating.objects.exists()
    assert not Revision.objects.exists()
