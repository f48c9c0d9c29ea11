"""Forms of the project and question settings.

The rules are in project_validation and question_validation.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, cast

from django import forms
from django.utils.translation import gettext_lazy as _

from core.text import fold_lookalikes
from core.web.forms import SettingsForm
from projects.models import Project, Question, QueueOrder, Scale, Weights
from projects.services.project_validation import (
    MAX_ATTRIBUTE_LENGTH,
    MAX_TAGS_LENGTH,
    QUALITY_CHECK_BOUNDS,
    normalize_tags,
    normalize_time_zone,
)
from projects.services.question_validation import DEFAULT_HOTKEYS, NewCategory, assign_hotkeys

MAX_CATEGORY_ROWS = 60


class GuidelinesForm(forms.Form):
    """Form of the guidelines, for a new project and an existing one."""

    guidelines = forms.CharField(
        label=_("Guidelines"),
        required=False,
        strip=False,
        widget=forms.Textarea({"rows": 18}),
        help_text=_("Markdown: # heading, **bold**, - list."),
    )

    def clean_guidelines(self) -> str:
        # Browsers send line ends as CRLF, which alone must not create a new version.
        return self.cleaned_data["guidelines"].replace("\r\n", "\n")


class GeneralForm(forms.Form):
    """Form of the name, description, overlap and time zone of a new or existing project.

    Lengths and time zones are validated by project_validation, which lists what is allowed.
    """

    name = forms.CharField(label=_("Name"), max_length=200)
    description = forms.CharField(
        label=_("Description"), required=False, widget=forms.Textarea({"rows": 2})
    )
    overlap = forms.IntegerField(
        label=_("Ratings per item"),
        initial=3,
        min_value=1,
        help_text=_("Agreement needs at least 2."),
    )
    time_zone = forms.CharField(
        label=_("Time zone"),
        initial="UTC",
        max_length=64,
        widget=forms.TextInput({"list": "time-zones", "autocomplete": "off"}),
        help_text=_("For charts, such as Europe/Berlin."),
    )

    tags = forms.CharField(
        label=_("Tags"),
        required=False,
        max_length=MAX_TAGS_LENGTH,
        help_text=_("Separate with commas."),
    )

    def clean_tags(self) -> str:
        return normalize_tags(self.cleaned_data["tags"])

    def clean_time_zone(self) -> str:
        return normalize_time_zone(self.cleaned_data["time_zone"])


class ProjectForm(GuidelinesForm, GeneralForm):
    """Form of a new project."""


class CopyForm(forms.Form):
    """The name of a copy of a project."""

    name = forms.CharField(label=_("Name"), max_length=200)


class GuidelinesSettingsForm(SettingsForm, GuidelinesForm):
    """Form of the guidelines of an existing project, which detects changes by other users."""


class GeneralSettingsForm(SettingsForm, GeneralForm):
    """Form of the general settings of an existing project, which detects changes by other users."""

    cluster_attribute = forms.CharField(
        label=_("Cluster attribute"),
        required=False,
        max_length=MAX_ATTRIBUTE_LENGTH,
        widget=forms.TextInput({"list": "item-attributes", "autocomplete": "off"}),
        help_text=_("Intervals account for similar items, such as one patient’s."),
    )
    queue_order = forms.ChoiceField(
        label=_("Order of items"),
        choices=QueueOrder.choices,
        help_text=_("Planned orders lower agreement; a tenth stays random."),
    )
    allows_corrections = forms.BooleanField(
        label=_("Raters can change their own ratings"), required=False
    )


class QualityChecksForm(SettingsForm):
    """Form of the shares of hidden gold items and repeats that a project's raters get."""

    gold_percent = forms.IntegerField(
        label=_("Hidden gold (% of items)"),
        required=False,
        help_text=_("Usually 5–10. 0 turns it off."),
    )
    repeat_percent = forms.IntegerField(
        label=_("Repeated items (%)"),
        required=False,
        help_text=_("Usually 3. 0 turns it off."),
    )
    repeat_after_items = forms.IntegerField(label=_("Items before a repeat"), required=False)
    repeat_after_days = forms.IntegerField(label=_("Days before a repeat"), required=False)

    def clean(self) -> dict[str, Any]:
        # Empty numbers get the defaults of a new project. The bounds are in project_validation.
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        for name in QUALITY_CHECK_BOUNDS:
            if cleaned.get(name, 0) is None:
                cleaned[name] = getattr(Project(), name)
        return cleaned


