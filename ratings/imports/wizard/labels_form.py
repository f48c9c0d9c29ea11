"""Form for missing-value codes and similar labels of a checked file."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.values import label_notes
from ratings.imports.values.entered_label_lists import format_label_list, parse_label_list
from ratings.imports.values.label_interpretation import JOIN, KEEP
from ratings.imports.values.label_notes import StoredNote, format_note
from ratings.models import ImportRun


class LabelsForm(forms.Form):
    """Form for missing-value codes, and for similar labels if there are any."""

    missing = forms.CharField(
        label=gettext_lazy("Missing value codes"),
        max_length=2000,
        required=False,
        widget=forms.TextInput({"class": "mono", "autocomplete": "off"}),
        help_text=gettext_lazy("Separated by commas. Their ratings are left out."),
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
        """True while the lead has to decide about labels."""
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
        """Write the decisions into the mapping and return it.

        A candidate that is not listed as missing is a label.
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
