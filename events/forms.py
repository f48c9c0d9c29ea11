"""The form of a webhook; its rules are in events.webhooks.services."""

from __future__ import annotations

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from .kinds import KINDS
from .models import Webhook
from .webhooks.addresses import MAX_URL_LENGTH
from .webhooks.services import MAX_ROBOT_SECRET_LENGTH


class WebhookForm(forms.Form):
    """A new webhook, or changes of one."""

    url = forms.CharField(
        label=_("Address"),
        max_length=MAX_URL_LENGTH,
        widget=forms.URLInput({"placeholder": "https://"}),
    )
    format = forms.ChoiceField(label=_("Send as"), choices=Webhook.Format.choices, required=False)
    language = forms.ChoiceField(
        label=_("Language of chat messages"),
        choices=settings.LANGUAGES,
        required=False,
        widget=forms.Select({"translate": "no"}),  # each language has its own name
    )
    robot_secret = forms.CharField(
        label=_("Robot secret"),
        required=False,
        max_length=MAX_ROBOT_SECRET_LENGTH,
        widget=forms.TextInput({"autocomplete": "off", "class": "mono"}),
        help_text=_("Only for DingTalk and Feishu robots that sign."),
    )
    kinds = forms.MultipleChoiceField(
        label=_("Only these events"),
        required=False,
        choices=[(kind, kind) for kind in KINDS],
        widget=forms.SelectMultiple({"size": 8, "class": "mono", "translate": "no"}),
        help_text=_("Leave blank for all events, or for a chat those that people should read."),
    )
    with_items = forms.BooleanField(label=_("Include item content, not only IDs"), required=False)

    def clean_format(self) -> str:
        return self.cleaned_data["format"] or Webhook.Format.CONCORD
