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
    "methods": _("by way of"),
    "email": _("e-mail"),
    "expires_at": _("ends"),
    "full_name": _("full name"),
    "is_active": _("open"),
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
    "uid": _("known there as"),
    "username": _("name"),
    # projects and questions
    "categories": _("categories"),
    "allows_corrections": _("corrections"),
    "description": _("description"),
    "guidelines": _("guidelines"),
    "guidelines_version": _("number of the guidelines"),
    "key": _("key"),
    "label": _("label"),
    "method": _("method"),
    "name": _("name"),
    "overlap": _("ratings an item"),
    "scale": _("scale"),
    "text": _("text"),
    "target_agreement": _("bar"),
    "cluster_attribute": _("attribute of clusters"),
    "time_zone": _("time zone"),
    "weight_matrix": _("table of weights"),
    # webhooks
    "host": _("host"),
    "kinds": _("kinds of events"),
    "with_items": _("with the contents of items"),
    "weights": _("weights"),
    "with_models": _("with models"),
    # raters and items
    "pass_mark": _("bar"),
    "budget": _("budget"),
    "group": _("group"),
    "items": _("items"),
    "kind": _("kind"),
    "model": _("model"),
    "page": _("page"),
    "paused": _("paused"),
    "prompt_version": _("version of the prompt"),
    "query": _("what it shows"),
    "rater": _("rater"),
    "raters": _("raters"),
    "ratings": _("ratings"),
    "reason": _("reason"),
    "user": _("account"),
    "object": _("was"),
    "exported": _("what"),
    "target_user_id": _("whom (number)"),
    # further details
    "action": _("Act"),
    "address": _("address"),
    "how": _("how"),
    "pseudonym": _("kept as"),
    "message": _("number of the message"),
    "name_sha256": _("sign of the name"),
    "project": _("project"),
    "question": _("question"),
    "target": _("number"),
    "token_id": _("number of the token"),
    "gold": _("gold answer"),
    "history": _("lines of history"),
    "assignments": _("times given to somebody"),
    "versions": _("versions"),
    "questions": _("Questions"),
    "apart": _("answers to tests"),
    "hotkey": _("hotkey"),
    "value": _("value"),
    "matrix": _("table of weights"),
    "headline": _("read first"),
    "headline_note": _("why it is read first"),
    "queue_order": _("order of items"),
}

# Labels of the values of some fields, as on the pages.
VALUE_LABELS: dict[str, Mapping[Any, Any]] = {
    "role": dict(Member.Role.choices),
    "scale": dict(Scale.choices),
    "weights": dict(Weights.choices),
    "kind": {**dict(Deletion.Kind.choices), **dict(Rater.Kind.choices), "csv": "CSV"},
    "exported": {
        "items": _("the list of items"),
        "labels": _("the labels"),
        "raters": _("the list of raters"),
        "ratings": _("the ratings"),
        "audit_log": _("the audit trail"),
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
        return gettext("a table of a page")
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
