"""Keeps what happened at the doors, and to what others stand on: each event of core.security_log
is a line, in the transaction of what it tells of."""

from __future__ import annotations

import json
from typing import Any

from django.contrib.auth import get_user_model
from django.core.serializers.json import DjangoJSONEncoder

from agreement_site.models import TrailLine
from agreement_site.monitoring import logs

# Anybody may bring these about without end: they are in the log alone.
NOT_KEPT = ("locked_out", "token_wrong", "too_many")
LONGEST_VALUE = (
    10_000  # characters of a text before and after; guidelines have versions of their own
)


def keep(what: str, fields: dict[str, Any]) -> None:
    """To be called by core.security_log.event."""
    if what in NOT_KEPT:
        return
    known = logs.known()
    rest = dict(fields)
    actor_id = rest.pop("by", None) or rest.pop("user_id", None) or known.get("user_id")
    actor = None
    if actor_id is not None:
        users = get_user_model().objects.filter(pk=actor_id)
        actor = users.values_list("username", flat=True).first()
    TrailLine.objects.create(
        what=what,
        actor_id=actor_id,
        actor=actor or "",
        project_id=rest.pop("project_id", None) or known.get("project_id"),
        address=logs.address(),
        request_id=known.get("request_id", ""),
        before=_plain(rest.pop("before", None)),
        after=_plain(rest.pop("after", None)),
        details=_plain(rest),
    )


def _plain(values: dict[str, Any] | None) -> Any:
    """The values as JSON keeps them, long texts cut."""
    if values is None:
        return None
    cut = {
        name: value[:LONGEST_VALUE] if isinstance(value, str) else value
        for name, value in values.items()
    }
    return json.loads(json.dumps(cut, cls=DjangoJSONEncoder, default=str))
