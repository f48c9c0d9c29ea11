"""Create questions and change their texts. Scales are changed in scales."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from core import security_log
from core.text import has_nul
from projects.models import Category, Project, Question

from . import question_validation
from .project_validation import InvalidProjectChange
from .question_validation import MAX_QUESTIONS, NewQuestion
from .scales import serialize_category


@transaction.atomic
def add_question(*, project: Project, question: NewQuestion, by: Any) -> Question:
    """Add a question to a project.

    Raises InvalidQuestions (at index "0") or InvalidProjectChange.
    """
    question_validation.validate_questions([question])
    Project.objects.select_for_update().get(pk=project.pk)
    existing = list(project.questions.values_list("key", "position"))
    if question.key in dict(existing):
        raise InvalidProjectChange({"key": _("“%(key)s” already exists.") % {"key": question.key}})
    if len(existing) >= MAX_QUESTIONS:
        raise InvalidProjectChange(
            {"key": _("A project can have at most %(most)s questions.") % {"most": MAX_QUESTIONS}}
        )
    position = max((position for _key, position in existing), default=-1) + 1
    created = create_question(project, question, position=position)
    security_log.log_event(
        "question_added",
        project_id=project.pk,
        by=by.pk,
        question=question.key,
        after={
            "text": question.text,
            "scale": question.scale,
            "weights": question.weights,
            "categories": [serialize_category(category) for category in question.categories],
        },
    )
    return created


def create_question(project: Project, new_question: NewQuestion, *, position: int) -> Question:
    """Create a validated question with its categories.

    Their codes count from 0 in the declared order.
    """
    question = Question.objects.create(
        project=project,
        position=position,
        key=new_question.key,
        text=new_question.text,
        scale=new_question.scale,
        weights=new_question.weights,
        weight_matrix=new_question.weight_matrix,
    )
    Category.objects.bulk_create(
        Category(
            question=question,
            code=code,
            position=code,
            label=category.label,
            value=category.value,
            hotkey=category.hotkey,
        )
        for code, category in enumerate(new_question.categories)
    )
    return question


@transaction.atomic
def change_question_text(*, question: Question, text: str, by: Any) -> Question:
    """Change the text of a question. Raises InvalidProjectChange for an invalid one."""
    if not text.strip() or len(text) > 500 or has_nul(text):
        raise InvalidProjectChange({"text": _("Enter a question of 1 to 500 characters.")})
    before, question.text = question.text, text
    question.save(update_fields=["text"])
    security_log.log_event(
        "question_changed",
        project_id=question.project_id,
        by=by.pk,
        question=question.key,
        before={"text": before},
        after={"text": text},
    )
    return question
