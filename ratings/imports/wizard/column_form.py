"""Form for the roles of a table's columns and the question that its labels answer."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from django import forms
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from projects.services import question_validation
from projects.services.project_validation import list_time_zones, normalize_time_zone
from ratings.imports.decoding.table_times import DAY_FIRST, MONTH_FIRST
from ratings.imports.interpretation import list_columns
from ratings.imports.mapping.display_texts import LAYOUT_TEXTS
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.mapping.layout_guess import CONTENT_ROLES, ROLES, TableHead
from ratings.imports.problems import truncate_text
from ratings.imports.readers.tables.cells import clean_cell
from ratings.models import ImportRun

from .forms import ImportOptionsForm

# Layouts in which every column without a role holds labels, or their counts.
VALUE_LAYOUTS = ("wide", "counts", "crossed", "combinations", "raters")
KEYLESS_LAYOUTS = ("crossed", "combinations", "raters")  # no column has the IDs of items
NEW_QUESTION = "new"  # choice: a new question
EVERY_QUESTION = "every"  # choice: the questions named in the file
# Names of label columns that are no question.
GENERIC_COLUMN_NAMES = {"annotation", "answer", "category", "class", "label", "labels", "rating"}
# Roles that single columns of a layout can have.
ROLES_BY_LAYOUT = {
    "long": ROLES,
    "wide": ("item", *CONTENT_ROLES, "gold"),
    "counts": ("item", *CONTENT_ROLES, "gold"),
    "crossed": ("label",),
    "combinations": ("count",),
    "raters": ("rater", "rated_at"),
    "items": ("item", *CONTENT_ROLES, "gold"),
}


def _build_column_field(label: Any, help_text: Any = "") -> forms.TypedChoiceField:
    return forms.TypedChoiceField(
        label=label, coerce=int, empty_value=None, required=False, help_text=help_text
    )


def _build_columns_field(label: Any, help_text: Any = "") -> forms.TypedMultipleChoiceField:
    return forms.TypedMultipleChoiceField(
        label=label, coerce=int, required=False, help_text=help_text
    )


class ColumnsForm(ImportOptionsForm):
    """Roles of the columns, the layout and the question of a table."""

    layout = forms.ChoiceField(
        label=gettext_lazy("Layout"),
        choices=list(LAYOUT_TEXTS.items()),
        widget=forms.RadioSelect,
    )
    item = _build_column_field(
        gettext_lazy("Item"),
        gettext_lazy("Without one, IDs come from the content."),
    )
    key_columns = _build_columns_field(
        gettext_lazy("More item ID columns"),
    )
    text = _build_column_field(gettext_lazy("Text"))
    html = _build_column_field("HTML")
    image = _build_column_field(
        gettext_lazy("Image"),
        gettext_lazy("A URL, or the name of an uploaded file."),
    )
    audio = _build_column_field(gettext_lazy("Audio"))
    video = _build_column_field(gettext_lazy("Video"))
    content_columns = _build_columns_field(
        gettext_lazy("Other content"),
        gettext_lazy("Shown to raters under the column name."),
    )
    attribute_columns = _build_columns_field(
        gettext_lazy("Attributes"),
        gettext_lazy("For filters; hidden from raters."),
    )
    gold = _build_column_field(gettext_lazy("Gold answer"))
    rater = _build_column_field(gettext_lazy("Rater"))
    label = _build_column_field(gettext_lazy("Label"))
    label_columns = _build_columns_field(
        gettext_lazy("Several label columns"),
    )
    rated_at = _build_column_field(
        gettext_lazy("Rating time"),
    )
    zone = forms.CharField(
        label=gettext_lazy("Default time zone"),
        max_length=64,
        required=False,
        widget=forms.TextInput({"list": "time-zones", "autocomplete": "off"}),
    )
    date_order = forms.ChoiceField(
        label=gettext_lazy("Dates like 03/04/2026"),
        required=False,
        choices=[
            ("", gettext_lazy("not in the file")),
            (DAY_FIRST, gettext_lazy("day first")),
            (MONTH_FIRST, gettext_lazy("month first")),
        ],
    )
    rows_are_items = forms.BooleanField(
        label=gettext_lazy("Each row is an item"),
        required=False,
    )
    comment = _build_column_field(gettext_lazy("Comment"))
    seconds = _build_column_field(gettext_lazy("Seconds spent"))
    guidelines = _build_column_field(gettext_lazy("Guidelines version"))
    question = _build_column_field(gettext_lazy("Question ID"))
    model = _build_column_field(
        gettext_lazy("Model name"), gettext_lazy("Marks the rater as a model.")
    )
    prompt_version = _build_column_field(gettext_lazy("Prompt version"))
    count = _build_column_field(gettext_lazy("Number of items or ratings"))
    excluded_columns = _build_columns_field(
        gettext_lazy("Columns not imported"),
        gettext_lazy("All remaining columns are labels."),
    )
    target = forms.ChoiceField(label=gettext_lazy("Question of the labels"))
    question_text = forms.CharField(label=gettext_lazy("Question"), max_length=500, required=False)
    question_key = forms.CharField(
        label=gettext_lazy("Question ID"),
        max_length=64,
        required=False,
    )

    def __init__(
        self, data: Any, *, run: ImportRun, mapping: ImportMapping, head: TableHead
    ) -> None:
        super().__init__(data, run=run, mapping=mapping, initial=_build_initial(run, mapping, head))
        self.head = head
        column_choices = [
            (str(index), truncate_text(name)[:80]) for index, name in enumerate(head.names)
        ]
        for role in ROLES:
            self.fields[role].choices = [("", "–"), *column_choices]  # type: ignore[attr-defined]
        for field_name in (
            "excluded_columns",
            "content_columns",
            "attribute_columns",
            "label_columns",
            "key_columns",
        ):
            self.fields[field_name].choices = column_choices  # type: ignore[attr-defined]
        questions = self.project.questions.all() if self.project else []
        existing_choices = [(str(question.pk), question.text) for question in questions]
        other_choices = [
            (NEW_QUESTION, _("a new question")),
            (EVERY_QUESTION, _("the questions in the file")),
        ]
        self.fields["target"].choices = [*existing_choices, *other_choices]  # type: ignore[attr-defined]

    @property
    def more_item_fields(self) -> list[forms.BoundField]:
        """Return the fields about items that few files need, in a collapsed part of the page."""
        names = "key_columns", *CONTENT_ROLES[1:], "gold", "content_columns", "attribute_columns"
        return [self[name] for name in names]

    @property
    def more_rating_fields(self) -> list[forms.BoundField]:
        """Return the fields about ratings that few files need, in a collapsed part of the page."""
        names = ("label_columns", "comment", "seconds", "guidelines", "question", "model")
        return [self[name] for name in (*names, "prompt_version")]

    def clean(self) -> dict[str, Any]:
        cleaned_data = super().clean() or {}
        self._validate_columns(cleaned_data)
        zone = normalize_time_zone(cleaned_data.get("zone") or "")
        cleaned_data["zone"] = zone
        if zone and zone not in list_time_zones():
            self.add_error("zone", _("Use a time zone like Europe/Berlin."))
        if cleaned_data.get("target") == NEW_QUESTION and cleaned_data.get("layout") != "items":
            self._validate_new_question(cleaned_data)
        has_questions = len(cleaned_data.get("label_columns") or ()) > 1 or any(
            question for _rater, question in self.mapping.value_columns.values()
        )
        if (
            cleaned_data.get("target") == EVERY_QUESTION
            and cleaned_data.get("question") is None
            and not has_questions
        ):
            self.add_error("target", _("Choose the question ID column."))
        return cleaned_data

    def _validate_columns(self, cleaned_data: dict[str, Any]) -> None:
        used: dict[int, str] = {}
        layout = cleaned_data.get("layout", "")
        for role in ROLES_BY_LAYOUT.get(layout, ()):
            index = cleaned_data.get(role)
            # The name of a file may be both the key and the image of its item.
            other_role = used.get(index) if index is not None else None
            if index is None:
                continue
            if other_role is not None and not (other_role == "item" and role in CONTENT_ROLES):
                self.add_error(
                    role,
                    _("This column is already '%(role)s'.")
                    % {"role": self.fields[other_role].label},
                )
            else:
                used.setdefault(index, role)
        has_content = bool(cleaned_data.get("content_columns")) or any(
            cleaned_data.get(role) is not None for role in CONTENT_ROLES
        )
        has_keys = cleaned_data.get("item") is not None or has_content
        has_keys = has_keys or cleaned_data.get("rows_are_items") or layout in KEYLESS_LAYOUTS
        if not has_keys and "item" not in self.errors:
            self.add_error("item", _("Choose a column."))
        labels = cleaned_data.get("label_columns") or []
        if layout == "combinations" and cleaned_data.get("count") is None:
            self.add_error("count", _("Choose a column."))
        if layout == "long" and cleaned_data.get("label") is None and len(labels) < 2:
            self.add_error("label", _("Choose a column."))
        if (
            layout == "long"
            and cleaned_data.get("rater") is None
            and cleaned_data.get("count") is None
            and not cleaned_data.get("default_rater")
            and not self.mapping.key_separator
        ):
            self.add_error("rater", _("Choose a column."))
        if layout in VALUE_LAYOUTS:
            self._validate_label_columns_left(cleaned_data, used)

    def _validate_label_columns_left(
        self, cleaned_data: dict[str, Any], used: dict[int, str]
    ) -> None:
        """Add an error if all columns have other roles, so that none is left for labels."""
        n_columns = len(self.fields["item"].choices) - 1  # type: ignore[attr-defined]
        other_columns = {
            *used,
            *(cleaned_data.get("key_columns") or ()),
            *(cleaned_data.get("content_columns") or ()),
            *(cleaned_data.get("attribute_columns") or ()),
        }
        if n_columns <= len(other_columns | set(cleaned_data.get("excluded_columns") or ())):
            self.add_error("excluded_columns", _("No label column is left."))

    def _validate_new_question(self, cleaned_data: dict[str, Any]) -> None:
        key = cleaned_data.get("question_key", "")
        if not question_validation.KEY_PATTERN.fullmatch(key):
            self.add_error(
                "question_key",
                _("At most 64 letters, digits, “_”, “.” or “-”; first a letter or digit."),
            )
        elif self.project and self.project.questions.filter(key=key).exists():
            self.add_error(
                "question_key",
                _("This question exists. Select it above."),
            )
        if not cleaned_data.get("question_text", "").strip():
            self.add_error("question_text", _("Enter the question."))

    def apply_to_mapping(self) -> ImportMapping:
        """Write the lead's choices into the form's mapping and return it."""
        cleaned_data = self.cleaned_data
        mapping = super().apply_to_mapping()
        before = {column.name: column for column in list_columns(mapping, self.head)}
        self._apply_columns(mapping)
        mapping.zone, mapping.date_order = cleaned_data["zone"], cleaned_data["date_order"]
        mapping.doubt, mapping.doubtful_columns = "", []
        for index, column in enumerate(list_columns(mapping, self.head)):
            if column.role != before[column.name].role:
                mapping.reasons[str(index)] = "user"
        target = cleaned_data["target"]
        mapping.use_file_questions = target == EVERY_QUESTION
        mapping.question_id = None if target in (NEW_QUESTION, EVERY_QUESTION) else int(target)
        mapping.question_key = cleaned_data["question_key"]
        mapping.question_text = cleaned_data["question_text"]
        return mapping

    def _apply_columns(self, mapping: ImportMapping) -> None:
        """Write the chosen layout and the columns of each role into the mapping."""
        cleaned_data = self.cleaned_data
        guessed_layout = mapping.layout
        mapping.layout = cleaned_data["layout"]
        mapping.columns = {
            role: cleaned_data[role]
            for role in ROLES_BY_LAYOUT[mapping.layout]
            if cleaned_data[role] is not None
        }
        mapping.key_columns = [
            index
            for index in cleaned_data["key_columns"]
            if "item" in mapping.columns and index not in mapping.columns.values()
        ]
        used = {*mapping.columns.values(), *mapping.key_columns}
        mapping.content_columns = [
            index for index in cleaned_data["content_columns"] if index not in used
        ]
        used |= set(mapping.content_columns)
        mapping.attribute_columns = [
            index for index in cleaned_data["attribute_columns"] if index not in used
        ]
        is_value_layout = mapping.layout in VALUE_LAYOUTS
        mapping.excluded_columns = cleaned_data["excluded_columns"] if is_value_layout else []
        labels = cleaned_data["label_columns"] if mapping.layout == "long" else []
        mapping.label_columns = labels if len(labels) > 1 else []
        if mapping.label_columns:
            mapping.columns.pop("label", None)
        if mapping.layout != guessed_layout:
            mapping.value_columns = {}
        mapping.rows_are_items = cleaned_data["rows_are_items"] and "item" not in mapping.columns
        if mapping.layout == "raters":  # without a column of raters, they are numbered
            mapping.rows_are_items = "rater" not in mapping.columns


def _build_initial(run: ImportRun, mapping: ImportMapping, head: TableHead) -> dict[str, Any]:
    """Return the initial values of the form."""
    questions = list(run.project.questions.all()) if run.project else []
    label_at, key_at = mapping.columns.get("label"), mapping.columns.get("question")
    has_name = mapping.layout == "long" and label_at is not None and label_at < len(head.names)
    name = head.names[label_at] if has_name and label_at is not None else ""
    key = mapping.question_key or slugify(name) or "label"
    if key_at is not None and not mapping.question_key:
        # An export of Concord has the question of each row.
        key = next(
            (clean_cell(cells[key_at]) for _, cells in head.sample_rows if key_at < len(cells)), key
        )
    target = mapping.question_id or next(
        (question.pk for question in questions if question.key == key),
        questions[0].pk if questions else NEW_QUESTION,
    )
    if (
        mapping.use_file_questions
        or mapping.has_column_questions
        or (key_at is not None and run.project is None)
    ):
        target = EVERY_QUESTION
    return {
        **mapping.columns,
        "layout": mapping.layout,
        "excluded_columns": mapping.excluded_columns,
        "content_columns": mapping.content_columns,
        "attribute_columns": mapping.attribute_columns,
        "label_columns": mapping.label_columns,
        "key_columns": mapping.key_columns,
        "rows_are_items": mapping.rows_are_items,
        "zone": mapping.zone,
        "date_order": mapping.date_order,
        "target": str(target),
        "question_text": mapping.question_text or _suggest_question(run, name or key),
        "question_key": key[:64],
    }


def _suggest_question(run: ImportRun, column_name: str) -> str:
    """Return a question's suggested text: the column's name.

    If that is generic and the project is new, it is the file's name.
    """
    if run.project is None and column_name.casefold() in GENERIC_COLUMN_NAMES:
        return PurePath(run.file_name).name.split(".")[0]
    return column_name
