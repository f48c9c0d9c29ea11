"""The mapping step of a checked file: whose ratings, and which questions (see `matching`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from django import forms
from django.utils.translation import gettext as _

from projects.services import question_validation
from ratings.imports.mapping import matching
from ratings.imports.mapping.import_mapping import Mapping
from ratings.models import ImportRun

WHOLE_KEY = re.compile(
    rf"\A({question_validation.KEY.pattern})\Z"
)  # Django's field looks for a part


class MatchingForm(forms.Form):
    """Fields ``question_N`` and ``rater_N``, for those of the file in its order. Falsy where there
    is nothing to choose."""

    def __init__(self, data: Any, *, run: ImportRun, mapping: Mapping) -> None:
        super().__init__(data)
        self.questions: dict[str, str] = {}  # name of the field -> key in the file
        self.raters: dict[str, str] = {}
        for place, (key, key_here) in enumerate(run.summary.get("named", [])):
            self._add_question(f"question_{place}", key, key_here)
        found = run.summary.get("unmatched", []) if run.project else []
        self.suggested = dict(run.summary.get("suggested", {}))
        self.standing = mapping.members
        listed = dict.fromkeys([*mapping.members, *self.suggested, *found])
        users = list(matching.members(run.project, run.by)) if listed else []
        for place, key in enumerate(listed):
            self._add_rater(f"rater_{place}", key, users, mapping.members.get(key))

    def _add_question(self, name: str, key: str, key_here: str) -> None:
        self.questions[name] = key
        self.fields[name] = forms.RegexField(
            WHOLE_KEY,
            label=key,
            initial=key_here,
            max_length=64,
            widget=forms.TextInput({"list": "question-keys", "class": "mono"}),
            error_messages={
                "invalid": _(
                    "Letters, digits, '_', '.' and '-', beginning with a letter or a digit."
                )
            },
        )

    def _add_rater(self, name: str, key: str, users: list[Any], chosen: int | None) -> None:
        self.raters[name] = key
        choices = [(user.pk, _called(user)) for user in users]
        self.fields[name] = forms.TypedChoiceField(
            label=key,
            choices=[("", _("nobody of the members")), *choices],
            coerce=int,
            empty_value=None,
            required=False,
            initial=chosen or self.suggested.get(key, ""),
        )

    @property
    def n_suggested(self) -> int:
        """Suggestions that were not taken over yet."""
        return sum(
            self[name].initial != "" and key not in self.standing
            for name, key in self.raters.items()
        )

    def __bool__(self) -> bool:
        return bool(self.fields)

    def question_fields(self) -> Iterator[Any]:
        return (self[name] for name in self.questions)

    def rater_fields(self) -> Iterator[Any]:
        return (self[name] for name in self.raters)

    def chosen(self, mapping: Mapping) -> Mapping:
        found = self.cleaned_data
        mapping.questions = {
            key: found[name] for name, key in self.questions.items() if found[name] != key
        }
        mapping.members = {
            key: found[name] for name, key in self.raters.items() if found[name] is not None
        }
        return mapping


def _called(user: Any) -> str:
    """What tells a member from another one, as leads see members elsewhere."""
    full = user.get_full_name()
    return f"{user.get_username()} ({full})" if full else str(user.get_username())
