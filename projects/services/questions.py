"""Create questions, and change their texts and scales.

A scale consists of categories, their weights, and the headline coefficient. Every change of it runs
under the question's lock and increments its scale_version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import F, Max
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core import security_log
from core.text import describe_invalid_choice, describe_line, has_control_character, has_nul
from projects import hooks, locks
from projects.models import Category, Project, Question, Scale, ScaleVersion, Weights

from . import question_validation
from .project_validation import InvalidProjectChange
from .question_validation import MAX_QUESTIONS, NewCategory, NewQuestion

MAX_QUESTION_LENGTH = 500  # characters; for the text
MAX_NOTE_LENGTH = 500  # characters; for the reason of a choice


@transaction.atomic
def change_categories(
    *,
    question: Question,
    scale: str,
    categories: Sequence[tuple[int | None, NewCategory]],
    by: Any,
    seen_version: int | None = None,
) -> Question:
    """Replace the categories of a question's scale by these, in this order.

    Each is (code, or None for a new category; its new values). Categories that are left out are
    retired; they must not be used by ratings or gold answers. ``seen_version``: the scale_version
    that ``by`` was shown, None to skip the check. Raises InvalidProjectChange, without changes,
    also if somebody else has changed the scale since.
    """
    question = _lock_question(question, seen_version, by=by)
    existing = {category.code: category for category in question.active_categories()}
    _validate_categories(scale, [category for _code, category in categories])
    codes = [code for code, _category in categories if code is not None]
    if len(set(codes)) != len(codes) or not set(codes) <= set(existing):
        raise InvalidProjectChange(
            {"categories": _("Someone else changed this. Reload and try again.")}
        )
    removed = [category for code, category in existing.items() if code not in codes]
    _reject_used_categories(question, removed)
    logged_before = {"categories": [serialize_category(category) for category in existing.values()]}
    _retire_categories(removed)
    _write_categories(question, existing, categories)
    fields: dict[str, Any] = {"scale": scale}
    logged_after = {"categories": [serialize_category(category) for _code, category in categories]}
    if question.weight_matrix is not None:
        positions = {code: position for position, code in enumerate(existing)}
        sources = [None if code is None else positions[code] for code, _category in categories]
        fields["weight_matrix"] = question_validation.rearrange_matrix(
            question.weight_matrix, sources
        )
    return _set_scale(question, by=by, logged=(logged_before, logged_after), **fields)


@transaction.atomic
def change_weights(
    *,
    question: Question,
    weights: str,
    matrix: Any,
    by: Any,
    seen_version: int | None = None,
    reason: str = "",
) -> Question:
    """Set the weights of a question and its matrix.

    ``matrix``: rows in declared order, or None; with weights other than custom it is stored for
    later use. ``reason`` is stored with the previous version. Raises InvalidProjectChange, without
    changes, also if ``seen_version`` is neither None nor the current scale_version.
    """
    reason = _clean_line("reason", reason)
    question = _lock_question(question, seen_version, by=by, reason=reason)
    labels = [category.label for category in question.active_categories()]
    if weights not in Weights.values:
        raise InvalidProjectChange({"weights": describe_invalid_choice(weights, Weights.values)})
    if matrix is None and weights == Weights.CUSTOM:
        raise InvalidProjectChange(
            {"weight_matrix": _("Custom weights need one row and column per category.")}
        )
    if matrix is not None and (
        matrix_problem := question_validation.find_matrix_problem(matrix, len(labels))
    ):
        raise InvalidProjectChange({"weight_matrix": matrix_problem})
    return _set_scale(question, by=by, weights=weights, weight_matrix=matrix)


@transaction.atomic
def change_headline(
    *, question: Question, headline: str, note: str, pooled: bool, by: Any
) -> Question:
    """Set the headline coefficient ("" for the default) and the reason for it, ``note``.

    ``pooled``: compute it from the ratings of people and models together. The caller validates the
    coefficient's name. Raises InvalidProjectChange, without changes.
    """
    if headline and not note.strip():
        raise InvalidProjectChange({"note": _("Explain why you changed the headline.")})
    note = _clean_line("note", note)
    question = _lock_question(question, None, by=by)
    return _set_scale(
        question, by=by, headline=headline, headline_note=note, headline_pooled=pooled
    )


def _clean_line(name: str, text: str) -> str:
    """Return the text without blanks around it.

    Raises InvalidProjectChange (for the field ``name``) if it is longer than MAX_NOTE_LENGTH or has
    control characters, such as line ends.
    """
    if len(text) > MAX_NOTE_LENGTH or has_control_character(text):
        raise InvalidProjectChange({name: describe_line(MAX_NOTE_LENGTH)})
    return text.strip()


def _lock_question(
    question: Question, seen_version: int | None, *, by: Any, reason: str = ""
) -> Question:
    """Lock the question, store its current declaration as a version, and return it.

    Raises InvalidProjectChange if ``seen_version`` is neither None nor the current scale_version.
    """
    locks.lock_categories(question.pk)
    question = Question.objects.select_for_update().get(pk=question.pk)
    if seen_version not in (None, question.scale_version):
        raise InvalidProjectChange(
            {"__all__": _("Someone else changed this. Reload and try again.")}
        )
    ScaleVersion.objects.create(
        question=question,
        number=question.scale_version,
        declaration=question.get_declaration(),
        until=timezone.now(),
        reason=reason,
        by=by,
    )
    return question


def serialize_category(category: Category | NewCategory) -> dict[str, object]:
    """Return a category's label, value and hotkey by name, as the audit log stores them."""
    return {"label": category.label, "value": category.value, "hotkey": category.hotkey}


