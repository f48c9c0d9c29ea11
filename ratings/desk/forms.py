"""What an annotator sends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy

from projects.models import Question

# Keys of categories that declare none; those that mean something else on the desk are left out.
FREE_KEYS = "1234567890abdehijklmnopqrtvwxyz"


@dataclass(frozen=True, slots=True)
class Option:
    """A category as it stands on the desk."""

    code: int
    label: str
    key: str
    element_id: str


def field_name(question: Question) -> str:
    return f"question-{question.pk}"


def options(question: Question) -> list[Option]:
    """The question's categories in order, each with a key of its own as long as there are keys."""
    categories = question.active_categories()
    taken = {category.hotkey.lower() for category in categories if category.hotkey}
    free = iter([key for key in FREE_KEYS if key not in taken])
    return [
        Option(
            category.code,
            category.label,
            category.hotkey or next(free, ""),
            f"{field_name(question)}-{category.code}",
        )
        for category in categories
    ]


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
        """Per question what the page needs: its options, the chosen code, and what is wrong."""
        return [
            {
                "question": question,
                "name": field_name(question),
                "options": options(question),
                "chosen": _as_code(self[field_name(question)].value()),
                "errors": self.errors.get(field_name(question), []) if self.is_bound else [],
            }
            for question in self.questions
        ]

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
