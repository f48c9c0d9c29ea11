"""What every answer carries, also the answers that never reach a view."""

from __future__ import annotations

from collections.abc import Callable

from csp.utils import build_policy
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers

from groundwork.text import without_nul

# How an address and a quoted cookie write a NUL, and the sign U+FFFD in an address.
ESCAPED_NUL = "%00"
ESCAPED_REPLACEMENT = "%EF%BF%BD"
COOKIE_NUL = "\\000"


class NoNul:
    """A NUL in an address or in a cookie is read as U+FFFD, and so finds nothing.

    Django does so with bytes that are no UTF-8. PostgreSQL refuses to look for a NUL, so that each
    view that asks for a key would have to look after it.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.path = without_nul(request.path)
        request.path_info = without_nul(request.path_info)
        query = request.META.get("QUERY_STRING", "")
        # The API names the parameter that it refuses (groundwork/rest/parameters.py).
        if ESCAPED_NUL in query and not request.path_info.startswith("/api/"):
            request.META["QUERY_STRING"] = query.replace(ESCAPED_NUL, ESCAPED_REPLACEMENT)
        if COOKIE_NUL in request.META.get("HTTP_COOKIE", ""):
            for name, value in request.COOKIES.items():
                request.COOKIES[name] = without_nul(value)
        return self.get_response(request)


class ApiAnswers:
    """API answers belong to their caller: no cache on the way may keep them or hand them to
    somebody else."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.path_info.startswith("/api/"):
            response["Cache-Control"] = "no-store, private"
            patch_vary_headers(response, ["Authorization", "Cookie"])
        return response


class ContentSecurityPolicy:
    """The one policy of CONTENT_SECURITY_POLICY, put together once.

    django-csp's own middleware does it twice a request, for what nobody here uses: nonces,
    exceptions of single views.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.policy = build_policy()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        # Django's page of an error in development has scripts of its own.
        if not (settings.DEBUG and response.status_code in (404, 500)):
            response["Content-Security-Policy"] = self.policy
        return response