def _set_scale(
    question: Question,
    *,
    by: Any,
    logged: tuple[Mapping[str, object], Mapping[str, object]] = ({}, {}),
    **fields: Any,
) -> Question:
    """Set ``fields`` of the question and increment its scale_version; return the question.

    ``logged``: further values for the audit log, before and after.
    """
    before = {name: getattr(question, name) for name in fields}
    Question.objects.filter(pk=question.pk).update(scale_version=F("scale_version") + 1, **fields)
    hooks.SCALE_CHANGED.call(question.pk)
    security_log.log_event(
        "scale_changed",
        project_id=question.project_id,
        by=by.pk,
        question=question.key,
        before={**logged[0], **before},
        after={**logged[1], **fields},
    )
    return Question.objects.get(pk=question.pk)


def _validate_categories(scale: str, categories: Sequence[NewCategory]) -> None:
    if scale not in Scale.values:
        raise InvalidProjectChange({"scale": describe_invalid_choice(scale, Scale.values)})
    if problems := question_validation.find_category_problems(categories, scale=scale):
        raise InvalidProjectChange({"categories": problems})


def _reject_used_categories(question: Question, removed: Sequence[Category]) -> None:
    uses = hooks.count_category_uses(question.pk, [category.code for category in removed])
    messages = [
        ngettext(
            "“%(label)s” has %(count)s rating or gold answer. Rename it instead.",
            "“%(label)s” has %(count)s ratings or gold answers. Rename it instead.",
            uses[category.code],
        )
        % {"label": category.label, "count": uses[category.code]}
        for category in removed
        if uses.get(category.code)
    ]
    if messages:
        raise InvalidProjectChange({"categories": " ".join(messages)})


def _retire_categories(categories: Sequence[Category]) -> None:
    Category.objects.filter(pk__in=[category.pk for category in categories]).update(retired=True)


def _write_categories(
    question: Question,
    existing: dict[int, Category],
    categories: Sequence[tuple[int | None, NewCategory]],
) -> None:
    highest_code = Category.objects.filter(question=question).aggregate(highest=Max("code"))[
        "highest"
    ]
    last_code = -1 if highest_code is None else highest_code
    updated, added = [], []
    for position, (code, new_category) in enumerate(categories):
        if code is None:
            last_code += 1
            category = Category(question=question, code=last_code)
            added.append(category)
        else:
            category = existing[code]
            updated.append(category)
        category.position = position
        category.label = new_category.label
        category.value = new_category.value
        category.hotkey = new_category.hotkey
    # Two categories may swap labels or hotkeys: clear the unique values before setting new ones.
    for category in updated:
        Category.objects.filter(pk=category.pk).update(label=f"\x1f{category.code}", hotkey="")
    Category.objects.bulk_update(updated, ["position", "label", "value", "hotkey"])
    Category.objects.bulk_create(added)


@transaction.atomic
def add_question(*, project: Project, question: NewQuestion, by: Any) -> Question:
    """Add a question after the project's other ones.

    Raises InvalidQuestions (its problems are at index "0"), or InvalidProjectChange for a key in
    use and for too many questions.
    """
    question_validation.validate_questions([question])
    Project.objects.select_for_update().get(pk=project.pk)
    existing = list(project.questions.values_list("key", "position"))
    if question.key in dict(existing):
        raise InvalidProjectChange({"key": _("“%(key)s” already exists.") % {"key": question.key}})
    if len(existing) >= MAX_QUESTIONS:
        raise InvalidProjectChange(
            {"key": _("At most %(most)s questions per project.") % {"most": MAX_QUESTIONS}}
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


def build_new_question(question: Question) -> NewQuestion:
    """Return a question to create that has the text, scale, weights and categories of this one.

    Removed categories are left out.
    """
    return NewQuestion(
        key=question.key,
        text=question.text,
        scale=question.scale,
        weights=question.weights,
        weight_matrix=question.weight_matrix,
        categories=[
            NewCategory(label=category.label, value=category.value, hotkey=category.hotkey)
            for category in question.active_categories()
        ],
    )


@transaction.atomic
def change_question_text(*, question: Question, text: str, by: Any) -> Question:
    """Change the text of a question. Raises InvalidProjectChange for an invalid one."""
    if not text.strip() or len(text) > MAX_QUESTION_LENGTH or has_nul(text):
        raise InvalidProjectChange(
            {"text": _("Enter 1 to %(n)s characters.") % {"n": MAX_QUESTION_LENGTH}}
        )
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
