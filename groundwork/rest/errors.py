"""What a request can be refused with, beyond what Django REST framework names."""

from __future__ import annotations

from typing import Any

from rest_framework import exceptions


class BadRequest(exceptions.APIException):
    """400 with the places: ``fields`` maps a field's name to a message, or to messages by place
    (rows by number)."""

    status_code = 400

    def __init__(self, message: str, *, fields: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.fields = fields or {}