class QuestionForm(forms.Form):
    """Form of a new question, without its categories."""

    text = forms.CharField(
        label=_("Question"),
        max_length=500,
    )
    key = forms.SlugField(
        label=_("Question ID"),
        max_length=64,
        required=False,
        help_text=_("For URLs, exports and the API."),
    )
    scale = forms.ChoiceField(label=_("Scale"), choices=Scale.choices)


class QuestionTextForm(SettingsForm):
    text = forms.CharField(label=_("Question"), max_length=500)


class ScaleForm(forms.Form):
    """Form of a question's scale; ``seen_version`` is the scale_version that the user was shown."""

    scale = forms.ChoiceField(label=_("Scale"), choices=Scale.choices)
    seen_version = forms.IntegerField(label=_("Version"), widget=forms.HiddenInput)


class CategoryForm(forms.Form):
    """One row of the categories table. A row without a label is empty and left out."""

    code = forms.IntegerField(required=False, widget=forms.HiddenInput)
    label = forms.CharField(label=_("Label"), max_length=200, required=False)
    value = forms.FloatField(
        label=_("Value"),
        required=False,
        widget=forms.NumberInput({"step": "any", "placeholder": " "}),
    )
    hotkey = forms.CharField(
        label=_("Hotkey"),
        max_length=1,
        required=False,
        widget=forms.TextInput({"autocomplete": "off"}),
    )

    def build_category(self) -> NewCategory:
        data = self.cleaned_data
        return NewCategory(label=data["label"], value=data["value"], hotkey=data["hotkey"])

    def is_empty(self) -> bool:
        data = self.cleaned_data
        return not data.get("label") and data.get("code") is None and data.get("value") is None


class BaseCategoryFormSet(forms.BaseFormSet):
    """Formset of the categories table.

    ``get_rows`` returns the rows in order, without removed and empty ones.
    """

    default_hotkeys = DEFAULT_HOTKEYS

    def add_fields(self, form: forms.Form, index: int | None) -> None:
        """Add the row number to the name of each field for screen readers, and default hotkeys."""
        super().add_fields(form, index)
        row = "" if index is None else str(index + 1)
        for name, field in form.fields.items():
            if field.widget.is_hidden:
                continue
            label = {"ORDER": _("Order"), "DELETE": _("Remove")}.get(name, field.label)
            field.widget.attrs["aria-label"] = f"{label} {row}".strip()
        if index is not None:  # the hotkey that an empty field gets on the annotation page
            form.fields["hotkey"].widget.attrs["placeholder"] = self._default_hotkeys_by_row.get(
                index, ""
            )
        for name, style in (("ORDER", "categories__order"), ("DELETE", "categories__remove")):
            if name in form.fields:
                form.fields[name].widget.attrs["class"] = style

    @functools.cached_property
    def _default_hotkeys_by_row(self) -> dict[int, str]:
        """{row index: default hotkey} of the rows without a hotkey; no two rows have the same."""
        declared = self._list_values("hotkey")
        hotkeys = assign_hotkeys(declared, self._list_values("label"))
        return {row: hotkeys[row] for row, key in enumerate(declared) if not key}

    def _list_values(self, name: str) -> list[str]:
        """Return the typed or initial text of a field in each row."""
        rows = range(self.total_form_count())
        if self.is_bound:
            return [self.data.get(f"{self.add_prefix(row)}-{name}", "") for row in rows]
        initial_rows = self.initial or []
        return [initial_rows[row].get(name, "") if row < len(initial_rows) else "" for row in rows]

    def clean(self) -> None:
        """Report duplicates in the words of the page.

        The messages of question_validation use those of the API.
        """
        if any(self.errors):
            return
        self._reject_duplicates("label", fold_lookalikes)
        self._reject_duplicates("hotkey", str.casefold)

    def _reject_duplicates(self, name: str, normalize: Callable[[str], str]) -> None:
        first_rows: dict[str, int] = {}
        for row_number, row in enumerate(self.get_rows(), start=1):
            value = row.cleaned_data[name]
            if value and first_rows.setdefault(normalize(value), row_number) != row_number:
                message = _("“%(typed)s” appears twice.")
                row.add_error(name, message % {"typed": value})

    def get_rows(self) -> list[CategoryForm]:
        filled = [
            form
            for form in self.forms
            if not form.is_empty() and not (self.can_delete and form.cleaned_data["DELETE"])
        ]
        n_forms = len(self.forms)
        order = {form: form.cleaned_data.get("ORDER") for form in filled}
        # Rows without a number follow the numbered ones, in their original order.
        return sorted(filled, key=lambda form: n_forms if order[form] is None else order[form])

    def add_problems(self, rows: list[CategoryForm], problems: Any) -> list[str]:
        """Add the messages of question_validation to their fields; return those without a field.

        A message about the whole table is added to the first empty row, or else to the last one.
        """
        if not isinstance(problems, dict):
            empty = [form for form in self.forms if form.is_empty()]
            for row in [*empty, *self.forms[::-1]][:1]:
                row.add_error("label", str(problems))
            return [] if self.forms else [str(problems)]
        unplaced = []
        for index, row_problems in problems.items():
            if not isinstance(row_problems, dict) or int(index) >= len(rows):
                unplaced.append(str(row_problems))
                continue
            for name, message in row_problems.items():
                rows[int(index)].add_error(
                    name if name in rows[int(index)].fields else None, str(message)
                )
        return unplaced


