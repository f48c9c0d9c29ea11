"""What is wrong with the forms of a page, each with the way to its field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django import forms, template
from django.utils.html import strip_tags
from django.utils.translation import gettext as _

register = template.Library()


@dataclass(frozen=True)
class Trouble:
    """``field``: the id of the control to mend; empty where it is the form as a whole."""

    field: str
    label: str
    said: str


@register.simple_tag
def troubles_of(*given: Any) -> list[Trouble]:
    """Of forms and formsets, in the order of the page; what a template does not have is empty."""
    found: list[Trouble] = []
    for one in given:
        if isinstance(one, forms.BaseFormSet):
            found += _of_rows(one)
        elif isinstance(one, forms.BaseForm):
            found += _of_form(one)
    return found


def _of_rows(rows: Any) -> Iterator[Trouble]:
    if not rows.is_bound:
        return
    for said in rows.non_form_errors():
        yield Trouble("", "", strip_tags(said))
    for number, row in enumerate(rows, start=1):
        for trouble in _of_form(row):
            label = _("Row %(n)s, %(field)s") % {"n": number, "field": trouble.label}
            yield Trouble(trouble.field, label if trouble.label else "", trouble.said)


def _of_form(form: Any) -> Iterator[Trouble]:
    if not form.is_bound:
        return
    for said in form.non_field_errors():
        yield Trouble("", "", strip_tags(said))
    for field in form:
        place = field.id_for_label or f"{field.auto_id}_0"  # the first of several boxes
        for said in field.errors:
            yield Trouble(place, str(field.label), strip_tags(said))
