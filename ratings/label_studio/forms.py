"""Forms of connections; their rules are in ratings.label_studio.services."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from events.webhooks.addresses import MAX_URL_LENGTH
from ratings.models import LabelStudioConnection

MAX_TOKEN_LENGTH = 2_000


def _build_token_field(*, required: bool, help_text: Any) -> forms.CharField:
    return forms.CharField(
        label=_("Token"),
        required=required,
        max_length=MAX_TOKEN_LENGTH,
        help_text=help_text,
        widget=forms.PasswordInput({"autocomplete": "off"}),
    )


class ConnectForm(forms.Form):
    """A new connection."""

    address = forms.CharField(
        label=_("Address"),
        max_length=MAX_URL_LENGTH,
        help_text=_("Label Studio’s or the project’s."),
        widget=forms.URLInput({"placeholder": "https://labels.example.org/projects/12"}),
    )
    remote_project = forms.IntegerField(
        label=_("Project number"),
        required=False,
        min_value=1,
        help_text=_("Leave empty if the address has it."),
    )
    token = _build_token_field(
        required=True,
        help_text=_(
            "Personal or legacy token: Account & Settings in Label Studio. Stored encrypted."
        ),
    )


class ChangeForm(forms.Form):
    """Changes of a connection."""

    write_back = forms.ChoiceField(
        label=_("Final labels"),
        choices=LabelStudioConnection.WriteBack.choices,
        help_text=_("What Concord writes is never read back."),
    )
    token = _build_token_field(required=False, help_text=_("Empty: keep the current token."))
