"""Pages of a person's notification settings, and of a link that ends a stream of mail."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from . import preferences, unsubscribe
from .forms import NotificationForm


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
        messages.success(request, _("Saved."))
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
    """Show a button that ends a stream of mail; a POST ends it.

    Scanners of mail open links, so opening it changes nothing.
    """
    parsed = unsubscribe.parse_token(token)
    if parsed is None:
        return render(request, "notifications/unsubscribe.html", status=404)
    user, stream = parsed
    is_done = request.method == "POST"
    if is_done:
        unsubscribe.end_stream(user, stream)
    context = {"stream": unsubscribe.LABELS[stream], "is_done": is_done}
    return render(request, "notifications/unsubscribe.html", context)
