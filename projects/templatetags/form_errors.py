"""List the errors of a page's forms, each with the id of its field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django import forms, template
from django.utils.html import strip_tags
from django.utils.translation import gettext as _

register = template.Library()


@dataclass(frozen=True)
class FormErrorEntry:
    """An error of a form.

    ``field`` is the id of the control to correct, empty for an error of the whole form.
    """

    field: str
    label: str
    message: str


@register.simple_tag
def form_errors(*forms_and_formsets: Any) -> list[FormErrorEntry]:
    """List the errors of forms and formsets, in the order given.

    Other arguments are ignored, such as "" for a form that the context does not have.
    """
    entries: list[FormErrorEntry] = []
    for form in forms_and_formsets:
        if isinstance(form, forms.BaseFormSet):
            entries += _iter_formset_errors(form)
        elif isinstance(form, forms.BaseForm):
            entries += _iter_form_errors(form)
    return entries


def _iter_formset_errors(formset: Any) -> Iterator[FormErrorEntry]:
    if not formset.is_bound:
        return
    for message in formset.non_form_errors():
        yield FormErrorEntry("", "", strip_tags(message))
    for row_number, form in enumerate(formset, start=1):
        for entry in _iter_form_errors(form):
            label = _("Row %(n)s, %(field)s") % {"n": row_number, "field": entry.label}
            yield FormErrorEntry(entry.field, label if entry.label else "", entry.message)


def _iter_form_errors(form: Any) -> Iterator[FormErrorEntry]:
    if not form.is_bound:
        return
    for message in form.non_field_errors():
        yield FormErrorEntry("", "", strip_tags(message))
    for field in form:
        field_id = field.id_for_label or f"{field.auto_id}_0"  # the first of several checkboxes
        for message in field.errors:
            yield FormErrorEntry(field_id, str(field.label), strip_tags(message))
