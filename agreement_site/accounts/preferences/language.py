"""Which language a page speaks: the one that its user chose, else the cookie's, else the one that
the browser asks for. (And in which colours: theme.py.)

The API speaks English whoever asks: programs read it.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.middleware.locale import LocaleMiddleware
from django.utils import translation
from django.views.decorators.http import require_POST
from django.views.i18n import set_language

from agreement_site.accounts import sign_in_limit
from agreement_site.models import Preference
from core import security_log

from . import theme


class Accounts(ModelBackend):
    """Users come with their preferences, so that the language of a page costs no query of its own.

    Whatever asks for a password asks here, and is counted (sign_in_limit).
    """

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **more: Any,
    ) -> User | None:
        """Raises sign_in_limit.TooManyTries, which every page answers with 429 (TooMany)."""
        if request is None:  # a command
            return super().authenticate(request, username, password, **more)
        name, address = (username or "")[:150], security_log.address_of(request)
        wait = sign_in_limit.count_try(name, address)
        sign_in_limit.refuse_too_many(wait, name_sha256=security_log.unproved(name))
        user = super().authenticate(request, username, password, **more)
        if user is None:
            security_log.event("password_wrong", name_sha256=security_log.unproved(name))
        else:
            sign_in_limit.clear(name, address)
        return user

    def get_user(self, user_id: int) -> User | None:
        user = (
            User.objects.select_related("preference", "known_password").filter(pk=user_id).first()
        )
        return user if user is not None and self.user_can_authenticate(user) else None


class LanguageMiddleware(LocaleMiddleware):
    def process_request(self, request: HttpRequest) -> None:
        if _for_programs(request):
            language = settings.LANGUAGE_CODE
        else:
            language = chosen_by(request) or translation.get_language_from_request(request)
            request.theme = theme.chosen_by(request)  # type: ignore[attr-defined]  # for base.html
        translation.activate(language)
        request.LANGUAGE_CODE = language

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        return response if _for_programs(request) else super().process_response(request, response)


def _for_programs(request: HttpRequest) -> bool:
    return request.path_info.startswith(("/api/", "/healthz", "/livez", "/metrics"))


def chosen_by(request: HttpRequest) -> str:
    """The language that the signed-in user chose; empty when there is none."""
    preference = getattr(request.user, "preference", None)
    return preference.language if preference else ""


@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Keep the language ``language`` for this user and this browser, or forget it when empty; then
    to ``next``."""
    language = request.POST.get("language", "")
    if language and language not in dict(settings.LANGUAGES):
        raise BadRequest("unknown language")
    if request.user.is_authenticated:
        Preference.objects.update_or_create(user=request.user, defaults={"language": language})
    response = set_language(request)
    if not language:
        response.delete_cookie(settings.LANGUAGE_COOKIE_NAME)
    return response
