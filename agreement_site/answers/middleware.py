"""What every answer carries, also the answers that never reach a view."""

from __future__ import annotations

from collections.abc import Callable

from csp.utils import build_policy
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers


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
