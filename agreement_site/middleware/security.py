"""Middleware that hardens requests and responses: methods, NUL, bodies, caching, CSP, cookies.

Limits on request bodies are checked before any of the body is read. Forms are small. Views that
accept files read them (ratings/files/upload_limits.py) after checking the sender; any other
uploaded file is skipped and stored nowhere. The API's parser limits its own bodies
(core/api/parsers.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from csp.utils import build_policy
from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.messages.storage.fallback import FallbackStorage
from django.contrib.messages.storage.session import SessionStorage
from django.core.files.uploadhandler import FileUploadHandler, SkipFile
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseNotAllowed,
)
from django.middleware.gzip import GZipMiddleware
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _

from agreement_site.error_pages import render_error
from core.api.errors import build_error_response
from core.text import replace_nul

from .base import BaseMiddleware

# NUL in a URL and in a quoted cookie, and the replacement character U+FFFD in a URL.
ESCAPED_NUL = "%00"
ESCAPED_REPLACEMENT = "%EF%BF%BD"
COOKIE_NUL = "\\000"


class AllowedMethodsMiddleware(BaseMiddleware):
    """Reject methods, expectations and encodings that no view supports.

    Django's admin accepts any method, even TRACE. The web server ignores other encodings of a
    chunked body, and sends 100 Continue for any expectation.
    """

    ALLOWED_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method not in self.ALLOWED_METHODS:
            return HttpResponseNotAllowed(self.ALLOWED_METHODS)
        if request.headers.get("Expect", "100-continue").strip().lower() != "100-continue":
            return HttpResponse(status=417)
        if request.headers.get("Transfer-Encoding", "chunked").strip().lower() != "chunked":
            return HttpResponse(status=501)
        return self.get_response(request)


class NulCharacterMiddleware(BaseMiddleware):
    """Replace NUL characters in URLs and cookies by U+FFFD, so that they match nothing.

    Django does so with bytes that are not UTF-8. PostgreSQL rejects a NUL in a query, so each view
    that looks up a key would have to check for it.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.path = replace_nul(request.path)
        request.path_info = replace_nul(request.path_info)
        query = request.META.get("QUERY_STRING", "")
        # The API names the invalid parameter in its error (core/api/parameters.py).
        if ESCAPED_NUL in query and not request.path_info.startswith("/api/"):
            request.META["QUERY_STRING"] = query.replace(ESCAPED_NUL, ESCAPED_REPLACEMENT)
        if COOKIE_NUL in request.META.get("HTTP_COOKIE", ""):
            for name, value in request.COOKIES.items():
                request.COOKIES[name] = replace_nul(value)
        return self.get_response(request)


class PrivateResponsesMiddleware(BaseMiddleware):
    """Keep API responses, and the pages of signed-in users, out of every cache.

    A client of the API or of /metrics that speaks http where https is required gets an error, not a
    redirect: its token was readable on the way.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        is_api = request.path_info.startswith("/api/")
        has_token = is_api or request.path_info == "/metrics"
        if has_token and settings.HTTPS and not request.is_secure():
            return build_error_response(403, "Use https.")
        response = self.get_response(request)
        if is_api:
            response["Cache-Control"] = "no-store, private"
            patch_vary_headers(response, ["Authorization", "Cookie"])
        elif settings.SESSION_COOKIE_NAME in request.COOKIES:
            response.setdefault("Cache-Control", "no-store, private")
        return response


class TokenRedirectMiddleware(BaseMiddleware):
    """Answer 401 where a request with a token would be redirected, as to the sign-in page.

    A program would take the sign-in page for the file that it requested. `Authorization: Basic` is
    no token: browsers behind a proxy send it.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        scheme = request.headers.get("Authorization", "").partition(" ")[0].lower()
        if scheme in ("", "basic") or not response.has_header("Location"):
            return response
        if not 300 < response.status_code < 400:
            return response
        error = build_error_response(
            401, "This is a page for browsers. Tokens are for the REST API below /api/v1/."
        )
        error["WWW-Authenticate"] = "Bearer"
        return error


class CompressPagesMiddleware(GZipMiddleware):
    """Compress pages and JSON: a dashboard of 4,000 raters shrinks to a ninth.

    Files and streamed responses are not compressed. Django adds random padding, so that the length
    reveals no secrets of the page.
    """

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        content_type = response.get("Content-Type", "")
        if response.streaming or not content_type.startswith(
            ("text/html", "application/json", "application/problem+json")
        ):
            return response
        return super().process_response(request, response)


class FetchDestinationMiddleware(BaseMiddleware):
    """Reject requests that load a page as an image, script, frame or the like.

    Another site could make them with the rights of the viewer, and a request for the next item
    assigns it.
    """

    EMBEDDED_DESTINATIONS = frozenset(
        "audio embed frame iframe image object script style track video worker".split()  # noqa: SIM905
    )
    # URL names; jsi18n: the translations of the admin's scripts.
    FILE_ROUTES = ("media", "import_file", "import_project_file", "jsi18n", "gate_badge")

    def process_view(self, request: HttpRequest, *_view: Any) -> HttpResponse | None:
        match = request.resolver_match
        if request.headers.get("Sec-Fetch-Dest") not in self.EMBEDDED_DESTINATIONS:
            return None
        if match is not None and match.url_name in self.FILE_ROUTES:
            return None
        return HttpResponse("This is a page.\n", status=403, content_type="text/plain")


class ContentSecurityPolicyMiddleware(BaseMiddleware):
    """Send the policy of CONTENT_SECURITY_POLICY, built once.

    django-csp's own middleware builds it twice per request, for features that this site does not
    use: nonces, and exceptions for single views.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        super().__init__(get_response)
        self.policy = build_policy()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        # Django's debug error pages have inline scripts.
        if not (settings.DEBUG and response.status_code in (404, 500)):
            response["Content-Security-Policy"] = self.policy
        return response


# Two texts of 200,000 characters, each of which takes up to nine bytes in an encoded form.
SIGNED_IN_FORM_BYTES = 4 << 20
ANONYMOUS_FORM_BYTES = 1 << 16
BODILESS_METHODS = ("GET", "HEAD", "OPTIONS", "TRACE")


class FormSizeMiddleware(BaseMiddleware):
    """Answer with 413 when a form is larger than any real form.

    Place it after the session's user and before the CSRF check, which reads the form.
    """

    def process_view(
        self, request: HttpRequest, view: Any, view_args: Any, view_kwargs: Any
    ) -> HttpResponse | None:
        limits_own_body = getattr(view, "limits_own_body", False)
        if (
            limits_own_body
            or request.method in BODILESS_METHODS
            or request.path.startswith("/api/")
        ):
            return None
        length = request.META.get("CONTENT_LENGTH") or "0"
        max_bytes = SIGNED_IN_FORM_BYTES if request.user.is_authenticated else ANONYMOUS_FORM_BYTES
        if length.isdecimal() and int(length) <= max_bytes:
            return None
        message = _("Not saved: over %(limit)s bytes.") % {"limit": max_bytes}
        return render_error(request, 413, message)


class DiscardUploadHandler(FileUploadHandler):
    """Upload handler that discards files for views that accept none."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        raise SkipFile

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        return None

    def file_complete(self, file_size: int) -> None:
        return None


class HostCookieStorage(CookieStorage):
    """Bind the message cookie to the host, like the site's other cookies."""

    cookie_name = "__Host-messages" if settings.HTTPS else "messages"


class MessageStorage(FallbackStorage):
    """Storage of messages that a redirect shows once: in a cookie, long ones in the session."""

    storage_classes = (HostCookieStorage, SessionStorage)
