"""What a new project still needs until its numbers mean something: a card for its lead, gone when
all is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from metrics.models import Reading
from projects.models import Member, Project, Rater
from projects.selectors.item_counts import n_items

from . import number_formats

DOUBLE = 20  # items with two ratings: the first number that is worth a look


@dataclass(frozen=True)
class Step:
    """A line of the card: what, how far, and the one thing to press."""

    words: str | Promise
    state: str
    done: bool
    action: str | Promise
    url: str


def steps(project: Any, reading: Reading | None) -> list[Step]:
    """The steps of a project for its lead; none for others, and none once the project runs."""
    if not starts(project, project.role, reading):
        return []
    n_raters = Rater.objects.filter(project=project).count()
    return steps_of(project, reading, n_items=n_items(project), n_raters=n_raters)


def starts(project: Project, role: str, reading: Reading | None) -> bool:
    """Whether the card is shown: too few items can be compared for a number to say something."""
    return role == Member.Role.LEAD and not project.archived_at and n_double(reading) < DOUBLE


def steps_of(
    project: Project, reading: Reading | None, *, n_items: int, n_raters: int
) -> list[Step]:
    double = n_double(reading)

    def to(name: str, fragment: str = "") -> str:
        return reverse(name, args=[project.pk]) + fragment

    whole = number_formats.whole
    written, twice = project.guidelines_version > 0, project.overlap >= 2
    version = _("version %(n)s") % {"n": project.guidelines_version} if written else _("none yet")
    return [
        Step(_("Items"), whole(n_items), n_items > 0, _("Add items"), to("import_new")),
        Step(_("Guidelines"), version, written, _("Write them"), to("setup", "#guidelines-title")),
        Step(_("Raters"), whole(n_raters), n_raters >= 2, _("Invite people"), to("people")),
        Step(_("Ratings an item"), whole(project.overlap), twice, _("Raise it"), to("setup")),
        Step(
            _("Items with two ratings"),
            f"{min(double, DOUBLE)}/{DOUBLE}",
            double >= DOUBLE,
            _("Rate"),
            to("rate"),
        ),
    ]


def n_done(found: Sequence[Step]) -> int:
    return sum(step.done for step in found)


def n_double(reading: Reading | None) -> int:
    """Items with two ratings or more."""
    details = reading.details if reading else {}
    return int(details.get("with_two_or_more", 0))
