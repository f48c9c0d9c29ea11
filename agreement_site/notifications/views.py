"""Pages of a person's notification settings, and of a link that ends a subscription to mail."""

from __future__ import annotations

import datetime
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.dates import WEEKDAYS
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from agreement_site.models import NotificationSettings
from agreement_site.notifications import preferences
from core.text import describe_saved
from projects.services.project_validation import list_time_zones, normalize_time_zone

from .news import NEWS


class NotificationForm(forms.Form):
    """Form of a person's choice of mail, its times and language."""

    digest = forms.ChoiceField(
        label=gettext_lazy("Digest"), choices=NotificationSettings.Digest.choices
    )
    weekday = forms.TypedChoiceField(
        label=gettext_lazy("Day of weekly digests"), coerce=int, choices=list(WEEKDAYS.items())
    )
    hour = forms.TypedChoiceField(
        label=gettext_lazy("Time"),
        coerce=int,
        choices=[(hour, f"{datetime.time(hour):%H:%M}") for hour in range(24)],
    )
    time_zone = forms.CharField(
        label=gettext_lazy("Time zone"),
        max_length=64,
        widget=forms.TextInput({"list": "time-zones", "autocomplete": "off"}),
    )
    at_once = forms.MultipleChoiceField(
        label=gettext_lazy("Send at once"),
        required=False,
        choices=[(name, news.label) for name, news in NEWS.items()],
        widget=forms.CheckboxSelectMultiple,
    )
    personal = forms.BooleanField(
        label=gettext_lazy("Messages, pauses and new projects"), required=False
    )
    language = forms.ChoiceField(
        label=gettext_lazy("Language"),
        choices=[("", gettext_lazy("as on the pages")), *settings.LANGUAGES],
        required=False,
        widget=forms.Select({"translate": "no"}),  # each language has its own name
    )

    def clean_time_zone(self) -> str:
        zone = normalize_time_zone(self.cleaned_data["time_zone"])
        if zone not in list_time_zones():
            raise forms.ValidationError(gettext_lazy("Use a time zone like Europe/Berlin."))
        return zone


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit_notifications(request: HttpRequest) -> HttpResponse:
    """Show what the user gets by mail; a POST changes it."""
    user: Any = request.user
    row = preferences.get_preferences(user)
    initial = {name: getattr(row, name) for name in NotificationForm.base_fields}
    form = NotificationForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        preferences.save_preferences(user=user, **form.cleaned_data)
        messages.success(request, describe_saved(_("Notifications")))
        return redirect("notifications")
    context = {
        "form": form,
        "sends_mail": bool(settings.SMTP_URL),
        "next_digest_at": row.next_digest_at,
    }
    status = 400 if form.is_bound else 200
    return render(request, "notifications/settings.html", context, status=status)


# Mail programs post here without a session or a cookie (RFC 8058); the link is the permission.
@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe_by_link(request: HttpRequest, token: str) -> HttpResponse:
    """Show a button that ends a subscription to mail; a POST ends it.

    Scanners of mail open links, so opening it changes nothing.
    """
    parsed = preferences.parse_unsubscribe_token(token)
    if parsed is None:
        return render(request, "notifications/unsubscribe.html", status=404)
    user, subscription = parsed
    is_done = request.method == "POST"
    if is_done:
        preferences.end_subscription(user, subscription)
    context = {"subscription": preferences.LABELS[subscription], "is_done": is_done}
    return render(request, "notifications/unsubscribe.html", context)
