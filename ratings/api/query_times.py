"""Times in query parameters."""

from __future__ import annotations

import datetime

from django.utils import timezone

from core.api.errors import INVALID_PARAMETERS, BadRequest
from ratings.services.rating_timestamps import parse_rated_at


def restore_plus_sign(text: str) -> str:
    """Return the text of a time with the plus sign of its time zone restored.

    In a query string a plus that was not sent as %2B is decoded as a space.
    """
    return text.replace(" ", "+") if text.count(" ") == 1 and "T" in text else text


def parse_since(text: str) -> datetime.datetime:
    """Return the time of the parameter ``since``; raise BadRequest if it is invalid."""
    try:
        return parse_rated_at(
            restore_plus_sign(text), now=timezone.now() + datetime.timedelta(days=365_000)
        )
    except ValueError as error:
        raise BadRequest(INVALID_PARAMETERS, fields={"since": str(error)}) from None
