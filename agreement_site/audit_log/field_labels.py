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
    "account": _("Account"),
    "browser": _("Browser"),
    "methods": _("Sign-in methods"),
    "email": _("Email"),
    "expires_at": _("Expires"),
    "full_name": _("Full name"),
    "is_active": _("Active account"),
    "is_staff": _("Staff"),
    "is_superuser": _("Superuser"),
    "member": _("Member"),
    "password1": _("Password"),
    "provider": _("Provider"),
    "role": _("Role"),
    "scope": _("Scope"),
    "shows_names": _("Names shown"),
    "token": _("Token"),
    "tokens_revoked": _("Tokens revoked"),
    "uid": _("Provider ID"),
    "username": _("Username"),
    # projects and questions
    "categories": _("Categories"),
    "allows_corrections": _("Corrections"),
    "description": _("Description"),
    "guidelines": _("Guidelines"),
    "guidelines_version": _("Guidelines version"),
    "key": _("ID"),
    "label": _("Label"),
    "method": _("Method"),
    "name": _("Name"),
    "overlap": _("Ratings per item"),
    "scale": _("Scale"),
    "text": _("Text"),
    "target_agreement": _("Agreement target"),
    "band_scheme": _("Verbal bands"),
    "gold_percent": _("Hidden gold (% of items)"),
    "repeat_percent": _("Repeated items (%)"),
    "repeat_after_items": _("Items before a repeat"),
    "repeat_after_days": _("Days before a repeat"),
    "cluster_attribute": _("Cluster attribute"),
    "time_zone": _("Time zone"),
    "weight_matrix": _("Weight matrix"),
    # webhooks
    "host": _("Host"),
    "format": _("Format"),
    "language": _("Language"),
    "kinds": _("Event types"),
    "with_items": _("Include item content"),
    # connections
    "state": _("State"),
    "write_back": _("Writes"),
    "weights": _("Weights"),
    "with_models": _("With models"),
    # raters and items
    "pass_mark": _("Pass mark"),
    "tolerance": _("Tolerance of gold answers"),
    "budget": _("Budget"),
    "group": _("Group"),
    "items": _("Items"),
    "kind": _("Kind"),
    "model": _("Model"),
    "page": _("Page"),
    "paused": _("Paused"),
    "prompt_version": _("Prompt version"),
    "query": _("Filters"),
    "rater": _("Rater"),
    "raters": _("Raters"),
    "ratings": _("Ratings"),
    "reason": _("Reason"),
    "user": _("Account"),
    "object": _("Object"),
    "exported": _("Data"),
    "target_user_id": _("User ID"),
    # further details
    "action": _("Action"),
    "address": _("Address"),
    "how": _("Mode"),
    "pseudonym": _("Pseudonym"),
    "message": _("ID"),
    "name_sha256": _("Username hash"),
    "project": _("Project"),
    "question": _("Question"),
    "target": _("ID"),
    "token_id": _("ID"),
    "gold": _("Gold answer"),
    "history": _("History entries"),
    "assignments": _("Assignments"),
    "versions": _("Versions"),
    "questions": _("Questions"),
    "apart": _("Check answers"),
    "hotkey": _("Hotkey"),
    "value": _("Value"),
    "matrix": _("Weight matrix"),
    "headline": _("Headline"),
    "headline_note": _("Headline reason"),
    "queue_order": _("Order of items"),
    # label rules
    "request_ratings": _("Request extra ratings for uncertain items"),
    "certain_from": _("Confidence threshold"),
    "max_ratings": _("Maximum ratings per item"),
    "second_opinion_share": _("Share of decisions for a second adjudicator"),
    "show_to_raters": _("Show raters decisions on their items"),
    "show_after_days": _("Delay in days"),
}

# Labels of the values of some fields, as on the pages.
VALUE_LABELS: dict[str, Mapping[Any, Any]] = {
    "role": dict(Member.Role.choices),
    "scale": dict(Scale.choices),
    "weights": dict(Weights.choices),
    "kind": {**dict(Deletion.Kind.choices), **dict(Rater.Kind.choices), "csv": "CSV"},
    "exported": {
        "items": _("Items"),
        "labels": _("Labels"),
        "raters": _("Raters"),
        "ratings": _("Ratings"),
        "audit_log": _("Audit log"),
    },
}
ISO_DATETIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")


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
