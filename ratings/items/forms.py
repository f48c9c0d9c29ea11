"""An item made or changed by hand: named parts of text, and attributes that raters never see."""

from __future__ import annotations

import json
from typing import Any, cast

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy

from core.text import key_trouble
from projects.models import Item, Project, has_content
from projects.services.items.upsert import LONGEST_KEY

PARTS, ATTRIBUTES = "parts", "attributes"  # prefixes of the rows
MOST_ROWS = 60
LONGEST_NAME = 100
LONGEST_TEXT = 200_000
TEXT = "text"  # the part that stands without a name


class ItemForm(forms.Form):
    """The key of a new item; what an item that stands was when it was looked at."""

    key = forms.CharField(
        label=_lazy("Key"),
        max_length=LONGEST_KEY,
        help_text=_lazy("Your own name of the item; unique in the project."),
    )
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, project: Project, item: Item | None = None, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.project = project
        self.item = item
        if item is not None:
            self.fields["key"].disabled = True

    def clean_key(self) -> str:
        key = self.cleaned_data["key"]
        if self.item is not None:
            return self.item.key
        if key_trouble(key, longest=LONGEST_KEY):
            raise forms.ValidationError(_("A key is one line without control characters."))
        if Item.objects.filter(project=self.project, key=key).exists():
            raise forms.ValidationError(
                _("This project has an item “%(key)s” already.") % {"key": key}
            )
        return key

    def clean(self) -> dict[str, Any]:
        if self.item is not None and self.cleaned_data.get("version") != self.item.version:
            raise forms.ValidationError(
                _(
                    "Somebody else changed this item meanwhile. Look at it as it stands, then "
                    "change it again."
                )
            )
        return self.cleaned_data


class PartForm(forms.Form):
    name = forms.CharField(
        label=_lazy("Name of the part"),
        max_length=LONGEST_NAME,
        required=False,
        widget=forms.TextInput({"autocomplete": "off", "list": "part-names"}),
    )
    value = forms.CharField(
        label=_lazy("Text"),
        max_length=LONGEST_TEXT,
        required=False,
        strip=False,
        widget=forms.Textarea({"rows": 4, "dir": "auto"}),
    )

    def clean_value(self) -> str:
        # A browser sends each line end as two characters: alone they are no new version.
        return self.cleaned_data["value"].replace("\r\n", "\n")


class AttributeForm(forms.Form):
    name = forms.CharField(label=_lazy("Name"), max_length=LONGEST_NAME, required=False)
    value = forms.CharField(label=_lazy("Value"), max_length=1_000, required=False)


class Rows(forms.BaseFormSet):
    """Rows of a name and a value; empty ones are left out."""

    def add_fields(self, form: forms.Form, index: int | None) -> None:
        super().add_fields(form, index)
        for field in form.fields.values():
            field.widget.attrs["aria-label"] = f"{field.label} {(index or 0) + 1}"
            field.widget.attrs["placeholder"] = field.label

    def clean(self) -> None:
        if any(self.errors):
            return
        names: set[str] = set()
        for form in self.forms:
            name = self.name_of(form.cleaned_data)
            if not form.cleaned_data.get("value") and not form.cleaned_data.get("name"):
                continue
            if not name:
                form.add_error("name", _("A name is needed."))
            elif name in names:
                form.add_error("name", _("Each name stands once."))
            names.add(name)

    def name_of(self, typed: dict[str, Any]) -> str:
        name = typed.get("name", "").strip()
        return name or (TEXT if self.prefix == PARTS else "")

    def typed(self) -> dict[str, str]:
        """name -> value of the rows that are not empty, in their order."""
        found = {}
        for form in self.forms:
            if form.cleaned_data.get("value") or form.cleaned_data.get("name"):
                found[self.name_of(form.cleaned_data)] = form.cleaned_data.get("value", "")
        return found


def rows_of(
    form: type[forms.Form], data: Any, *, prefix: str, standing: dict[str, str], extra: int
) -> Rows:
    """The rows as they stand, with ``extra`` empty ones."""
    initial = [{"name": name, "value": value} for name, value in standing.items()]
    made = forms.formset_factory(
        form, formset=Rows, extra=extra, max_num=MOST_ROWS, absolute_max=MOST_ROWS
    )
    # What was typed stands alone: a row that is as it was is not left out as an untouched one.
    return cast(Rows, made(data, prefix=prefix, initial=initial if data is None else None))


def text_parts(body: Any) -> dict[str, str]:
    """The parts of a body that the form shows: texts."""
    return {name: value for name, value in _parts(body).items() if isinstance(value, str)}


def other_parts(body: Any) -> dict[str, Any]:
    """Those that stay as they are: lists, numbers, conversations ..."""
    return {name: value for name, value in _parts(body).items() if not isinstance(value, str)}


def _parts(body: Any) -> dict[str, Any]:
    return body if isinstance(body, dict) else {}


def shown_attributes(attributes: Any) -> dict[str, str]:
    """Attributes as texts to be typed over: what is no text as JSON."""
    shown = {}
    for name, value in _parts(attributes).items():
        is_text = isinstance(value, str)
        shown[name] = value if is_text else json.dumps(value, ensure_ascii=False)
    return shown


def typed_attributes(typed: dict[str, str], standing: Any) -> dict[str, Any]:
    """The attributes that were typed; one that was left as it stood keeps its kind."""
    before = shown_attributes(standing)
    found: dict[str, Any] = {}
    for name, value in typed.items():
        same = name in before and before[name] == value
        found[name] = standing[name] if same else value
    return found


def body_problem(body: dict[str, Any]) -> str | None:
    """What the page says of a body with nothing to show."""
    if has_content(body):
        return None
    return str(_("There is nothing to show yet: type the text that is to be rated."))
