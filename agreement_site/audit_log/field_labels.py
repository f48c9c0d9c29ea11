"""Labels of the fields and values in audit log entries.

A name without a label is shown as it is stored, and so are names that people chose themselves.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Any

from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from projects.models import Deletion, Member, Rater, Scale, Weights

# Actions whose entries have keys of items or raters instead of fields.
KEYED_ACTIONS = ("gold_changed", "raters_upserted")

FIELD_LABELS = {
    # accounts
    "account": _("account"),
    "browser": _("browser"),
    "methods": _("sign-in methods"),
    "email": _("email"),
    "expires_at": _("expires"),
    "full_name": _("full name"),
    "is_active": _("active account"),
    "is_staff": _("staff"),
    "is_superuser": _("superuser"),
    "member": _("member"),
    "password1": _("password"),
    "provider": _("provider"),
    "role": _("role"),
    "scope": _("scope"),
    "shows_names": _("names shown"),
    "token": _("token"),
    "tokens_revoked": _("tokens revoked"),
    "uid": _("provider ID"),
    "username": _("username"),
    # projects and questions
    "categories": _("categories"),
    "allows_corrections": _("corrections"),
    "description": _("description"),
    "guidelines": _("guidelines"),
    "guidelines_version": _("guidelines version"),
    "key": _("ID"),
    "label": _("label"),
    "method": _("method"),
    "name": _("name"),
    "overlap": _("ratings per item"),
    "scale": _("scale"),
    "text": _("text"),
    "target_agreement": _("agreement target"),
    "band_scheme": _("verbal bands"),
    "gold_percent": _("Hidden gold (% of items)"),
    "repeat_percent": _("Repeated items (%)"),
    "repeat_after_items": _("Items before a repeat"),
    "repeat_after_days": _("Days before a repeat"),
    "cluster_attribute": _("cluster attribute"),
    "time_zone": _("time zone"),
    "weight_matrix": _("weight matrix"),
    # webhooks
    "host": _("host"),
    "format": _("format"),
    "language": _("language"),
    "kinds": _("event types"),
    "with_items": _("includes item content"),
    # connections
    "state": _("state"),
    "write_back": _("writes"),
    "weights": _("weights"),
    "with_models": _("with models"),
    # raters and items
    "pass_mark": _("pass mark"),
    "tolerance": _("tolerance of gold answers"),
    "budget": _("budget"),
    "group": _("group"),
    "items": _("items"),
    "kind": _("kind"),
    "model": _("model"),
    "page": _("page"),
    "paused": _("paused"),
    "prompt_version": _("prompt version"),
    "query": _("filters"),
    "rater": _("rater"),
    "raters": _("raters"),
    "ratings": _("ratings"),
    "reason": _("reason"),
    "user": _("account"),
    "object": _("object"),
    "exported": _("data"),
    "target_user_id": _("user ID"),
    # further details
    "action": _("action"),
    "address": _("address"),
    "how": _("mode"),
    "pseudonym": _("pseudonym"),
    "message": _("message ID"),
    "name_sha256": _("username hash"),
    "project": _("project"),
    "question": _("question"),
    "target": _("object ID"),
    "token_id": _("token ID"),
    "gold": _("gold answer"),
    "history": _("history entries"),
    "assignments": _("assignments"),
    "versions": _("versions"),
    "questions": _("questions"),
    "apart": _("check answers"),
    "hotkey": _("hotkey"),
    "value": _("value"),
    "matrix": _("weight matrix"),
    "headline": _("headline"),
    "headline_note": _("headline reason"),
    "queue_order": _("order of items"),
}

# Labels of the values of some fields, as on the pages.
VALUE_LABELS: dict[str, Mapping[Any, Any]] = {
    "role": dict(Member.Role.choices),
    "scale": dict(Scale.choices),
    "weights": dict(Weights.choices),
    "kind": {**dict(Deletion.Kind.choices), **dict(Rater.Kind.choices), "csv": "CSV"},
    "exported": {
        "items": _("item list"),
        "labels": _("label list"),
        "raters": _("rater list"),
        "ratings": _("rating list"),
        "audit_log": _("audit log"),
    },
}
ISO_DATETIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")


def format_value(name: str, value: Any, zone: datetime.tzinfo) -> str:
    """Return a value as a line of text; times are in ``zone``."""
    if isinstance(value, list):
        return ", ".join(format_value(name, element, zone) for element in value)
    if isinstance(value, dict):
        parts = (
            (FIELD_LABELS.get(key, key), format_value(key, element, zone))
            for key, element in value.items()
        )
        return " · ".join(f"{label}: {text}" for label, text in parts if text)
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if name == "exported" and str(value).startswith("table "):
        return gettext("a table on a page")
    value_label = VALUE_LABELS.get(name, {}).get(value)
    return str(value_label) if value_label is not None else _format_time(value, zone)


def _format_time(value: Any, zone: datetime.tzinfo) -> str:
    """Return a time as pages show it; anything else unchanged."""
    text = "" if value is None else str(value)
    try:
        moment = parse_datetime(text) if ISO_DATETIME.match(text) else None
    except ValueError:  # no valid date
        return text
    if moment is None or moment.tzinfo is None:
        return text
    return f"{moment.astimezone(zone):%Y-%m-%d %H:%M %Z}"
