"""Changes of settings: errors of values and reasons, and the record of changed rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from core import security_log
from core.text import describe_length, has_nul
from events.services import record_event
from projects.models import Question


class InvalidSettings(ValueError):
    """The settings are invalid; ``fields``: {name: error message}."""

    def __init__(self, fields: dict[str, str]) -> None:
        super().__init__("; ".join(fields.values()))
        self.fields = fields


def find_reason_error(reason: str, *, max_length: int) -> str:
    """Return the error message for a reason that may be empty; "" if it is valid.

    ``max_length``: maximum number of characters.
    """
    if len(reason) > max_length or has_nul(reason):
        return describe_length(max_length)
    return ""


def find_required_reason_error(reason: str, *, max_length: int) -> str:
    """Return the error message for a reason that must not be empty; "" if it is valid."""
    return find_reason_error(reason, max_length=max_length) if reason else _("Enter a reason.")


def record_rules_change(
    kind: str,
    question: Question,
    before: Mapping[str, object],
    after: Mapping[str, object],
    *,
    by: Any,
    **details: object,
) -> None:
    """Record a change of a question's rules as an event of this kind and in the audit log.

    The event has all rules before and after, and ``details``; the audit log only the changed rules.
    """
    changed = [name for name in after if before.get(name) != after[name]]
    record_event(
        project_id=question.project_id,
        kind=kind,
        subject=f"question/{question.key}",
        data={"question": question.key, "before": before, "after": after, **details},
        by=by,
    )
    security_log.log_event(
        kind.replace(".", "_"),
        project_id=question.project_id,
        by=by.pk,
        question=question.key,
        before={name: before.get(name) for name in changed},
        after={name: after[name] for name in changed},
        **details,
    )
