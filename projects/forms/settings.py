"""What the pages of set-up ask for. The rules stand in project_rules, question_rules and
weight_matrix."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, cast

from django import forms
from django.utils.translation import gettext_lazy as _

from core.text import likeness
from projects.models import Project, Question, QueueOrder, Scale, Weights
from projects.services.project_validation import BOUNDS, zone_named
from projects.services.question_validation import FREE_KEYS, NewCategory, keys_at_the_desk

MOST_ROWS = 60  # of categories


class ProjectForm(forms.Form):
    """The project itself. Lengths and zones are checked by project_rules, which names what is
    allowed."""

    name = forms.CharField(label=_("Name"), max_length=200)
    description = forms.CharField(
        label=_("Description"), required=False, widget=forms.Textarea({"rows": 2})
    )
    guidelines = forms.CharField(
        label=_("Guidelines"),
        required=False,
        strip=False,
        widget=forms.Textarea({"rows": 10}),
        help_text=_(
            "What raters read before and while they rate. Markdown: # heading, **bold**, - list."
        ),
    )
    overlap = forms.IntegerField(
        label=_("Ratings wanted per item"),
        initial=3,
        min_value=1,
        help_text=_("Agreement needs two at least."),
    )
    time_zone = forms.CharField(
        label=_("Time zone"),
        initial="UTC",
        max_length=64,
        widget=forms.TextInput({"list": "time-zones", "autocomplete": "off"}),
        help_text=_("Days and weeks of the trend are those of this zone, such as Europe/Berlin."),
    )

    def clean_guidelines(self) -> str:
        # A browser sends each line end as two characters: alone they are no new version.
        return self.cleaned_data["guidelines"].replace("\r\n", "\n")

    def clean_time_zone(self) -> str:
        return zone_named(self.cleaned_data["time_zone"])


class SetupForm(ProjectForm):
    """With what concerns a project that raters work in."""

    queue_order = forms.ChoiceField(
        label=_("Order of items"),
        choices=QueueOrder.choices,
        help_text=_(
            "A planned order chooses items for what was said of them: agreement on those is lower"
            " than on items drawn at random. One item of ten is drawn at random all the same."
        ),
    )
    corrections = forms.BooleanField(label=_("Raters may change their own ratings"), required=False)
    gold_percent = forms.IntegerField(
        label=_("Hidden gold: so many of 100 items"),
        required=False,
        help_text=_("5 to 10 are usual; 0: none. Each gold item once a rater at most."),
    )
    repeat_percent = forms.IntegerField(
        label=_("Blind repeats: so many of 100 items"),
        required=False,
        help_text=_("3 are usual; 0: none."),
    )
    repeat_after_items = forms.IntegerField(
        label=_("Asked again after so many items of the rater"), required=False
    )
    repeat_after_days = forms.IntegerField(label=_("and after so many days"), required=False)

    field_order = (
        "name",
        "description",
        "overlap",
        "queue_order",
        "corrections",
        "time_zone",
        *BOUNDS,
        "guidelines",
    )

    def clean(self) -> dict[str, Any]:
        # What is left empty is as it is in a new project. Bounds: project_rules.
        found: dict[str, Any] = super().clean() or self.cleaned_data
        for name in BOUNDS:
            if found.get(name, 0) is None:
                found[name] = getattr(Project(), name)
        return found


class QuestionForm(forms.Form):
    """A new question without its categories."""

    text = forms.CharField(
        label=_("Question"),
        max_length=500,
        help_text=_("What a rater reads above the answers, such as: How severe is the error?"),
    )
    key = forms.SlugField(
        label=_("Short name"),
        max_length=64,
        required=False,
        help_text=_("Names it in addresses, files and the API. Empty: made from the question."),
    )
    scale = forms.ChoiceField(label=_("Scale"), choices=Scale.choices)


class TextForm(forms.Form):
    text = forms.CharField(label=_("Question"), max_length=500)


class ScaleForm(forms.Form):
    scale = forms.ChoiceField(label=_("Scale"), choices=Scale.choices)
    seen_version = forms.IntegerField(widget=forms.HiddenInput)


class CategoryForm(forms.Form):
    """One row of the table of categories. An empty label means an empty row, which is left out."""

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

    def spec(self) -> NewCategory:
        data = self.cleaned_data
        return NewCategory(label=data["label"], value=data["value"], hotkey=data["hotkey"])

    def is_empty(self) -> bool:
        data = self.cleaned_data
        return not data.get("label") and data.get("code") is None and data.get("value") is None


class BaseCategories(forms.BaseFormSet):
    """The rows in the order in which they are to stand; removed and empty ones left out."""

    free_keys = FREE_KEYS

    def add_fields(self, form: forms.Form, index: int | None) -> None:
        """Name each field by its row: the head of the table is too far away for those who hear the
        page."""
        super().add_fields(form, index)
        row = "" if index is None else str(index + 1)
        for name, field in form.fields.items():
            if field.widget.is_hidden:
                continue
            word = {"ORDER": _("Order"), "DELETE": _("Remove")}.get(name, field.label)
            field.widget.attrs["aria-label"] = f"{word} {row}".strip()
        if index is not None:  # what it becomes at the desk
            form.fields["hotkey"].widget.attrs["placeholder"] = self._hints.get(index, "")
        for name, style in (("ORDER", "categories__order"), ("DELETE", "categories__remove")):
            if name in form.fields:
                form.fields[name].widget.attrs["class"] = style

    @functools.cached_property
    def _hints(self) -> dict[int, str]:
        """Place -> key of each row that declares none; keys that others declare are taken."""
        rows = range(self.total_form_count())
        if self.is_bound:
            typed = [self.data.get(f"{self.add_prefix(row)}-hotkey", "") for row in rows]
        else:
            given = self.initial or []
            typed = [given[row].get("hotkey", "") if row < len(given) else "" for row in rows]
        keys = keys_at_the_desk(typed)
        return {row: keys[row] for row in rows if not typed[row]}

    def clean(self) -> None:
        """Say in the words of the page what question_rules would say in the words of the API."""
        if any(self.errors):
            return
        self._refuse_doubled("label", likeness)
        self._refuse_doubled("hotkey", str.casefold)

    def _refuse_doubled(self, name: str, alike: Callable[[str], str]) -> None:
        first: dict[str, int] = {}
        for number, row in enumerate(self.rows(), start=1):
            typed = row.cleaned_data[name]
            if typed and first.setdefault(alike(typed), number) != number:
                message = _("'%(typed)s' stands twice. Each category needs its own.")
                row.add_error(name, message % {"typed": typed})

    def rows(self) -> list[CategoryForm]:
        kept = [
            form
            for form in self.forms
            if not form.is_empty() and not (self.can_delete and form.cleaned_data["DELETE"])
        ]
        last = len(self.forms)
        order = {form: form.cleaned_data.get("ORDER") for form in kept}
        # A row without a number stands where it was typed, behind the numbered ones.
        return sorted(kept, key=lambda form: last if order[form] is None else order[form])

    def add_problems(self, rows: list[CategoryForm], problems: Any) -> list[str]:
        """Put the messages of question_rules beside their fields, one about the whole table beside
        the first empty row or the last one; those that have no place are returned."""
        if not isinstance(problems, dict):
            empty = [form for form in self.forms if form.is_empty()]
            for row in [*empty, *self.forms[::-1]][:1]:
                row.add_error("label", str(problems))
            return [] if self.forms else [str(problems)]
        loose = []
        for place, found in problems.items():
            if not isinstance(found, dict) or int(place) >= len(rows):
                loose.append(str(found))
                continue
            for name, message in found.items():
                rows[int(place)].add_error(
                    name if name in rows[int(place)].fields else None, str(message)
                )
        return loose


def categories_formset(*, extra: int, fixed: bool = False) -> type[BaseCategories]:
    """A table of categories with ``extra`` empty rows; ``fixed`` for a new question, whose rows
    stand as typed."""
    made = forms.formset_factory(
        CategoryForm,
        formset=BaseCategories,
        extra=extra,
        can_order=not fixed,
        can_delete=not fixed,
        max_num=MOST_ROWS,
        absolute_max=200,
    )
    return cast(type[BaseCategories], made)


class WeightsForm(forms.Form):
    """The choice of weights and the cells of a matrix, ``cell-ROW-COLUMN``, counted from 0."""

    weights = forms.ChoiceField(
        label=_("Weights"), choices=Weights.choices, widget=forms.RadioSelect
    )
    seen_version = forms.IntegerField(widget=forms.HiddenInput)
    reason = forms.CharField(
        label=_("Why"),
        max_length=500,
        required=False,
        help_text=_("Kept with who changed the weights, and when."),
    )

    def __init__(self, *args: Any, question: Question, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.size = len(question.active_categories())
        offered = set(Weights)
        if not Scale(question.scale).ordered:  # without an order nothing is nearer
            offered = {Weights.NONE, Weights.CUSTOM, Weights(question.weights)}
        weights = self.fields["weights"]
        assert isinstance(weights, forms.ChoiceField)
        weights.choices = [choice for choice in Weights.choices if choice[0] in offered]

    def typed(self) -> list[list[str]]:
        """The cells as they were typed. (k, k)"""
        places = range(self.size)
        return [[str(self.data.get(f"cell-{i}-{j}", "")).strip() for j in places] for i in places]

    def matrix(self) -> list[list[Any]] | None:
        """The cells as numbers where they are numbers; None where none was typed."""
        typed = self.typed()
        if not any(cell for row in typed for cell in row):
            return None
        return [[as_number(cell) for cell in row] for row in typed]


def as_number(text: str) -> Any:
    """A float, or the text itself where it is none (weight_matrix then names it)."""
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return text
