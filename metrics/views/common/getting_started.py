"""The card "Getting started" of a new project: steps until its results are meaningful.

The lead sees it until all steps are done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse_lazy
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from metrics.results.question_agreement import QuestionAgreement
from projects.models import Project, Rater
from projects.models.roles import Capability, may
from projects.selectors import count_items

from . import number_formats

MIN_DOUBLE_RATED = 20  # items with two ratings: with fewer, the first result says little


@dataclass(frozen=True)
class SetupStep:
    """A step of the card: label, progress, and its link."""

    label: str | Promise
    state: str
    done: bool
    action: str | Promise
    url: str | Promise


def list_steps(project: Any, agreement: QuestionAgreement | None) -> list[SetupStep]:
    """Return the steps that a project's card shows; empty where `is_card_shown` is false.

    ``agreement``: None before anything was counted.
    """
    if not is_card_shown(project, project.role, agreement):
        return []
    n_raters = Rater.objects.filter(project=project).count()
    return build_steps(project, agreement, n_items=count_items(project), n_raters=n_raters)


def is_card_shown(project: Project, role: str, agreement: QuestionAgreement | None) -> bool:
    """Return whether to show the card: to a lead, while too few items can be compared."""
    return (
        may(role, Capability.MANAGE)
        and not project.archived_at
        and count_double_rated(agreement) < MIN_DOUBLE_RATED
    )


def build_steps(
    project: Project, agreement: QuestionAgreement | None, *, n_items: int, n_raters: int
) -> list[SetupStep]:
    """Return the steps of the card, each with its progress and whether it is done."""
    n_double_rated = count_double_rated(agreement)

    format_count = number_formats.format_count
    has_guidelines = project.guidelines_version > 0
    # A lead who has raters waits for them, and need not rate.
    action, url_name = (_("View raters"), "raters") if n_raters >= 2 else (_("Rate"), "rate")
    version = (
        _("version %(n)s") % {"n": project.guidelines_version} if has_guidelines else _("none yet")
    )
    shared = f"{min(n_double_rated, MIN_DOUBLE_RATED)}/{MIN_DOUBLE_RATED}"
    steps = (
        (_("Items"), format_count(n_items), n_items > 0, _("Add items"), "import_upload"),
        (_("Guidelines"), version, has_guidelines, _("Write guidelines"), "guidelines_settings"),
        (_("Raters"), format_count(n_raters), n_raters >= 2, _("Invite people"), "people"),
        (
            _("Ratings per item"),
            format_count(project.overlap),
            project.overlap >= 2,
            _("Increase"),
            "project_settings",
        ),
        (
            _("Items with two ratings"),
            shared,
            n_double_rated >= MIN_DOUBLE_RATED,
            action,
            url_name,
        ),
    )
    return [
        SetupStep(name, state, done, action, reverse_lazy(url_name, args=[project.pk]))
        for name, state, done, action, url_name in steps
    ]


def count_done_steps(steps: Sequence[SetupStep]) -> int:
    """Count the steps that are done."""
    return sum(step.done for step in steps)


def count_double_rated(agreement: QuestionAgreement | None) -> int:
    """Count the items with two or more ratings; 0 for None."""
    return agreement.details.get("with_two_or_more", 0) if agreement else 0
