"""The admin's index, and the names of its models in the reader's language.

The models that staff need most come first, internal ones last. Names are set here and not in the
models, where each one would need a migration.
"""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest
from django.utils.functional import lazy
from django.utils.translation import get_language, gettext, gettext_lazy, gettext_noop
from django.utils.translation import gettext as _

from core.text import lower_first

PRIMARY_MODELS = ("User", "Group", "Project", "Member", "ApiToken")
# Display names; the others keep Django's.
PRIMARY_MODEL_NAMES = {
    "Project": gettext_lazy("Projects"),
    "Member": gettext_lazy("Members"),
    "ApiToken": gettext_lazy("API tokens"),
}
# Display names of apps whose own names mean nothing to staff.
APP_NAMES = {
    "agreement_site": gettext_lazy("Activity"),
    "mfa": gettext_lazy("Second factors"),
    "quality": gettext_lazy("Quality"),
    "ratings": gettext_lazy("Ratings"),
    "projects": gettext_lazy("Project contents"),
    "socialaccount": gettext_lazy("Sign-in providers"),
    "usersessions": gettext_lazy("Sessions"),
}
INTERNAL_APPS = ("metrics", "events")  # apps whose tables hold counts and pending work


class ConcordAdminSite(admin.AdminSite):
    """Admin site with names and an order of its own for the sections of the index."""

    site_header = site_title = gettext_lazy("Concord: administration")
    index_title = gettext_lazy("Administration")

    def get_app_list(
        self, request: HttpRequest, app_label: str | None = None
    ) -> list[dict[str, Any]]:
        apps: list[dict[str, Any]] = super().get_app_list(request, app_label)
        if app_label is not None:
            return apps
        models = [(app, model) for app in apps for model in app["models"]]
        primary = [model for _app, model in models if model["object_name"] in PRIMARY_MODELS]
        primary.sort(key=lambda model: PRIMARY_MODELS.index(model["object_name"]))
        for model in primary:
            model["name"] = PRIMARY_MODEL_NAMES.get(model["object_name"], model["name"])
        internal = [model for app, model in models if app["app_label"] in INTERNAL_APPS]
        other_apps = [app for app in apps if app["app_label"] not in INTERNAL_APPS]
        for app in other_apps:
            app["name"] = APP_NAMES.get(app["app_label"], app["name"])
            app["models"] = [
                model_entry
                for model_entry in app["models"]
                if model_entry["object_name"] not in PRIMARY_MODELS
            ]
        groups = [
            self._build_group("first", _("People and projects"), primary),
            *(app for app in other_apps if app["models"]),
            self._build_group("internals", _("Internals"), internal),
        ]
        return [group for group in groups if group["models"]]

    @staticmethod
    def _build_group(label: str, name: str, models: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "name": name,
            "app_label": label,
            "app_url": "#",
            "has_module_perms": True,
            "models": models,
        }


