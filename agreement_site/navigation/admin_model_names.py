"""Names of the models in the admin, in the reader's language.

They are set here and not in the models, where each one would need a migration.
"""

from __future__ import annotations

from django.apps import apps
from django.utils.functional import lazy
from django.utils.translation import get_language, gettext, gettext_lazy
from django.utils.translation import gettext_noop as _

# Model -> name in the plural, as its list is called.
MODEL_NAMES = {
    "agreement_site.AuditLogEntry": _("audit log entries"),
    "agreement_site.NewsCursor": _("position of mailed news"),
    "agreement_site.NotificationSettings": _("notification settings"),
    "agreement_site.QueuedMail": _("queued mails"),
    "events.Delivery": _("deliveries of events"),
    "events.Event": _("events"),
    "events.Webhook": _("webhooks"),
    "metrics.Attribution": _("change contributions"),
    "metrics.AuditResult": _("audit results"),
    "metrics.BacklogRange": _("backlog ranges"),
    "metrics.CountState": _("counting states"),
    "metrics.Diagnosis": _("diagnoses"),
    "metrics.FilteredResult": _("filtered results"),
    "metrics.PairTally": _("rater pair counts"),
    "metrics.PatternTally": _("pattern counts"),
    "metrics.PeerTally": _("peer counts"),
    "metrics.RaterResult": _("rater results"),
    "metrics.Report": _("reports"),
    "metrics.Result": _("results"),
    "metrics.SavedView": _("saved views"),
    "metrics.ShareLink": _("share links"),
    "metrics.Worker": _("workers"),
    "mfa.Authenticator": _("second factors"),
    "projects.ApiToken": _("API tokens"),
    "projects.Category": _("categories"),
    "projects.Approval": _("approvals"),
    "projects.Deletion": _("deletions"),
    "projects.GoldAnswer": _("gold answers"),
    "projects.GuidelineVersion": _("guidelines versions"),
    "projects.Item": _("items"),
    "projects.ItemVersion": _("item versions"),
    "projects.Member": _("members"),
    "projects.MemberOffer": _("invitations to join"),
    "projects.Project": _("projects"),
    "projects.Question": _("questions"),
    "projects.Rater": _("raters"),
    "projects.RaterIdentity": _("rater identities"),
    "projects.RaterKindVersion": _("earlier rater kinds"),
    "projects.ScaleVersion": _("scale versions"),
    "quality.Alert": _("alerts"),
    "quality.AlertScan": _("alert scans"),
    "quality.AlertSettings": _("alert settings"),
    "quality.AlertStep": _("alert steps"),
    "quality.Appeal": _("appeals"),
    "quality.Consensus": _("label computations"),
    "quality.Decision": _("decisions"),
    "quality.DriftState": _("drift states"),
    "quality.Escalation": _("requested ratings"),
    "quality.Gate": _("gates"),
    "quality.GateState": _("gate states"),
    "quality.GateVerdict": _("requested gate verdicts"),
    "quality.GoldIntervention": _("gold interventions"),
    "quality.GoldItem": _("gold item results"),
    "quality.GoldReview": _("gold reviews"),
    "quality.GoldScore": _("gold scores"),
    "quality.GoldState": _("gold states"),
    "quality.ItemLabel": _("item labels"),
    "quality.LabelRules": _("label rules"),
    "quality.NameReveal": _("identity views"),
    "quality.RaterConfusion": _("rater confusions"),
    "quality.RepeatScore": _("repeat scores"),
    "quality.RepeatState": _("repeat states"),
    "quality.ReviewAssignment": _("items sent to review"),
    "quality.ReviewClaim": _("items in review"),
    "quality.SecondOpinion": _("second opinions"),
    "quality.SigningKey": _("verdict signing keys"),
    "quality.StoredRaterComparison": _("rater comparisons"),
    "ratings.Assignment": _("assignments"),
    "ratings.CheckAnswer": _("check answers"),
    "ratings.Exam": _("exams"),
    "ratings.ExamRules": _("exam rules"),
    "ratings.ImportRun": _("imports"),
    "ratings.LabelStudioConnection": _("connections with Label Studio"),
    "ratings.LabelStudioObject": _("IDs in Label Studio"),
    "ratings.RaterMessage": _("messages to raters"),
    "ratings.RaterQueue": _("rater queues"),
    "ratings.Rating": _("ratings"),
    "ratings.Revision": _("rating revisions"),
    "ratings.TimezoneBackfill": _("time zone changes"),
    "ratings.UncountedItem": _("uncounted items"),
    "usersessions.UserSession": _("sessions"),
}


def set_model_names() -> None:
    """Name the models; English keeps their own names in the singular."""
    for label, plural in MODEL_NAMES.items():
        options = apps.get_model(label)._meta

        def get_singular(singular: str = str(options.verbose_name), plural: str = plural) -> str:
            return singular if (get_language() or "en").startswith("en") else gettext(plural)

        options.verbose_name_plural = gettext_lazy(plural)
        options.verbose_name = lazy(get_singular, str)()
