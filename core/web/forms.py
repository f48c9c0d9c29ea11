"""Base classes of forms, of views that answer an invalid form, and of errors by field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from django import forms
from django.http import HttpResponse, QueryDict
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

LABEL_SUFFIX = gettext_noop(":")  # after the labels of forms: Django translates it by our catalogue
MAX_VALUE_LENGTH = 100  # characters of the other value in the message


class InvalidFields(ValueError):
    """Input is not valid; ``fields`` maps the name of each invalid field to its message."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(str(fields))
        self.fields = fields


class SettingsForm(forms.Form):
    """A form of stored settings; ``initial`` has the current value of each field.

    The page contains the values that it showed (Django's hidden initial values). Fields that still
    have these are not saved. If somebody else changed a field meanwhile, the form is invalid;
    submitting it again overwrites the other change.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.show_hidden_initial = True

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        for name, value in cleaned.items():
            cleaned[name] = _normalize_line_ends(value)
        for name, value in self.get_changes().items():
            stored = self._get_stored_value(name)
            if stored not in (value, self._get_shown_value(name)):
                self._add_conflict(name, stored)
        return cleaned

    def get_changes(self) -> dict[str, Any]:
        """Return the cleaned values that differ from those on the page."""
        return {
            name: value
            for name, value in self.cleaned_data.items()
            if value != self._get_shown_value(name)
        }

    def _get_stored_value(self, name: str) -> Any:
        return self.fields[name].to_python(self.initial.get(name))

    def _get_shown_value(self, name: str) -> Any:
        """Return the value that a field had on the page; the stored one if the page sent none."""
        text = self.data.get(self[name].html_initial_name)
        if text is None:
            return self._get_stored_value(name)
        return self.fields[name].to_python(_normalize_line_ends(text))

    def _add_conflict(self, name: str, stored: Any) -> None:
        """Add an error with the stored value, which the next submission replaces."""
        labels = dict(getattr(self.fields[name], "choices", ()))
        value = Truncator(labels.get(stored, stored)).chars(MAX_VALUE_LENGTH)
        message = _("Someone else changed this to “%(value)s”. Save again to replace it.")
        self.add_error(name, message % {"value": value})
        data = cast(QueryDict, self.data).copy()
        data[self[name].html_initial_name] = "" if stored is None else str(stored)
        self.data = data


def _normalize_line_ends(value: Any) -> Any:
    """Return a text with LF as line end; browsers send CRLF."""
    return value.replace("\r\n", "\n") if isinstance(value, str) else value


class InvalidFormStatusMixin:
    """Return an invalid form with status 400, as every page of the site does."""

    def form_invalid(self, form: Any) -> HttpResponse:
        view: Any = self
        response: HttpResponse = view.render_to_response(
            view.get_context_data(form=form), status=400
        )
        return response


def add_form_errors(form: Any, messages: Mapping[str, object]) -> None:
    """Add {field: message} to the fields of a form; a message of another name to the whole form."""
    for name, message in messages.items():
        form.add_error(name if name in form.fields else None, str(message))
