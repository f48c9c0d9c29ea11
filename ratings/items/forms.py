"""Forms that create or change an item: named text parts, and attributes that raters never see."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy

from core.text import classify_key_problem, describe_line
from projects.models import Item, Project, has_content
from projects.services.item_upsert import MAX_KEY_LENGTH

PARTS, ATTRIBUTES = "parts", "attributes"  # prefixes of the formsets
MAX_ROWS = 60
MAX_NAME_LENGTH = 100
MAX_TEXT_LENGTH = 200_000
TEXT = "text"  # name of a part that is entered without one


class ItemForm(forms.Form):
    """Key of a new item; of an existing item, the version that the user is editing."""

    key = forms.CharField(
        label=_lazy("ID"),
        max_length=MAX_KEY_LENGTH,
        help_text=_lazy("Must be unique in the project."),
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
        if classify_key_problem(key, max_length=MAX_KEY_LENGTH):
            raise forms.ValidationError(describe_line(MAX_KEY_LENGTH))
        if Item.objects.filter(project=self.project, key=key).exists():
            raise forms.ValidationError(_("“%(key)s” already exists.") % {"key": key})
        return key

    def clean(self) -> dict[str, Any]:
        if self.item is not None and self.cleaned_data.get("version") != self.item.version:
            raise forms.ValidationError(_("Someone else changed this. Reload and try again."))
        return self.cleaned_data


class PartForm(forms.Form):
    name = forms.CharField(
        label=_lazy("Part name"),
        max_length=MAX_NAME_LENGTH,
        required=False,
        widget=forms.TextInput({"autocomplete": "off", "list": "part-names"}),
    )
    value = forms.CharField(
        label=_lazy("Text"),
        max_length=MAX_TEXT_LENGTH,
        required=False,
        strip=False,
        widget=forms.Textarea({"rows": 4, "dir": "auto"}),
    )

    def clean_value(self) -> str:
        # Browsers send line ends as two characters; this alone must not create a new version.
        return self.cleaned_data["value"].replace("\r\n", "\n")


class AttributeForm(forms.Form):
    name = forms.CharField(label=_lazy("Name"), max_length=MAX_NAME_LENGTH, required=False)
    value = forms.CharField(label=_lazy("Value"), max_length=1_000, required=False)


class NameValueFormSet(forms.BaseFormSet):
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
            name = self.get_name(form.cleaned_data)
            if not form.cleaned_data.get("value") and not form.cleaned_data.get("name"):
                continue
            if not name:
                form.add_error("name", _("Enter a name."))
            elif name in names:
                form.add_error("name", _("“%(typed)s” appears twice.") % {"typed": name})
            names.add(name)

    def get_name(self, data: Mapping[str, str]) -> str:
        name = data.get("name", "").strip()
        return name or (TEXT if self.prefix == PARTS else "")

    def get_values(self) -> dict[str, str]:
        """Return name -> value of the rows that are not empty, in their order."""
        values = {}
        for form in self.forms:
            if form.cleaned_data.get("value") or form.cleaned_data.get("name"):
                values[self.get_name(form.cleaned_data)] = form.cleaned_data.get("value", "")
        return values


def build_formset(
    form: type[forms.Form], data: Any, *, prefix: str, current_values: dict[str, str], extra: int
) -> NameValueFormSet:
    """Return a formset of name and value rows: current values, then ``extra`` empty rows.

    ``data`` is the submitted data or None; ``prefix`` is PARTS or ATTRIBUTES.
    """
    initial = [{"name": name, "value": value} for name, value in current_values.items()]
    formset_class = forms.formset_factory(
        form, formset=NameValueFormSet, extra=extra, max_num=MAX_ROWS, absolute_max=MAX_ROWS
    )
    # Without initial values for submitted data, or Django leaves out rows that were not changed.
    return cast(
        NameValueFormSet,
        formset_class(data, prefix=prefix, initial=initial if data is None else None),
    )


def get_text_parts(body: Any) -> dict[str, str]:
    """Return the parts of a body that are texts, which the form shows."""
    return {name: value for name, value in _get_parts(body).items() if isinstance(value, str)}


def get_other_parts(body: Any) -> dict[str, object]:
    """Return the parts of a body that are no texts, which the form leaves unchanged."""
    return {name: value for name, value in _get_parts(body).items() if not isinstance(value, str)}


def _get_parts(body: Any) -> Mapping[str, Any]:
    return body if isinstance(body, dict) else {}


def format_attributes(attributes: Any) -> dict[str, str]:
    """Return the attributes as texts for editing, with other values as JSON."""
    texts = {}
    for name, value in _get_parts(attributes).items():
        is_text = isinstance(value, str)
        texts[name] = value if is_text else json.dumps(value, ensure_ascii=False)
    return texts


def parse_attributes(texts: dict[str, str], current_attributes: Any) -> dict[str, object]:
    """Return name -> value of the submitted attributes (name -> text of the form).

    Those with the same text as a current attribute keep its JSON type.
    """
    current_texts = format_attributes(current_attributes)
    attributes: dict[str, object] = {}
    for name, value in texts.items():
        is_unchanged = name in current_texts and current_texts[name] == value
        attributes[name] = current_attributes[name] if is_unchanged else value
    return attributes


def get_body_error(body: dict[str, object]) -> str | None:
    """Return the error message for a body without content, or None."""
    if has_content(body):
        return None
    return str(_("Enter the text to rate."))
