"""The actions that the audit log records, with their descriptions.

A new action is a line here, and in the test that performs each of them.
"""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from core import text
from core.text import describe_action

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
    "raters_upserted": (_("Rater list"), text.CHANGED),
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
    "scale_changed": (_("Scale and categories"), text.CHANGED),
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
    "admin_added": (_("Admin object"), text.CREATED),
    "admin_changed": (_("Admin object"), text.CHANGED),
    "admin_removed": (_("Admin object"), text.DELETED),
}
ACTIONS: dict[str, Promise] = {
    name: describe_action(*description) if isinstance(description, tuple) else description
    for name, description in _DESCRIPTIONS.items()
}
