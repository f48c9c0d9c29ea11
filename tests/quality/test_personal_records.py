"""Personal data contains what this package stores about a rater."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import models

from projects.models import Item, Question, Rater
from quality.models import Appeal, GoldIntervention
from ratings import personal_data
from ratings.models import CheckAnswer, Exam, RaterMessage, Rating
from ratings.services.judgement import Judgement
from ratings.services.own_answers import record_check_answers

pytestmark = pytest.mark.django_db
MOMENT = "2026-08-01T00:00Z"


@pytest.fixture
def rater(question: Question, rate: Any, make_alert: Any) -> Rater:
    """Return a rater with a row in every model that has a rater and a text."""
    rate(question, "i0", "ann", "none")
    rater, item = Rater.objects.get(key="ann"), Item.objects.get(key="i0")
    check_answer = Judgement(item.pk, rater.pk, 1)
    record_check_answers({question: [check_answer]}, kind="repeat", by=None, source="form")
    Exam.objects.create(question=question, rater=rater, number=1, started_at=MOMENT)
    RaterMessage.objects.create(rater=rater, text="x", sent_at=MOMENT)
    Appeal.objects.create(question=question, item=item, rater=rater, text="x", created_at=MOMENT)
    GoldIntervention.objects.create(
        question=question,
        rater=rater,
        step="warn",
        state="proposed",
        evidence=30.0,
        n_answers=9,
        created_at=MOMENT,
    )
    make_alert(question, rater)
    return rater


def list_text_fields() -> list[tuple[type[models.Model], str]]:
    """Return the text fields of all models that have a rater."""
    return [
        (model, field.name)
        for model in apps.get_models()
        if any(field.name == "rater" for field in model._meta.concrete_fields)
        for field in model._meta.concrete_fields
        if isinstance(field, models.TextField)
    ]


def test_every_text_about_a_rater_is_exported(rater: Rater) -> None:
    fields = list_text_fields()
    assert {model for model, _name in fields} == {
        Rating,
        CheckAnswer,
        Exam,
        RaterMessage,
        Appeal,
        GoldIntervention,
    }
    for model, name in fields:
        text = f"{model.__name__}.{name}"
        assert model._default_manager.filter(rater=rater).update(**{name: text}) == 1, text
    exported = b"".join(personal_data.iter_personal_data(rater)).decode()
    assert [name for model, name in fields if f"{model.__name__}.{name}" not in exported] == []
    records = [json.loads(line) for line in exported.splitlines()]
    alerts = [record for record in records if "alert" in record]
    assert [(alert["alert"], alert["since"]) for alert in alerts] == [("rater_drift", "2026-08-17")]


def test_alerts_about_a_pair_are_exported_for_both_raters(
    question: Question, rate: Any, make_alert: Any
) -> None:
    for key in ("ann", "ben"):
        rate(question, "i0", key, "none")
    ann, ben = Rater.objects.order_by("key")
    make_alert(question, ann, kind="pair_diverged", other_rater=ben)
    for rater in (ann, ben):
        records = map(json.loads, personal_data.iter_personal_data(rater))
        kinds = [record["alert"] for record in records if "alert" in record]
        assert kinds == ["pair_diverged"]


@pytest.mark.parametrize("comments", [False, True])
def test_texts_of_appeals_are_cleared_like_comments(
    rater: Rater, lead: User, comments: bool
) -> None:
    personal_data.pseudonymize_rater(rater=rater, by=lead, comments=comments)
    assert Appeal.objects.get().text == ("x" if comments else "")
