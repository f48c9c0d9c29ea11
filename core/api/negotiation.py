"""Choose the format of an API response."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request


class FastContentNegotiation(DefaultContentNegotiation):
    """Negotiate as Django REST framework does, with a shortcut for common requests.

    The shortcut is for clients that accept any format or ask for the view's first one.
    """

    def select_renderer(
        self, request: Request, renderers: Iterable[Any], format_suffix: str | None = None
    ) -> Any:
        default_renderer = next(iter(renderers))
        if request.META.get("HTTP_ACCEPT", "*/*") in ("*/*", default_renderer.media_type):
            return default_renderer, default_renderer.media_type
        return super().select_renderer(request, renderers, format_suffix)
