"""Light or dark theme: the user's choice, else the browser's cookie, else the system setting.

The page names its theme in its first bytes and loads the style sheet of that theme alone, so
no other colours appear before it. No script is involved.
"""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from agreement_site.models import Preference


def get_theme(request: HttpRequest) -> str:
    """Return a value of Preference.Theme; empty for the system setting."""
    if request.user.is_authenticated:
        preference = getattr(request.user, "preference", None)
        return preference.theme if preference else ""
    cookie_theme = request.COOKIES.get(settings.THEME_COOKIE_NAME, "")
    return cookie_theme if cookie_theme in Preference.Theme.values else ""


@require_POST
def save_theme(request: HttpRequest) -> HttpResponse:
    """Save the posted ``theme`` for this user and browser, then redirect to ``next``.

    An empty ``theme`` deletes the choice.
    """
    theme = request.POST.get("theme", "")
    if theme and theme not in Preference.Theme.values:
        raise BadRequest("unknown theme")
    if request.user.is_authenticated:
        Preference.objects.update_or_create(user=request.user, defaults={"theme": theme})
    next_url = request.POST.get("next", "")
    is_safe = url_has_allowed_host_and_scheme(
        next_url, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    response = HttpResponseRedirect(next_url if is_safe else "/")
    if not theme:
        response.delete_cookie(settings.THEME_COOKIE_NAME)
        return response
    response.set_cookie(
        settings.THEME_COOKIE_NAME,
        theme,
        max_age=settings.LANGUAGE_COOKIE_AGE,
        secure=settings.LANGUAGE_COOKIE_SECURE,
        httponly=settings.LANGUAGE_COOKIE_HTTPONLY,
        samesite="Lax",
    )
    return response
