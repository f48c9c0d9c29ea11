"""Template tags of projects: approvals, guidelines, offered roles, time zones, errors of forms."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django import forms, template
from django.template import Context
from django.utils.html import format_html_join, strip_tags
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from projects.guidelines import render_markdown
from projects.models import MemberOffer, Project
from projects.services import approvals, joining
from projects.services.project_validation import list_time_zones

register = template.Library()


@register.inclusion_tag("projects/_approval_hint.html", takes_context=True)
def approval_hint(context: Context, project: Project, action: str) -> dict[str, object]:
    """Show the user's approval for the action, or a link to request one."""
    if not approvals.is_approval_needed():
        return {"is_needed": False}
    approval = approvals.list_usable_approvals(project, action, context["request"].user)
    return {
        "is_needed": True,
        "approval": approval.select_related("decided_by").first(),
        "project": project,
        "action": action,
    }


@register.filter
def markdown(text: str) -> SafeString:
    """Render Markdown as safe HTML: ``{{ project.guidelines|markdown }}``."""
    return render_markdown(text or "")


@register.simple_tag
def open_offers(user: Any) -> list[MemberOffer]:
    """List the user's open offers, newest first: ``{% open_offers user as offers %}``."""
    return joining.list_recent_offers(user)


@register.simple_tag
@functools.cache  # six hundred, the same on every page
def time_zone_options() -> SafeString:
    """Return an <option> for each time zone, for a <datalist>: ``{% time_zone_options %}``."""
    return format_html_join(
        "", '<option value="{}"></option>', ((zone,) for zone in list_time_zones())
    )


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
