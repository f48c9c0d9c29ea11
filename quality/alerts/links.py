"""Where one acts on an alarm: an address, and what its link says."""

from __future__ import annotations

from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _

from quality.models import Alarm


def _at(alarm: Alarm, name: str, *more: object, **asked: str) -> str:
    address = reverse(name, args=[alarm.question.project_id, *more])
    return f"{address}?{urlencode({**asked, 'question': alarm.question.key})}"


def rater(alarm: Alarm) -> tuple[str, str]:
    assert alarm.rater is not None
    return _at(alarm, "rater", alarm.rater.key), _("All about this rater")


def pair(alarm: Alarm) -> tuple[str, str]:
    assert alarm.rater is not None and alarm.other is not None
    return _at(alarm, "pair", a=alarm.rater.key, b=alarm.other.key), _("Where the two differ")


def question(alarm: Alarm) -> tuple[str, str]:
    return _at(alarm, "dashboard"), _("All about this question")


def category(alarm: Alarm) -> tuple[str, str]:
    address = reverse("question", args=[alarm.question.project_id, alarm.question.key])
    return address, _("The categories and their words")


def overlap(alarm: Alarm) -> tuple[str, str]:
    return reverse("people", args=[alarm.question.project_id]), _("Who rates")


def gold(alarm: Alarm) -> tuple[str, str]:
    return _at(alarm, "gold"), _("Keep or retire them")
