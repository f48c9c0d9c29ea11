"""Exceptions of the client."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import httpx

MAX_SHOWN_ERRORS = 5


class ConcordError(Exception):
    """Base class of the client's exceptions."""


class ConnectionFailed(ConcordError):
    """The site did not respond, also after retries."""


class StillComputing(ConcordError):
    """The site was still computing a result when the wait was over."""


@dataclass(frozen=True, slots=True)
class RowError:
    """An invalid row or field of a request; ``row`` counts from 0, None outside of lists."""

    row: int | None
    field: str | None
    code: str
    detail: str

    def __str__(self) -> str:
        return self.detail if self.row is None else f"row {self.row}: {self.detail}"


class ApiError(ConcordError):
    """The site rejected a request, which changed nothing, or its response is none of the API.

    ``status``, ``title`` and ``detail`` are those of the problem (RFC 9457), ``code`` its short
    name, ``errors`` the invalid rows and fields, ``fields`` the same as messages by place.
    """

    def __init__(
        self,
        status: int,
        title: str,
        detail: str,
        *,
        code: str = "error",
        errors: list[RowError] | None = None,
        fields: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.title = title
        self.detail = detail
        self.code = code
        self.errors = errors or []
        self.fields = fields or {}

    def __str__(self) -> str:
        lines = [str(error) for error in self.errors[:MAX_SHOWN_ERRORS]]
        if len(self.errors) > MAX_SHOWN_ERRORS:
            lines.append(f"and {len(self.errors) - MAX_SHOWN_ERRORS} more")
        text = f"{self.status} {self.title}: {self.detail}"
        return f"{text} ({'; '.join(lines)})" if lines else text

    def move_rows(self, offset: int) -> None:
        """Add the number of rows in earlier batches to the row numbers of the errors."""
        self.errors = [
            error if error.row is None else dataclasses.replace(error, row=error.row + offset)
            for error in self.errors
        ]


def build_api_error(response: httpx.Response) -> ApiError:
    """Return the exception for an unsuccessful response, also where its body is not of this API."""
    status = response.status_code
    if response.is_redirect:
        target = response.headers.get("Location", "another address")
        return ApiError(status, "Redirect", f"The site redirects to {target}: use that address.")
    try:
        problem = response.json()
        error = problem["error"]
        return ApiError(
            status,
            str(problem.get("title", error["code"])),
            str(problem.get("detail", error["message"])),
            code=str(error["code"]),
            errors=[
                RowError(row["row"], row["field"], row["code"], row["detail"])
                for row in problem.get("errors", [])
            ],
            fields=error.get("fields", {}),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return ApiError(status, response.reason_phrase, response.text[:200])
