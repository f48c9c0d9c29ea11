"""The user's preferences for pages: language and colour theme.

The language is the user's choice, else that of the cookie, else that of the browser. The theme is
saved in the same way. The API always speaks English, because programs read it.
"""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.middleware.locale import LocaleMiddleware
from django.utils import translation
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST
from django.views.i18n import set_language

from agreement_site.models import Preference


def get_theme(request: HttpRequest) -> str:
    """Return the user's or this browser's theme, a value of Preference.Theme.

    Empty if none was chosen: the theme of the operating system applies.
    """
    if request.user.is_authenticated:
        preference = getattr(request.user, "preference", None)
        return preference.theme if preference else ""
    cookie_theme = request.COOKIES.get(settings.THEME_COOKIE_NAME, "")
    return cookie_theme if cookie_theme in Preference.Theme.values else ""


@require_POST
def save_theme(request: HttpRequest) -> HttpResponse:
    """Save the posted ``theme`` for this user and browser, then redirect to ``next``.

    An empty ``theme`` deletes the choice. Raises BadRequest for an unknown one.
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


class LanguageMiddleware(LocaleMiddleware):
    def process_request(self, request: HttpRequest) -> None:
        if _is_machine_endpoint(request):
            language = settings.LANGUAGE_CODE
        else:
            language = get_preferred_language(request) or translation.get_language_from_request(
                request
            )
            request.theme = get_theme(request)  # type: ignore[attr-defined]  # for base.html
        translation.activate(language)
        request.LANGUAGE_CODE = language

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        return (
            response
            if _is_machine_endpoint(request)
            else super().process_response(request, response)
        )


def _is_machine_endpoint(request: HttpRequest) -> bool:
    """Return True for the API, the probes and the metrics, which always speak English."""
    return request.path_info.startswith(("/api/", "/healthz", "/livez", "/metrics"))


def get_preferred_language(request: HttpRequest) -> str:
    """Return the language that the signed-in user chose; empty when there is none."""
    preference = getattr(request.user, "preference", None)
    return preference.language if preference else ""


@require_POST
def save_language(request: HttpRequest) -> HttpResponse:
    """Save the posted ``language`` for this user and browser, then redirect to ``next``.

    An empty ``language`` deletes the choice. Raises BadRequest for an unknown one.
    """
    language = request.POST.get("language", "")
    if language and language not in dict(settings.LANGUAGES):
        raise BadRequest("unknown language")
    if request.user.is_authenticated:
        Preference.objects.update_or_create(user=request.user, defaults={"language": language})
    response = set_language(request)
    if not language:
        response.delete_cookie(settings.LANGUAGE_COOKIE_NAME)
    return response