def build_category_formset(*, extra: int, fixed: bool = False) -> type[BaseCategoryFormSet]:
    """Return the formset class of the categories table, with ``extra`` empty rows.

    ``fixed``: rows can be neither reordered nor removed, as for a new question.
    """
    formset_class = forms.formset_factory(
        CategoryForm,
        formset=BaseCategoryFormSet,
        extra=extra,
        can_order=not fixed,
        can_delete=not fixed,
        max_num=MAX_CATEGORY_ROWS,
        absolute_max=200,
    )
    return cast(type[BaseCategoryFormSet], formset_class)


class WeightsForm(forms.Form):
    """Form of a question's weights; the cells of a matrix are ``cell-ROW-COLUMN``, from 0."""

    weights = forms.ChoiceField(
        label=_("Weights"), choices=Weights.choices, widget=forms.RadioSelect
    )
    seen_version = forms.IntegerField(label=_("Version"), widget=forms.HiddenInput)
    reason = forms.CharField(
        label=_("Reason"),
        max_length=500,
        required=False,
    )

    def __init__(self, *args: Any, question: Question, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.size = len(question.active_categories())
        allowed = set(Weights)
        if not Scale(question.scale).ordered:  # rank weights need an order
            allowed = {Weights.NONE, Weights.CUSTOM, Weights(question.weights)}
        weights = self.fields["weights"]
        assert isinstance(weights, forms.ChoiceField)
        weights.choices = [
            (selected, Scale(question.scale).describe_weights(selected))
            for selected in Weights
            if selected in allowed
        ]

    @property
    def has_own_matrix(self) -> bool:
        """Return whether the valid form has custom weights."""
        return bool(self.cleaned_data["weights"] == Weights.CUSTOM)

    def changes_weights(self, question: Question) -> bool:
        """Return whether the valid form differs from the stored weights."""
        if self.cleaned_data["weights"] != question.weights:
            return True
        return self.has_own_matrix and self.get_matrix() != question.weight_matrix

    def get_typed_cells(self) -> list[list[str]]:
        """Return the cells of the matrix as they were typed: k rows of k texts for k categories."""
        indexes = range(self.size)
        return [[str(self.data.get(f"cell-{i}-{j}", "")).strip() for j in indexes] for i in indexes]

    def get_matrix(self) -> list[list[Any]] | None:
        """Return the cells of the matrix, as numbers where possible; None when all are empty."""
        cells = self.get_typed_cells()
        if not any(cell for row in cells for cell in row):
            return None
        return [[to_number_or_text(cell) for cell in row] for row in cells]


def to_number_or_text(text: str) -> Any:
    """Return a typed cell as a float, or unchanged if it is no number.

    question_validation.find_matrix_problem then reports it.
    """
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return text
