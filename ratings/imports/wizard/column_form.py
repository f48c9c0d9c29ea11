"""What the columns of a table mean, and which question its labels answer."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from projects.services import question_validation
from ratings.imports.mapping.columns import CONTENT, ROLES, Look
from ratings.imports.mapping.import_mapping import Mapping
from ratings.imports.problems import shown
from ratings.imports.readers.tables.rows import clean
from ratings.models import ImportRun

from .forms import FileForm

NEW = "new"  # the choice of a new question
EVERY = "every"  # the choice of those that the file names
# Columns that a layout has, and those that it cannot do without.
ROLES_OF = {
    "long": ROLES,
    "wide": ("item", *CONTENT, "gold"),
    "items": ("item", *CONTENT, "gold"),
}
NEEDED = {"long": ("label",), "wide": (), "items": ()}


def _one_column(label: Any, help_text: Any = "") -> forms.TypedChoiceField:
    return forms.TypedChoiceField(
        label=label, coerce=int, empty_value=None, required=False, help_text=help_text
    )


def _columns(label: Any, help_text: Any) -> forms.TypedMultipleChoiceField:
    return forms.TypedMultipleChoiceField(
        label=label, coerce=int, required=False, help_text=help_text
    )


class ColumnsForm(FileForm):
    layout = forms.ChoiceField(
        label=gettext_lazy("Layout"),
        choices=[
            (
                "long",
                gettext_lazy("one row for each rating: an item, a rater and a label"),
            ),
            ("wide", gettext_lazy("one row for each item: a column for each rater")),
            ("items", gettext_lazy("one row for each item, without ratings")),
        ],
        widget=forms.RadioSelect,
    )
    item = _one_column(
        gettext_lazy("Item"),
        gettext_lazy("Its key. Without the column, the key is made from the content."),
    )
    text = _one_column(gettext_lazy("Text"))
    html = _one_column("HTML")
    image = _one_column(
        gettext_lazy("Picture"),
        gettext_lazy("An address, or the name of a file uploaded under Data."),
    )
    audio = _one_column(gettext_lazy("Sound"))
    video = _one_column(gettext_lazy("Film"))
    parts = _columns(
        gettext_lazy("Further content"),
        gettext_lazy("Shown to raters under the column's name, such as source and translation."),
    )
    # "attributes" would hide the form element's own property of that name from scripts.
    item_attributes = _columns(
        gettext_lazy("Attributes"),
        gettext_lazy("Kept to filter by, and never shown to raters."),
    )
    gold = _one_column(
        gettext_lazy("Gold answer"), gettext_lazy("The label that is known to be right.")
    )
    rater = _one_column(gettext_lazy("Rater"))
    label = _one_column(gettext_lazy("Label"))
    rated_at = _one_column(
        gettext_lazy("Time of the rating"),
        gettext_lazy(
            "With its zone, like 2026-03-01T09:30:00Z. Without the column, all count as made at "
            "the import: the trend shows one point."
        ),
    )
    comment = _one_column(gettext_lazy("Comment"))
    seconds = _one_column(gettext_lazy("Seconds spent"))
    guidelines = _one_column(
        gettext_lazy("Version of the guidelines"),
        gettext_lazy("Under which the rating was made, in files that Concord wrote."),
    )
    question = _one_column(
        gettext_lazy("Question key"),
        gettext_lazy(
            "In a file with several questions: only the rows of the question below are imported, "
            "or all."
        ),
    )
    model = _one_column(
        gettext_lazy("Name of the model"),
        gettext_lazy("Where it is filled, the rater is a model; in files that Concord wrote."),
    )
    prompt_version = _one_column(gettext_lazy("Version of the model’s prompt"))
    leave_out = _columns(
        gettext_lazy("Columns that are no raters"),
        gettext_lazy("Every other column without a meaning is a rater."),
    )
    target = forms.ChoiceField(label=gettext_lazy("The labels answer"))
    question_text = forms.CharField(label=gettext_lazy("Question"), max_length=500, required=False)
    question_key = forms.CharField(
        label=gettext_lazy("Its key"),
        max_length=64,
        required=False,
        help_text=gettext_lazy(
            "Short name in files and in the API: letters, digits, '_', '.' and '-'."
        ),
    )

    def __init__(self, data: Any, *, run: ImportRun, mapping: Mapping, look: Look) -> None:
        super().__init__(data, run=run, mapping=mapping, initial=_initial(run, mapping, look))
        names = [(str(place), shown(name)[:80]) for place, name in enumerate(look.names)]
        for role in ROLES:
            self.fields[role].choices = [("", "–"), *names]  # type: ignore[attr-defined]
        for several in ("leave_out", "parts", "item_attributes"):
            self.fields[several].choices = names  # type: ignore[attr-defined]
        questions = self.project.questions.all() if self.project else []
        known = [(str(question.pk), question.text) for question in questions]
        new = [(NEW, _("a new question")), (EVERY, _("the questions that the file names"))]
        self.fields["target"].choices = [*known, *new]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        self._check_columns(found)
        if found.get("target") == NEW and found.get("layout") != "items":
            self._check_new_question(found)
        if found.get("target") == EVERY and found.get("question") is None:
            self.add_error("target", _("Choose the column of the question's key for this."))
        return found

    def _check_columns(self, found: dict[str, Any]) -> None:
        used: dict[int, str] = {}
        layout = found.get("layout", "")
        for role in ROLES_OF.get(layout, ()):
            place = found.get(role)
            # A file's name may be its key and its picture.
            taken = used.get(place) if place is not None else None
            if place is None:
                if role in NEEDED[layout]:
                    self.add_error(role, _("Choose the column of this."))
            elif taken is not None and not (taken == "item" and role in CONTENT):
                self.add_error(
                    role,
                    _("This column is chosen as '%(role)s' already.")
                    % {"role": self.fields[taken].label},
                )
            else:
                used.setdefault(place, role)
        content = bool(found.get("parts")) or any(found.get(role) is not None for role in CONTENT)
        if found.get("item") is None and not content and "item" not in self.errors:
            self.add_error("item", _("Choose the column of this."))
        if layout == "long" and found.get("rater") is None and not found.get("one_rater"):
            self.add_error("rater", _("Choose the column of this."))
        if layout == "wide":
            self._check_raters(found, used)

    def _check_raters(self, found: dict[str, Any], used: dict[int, str]) -> None:
        columns = len(self.fields["item"].choices) - 1  # type: ignore[attr-defined]
        others = {*used, *(found.get("parts") or ()), *(found.get("item_attributes") or ())}
        if columns <= len(others | set(found.get("leave_out") or ())):
            self.add_error("leave_out", _("No column is left for the raters."))

    def _check_new_question(self, found: dict[str, Any]) -> None:
        key = found.get("question_key", "")
        if not question_validation.KEY.fullmatch(key):
            self.add_error(
                "question_key",
                _("Letters, digits, '_', '.' and '-', beginning with a letter or a digit."),
            )
        elif self.project and self.project.questions.filter(key=key).exists():
            self.add_error(
                "question_key",
                _("This project has a question with this key already; choose it above."),
            )
        if not found.get("question_text", "").strip():
            self.add_error("question_text", _("A new question needs a text."))

    def chosen(self) -> Mapping:
        found = self.cleaned_data
        mapping = super().chosen()
        mapping.layout = found["layout"]
        mapping.columns = {
            role: found[role] for role in ROLES_OF[mapping.layout] if found[role] is not None
        }
        used = set(mapping.columns.values())
        mapping.parts = [place for place in found["parts"] if place not in used]
        used |= set(mapping.parts)
        mapping.attributes = [place for place in found["item_attributes"] if place not in used]
        mapping.leave_out = found["leave_out"] if mapping.layout == "wide" else []
        target = found["target"]
        mapping.every_question = target == EVERY
        mapping.question_id = None if target in (NEW, EVERY) else int(target)
        mapping.question_key = found["question_key"]
        mapping.question_text = found["question_text"]
        return mapping


def _initial(run: ImportRun, mapping: Mapping, look: Look) -> dict[str, Any]:
    questions = list(run.project.questions.all()) if run.project else []
    label_at, key_at = mapping.columns.get("label"), mapping.columns.get("question")
    name = look.names[label_at] if label_at is not None and label_at < len(look.names) else ""
    key = mapping.question_key or slugify(name) or "label"
    if key_at is not None and not mapping.question_key:
        # A file of ours names the question of each row.
        key = next((clean(cells[key_at]) for _, cells in look.sample if key_at < len(cells)), key)
    target = mapping.question_id or next(
        (q.pk for q in questions if q.key == key), questions[0].pk if questions else NEW
    )
    if mapping.every_question or (key_at is not None and run.project is None):
        target = EVERY
    return {
        **mapping.columns,
        "layout": mapping.layout,
        "leave_out": mapping.leave_out,
        "parts": mapping.parts,
        "item_attributes": mapping.attributes,
        "target": str(target),
        "question_text": mapping.question_text or name or key,
        "question_key": key[:64],
    }
