"""Wake the workers after each request that may have changed something (core.jobs.wakeup)."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from core.jobs import wakeup

from .base import BaseMiddleware

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


class WakeWorkersMiddleware(BaseMiddleware):
    """Announce a change after each successful request that is not GET, HEAD or OPTIONS."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.method not in SAFE_METHODS and response.status_code < 400:
            wakeup.announce_change()
        return response
