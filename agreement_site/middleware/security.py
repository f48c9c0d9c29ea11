"""What every answer carries, also the answers that never reach a view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from csp.utils import build_policy
from django.conf import settings
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseNotAllowed,
    JsonResponse,
)
from django.middleware.gzip import GZipMiddleware
from django.utils.cache import patch_vary_headers

from core.api.errors import body
from core.text import without_nul

from .base import Around

# How an address and a quoted cookie write a NUL, and the sign U+FFFD in an address.
ESCAPED_NUL = "%00"
ESCAPED_REPLACEMENT = "%EF%BF%BD"
COOKIE_NUL = "\\000"


class KnownMethods(Around):
    """405 for what no page and no call of ours answers: Django's admin takes whatever comes, TRACE
    too."""

    KNOWN = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method not in self.KNOWN:
            return HttpResponseNotAllowed(self.KNOWN)
        return self.get_response(request)


class NoNul(Around):
    """A NUL in an address or in a cookie is read as U+FFFD, and so finds nothing.

    Django does so with bytes that are no UTF-8. PostgreSQL refuses to look for a NUL, so that each
    view that asks for a key would have to look after it.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.path = without_nul(request.path)
        request.path_info = without_nul(request.path_info)
        query = request.META.get("QUERY_STRING", "")
        # The API names the parameter that it refuses (core/api/parameters.py).
        if ESCAPED_NUL in query and not request.path_info.startswith("/api/"):
            request.META["QUERY_STRING"] = query.replace(ESCAPED_NUL, ESCAPED_REPLACEMENT)
        if COOKIE_NUL in request.META.get("HTTP_COOKIE", ""):
            for name, value in request.COOKIES.items():
                request.COOKIES[name] = without_nul(value)
        return self.get_response(request)


class ApiAnswers(Around):
    """API answers belong to their caller, and so do pages of somebody who is signed in: no cache on
    the way, nor the browser's, may keep them or hand them to somebody else.

    A program that speaks http where https is asked for is refused, not redirected: its token was
    readable on the way.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        is_api = request.path_info.startswith("/api/")
        if is_api and settings.HTTPS and not request.is_secure():
            return JsonResponse(body(403, "Use https."), status=403)
        response = self.get_response(request)
        if is_api:
            response["Cache-Control"] = "no-store, private"
            patch_vary_headers(response, ["Authorization", "Cookie"])
        elif settings.SESSION_COOKIE_NAME in request.COOKIES:
            response.setdefault("Cache-Control", "no-store, private")
        return response


class PackedPages(GZipMiddleware):
    """Pages go packed over the line: a dashboard of 4,000 raters is a ninth as long. Files and
    answers that are written bit by bit go as they are. Django adds a random length to each, so that
    it tells nothing of secrets on the page."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        kind = response.get("Content-Type", "")
        if response.streaming or not kind.startswith(("text/html", "application/json")):
            return response
        return super().process_response(request, response)


class OnlyAsPages(Around):
    """Pages are asked for as pages, or by their scripts. An image whose address is a page of ours
    would be asked for with the rights of whoever looks: to ask for the next item takes it."""

    LOADED = frozenset(
        "audio embed frame iframe image object script style track video worker".split()  # noqa: SIM905
    )
    # Names of routes; jsi18n: the words that the scripts of the admin say.
    FILES = ("media", "import_file", "import_project_file", "jsi18n")

    def process_view(self, request: HttpRequest, *_view: Any) -> HttpResponse | None:
        match = request.resolver_match
        if request.headers.get("Sec-Fetch-Dest") not in self.LOADED:
            return None
        if match is not None and match.url_name in self.FILES:
            return None
        return HttpResponse("This is a page.\n", status=403, content_type="text/plain")


class ContentSecurityPolicy(Around):
    """The one policy of CONTENT_SECURITY_POLICY, put together once.

    django-csp's own middleware does it twice a request, for what nobody here uses: nonces,
    exceptions of single views.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        super().__init__(get_response)
        self.policy = build_policy()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        # Django's page of an error in development has scripts of its own.
        if not (settings.DEBUG and response.status_code in (404, 500)):
            response["Content-Security-Policy"] = self.policy
        return response
