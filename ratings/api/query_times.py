"""Times in a query."""

from __future__ import annotations

import datetime

from django.utils import timezone

from core.api.errors import BadRequest
from ratings.services.days import parse_rated_at


def moment_of(text: str) -> datetime.datetime:
    """The time that ``since`` says; 400 for what is none."""
    # A plus in a query is a blank unless it was written as %2B.
    text = text.replace(" ", "+") if text.count(" ") == 1 and "T" in text else text
    try:
        return parse_rated_at(text, now=timezone.now() + datetime.timedelta(days=365_000))
    except ValueError as error:
        raise BadRequest(
            "The query has invalid parameters.", fields={"since": str(error)}
        ) from None
