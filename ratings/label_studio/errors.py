"""Errors of a connection: stored as a kind with values, shown in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from ratings.imports.problems import describe_write_failure, format_problem
from ratings.imports.readers.tools.base import Fields

TEXTS = {
    "url": gettext_lazy("Start the address with https:// and a host."),
    "not_found": gettext_lazy("The host is unknown. Check the address."),
    "not_allowed": gettext_lazy(
        "The host is in a private network. See CONNECTIONS_TO_PRIVATE_NETWORKS."
    ),
    "certificate": gettext_lazy("The certificate is invalid."),
    "timeout": gettext_lazy("No response in time."),
    "connection": gettext_lazy("The connection failed."),
    "too_large": gettext_lazy("Label Studio’s response is too large."),
    "no_json": gettext_lazy("Not Label Studio's API. Use your browser's address."),
    "redirect": gettext_lazy("This redirects to %(location)s. Use that address."),
    "token": gettext_lazy("Label Studio rejected the token. Enter another."),
    "token_key": gettext_lazy("SECRET_KEY changed. Enter the token again."),
    "forbidden": gettext_lazy("The token's user can't open the project."),
    "no_project": gettext_lazy("The token's user can't open the project."),
    "status": gettext_lazy("Label Studio responded with status %(status)s."),
    "busy": gettext_lazy("Label Studio responded with status %(status)s."),
    "no_tasks": gettext_lazy("The project has no tasks."),
    "import_gone": gettext_lazy("Import discarded. Read the project again."),
    "import_failed": gettext_lazy("Import failed. Read the project again."),
    "archived": gettext_lazy("Project archived."),
    "internal": gettext_lazy("The server failed. See its log."),
}


class LabelStudioError(Exception):
    """A connection cannot be read or written: ``kind`` is a key of TEXTS or of MESSAGES of imports.

    ``retry_seconds``: seconds after which Label Studio may be called again; 0 if it did not say.
    """

    def __init__(self, kind: str, *, retry_seconds: int = 0, **values: Any) -> None:
        super().__init__(f"{kind} {values}" if values else kind)
        self.kind = kind
        self.values = values
        self.retry_seconds = retry_seconds

    def to_json(self) -> Fields:
        return {"kind": self.kind, "values": self.values}


def format_error(error: Mapping[str, Any]) -> str:
    """Return a stored error in the user's language, or an empty text for none."""
    if not error:
        return ""
    kind, values = error["kind"], error["values"]
    if kind == "problem":  # of a task, whose number is the line
        problem = values["problem"]
        text = format_problem(problem)
        if problem["line"] is None:
            return text
        return _("Task %(task)s: %(problem)s") % {"task": problem["line"], "problem": text}
    if kind == "stopped":
        return str(describe_write_failure(values["reason"], values["value"]))
    return str(TEXTS[kind]) % values
