"""Forms of a checked file: labels, matches of raters and questions, and the last choices.

The labels are missing-value codes and labels that may be the same. Raters and questions are matched
with those of the project (see `key_matching`). The last choices, before the file is written, are
the scales of new questions and the policy for repeated ratings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.text import get_list_separator
from projects.models import Scale
from projects.services import question_validation
from projects.services.project_validation import flatten_messages
from ratings.imports import services
from ratings.imports.mapping import key_matching
from ratings.imports.mapping.import_mapping import (
    DUPLICATE_POLICIES,
    KEEP_EXISTING_POLICY,
    ImportMapping,
)
from ratings.imports.services import NewQuestionScale
from ratings.imports.values import label_notes
from ratings.imports.values.label_interpretation import (
    JOIN,
    KEEP,
    format_label_list,
    parse_label_list,
)
from ratings.imports.values.label_notes import (
    OPEN_SCALE_TEXT,
    UNDECIDED_KINDS,
    StoredNote,
    StoredQuestion,
    format_note,
)
from ratings.imports.values.label_order import guess_order
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
        """Return the notes on all questions, in the user's language."""
        return list(dict.fromkeys(format_note(note) for note in self.notes))

    @property
    def has_undecided(self) -> bool:
        """Return whether the lead still has to decide about labels."""
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

    The fields are ``question_N``, in the order of the file, and ``rater_N``: raters who are matched
    already, then those with a suggested match, then the others whom the project does not have.
    False in a Boolean context without fields.
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
        """Return the number of suggested matches that are not yet accepted."""
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


FIRST_QUESTION_KEY = "label"  # key of the first question when a file has only items


GUESSED_ORDER_HELP = gettext_lazy("The answers seem ordered. If not, choose nominal.")


def _get_scale_help(scale: str, *, is_open: bool) -> Any:
    if is_open:
        return OPEN_SCALE_TEXT
    return GUESSED_ORDER_HELP if scale == Scale.ORDINAL else ""


