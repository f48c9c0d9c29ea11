"""Forms of the annotation page, and the answer options of a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.db.models import prefetch_related_objects
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy

from core.text import get_list_separator
from projects.models import Category, Project, Question
from projects.services.question_validation import assign_hotkeys, is_reserved_hotkey

# options shown in one row if all labels are short (SHORT_LABEL_LENGTH characters)
MAX_OPTIONS_IN_ROW = 5
SHORT_LABEL_LENGTH = 10


@dataclass(frozen=True, slots=True)
class AnswerOption:
    """A category as an answer option on the annotation page."""

    code: int
    label: str
    key: str
    element_id: str


def get_questions(project: Project) -> list[Question]:
    """Return the project's questions with their categories, prefetched on the project object."""
    prefetch_related_objects([project], "questions__categories")
    return list(project.questions.all())


def get_field_name(question: Question) -> str:
    return f"question-{question.pk}"


def build_question_options(question: Question) -> list[AnswerOption]:
    """Return answer options of the question's active categories in order, each with a hotkey.

    The later categories have none if there are more categories than keys. A key of the annotation
    page itself, which older questions may have declared, is ignored: each key has one meaning, so
    that "undo" never rates the next item.
    """
    return build_answer_options(question.active_categories(), get_field_name(question))


def build_answer_options(categories: Sequence[Category], name: str) -> list[AnswerOption]:
    """Return the categories as answer options in the given order; ``name`` is the form field."""
    keys = assign_hotkeys(
        [_clean_hotkey(category.hotkey) for category in categories],
        [category.label for category in categories],
    )
    return [
        AnswerOption(category.code, category.label, key, f"{name}-{category.code}")
        for category, key in zip(categories, keys, strict=True)
    ]


def fits_in_one_row(options: Sequence[AnswerOption]) -> bool:
    """Return whether the options fit in one row: few, with short labels."""
    has_short_labels = all(len(option.label) <= SHORT_LABEL_LENGTH for option in options)
    return has_short_labels and len(options) <= MAX_OPTIONS_IN_ROW


def _clean_hotkey(hotkey: str) -> str:
    return "" if is_reserved_hotkey(hotkey) else hotkey


class AnswerForm(forms.Form):
    """Form with one required answer to each of the questions, a comment and a flag."""

    comment = forms.CharField(required=False, max_length=4000)
    flagged = forms.BooleanField(required=False)

    def __init__(self, questions: Sequence[Question], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.questions = list(questions)
        for question in self.questions:
            labels = get_list_separator().join(
                category.label for category in question.active_categories()
            )
            self.fields[get_field_name(question)] = forms.TypedChoiceField(
                coerce=int,
                choices=[
                    (category.code, category.label) for category in question.active_categories()
                ],
                error_messages={
                    "required": _("Choose an answer."),
                    "invalid_choice": _("Choose one of these answers: %(labels)s.")
                    % {"labels": labels},
                },
            )

    def get_codes(self) -> dict[Question, int]:
        """Return question -> code, in the order of the questions. The form must be valid."""
        return {
            question: self.cleaned_data[get_field_name(question)] for question in self.questions
        }

    def question_parts(self) -> list[dict[str, object]]:
        """Return the template data of each question: options, layout, selected code and errors.

        One part is marked ``is_current``: the first with an error, else the first without an
        answer, else the last.
        """
        parts = [self._build_part(question) for question in self.questions]
        unanswered = [part for part in parts if part["chosen"] is None]
        wrong = [part for part in parts if part["errors"]]
        current = next(iter([*wrong, *unanswered, *parts[-1:]]), None)
        if current is not None:
            current["is_current"] = True
        return parts

    def _build_part(self, question: Question) -> dict[str, object]:
        name = get_field_name(question)
        answer_options = build_question_options(question)
        chosen_code = _parse_code(self[name].value())
        return {
            "question": question,
            "name": name,
            "options": answer_options,
            "in_a_row": fits_in_one_row(answer_options),
            "chosen": chosen_code,
            "chosen_label": next(
                (option.label for option in answer_options if option.code == chosen_code), ""
            ),
            "errors": self.errors.get(name, []) if self.is_bound else [],
        }

    @staticmethod
    def build_initial(ratings: dict[int, Any], questions: Sequence[Question]) -> dict[str, object]:
        """Return the form's initial values from ``ratings`` (question id -> current answer)."""
        initial: dict[str, object] = {
            get_field_name(question): ratings[question.pk].code
            for question in questions
            if question.pk in ratings
        }
        initial["comment"] = next(
            (rating.comment for rating in ratings.values() if rating.comment), ""
        )
        return initial


class SkipForm(forms.Form):
    """The reason for skipping an item, which the lead reads."""

    reason = forms.CharField(
        max_length=300,
        error_messages={
            "required": _lazy("Enter a reason."),
            "max_length": _lazy("At most %(limit_value)d characters."),
        },
    )


def _parse_code(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None
