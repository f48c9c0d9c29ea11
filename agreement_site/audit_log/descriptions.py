"""Descriptions of the actions, fields and values that the audit log records.

A new action is a line here, and in the test that performs each of them. A field or value without a
label is shown as it is stored, and so are names that people chose themselves.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Any

from django.utils.dateparse import parse_datetime
from django.utils.functional import Promise
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from core import text
from core.text import describe_action
from projects.models import Deletion, Member, Rater, Scale, Weights

OPENED = pgettext_lazy("action", "opened")
RENEWED = pgettext_lazy("action", "renewed")
SENT = pgettext_lazy("action", "sent")
VIEWED = pgettext_lazy("action", "viewed")

# Action -> its description, or its subject and what happened to it.
_DESCRIPTIONS: dict[str, Promise | tuple[Promise, Promise]] = {
    "sign_in": _("Signed in"),
    "sign_out": _("Signed out"),
    "password_rejected": _("Wrong password"),
    "password_set": (_("Password"), text.CREATED),
    "password_changed": (_("Password"), text.CHANGED),
    "password_forgotten": (_("New password"), text.REQUESTED),
    "password_reset": _("Password reset by email"),
    "email_confirmed": (_("Email address"), pgettext_lazy("action", "confirmed")),
    "account_created": (_("Account"), text.CREATED),
    "sign_in_failed": _("Sign-in failed"),
    "sign_in_connected": (_("Provider"), text.ADDED),
    "sign_in_disconnected": (_("Provider"), text.REMOVED),
    "second_factor_added": (_("Second factor"), text.ADDED),
    "second_factor_removed": (_("Second factor"), text.REMOVED),
    "second_factor_rejected": _("Wrong code"),
    "recovery_codes_created": (_("Recovery codes"), text.CREATED),
    "session_revoked": (_("Sessions"), text.REVOKED),
    "token_created": (_("Token"), text.CREATED),
    "token_revoked": (_("Token"), text.REVOKED),
    "member_added": (_("Member"), text.ADDED),
    "role_offered": (_("Invitation"), SENT),
    "offer_withdrawn": (_("Invitation"), text.WITHDRAWN),
    "offer_accepted": (_("Invitation"), text.ACCEPTED),
    "offer_declined": (_("Invitation"), text.REJECTED),
    "invitation_link_created": (_("Invitation link"), text.CREATED),
    "role_changed": (_("Role"), text.CHANGED),
    "member_removed": (_("Member"), text.REMOVED),
    "rater_changed": (_("Rater"), text.CHANGED),
    "raters_upserted": (_("Raters"), text.CHANGED),
    "rater_paused": (_("Rater"), text.PAUSED),
    "rater_resumed": (_("Rater"), text.RESUMED),
    "raters_hidden": (_("Raters"), pgettext_lazy("action", "anonymized")),
    "raters_unhidden": (_("Identities"), text.RESTORED),
    "rater_identities_viewed": (_("Identities"), VIEWED),
    "rater_deleted": (_("Rater"), text.DELETED),
    "project_created": (_("Project"), text.CREATED),
    "project_changed": (_("Project"), text.CHANGED),
    "guidelines_version_adopted": (_("Guidelines version"), text.CHANGED),
    "project_archived": (_("Project"), text.ARCHIVED),
    "project_reopened": (_("Project"), text.RESTORED),
    "question_added": (_("Question"), text.ADDED),
    "question_changed": (_("Question"), text.CHANGED),
    "scale_changed": (_("Scale"), text.CHANGED),
    "label_method_changed": (_("Label method"), text.CHANGED),
    "label_rules_changed": (_("Label rules"), text.CHANGED),
    "exam_rules_changed": (_("Exam rules"), text.CHANGED),
    "exam_retry_granted": (_("Exam attempt"), text.GRANTED),
    "exam_waived": (_("Exam"), text.WAIVED),
    "gold_changed": (_("Gold answers"), text.CHANGED),
    "gold_settings_changed": (_("Pass mark"), text.CHANGED),
    "alert_sensitivity_changed": (_("Alert sensitivity"), text.CHANGED),
    "gold_intervention_overridden": (_("Warnings and pauses"), text.OVERRIDDEN),
    "rater_warned": (_("Rater"), text.WARNED),
    "rater_messaged": (_("Rater"), text.MESSAGED),
    "items_upserted": (_("Items"), text.CHANGED),
    "media_uploaded": (_("Images, audio, video"), text.ADDED),
    "item_deleted": (_("Item"), text.DELETED),
    "items_withdrawn": (_("Items"), text.WITHDRAWN),
    "items_restored": (_("Items"), text.RESTORED),
    "ratings_requested": (_("Extra ratings"), text.REQUESTED),
    "items_sent_to_review": (_("Review"), text.REQUESTED),
    "deletion_requested": (_("Deletion"), text.REQUESTED),
    "approval_requested": (_("Approvals"), text.REQUESTED),
    "approval_given": (_("Approvals"), text.GRANTED),
    "approval_refused": (_("Approvals"), text.REJECTED),
    "approval_used": (_("Approvals"), text.USED),
    "rater_pseudonymized": (_("Ratings"), pgettext_lazy("action", "pseudonymized")),
    "account_removed": (_("Account"), text.REMOVED),
    "person_exported": (_("Personal data"), text.EXPORTED),
    "view_saved": (_("Saved view"), text.CREATED),
    "view_renamed": (_("Saved view"), text.CHANGED),
    "view_deleted": (_("Saved view"), text.DELETED),
    "view_shared": (_("Public link"), text.CREATED),
    "share_link_revoked": (_("Public link"), text.REVOKED),
    "webhook_created": (_("Webhook"), text.CREATED),
    "webhook_changed": (_("Webhook"), text.CHANGED),
    "webhook_secret_changed": (_("Webhook secret"), RENEWED),
    "webhook_deleted": (_("Webhook"), text.DELETED),
    "webhook_sent": (_("Webhook"), SENT),
    "webhook_paused": (_("Webhook"), text.PAUSED),
    "connection_created": (_("Connection"), text.CREATED),
    "connection_changed": (_("Connection"), text.CHANGED),
    "connection_deleted": (_("Connection"), text.DELETED),
    "share_link_opened": (_("Public link"), OPENED),
    "gate_created": (_("Gate"), text.CREATED),
    "gate_changed": (_("Gate"), text.CHANGED),
    "gate_deleted": (_("Gate"), text.DELETED),
    "gate_key_rotated": (_("Signing key"), RENEWED),
    "export": (_("Data"), text.EXPORTED),
    "export_downloaded": (_("Exported files"), pgettext_lazy("action", "downloaded")),
    "admin_added": (_("Admin object"), text.CREATED),
    "admin_changed": (_("Admin object"), text.CHANGED),
    "admin_removed": (_("Admin object"), text.DELETED),
}
ACTIONS: dict[str, Promise] = {
    name: describe_action(*description) if isinstance(description, tuple) else description
    for name, description in _DESCRIPTIONS.items()
}

# Actions whose entries have keys of items or raters instead of fields.
KEYED_ACTIONS = ("gold_changed", "raters_upserted")

FIELD_LABELS = {
    # accounts
    "account": _("Account"),
    "browser": _("Browser"),
    "methods": _("Sign-in methods"),
    "email": _("Email"),
    "expires_at": _("Expires"),
    "full_name": _("Name"),
    "is_active": _("Active"),
    "is_staff": _("Staff"),
    "is_superuser": _("Superuser"),
    "member": _("Member"),
    "password1": _("Password"),
    "provider": _("Provider"),
    "role": _("Role"),
    "scope": _("Scope"),
    "shows_names": _("Show names"),
    "token": _("Token"),
    "tokens_revoked": _("Tokens revoked"),
    "uid": _("ID"),
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
    "target_agreement": _("Target"),
    "band_scheme": _("Labels for values"),
    "gold_percent": _("Hidden gold (% of items)"),
    "repeat_percent": _("Repeated items (%)"),
    "repeat_after_items": _("Items before a repeat"),
    "repeat_after_days": _("Days before a repeat"),
    "cluster_attribute": _("Cluster attribute"),
    "tags": _("Tags"),
    "time_zone": _("Time zone"),
    "weight_matrix": _("Weight matrix"),
    # webhooks
    "host": _("Host"),
    "format": _("Format"),
    "language": _("Language"),
    "kinds": _("Events"),
    "with_items": _("Include item content"),
    # connections
    "state": _("State"),
    "write_back": _("Writes"),
    "weights": _("Weights"),
    "with_models": _("With models"),
    # raters and items
    "pass_mark": _("Pass mark"),
    "tolerance": _("Tolerance"),
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
    "target_user_id": _("ID"),
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
    "headline_note": _("Reason"),
    "queue_order": _("Order of items"),
    # label rules
    "request_ratings": _("Extra ratings for uncertain items"),
    "certain_from": _("Confidence threshold"),
    "max_ratings": _("Maximum ratings per item"),
    "second_opinion_share": _("Share decided by two adjudicators"),
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
    """Return a value of an entry as one line of text, translated where it has a label.

    ``name``: of its field, by which labels of values are found; ``zone``: of times.
    """
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
    """Return an ISO date and time as pages show it, in ``zone``; another value as its text."""
    text = "" if value is None else str(value)
    try:
        moment = parse_datetime(text) if ISO_DATETIME.match(text) else None
    except ValueError:  # no valid date
        return text
    if moment is None or moment.tzinfo is None:
        return text
    return f"{moment.astimezone(zone):%Y-%m-%d %H:%M %Z}"
