"""What an annotator sends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.db.models import prefetch_related_objects
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy

from projects.models import Category, Project, Question
from projects.services.question_validation import is_desk_key, keys_at_the_desk

MOST_IN_A_ROW = 5  # answers beside each other, where their labels are short (characters)
SHORT_LABEL = 10


@dataclass(frozen=True, slots=True)
class Option:
    """A category as it stands on the desk."""

    code: int
    label: str
    key: str
    element_id: str


def questions_of(project: Project) -> list[Question]:
    """The project's questions with their categories, fetched once for a request."""
    prefetch_related_objects([project], "questions__categories")
    return list(project.questions.all())


def field_name(question: Question) -> str:
    return f"question-{question.pk}"


def options(question: Question) -> list[Option]:
    """The question's categories in order, each with a key of its own as long as there are keys.

    A key of the desk itself, which questions of old may have declared, is as good as none: at the
    desk one key has one meaning, and "undo" must not rate the next item.
    """
    return offered(question.active_categories(), field_name(question))


def offered(categories: Sequence[Category], name: str) -> list[Option]:
    """The same of categories in their order, for the field of this name."""
    keys = keys_at_the_desk([_usable(category.hotkey) for category in categories])
    return [
        Option(category.code, category.label, key, f"{name}-{category.code}")
        for category, key in zip(categories, keys, strict=True)
    ]


def in_a_row(options: Sequence[Option]) -> bool:
    """Whether the answers stand beside each other: few, with short labels."""
    short = all(len(option.label) <= SHORT_LABEL for option in options)
    return short and len(options) <= MOST_IN_A_ROW


def _usable(hotkey: str) -> str:
    return "" if is_desk_key(hotkey) else hotkey


class AnswerForm(forms.Form):
    """One answer to each of the project's questions, all of them wanted, with a comment and a flag
    for the item."""

    comment = forms.CharField(required=False, max_length=4000)
    flagged = forms.BooleanField(required=False)

    def __init__(self, questions: Sequence[Question], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.questions = list(questions)
        for question in self.questions:
            labels = ", ".join(category.label for category in question.active_categories())
            self.fields[field_name(question)] = forms.TypedChoiceField(
                coerce=int,
                choices=[
                    (category.code, category.label) for category in question.active_categories()
                ],
                error_messages={
                    "required": _("Choose an answer."),
                    "invalid_choice": _("This is not one of the answers: %(labels)s.")
                    % {"labels": labels},
                },
            )

    def codes(self) -> dict[Question, int]:
        """The answers, in the order of the questions. Only of a valid form."""
        return {question: self.cleaned_data[field_name(question)] for question in self.questions}

    def parts(self) -> list[dict[str, Any]]:
        """Per question what the page needs: its options, whether they stand in one row, the chosen
        code, and what is wrong."""
        return [self._part(question) for question in self.questions]

    def _part(self, question: Question) -> dict[str, Any]:
        name = field_name(question)
        keys = options(question)
        return {
            "question": question,
            "name": name,
            "options": keys,
            "in_a_row": in_a_row(keys),
            "chosen": _as_code(self[name].value()),
            "errors": self.errors.get(name, []) if self.is_bound else [],
        }

    @staticmethod
    def initial_of(ratings: dict[int, Any], questions: Sequence[Question]) -> dict[str, Any]:
        """What stands, by question id, as the form's first values."""
        initial: dict[str, Any] = {
            field_name(question): ratings[question.pk].code
            for question in questions
            if question.pk in ratings
        }
        initial["comment"] = next(
            (rating.comment for rating in ratings.values() if rating.comment), ""
        )
        return initial


class SkipForm(forms.Form):
    """Why an item is put aside: the lead reads it."""

    reason = forms.CharField(
        max_length=300,
        error_messages={
            "required": _lazy("Say in a few words why."),
            "max_length": _lazy("Say it in %(limit_value)d characters at most."),
        },
    )


def _as_code(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None
