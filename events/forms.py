"""The form of a webhook; its rules are in events.webhooks.services."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from .kinds import KINDS
from .webhooks.addresses import MAX_URL_LENGTH


class WebhookForm(forms.Form):
    """A new webhook, or changes of one."""

    url = forms.CharField(
        label=_("Address"),
        max_length=MAX_URL_LENGTH,
        widget=forms.URLInput({"placeholder": "https://"}),
    )
    kinds = forms.MultipleChoiceField(
        label=_("Only these events"),
        required=False,
        choices=[(kind, kind) for kind in KINDS],
        widget=forms.SelectMultiple({"size": 8, "class": "mono", "translate": "no"}),
        help_text=_("Leave empty to send all events."),
    )
    with_items = forms.BooleanField(label=_("Include item content, not only IDs"), required=False)
