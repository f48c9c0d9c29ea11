"""Forms of a checked file: its labels, and the matches of its raters and questions.

The labels are missing-value codes and labels that may be the same. Raters and questions are matched
with those of the project (see `key_matching`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from projects.services import question_validation
from ratings.imports.mapping import key_matching
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.values import label_notes
from ratings.imports.values.label_interpretation import (
    JOIN,
    KEEP,
    format_label_list,
    parse_label_list,
)
from ratings.imports.values.label_notes import StoredNote, format_note
from ratings.models import ImportRun


class LabelsForm(forms.Form):
    """Form for missing-value codes and, if there are similar labels, for joining them."""

    missing = forms.CharField(
        label=gettext_lazy("Missing value codes"),
        max_length=2000,
        required=False,
        widget=forms.TextInput({"class": "mono", "autocomplete": "off"}),
        help_text=gettext_lazy("Separated by commas; not imported as ratings."),
    )
    similar = forms.ChoiceField(
        label=gettext_lazy("Labels that may be the same"),
        choices=[
            (JOIN, gettext_lazy("the same label")),
            (KEEP, gettext_lazy("different labels")),
        ],
        widget=forms.RadioSelect,
    )

    def __init__(self, data: Any, *, run: ImportRun, mapping: ImportMapping) -> None:
        self.notes = list_label_notes(run)
        codes = self._list_codes(label_notes.MISSING)
        initial = {"missing": format_label_list(codes), "similar": mapping.similar_labels}
        super().__init__(data, initial=initial)
        has_similar = any(
            note["kind"] in (label_notes.SIMILAR, label_notes.JOINED) for note in self.notes
        )
        if not has_similar and not mapping.similar_labels:
            del self.fields["similar"]

    @property
    def messages(self) -> list[str]:
        """The notes on all questions, in the user's language."""
        return list(dict.fromkeys(format_note(note) for note in self.notes))

    @property
    def has_undecided(self) -> bool:
        """True if the lead still has to decide about labels."""
        return any(note["kind"] in label_notes.UNDECIDED_KINDS for note in self.notes)

    def _list_codes(self, *kinds: str) -> list[str]:
        codes = [
            code for note in self.notes if note["kind"] in kinds for code in note["values"]["codes"]
        ]
        return list(dict.fromkeys(codes))

    def clean_missing(self) -> list[str]:
        try:
            return parse_label_list(self.cleaned_data["missing"])
        except ValueError:
            raise forms.ValidationError(_("A quotation mark isn't closed.")) from None

    def apply_to_mapping(self, mapping: ImportMapping) -> ImportMapping:
        """Write the choices into the mapping and return it.

        Possible codes that the lead does not list as missing become labels.
        """
        missing = self.cleaned_data["missing"]
        candidates = self._list_codes(label_notes.MISSING, label_notes.MAYBE_MISSING)
        rejected = [code for code in candidates if code not in missing]
        earlier = [code for code in mapping.not_missing if code not in missing]
        mapping.missing = missing
        mapping.not_missing = list(dict.fromkeys([*earlier, *rejected]))
        mapping.similar_labels = self.cleaned_data.get("similar", mapping.similar_labels)
        return mapping


def list_label_notes(run: ImportRun) -> list[StoredNote]:
    """Return the notes on the labels of all questions of a checked file."""
    questions = run.summary.get("questions", {}).values()
    return [note for question in questions for note in question.get("notes", ())]


KEY_PATTERN = re.compile(
    rf"\A({question_validation.KEY_PATTERN.pattern})\Z"
)  # RegexField also accepts a match of a part


class MatchingForm(forms.Form):
    """Form that matches questions and raters of the file with those of the project.

    The fields are ``question_N`` and ``rater_N``, in the order of the file. False in a Boolean
    context without fields.
    """

    def __init__(self, data: Any, *, run: ImportRun, mapping: ImportMapping) -> None:
        super().__init__(data)
        self.questions: dict[str, str] = {}  # field name -> key in the file
        self.raters: dict[str, str] = {}
        for position, (key, project_key) in enumerate(run.summary.get("question_keys", [])):
            self._add_question(f"question_{position}", key, project_key)
        unmatched_raters = run.summary.get("unmatched_raters", []) if run.project else []
        self.suggested_members = dict(run.summary.get("suggested_members", {}))
        self.matched_members = mapping.members
        rater_keys = dict.fromkeys([*mapping.members, *self.suggested_members, *unmatched_raters])
        users = list(key_matching.get_matchable_users(run.project, run.by)) if rater_keys else []
        for position, key in enumerate(rater_keys):
            self._add_rater(f"rater_{position}", key, users, mapping.members.get(key))

    def _add_question(self, name: str, key: str, project_key: str) -> None:
        self.questions[name] = key
        self.fields[name] = forms.RegexField(
            KEY_PATTERN,
            label=key,
            initial=project_key,
            max_length=64,
            widget=forms.TextInput({"list": "question-keys", "class": "mono"}),
            error_messages={
                "invalid": _(
                    "At most 64 letters, digits, “_”, “.” or “-”; first a letter or digit."
                )
            },
        )

    def _add_rater(self, name: str, key: str, users: list[Any], user_id: int | None) -> None:
        self.raters[name] = key
        choices = [(user.pk, _format_user(user)) for user in users]
        self.fields[name] = forms.TypedChoiceField(
            label=key,
            choices=[("", _("not a member")), *choices],
            coerce=int,
            empty_value=None,
            required=False,
            initial=user_id or self.suggested_members.get(key, ""),
        )

    @property
    def n_suggested(self) -> int:
        """Number of suggested matches that are not yet accepted."""
        return sum(
            self[name].initial != "" and key not in self.matched_members
            for name, key in self.raters.items()
        )

    def __bool__(self) -> bool:
        return bool(self.fields)

    def get_question_fields(self) -> Iterator[Any]:
        """Return the bound fields of the questions."""
        return (self[name] for name in self.questions)

    def get_rater_fields(self) -> Iterator[Any]:
        """Return the bound fields of the raters."""
        return (self[name] for name in self.raters)

    def apply_to_mapping(self, mapping: ImportMapping) -> ImportMapping:
        """Write the selected questions and members into the mapping and return it."""
        cleaned_data = self.cleaned_data
        mapping.questions = {
            key: cleaned_data[name]
            for name, key in self.questions.items()
            if cleaned_data[name] != key
        }
        mapping.members = {
            key: cleaned_data[name]
            for name, key in self.raters.items()
            if cleaned_data[name] is not None
        }
        return mapping


def _format_user(user: Any) -> str:
    """Return the user name, followed by the full name in brackets if there is one."""
    full_name = user.get_full_name()
    return f"{user.get_username()} ({full_name})" if full_name else str(user.get_username())
