"""New questions of a project, and their texts. What changes a scale is in scales."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from core import security_log
from core.text import has_nul
from projects.models import Category, Project, Question

from . import question_validation
from .project_validation import Refused
from .question_validation import MOST_QUESTIONS, NewQuestion
from .scales import as_told


@transaction.atomic
def add_question(*, project: Project, question: NewQuestion, by: Any) -> Question:
    """A further question of a project. Raises InvalidQuestions (at place "0") or Refused."""
    question_validation.check([question])
    Project.objects.select_for_update().get(pk=project.pk)
    standing = list(project.questions.values_list("key", "position"))
    if question.key in dict(standing):
        raise Refused(
            {"key": _("This project has a question '%(key)s' already.") % {"key": question.key}}
        )
    if len(standing) >= MOST_QUESTIONS:
        raise Refused(
            {"key": _("A project may have %(most)s questions at most.") % {"most": MOST_QUESTIONS}}
        )
    position = max((position for _key, position in standing), default=-1) + 1
    made = create_question(project, question, position=position)
    security_log.event(
        "question_added",
        project_id=project.pk,
        by=by.pk,
        question=question.key,
        after={
            "text": question.text,
            "scale": question.scale,
            "weights": question.weights,
            "categories": [as_told(one) for one in question.categories],
        },
    )
    return made


def create_question(project: Project, new: NewQuestion, *, position: int) -> Question:
    """A checked question with its categories; their codes count from 0 in the declared order."""
    question = Question.objects.create(
        project=project,
        position=position,
        key=new.key,
        text=new.text,
        scale=new.scale,
        weights=new.weights,
        weight_matrix=new.weight_matrix,
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
        for code, category in enumerate(new.categories)
    )
    return question


@transaction.atomic
def change_question_text(*, question: Question, text: str, by: Any) -> Question:
    if not text.strip() or len(text) > 500 or has_nul(text):
        raise Refused({"text": _("A question of 1 to 500 characters is needed.")})
    before, question.text = question.text, text
    question.save(update_fields=["text"])
    security_log.event(
        "question_changed",
        project_id=question.project_id,
        by=by.pk,
        question=question.key,
        before={"text": before},
        after={"text": text},
    )
    return question
