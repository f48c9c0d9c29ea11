"""Texts of alerts for two raters who agree with each other too often."""

from __future__ import annotations

from django.utils.translation import gettext as _

from metrics.views.common.number_formats import format_number
from quality.models import Alert

from .common import build_text_params


def build_brief_text(alert: Alert, rater: int) -> str:
    other_rater = alert.other_rater if alert.rater_id == rater else alert.rater
    text = _("agrees more with %(name)s than expected: kappa %(together)s, expected %(expected)s")
    return text % {**_build_params(alert), "name": other_rater}


def list_basis(alert: Alert) -> list[str]:
    texts = [
        _("Based on %(n)s shared items up to %(noticed)s."),
        _("Difference from the expected kappa: %(low)s to %(high)s (95%% interval)."),
        _("The data don't show why, nor who copied from whom."),
    ]
    return [text % _build_params(alert) for text in texts]


def list_explanations(_alert: Alert) -> list[str]:
    return [
        _("They discuss items, or share an account or a program."),
        _("Only they share a training, or know the answers."),
    ]


def _build_params(alert: Alert) -> dict[str, str]:
    return {
        **build_text_params(alert),
        "together": format_number(alert.facts.get("together")),
        "expected": format_number(alert.facts.get("expected")),
    }
