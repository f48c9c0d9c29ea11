"""Times in query parameters."""

from __future__ import annotations

import datetime

from django.utils import timezone

from core.api.errors import BadRequest
from ratings.services.rating_times import parse_rated_at


def parse_since(text: str) -> datetime.datetime:
    """Return the time of the parameter ``since``; raise BadRequest if it is invalid."""
    # A plus in a query string is decoded as a space unless it was sent as %2B.
    text = text.replace(" ", "+") if text.count(" ") == 1 and "T" in text else text
    try:
        return parse_rated_at(text, now=timezone.now() + datetime.timedelta(days=365_000))
    except ValueError as error:
        raise BadRequest(
            "The query has invalid parameters.", fields={"since": str(error)}
        ) from None