class StartForm(forms.Form):
    """Policy for repeated ratings, and text, scale and categories of each new question.

    The names of the fields of the second and later questions end in a number.
    """

    duplicate_policy = forms.ChoiceField(
        label=gettext_lazy("Repeated ratings by the same rater"),
        choices=[*DUPLICATE_POLICIES.items(), KEEP_EXISTING_POLICY],
        widget=forms.RadioSelect,
    )

    def __init__(self, data: Any, *, run: ImportRun, mapping: ImportMapping) -> None:
        self.questions: dict[str, StoredQuestion] = run.summary.get("questions", {})
        self.new_keys = services.list_new_question_keys(run)
        self.texts = {key: services.get_question_text(run, mapping, key) for key in self.new_keys}
        self.has_undecided_labels = any(
            note["kind"] in UNDECIDED_KINDS for note in list_label_notes(run)
        )
        self.has_only_items = not self.new_keys and run.project is None
        # In a wide table each row should be an item: only the lead knows what the others are.
        is_error = mapping.layout == "wide" and run.summary.get("repeats")
        super().__init__(
            data, initial={"duplicate_policy": "" if is_error else mapping.duplicate_policy}
        )
        for index, key in enumerate(self.new_keys):
            self._add_question(index, key)
        if self.has_only_items:
            self._add_first_question()
        if not _may_repeat_ratings(run):
            self.fields["duplicate_policy"].choices = list(DUPLICATE_POLICIES.items())  # type: ignore[attr-defined]
            if not run.summary.get("repeats"):
                del self.fields["duplicate_policy"]

    def _add_question(self, index: int, key: str) -> None:
        guess = guess_order(self.questions[key]["labels"])
        is_one_of_several = len(self.new_keys) > 1
        self.fields[_get_field_name("text", index)] = forms.CharField(
            label=_("Text of %(question)s") % {"question": key}
            if is_one_of_several
            else _("Question"),
            max_length=500,
            initial=self.texts[key],
        )
        is_open = guess.is_scale_open
        self.fields[_get_field_name("scale", index)] = forms.ChoiceField(
            label=_("Scale of %(question)s") % {"question": key}
            if is_one_of_several
            else _("Scale"),
            choices=[("", _("choose one")), *Scale.choices] if is_open else Scale.choices,
            initial="" if is_open else guess.scale,
            help_text=_get_scale_help(guess.scale, is_open=is_open),
        )
        self.fields[_get_field_name("categories", index)] = forms.CharField(
            label=_("Categories of %(question)s, one per line") % {"question": key}
            if is_one_of_several
            else _("Categories, one per line"),
            widget=forms.Textarea({"rows": 6, "class": "mono"}),
            initial="\n".join(guess.labels),
            help_text=_("On ordered scales, lowest first."),
        )

    def _add_first_question(self) -> None:
        """Add optional fields for a first question of a new project that gets only items."""
        self.fields["question_text"] = forms.CharField(
            label=_("Question about each item"), max_length=500, required=False
        )
        self.fields["scale"] = forms.ChoiceField(
            label=_("Scale"), choices=Scale.choices, required=False, initial=Scale.NOMINAL
        )
        self.fields["categories"] = forms.CharField(
            label=_("Categories, one per line"),
            widget=forms.Textarea({"rows": 4, "class": "mono"}),
            required=False,
        )

    def get_question_blocks(self) -> list[tuple[str, list[Any]]]:
        """Return (key, bound fields) of each new question; the key of a first question is empty."""
        if self.has_only_items:
            return [("", [self[name] for name in ("question_text", "scale", "categories")])]
        question_blocks = []
        for index, key in enumerate(self.new_keys):
            names = ("text", "scale", "categories")
            fields = [self[_get_field_name(name, index)] for name in names]
            question_blocks.append((key, fields))
        return question_blocks

    def clean(self) -> dict[str, Any]:
        cleaned_data = super().clean() or {}
        if self.has_undecided_labels:
            raise forms.ValidationError(_("Choose how to read these labels, then check again."))
        for index, key in enumerate(self.new_keys):
            name = _get_field_name("categories", index)
            labels = _split_lines(cleaned_data.get(name, ""))
            missing = [label for label in self.questions[key]["labels"] if label not in labels]
            if missing and name in cleaned_data:
                self.add_error(
                    name,
                    _("Unlisted labels: %(labels)s.")
                    % {"labels": get_list_separator().join(missing)},
                )
        if self.has_only_items and bool(cleaned_data.get("categories")) != bool(
            cleaned_data.get("question_text")
        ):
            self.add_error("categories", _("Enter a question and its categories."))
        return cleaned_data

    def get_new_scales(self) -> dict[str, NewQuestionScale]:
        """Return the scale of each new question by its key."""
        cleaned_data = self.cleaned_data
        if self.has_only_items:
            if not cleaned_data["categories"]:
                return {}
            labels = _split_lines(cleaned_data["categories"])
            return {
                FIRST_QUESTION_KEY: NewQuestionScale(
                    cleaned_data["scale"], labels, cleaned_data["question_text"]
                )
            }
        scales = {}
        for index, key in enumerate(self.new_keys):
            labels = _split_lines(cleaned_data[_get_field_name("categories", index)])
            scale = cleaned_data[_get_field_name("scale", index)]
            text = cleaned_data[_get_field_name("text", index)]
            scales[key] = NewQuestionScale(scale, labels, text)
        return scales

    def add_rule_errors(self, errors: Mapping[str, Any]) -> None:
        """Add the errors of the rules of projects and questions to the form."""
        field_name = next((name for name in self.fields if name.startswith("categories")), None)
        for message in flatten_messages(errors):
            self.add_error(field_name, message)


def _may_repeat_ratings(run: ImportRun) -> bool:
    """Return whether the file may have ratings that the project already has."""
    summary = run.summary
    has_known_keys = all(
        summary.get(f"new_{kind}", 0) < summary.get(kind, 0) for kind in ("items", "raters")
    )
    return run.project is not None and has_known_keys and bool(summary.get("rows"))


def _get_field_name(field: str, index: int) -> str:
    return f"{field}_{index}" if index else field


def _split_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]
