"""The form of a person's notification settings."""

from __future__ import annotations

import datetime

from django import forms
from django.conf import settings
from django.utils.dates import WEEKDAYS
from django.utils.translation import gettext_lazy as _

from agreement_site.models import NotificationSettings
from projects.services.project_validation import list_time_zones, normalize_time_zone

from .news import NEWS


class NotificationForm(forms.Form):
    """A person's choice of mail, its times and language."""

    digest = forms.ChoiceField(label=_("Digest"), choices=NotificationSettings.Digest.choices)
    weekday = forms.TypedChoiceField(
        label=_("Day of a weekly digest"), coerce=int, choices=list(WEEKDAYS.items())
    )
    hour = forms.TypedChoiceField(
        label=_("Time"),
        coerce=int,
        choices=[(hour, f"{datetime.time(hour):%H:%M}") for hour in range(24)],
    )
    time_zone = forms.CharField(
        label=_("Time zone"),
        max_length=64,
        widget=forms.TextInput({"list": "time-zones", "autocomplete": "off"}),
    )
    at_once = forms.MultipleChoiceField(
        label=_("At once, in projects whose results you see"),
        required=False,
        choices=[(name, news.label) for name, news in NEWS.items()],
        widget=forms.CheckboxSelectMultiple,
    )
    personal = forms.BooleanField(
        label=_("Messages from leads, pauses and new projects"), required=False
    )
    language = forms.ChoiceField(
        label=_("Language"),
        choices=[("", _("as on the pages")), *settings.LANGUAGES],
        required=False,
        widget=forms.Select({"translate": "no"}),  # each language has its own name
    )

    def clean_time_zone(self) -> str:
        zone = normalize_time_zone(self.cleaned_data["time_zone"])
        if zone not in list_time_zones():
            raise forms.ValidationError(_("Choose a listed time zone, such as Europe/Berlin."))
        return zone
