"""Light or dark: as the user chose it, else as this browser's cookie says, else as the system is
set.

The page names its colours in its first bytes and asks for the style sheet that has no others, so
that none are seen before they come: no script has a part in it.
"""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from agreement_site.models import Preference


def chosen_by(request: HttpRequest) -> str:
    """One of Preference.Theme; empty: as the system is set."""
    if request.user.is_authenticated:
        preference = getattr(request.user, "preference", None)
        return preference.theme if preference else ""
    kept = request.COOKIES.get(settings.THEME_COOKIE_NAME, "")
    return kept if kept in Preference.Theme.values else ""


@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Keep ``theme`` for this user and this browser, or forget it when empty; then to ``next``."""
    theme = request.POST.get("theme", "")
    if theme and theme not in Preference.Theme.values:
        raise BadRequest("unknown theme")
    if request.user.is_authenticated:
        Preference.objects.update_or_create(user=request.user, defaults={"theme": theme})
    wanted = request.POST.get("next", "")
    here = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    response = HttpResponseRedirect(wanted if here else "/")
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
