"""Links from an alert to the page on which to act: (URL, link text)."""

from __future__ import annotations

from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _

from quality.models import Alert


def _build_url(alert: Alert, url_name: str, *args: object, **params: str) -> str:
    """Return the URL of a page of the alert's project, with its question in the query."""
    path = reverse(url_name, args=[alert.question.project_id, *args])
    return f"{path}?{urlencode({**params, 'question': alert.question.key})}"


def get_rater_link(alert: Alert) -> tuple[str, str]:
    assert alert.rater is not None
    return _build_url(alert, "rater", alert.rater.key), _("View rater")


def get_pair_link(alert: Alert) -> tuple[str, str]:
    assert alert.rater is not None and alert.other_rater is not None
    return _build_url(alert, "pair", a=alert.rater.key, b=alert.other_rater.key), _(
        "Compare the two raters"
    )


def get_question_link(alert: Alert) -> tuple[str, str]:
    return _build_url(alert, "dashboard"), _("View question")


def get_categories_link(alert: Alert) -> tuple[str, str]:
    url = reverse("question", args=[alert.question.project_id, alert.question.key])
    return url, _("Edit categories")


def get_members_link(alert: Alert) -> tuple[str, str]:
    return reverse("people", args=[alert.question.project_id]), _("View people")


def get_gold_link(alert: Alert) -> tuple[str, str]:
    return _build_url(alert, "gold"), _("Review gold answers")
