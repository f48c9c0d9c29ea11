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
    "agreement_site.QueuedMail": _("queued mails"),
    "events.Delivery": _("deliveries of events"),
    "events.Event": _("events"),
    "events.Webhook": _("webhooks"),
    "metrics.Attribution": _("contributions to a change"),
    "metrics.AuditResult": _("audit results"),
    "metrics.BacklogRange": _("ranges of a backlog"),
    "metrics.CountState": _("states of counting"),
    "metrics.Diagnosis": _("diagnoses"),
    "metrics.FilteredResult": _("filtered results"),
    "metrics.PairTally": _("counts of pairs of raters"),
    "metrics.PatternTally": _("counts of patterns"),
    "metrics.PeerTally": _("counts against peers"),
    "metrics.RaterResult": _("results of raters"),
    "metrics.Report": _("reports"),
    "metrics.Result": _("results"),
    "metrics.SavedView": _("saved views"),
    "metrics.ShareLink": _("share links"),
    "metrics.Worker": _("workers"),
    "mfa.Authenticator": _("second factors"),
    "projects.ApiToken": _("API tokens"),
    "projects.Category": _("categories"),
    "projects.Deletion": _("deletions"),
    "projects.GoldAnswer": _("gold answers"),
    "projects.GuidelineVersion": _("versions of the guidelines"),
    "projects.Item": _("items of projects"),
    "projects.ItemVersion": _("versions of items"),
    "projects.Member": _("members"),
    "projects.MemberOffer": _("offers to join"),
    "projects.Project": _("projects"),
    "projects.Question": _("questions"),
    "projects.Rater": _("raters of projects"),
    "projects.RaterIdentity": _("identities of raters"),
    "projects.RaterKindVersion": _("earlier kinds of raters"),
    "projects.ScaleVersion": _("versions of scales"),
    "quality.Alert": _("alerts"),
    "quality.AlertScan": _("searches for alerts"),
    "quality.AlertSettings": _("settings of alerts"),
    "quality.AlertStep": _("steps of alerts"),
    "quality.Appeal": _("appeals"),
    "quality.Consensus": _("computations of labels"),
    "quality.Decision": _("decisions"),
    "quality.DriftState": _("states of drift"),
    "quality.Escalation": _("requested ratings"),
    "quality.Gate": _("gates"),
    "quality.GateState": _("states of gates"),
    "quality.GateVerdict": _("requested verdicts of gates"),
    "quality.GoldIntervention": _("interventions for gold answers"),
    "quality.GoldItem": _("results of gold items"),
    "quality.GoldReview": _("reviews of gold answers"),
    "quality.GoldScore": _("scores on gold"),
    "quality.GoldState": _("states of gold"),
    "quality.ItemLabel": _("labels of items"),
    "quality.LabelRules": _("rules of labels"),
    "quality.NameReveal": _("reveals of names"),
    "quality.RaterConfusion": _("confusions of raters"),
    "quality.RepeatScore": _("scores of repeats"),
    "quality.RepeatState": _("states of repeats"),
    "quality.ReviewAssignment": _("items sent to review"),
    "quality.ReviewClaim": _("items in review"),
    "quality.SecondOpinion": _("second opinions"),
    "quality.SigningKey": _("keys of signed verdicts"),
    "quality.StoredRaterComparison": _("comparisons of raters"),
    "ratings.Assignment": _("assignments"),
    "ratings.CheckAnswer": _("answers to hidden checks"),
    "ratings.Exam": _("exams"),
    "ratings.ExamRules": _("rules of exams"),
    "ratings.ImportRun": _("imports"),
    "ratings.LabelStudioConnection": _("connections with Label Studio"),
    "ratings.LabelStudioObject": _("IDs in Label Studio"),
    "ratings.RaterMessage": _("messages to raters"),
    "ratings.RaterQueue": _("queues of raters"),
    "ratings.Rating": _("ratings by raters"),
    "ratings.Revision": _("rating revisions"),
    "ratings.TimezoneBackfill": _("changes of the time zone"),
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