# Model -> name in the plural, as its list is called.
MODEL_NAMES = {
    "agreement_site.AuditLogEntry": gettext_noop("Audit log"),
    "agreement_site.NewsCursor": gettext_noop("mailed news"),
    "agreement_site.NotificationSettings": gettext_noop("Notifications"),
    "agreement_site.QueuedMail": gettext_noop("Queued mails"),
    "events.Delivery": gettext_noop("Deliveries"),
    "events.Event": gettext_noop("Events"),
    "events.Webhook": gettext_noop("Webhooks"),
    "metrics.Attribution": gettext_noop("Contributions"),
    "metrics.AuditResult": gettext_noop("audit results"),
    "metrics.BacklogRange": gettext_noop("backlog ranges"),
    "metrics.CountState": gettext_noop("counting states"),
    "metrics.Diagnosis": gettext_noop("diagnoses"),
    "metrics.FilteredResult": gettext_noop("filtered results"),
    "metrics.PairTally": gettext_noop("rater pair counts"),
    "metrics.PatternTally": gettext_noop("pattern counts"),
    "metrics.PeerTally": gettext_noop("peer counts"),
    "metrics.RaterResult": gettext_noop("rater results"),
    "metrics.Report": gettext_noop("Reports"),
    "metrics.Result": gettext_noop("Results"),
    "metrics.SavedView": gettext_noop("saved views"),
    "metrics.ShareLink": gettext_noop("share links"),
    "metrics.Worker": gettext_noop("workers"),
    "mfa.Authenticator": gettext_noop("Second factors"),
    "projects.ApiToken": gettext_noop("API tokens"),
    "projects.Category": gettext_noop("Categories"),
    "projects.Approval": gettext_noop("Approvals"),
    "projects.Deletion": gettext_noop("Deletions"),
    "projects.GoldAnswer": gettext_noop("Gold answers"),
    "projects.GuidelineVersion": gettext_noop("guidelines versions"),
    "projects.Item": gettext_noop("Items"),
    "projects.ItemVersion": gettext_noop("item versions"),
    "projects.Member": gettext_noop("Members"),
    "projects.MemberOffer": gettext_noop("Project invitations"),
    "projects.Project": gettext_noop("Projects"),
    "projects.Question": gettext_noop("Questions"),
    "projects.Rater": gettext_noop("Raters"),
    "projects.RaterIdentity": gettext_noop("Rater identities"),
    "projects.RaterKindVersion": gettext_noop("earlier rater kinds"),
    "projects.ScaleVersion": gettext_noop("scale versions"),
    "quality.Alert": gettext_noop("Alerts"),
    "quality.AlertScan": gettext_noop("alert scans"),
    "quality.AlertSettings": gettext_noop("Alert sensitivity"),
    "quality.AlertStep": gettext_noop("alert steps"),
    "quality.Appeal": gettext_noop("Appeals"),
    "quality.Consensus": gettext_noop("label computations"),
    "quality.Decision": gettext_noop("Decisions"),
    "quality.DriftState": gettext_noop("drift states"),
    "quality.Escalation": gettext_noop("Extra ratings"),
    "quality.Gate": gettext_noop("Gates"),
    "quality.GateState": gettext_noop("gate states"),
    "quality.GateVerdict": gettext_noop("gate verdicts"),
    "quality.GoldIntervention": gettext_noop("gold interventions"),
    "quality.GoldItem": gettext_noop("Gold items"),
    "quality.GoldReview": gettext_noop("gold reviews"),
    "quality.GoldScore": gettext_noop("gold scores"),
    "quality.GoldState": gettext_noop("gold states"),
    "quality.ItemLabel": gettext_noop("Item labels"),
    "quality.LabelRules": gettext_noop("Label rules"),
    "quality.NameReveal": gettext_noop("identity views"),
    "quality.RaterCheck": gettext_noop("checked raters"),
    "quality.RaterConfusion": gettext_noop("rater confusions"),
    "quality.RepeatScore": gettext_noop("repeat scores"),
    "quality.RepeatState": gettext_noop("repeat states"),
    "quality.ReviewAssignment": gettext_noop("review items"),
    "quality.ReviewClaim": gettext_noop("review claims"),
    "quality.SecondOpinion": gettext_noop("second opinions"),
    "quality.SigningKey": gettext_noop("signing keys"),
    "quality.StoredRaterComparison": gettext_noop("rater comparisons"),
    "ratings.Assignment": gettext_noop("Assignments"),
    "ratings.CheckAnswer": gettext_noop("Check answers"),
    "ratings.Exam": gettext_noop("exams"),
    "ratings.ExamRules": gettext_noop("Exam rules"),
    "ratings.ExportRun": gettext_noop("Exported files"),
    "ratings.ImportRun": gettext_noop("Imports"),
    "ratings.LabelStudioConnection": gettext_noop("Connections"),
    "ratings.LabelStudioObject": gettext_noop("Label Studio IDs"),
    "ratings.RaterMessage": gettext_noop("Messages"),
    "ratings.RaterQueue": gettext_noop("rater queues"),
    "ratings.Rating": gettext_noop("Ratings"),
    "ratings.Revision": gettext_noop("rating revisions"),
    "ratings.TimezoneBackfill": gettext_noop("time zone changes"),
    "ratings.UncountedItem": gettext_noop("uncounted items"),
    "usersessions.UserSession": gettext_noop("Sessions"),
}


def set_model_names() -> None:
    """Set names of the models that are in the reader's language.

    In English the singular stays the model's own.
    """
    for label, plural in MODEL_NAMES.items():
        options = apps.get_model(label)._meta

        def get_singular(singular: str = str(options.verbose_name), plural: str = plural) -> str:
            return singular if (get_language() or "en").startswith("en") else gettext(plural)

        options.verbose_name_plural = lower_first(gettext_lazy(plural))
        options.verbose_name = lazy(get_singular, str)()
