"""Form for the last choices before an import: scales of new questions, and repeated ratings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from projects.models import Scale
from projects.services.project_validation import flatten_messages
from ratings.imports import services
from ratings.imports.mapping.import_mapping import (
    DUPLICATE_POLICIES,
    KEEP_EXISTING_POLICY,
    ImportMapping,
)
from ratings.imports.services import NewQuestionScale
from ratings.imports.values.label_notes import (
    OPEN_SCALE_TEXT,
    UNDECIDED_KINDS,
    StoredQuestion,
)
from ratings.imports.values.label_order import ALPHABET, guess_order
from ratings.models import ImportRun

from .check_forms import list_label_notes

FIRST_QUESTION_KEY = "label"  # key of the first question when a file has only items


GUESSED_ORDER_HELP = gettext_lazy("The answers seem ordered. If not, choose nominal.")
NO_ORDER_HELP = gettext_lazy("Arrange labels that have an order.")


def _get_scale_help(scale: str, *, is_open: bool) -> Any:
    if is_open:
        return OPEN_SCALE_TEXT
    return GUESSED_ORDER_HELP if scale == Scale.ORDINAL else ""


class StartForm(forms.Form):
    """Policy for repeated ratings, and text, scale and categories of each new question.

    The names of the fields of the second and later questions end in a number.
    """

    duplicate_policy = forms.ChoiceField(
        label=gettext_lazy("Repeated ratings of an item"),
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
        categories_help = _("From lowest to highest.")
        if guess.basis == ALPHABET and len(guess.labels) > 2:
            categories_help = f"{NO_ORDER_HELP} {categories_help}"
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
            label=_("Ordered categories of %(question)s, one per line") % {"question": key}
            if is_one_of_several
            else _("Ordered categories, one per line"),
            widget=forms.Textarea({"rows": 6, "class": "mono"}),
            initial="\n".join(guess.labels),
            help_text=categories_help,
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
            label=_("Ordered categories, one per line"),
            widget=forms.Textarea({"rows": 4, "class": "mono"}),
            required=False,
            help_text=_("You can add questions later."),
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
                    _("Unlisted labels: %(labels)s.") % {"labels": ", ".join(missing)},
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
