"""Listener that stores security events as entries of the audit log.

An entry is written in the transaction of the change it describes.
"""

from __future__ import annotations

import functools
import json
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction

from agreement_site.models import AuditLogEntry
from agreement_site.monitoring import logs

from . import stream, syslog

# Anybody can cause any number of these, so they are only logged.
UNRECORDED_EVENTS = ("rate_limited", "token_rejected", "too_many_requests")
# Characters of a text before and after; guidelines have versions of their own.
MAX_VALUE_LENGTH = 10_000


def record_event(event: str, fields: dict[str, Any]) -> None:
    """Store an event; a listener of core.security_log.event."""
    if event in UNRECORDED_EVENTS:
        return
    context = logs.get_log_context()
    details = dict(fields)
    actor_id = details.pop("by", None) or details.pop("user_id", None) or context.get("user_id")
    actor = None
    if actor_id is not None:
        users = get_user_model().objects.filter(pk=actor_id)
        actor = users.values_list("username", flat=True).first()
    entry = AuditLogEntry.objects.create(
        action=event,
        actor_id=actor_id,
        actor=actor or "",
        project_id=details.pop("project_id", None) or context.get("project_id"),
        address=logs.get_client_address(),
        request_id=context.get("request_id", ""),
        before=_to_json(details.pop("before", None)),
        after=_to_json(details.pop("after", None)),
        details=_to_json(details),
    )
    if settings.AUDIT_LOG_FILE:
        transaction.on_commit(functools.partial(stream.append_entry, entry), robust=True)
    if settings.AUDIT_LOG_SYSLOG:
        transaction.on_commit(functools.partial(syslog.send_entry, entry), robust=True)


def _to_json(values: dict[str, Any] | None) -> Any:
    """Return the values as JSON data, with long texts truncated."""
    if values is None:
        return None
    truncated = {
        name: value[:MAX_VALUE_LENGTH] if isinstance(value, str) else value
        for name, value in values.items()
    }
    return json.loads(json.dumps(truncated, cls=DjangoJSONEncoder, default=str))
