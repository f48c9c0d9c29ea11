"""What every answer of the API carries, also the answers that never reach a view."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers


class ApiAnswers:
    """API answers belong to their caller: no cache on the way may keep them or hand them to somebody else."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.path_info.startswith("/api/"):
            response["Cache-Control"] = "no-store, private"
            patch_vary_headers(response, ["Authorization", "Cookie"])
        return response
