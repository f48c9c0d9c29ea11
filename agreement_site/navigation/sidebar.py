"""The rail: where a project's pages lead, by role. A new page of a project is a line here, or a
word in the line of the page that it belongs to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from projects.models import Member, Project
from quality.inbox import selectors
from ratings.models import Assignment

Role = Member.Role
EVERYBODY = frozenset(Role.values)
RESULTS = EVERYBODY - {Role.ANNOTATOR}
RATES = frozenset({Role.LEAD, Role.ANNOTATOR})
LEAD = frozenset({Role.LEAD})
MOST = 100  # of what waits is counted: above, "99+" says enough
SWITCHED_TO = 8  # projects that the switcher names


@dataclass(frozen=True)
class Place:
    """A line of the rail. ``beneath``: the first words of further addresses below the project's
    whose pages belong to it; ``apart`` begins another group of lines."""

    name: str
    words: Promise
    roles: frozenset[str]
    beneath: tuple[str, ...] = ()
    apart: bool = False
    key: str = ""  # after g: goes there from any page


PLACES = (
    Place(
        "dashboard",
        _("Overview"),
        RESULTS,
        ("", "change", "coefficients", "first", "pairs", "reports", "views", "which"),
        key="d",
    ),
    Place("questions", _("Questions"), RESULTS, key="q"),
    Place("raters", _("Raters"), RESULTS, ("write",), key="r"),
    Place("items", _("Items"), RESULTS, ("item", "new-item", "chosen-items", "set-aside"), key="i"),
    Place("labels", _("Labels"), RESULTS, ("adjudicate", "appeals", "plan"), key="l"),
    Place("alarms", _("Alarms"), RESULTS, key="a"),
    Place("rate", _("Rate"), RATES, apart=True, key="n"),
    Place(
        "my_ratings",
        _("My ratings"),
        frozenset({Role.ANNOTATOR}),
        ("decisions", "exam", "known-answers"),
        key="m",
    ),
    Place("gold", _("Gold"), LEAD, ("exams",), apart=True),
    Place("data", _("Data"), RESULTS, key="f"),
    Place("people", _("People"), LEAD, ("trail",), key="p"),
    Place("setup", _("Set-up"), LEAD, ("guidelines", "archive", "delete"), key="s"),
)

# Outside of projects.
SITE = (
    Place("projects", _("Projects"), EVERYBODY),
    Place("own_raters", _("Raters of all projects"), RESULTS | {"superuser", "staff"}),
    Place("tokens", _("Your account"), EVERYBODY, apart=True),
    Place("all_words", _("What the words mean"), EVERYBODY),
    Place("operations", _("Operations"), frozenset({"superuser"}), apart=True),
    Place("trail", _("Audit trail"), frozenset({"superuser"})),
    Place("admin:index", _("Admin"), frozenset({"superuser", "staff"})),
)


@dataclass(frozen=True)
class Line:
    """A place as this user sees it from this page."""

    place: Place
    url: str
    current: bool
    waiting: int = 0

    @property
    def most(self) -> bool:
        return self.waiting >= MOST


def lines(project: Any, path: str) -> list[Line]:
    """The rail of ``project`` for the role that the caller has in it (``project.role``)."""
    places = [place for place in PLACES if project.role in place.roles]
    urls = {place.name: reverse(place.name, args=[project.pk]) for place in places}
    here = _current(places, urls, project, path)
    waiting = {"items": set_aside(project)} if project.role == Role.LEAD else {}
    return [
        Line(place, urls[place.name], place is here, waiting.get(place.name, 0)) for place in places
    ]


def site_lines(user: Any, path: str) -> list[Line]:
    """The rail of pages that are of no project."""
    role = "superuser" if user.is_superuser else "staff" if user.is_staff else _role_of(user)
    found = [Line(place, reverse(place.name), False) for place in SITE if _sees(role, place)]
    return [replace(line, current=line.url == path) for line in found]


def _role_of(user: Any) -> str:
    """An annotator's who is nothing else in any project; else a viewer's."""
    roles = Member.objects.filter(user=user.pk).order_by().values_list("role", flat=True)
    return Role.ANNOTATOR if set(roles.distinct()) == {Role.ANNOTATOR} else Role.VIEWER


def _sees(role: str, place: Place) -> bool:
    return role in place.roles or place.roles == EVERYBODY


def _current(places: list[Place], urls: dict[str, str], project: Any, path: str) -> Place | None:
    own = f"/projects/{project.pk}/"
    first = path.removeprefix(own).split("/", 1)[0] if path.startswith(own) else None
    for place in places:
        if first in (urls[place.name].removeprefix(own).rstrip("/"), *place.beneath):
            return place
    return None


def set_aside(project: Project) -> int:
    """How many items raters skipped or flagged, at most ``MOST``."""
    return Assignment.objects.set_aside_in(project)[:MOST].count()


def waiting_for(project: Any) -> list[selectors.Wait]:
    """What waits for whoever leads the project; nobody else is told by the bell."""
    if project.role != Role.LEAD:
        return []
    return selectors.by_project({project.pk: project.role}).get(project.pk, [])


def others(user: Any, project: Any) -> list[tuple[str, str]]:
    """Names and first pages of the projects in use that a user may switch to: those joined last."""
    own = Member.objects.filter(user=user.pk, project__archived_at__isnull=True)
    found = own.exclude(project=project.pk).order_by("-pk")
    rows = found.values_list("project", "project__name", "role")[:SWITCHED_TO]
    return [(name, first_page(pk, role)) for pk, name, role in rows]


def first_page(project_id: int, role: str) -> str:
    """Where somebody of this role begins in a project."""
    return reverse("rate" if role == Role.ANNOTATOR else "dashboard", args=[project_id])
