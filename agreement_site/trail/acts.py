"""The acts that the trail knows, in words. A new one is a line here, and in the test that does each
of them."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

ACTS = {
    "sign_in": _("signed in"),
    "sign_out": _("signed out"),
    "password_wrong": _("a password was wrong"),
    "password_chosen": _("chose a password by an invitation"),
    "password_changed": _("changed their password"),
    "token_made": _("made a token"),
    "token_revoked": _("revoked a token"),
    "member_added": _("added a member"),
    "link_made": _("made an invitation link"),
    "role_changed": _("changed a role"),
    "member_removed": _("removed a member"),
    "rater_changed": _("changed a rater"),
    "raters_put": _("made or changed raters"),
    "rater_paused": _("paused a rater"),
    "rater_resumed": _("let a rater go on"),
    "rater_deleted": _("deleted a rater without ratings"),
    "project_made": _("made a project"),
    "project_changed": _("changed the project or its guidelines"),
    "guidelines_numbered": _("took over the number of guidelines"),
    "project_archived": _("archived the project"),
    "project_reopened": _("took the project up again"),
    "question_added": _("added a question"),
    "question_changed": _("changed the text of a question"),
    "scale_changed": _("changed categories, weights or what is read first"),
    "labels_changed": _("changed how labels are made"),
    "rules_changed": _("changed when is asked again"),
    "gold_changed": _("changed gold answers"),
    "gold_bar_changed": _("changed the bar of gold"),
    "item_deleted": _("deleted an item without ratings"),
    "items_withdrawn": _("withdrew items"),
    "items_restored": _("restored items"),
    "deletion_asked": _("deleted for good"),
    "person_forgotten": _("made ratings pseudonymous"),
    "account_removed": _("removed an account"),
    "person_exported": _("exported what is kept of a person"),
    "export": _("exported data"),
    "admin_added": _("made something in the admin"),
    "admin_changed": _("changed something in the admin"),
    "admin_removed": _("removed something in the admin"),
}
