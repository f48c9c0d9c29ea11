"""The list of a project's people: members, raters, and members who rate.

A user and the rater as whom they rate are one entry. Where raters are hidden, this link is hidden
too: the account is one entry, and the pseudonym is another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.core.exceptions import BadRequest
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from core.hooks import Hook
from projects.models import Member, Project, Rater

MAX_SELECTED = 100  # people or raters in one action
_SELECTION = re.compile(r"(?:m(?P<member>\d{1,18}))?(?:r(?P<rater>\d{1,18}))?", re.ASCII)
# Leads, adjudicators and viewers come first; annotators and people without a role by name.
_ROLE_ORDER: dict[str, int] = {
    Member.Role.LEAD: 0,
    Member.Role.ADJUDICATOR: 1,
    Member.Role.VIEWER: 2,
}


@dataclass(frozen=True)
class PeopleColumn:
    """A column about raters that a higher package adds.

    ``show`` is the format of a cell (templates/projects/people.html): whole, tenths, reading or
    moment; ``about`` is its help text's key (metrics.agreement.glossary); ``values`` are by
    rater id.
    """

    heading: str | Promise
    show: str
    values: Mapping[int, Any]
    about: str = ""


@dataclass(frozen=True)
class ProvidedColumns:
    """Columns of a provider. ``note`` explains what they include, if needed."""

    columns: list[PeopleColumn]
    note: str = ""


# Functions that return columns for some raters (ids) of a project.
COLUMN_PROVIDERS: Hook[Callable[[Project, Collection[int]], ProvidedColumns]] = Hook(
    "columns_of_people"
)


class PersonEntry(NamedTuple):
    """An entry of the complete list of people, with the ids of member and rater.

    ``member`` is 0 for a rater without a role in the project, ``rater`` for a member who does not
    rate.
    """

    member: int
    rater: int
    names: tuple[str, ...]  # texts to search
    role: str


@dataclass(frozen=True)
class Person:
    """A person as shown on a page. ``account`` is the username, if it may be shown."""

    member: Member | None
    rater: Rater | None
    account: str
    cells: list[tuple[str, Any]]

    @property
    def name(self) -> str:
        return str(self.rater) if self.rater is not None else self.account

    @property
    def selection_key(self) -> str:
        """The value of the person's checkbox (see ``get_selected_people``)."""
        member = f"m{self.member.pk}" if self.member is not None else ""
        return member + (f"r{self.rater.pk}" if self.rater is not None else "")


def list_people(project: Project, search: str = "") -> list[PersonEntry]:
    """Return members and raters by role and name; only those that contain ``search``."""
    members = project.members.values_list("user_id", "pk", "user__username", "role")
    unlisted_members = {user: (pk, username, role) for user, pk, username, role in members}
    lines = []
    columns = ("pk", "key", "name", "group", "kind", "user_id", "user__username")
    for pk, key, name, group, kind, user, username in project.raters.order_by().values_list(
        *columns
    ):
        is_linked = user is not None and not is_identity_hidden(project, kind)
        member, _username, role = (
            unlisted_members.pop(user, (0, "", "")) if is_linked else (0, "", "")
        )
        names = (name or key, key, group, username if is_linked else "")
        lines.append(PersonEntry(member, pk, names, role))
    lines += [
        PersonEntry(pk, 0, (username,), role) for pk, username, role in unlisted_members.values()
    ]
    text = search.casefold()
    matches = [line for line in lines if any(text in name.casefold() for name in line.names)]
    return sorted(
        matches, key=lambda line: (_ROLE_ORDER.get(line.role, 3), _get_sort_key(line.names[0]))
    )


def is_identity_hidden(project: Project, kind: str) -> bool:
    """Return True if the identity of raters of this kind is hidden in the project."""
    return project.hides_raters and kind == Rater.Kind.HUMAN


def _get_sort_key(name: str) -> list[Any]:
    """Return a sort key that puts "rater2" before "rater10"."""
    parts = re.split(r"(\d+)", name.casefold())
    return [int(part) if index % 2 else part for index, part in enumerate(parts)]


@dataclass(frozen=True)
class PeoplePage:
    """The people of one page, and the columns about those who rate."""

    people: list[Person]
    columns: list[PeopleColumn]
    notes: list[str]


def build_people_page(project: Project, entries: Sequence[PersonEntry]) -> PeoplePage:
    """Return the people of these entries, with the columns of all providers."""
    members = project.members.select_related("user").in_bulk([entry.member for entry in entries])
    raters = project.raters.select_related("user").in_bulk([entry.rater for entry in entries])
    provided = COLUMN_PROVIDERS.call(project, list(raters))
    columns = [column for source in provided for column in source.columns]
    people = []
    for entry in entries:
        member, rater = members.get(entry.member), raters.get(entry.rater)
        user = member.user if member is not None else None
        if rater is not None and not is_identity_hidden(project, rater.kind):
            user = rater.user
        values = [(source.show, source.values.get(entry.rater)) for source in columns]
        account = user.get_username() if user is not None else ""
        people.append(Person(member, rater, account, values))
    return PeoplePage(people, columns, [source.note for source in provided if source.note])


def get_selected_people(project: Project, texts: Sequence[str]) -> tuple[list[Member], list[Rater]]:
    """Return the selected members and raters, for values such as ``m7``, ``r12`` and ``m7r12``.

    Raises BadRequest for people of other projects, and for too many.
    """
    matches = [_SELECTION.fullmatch(text) for text in texts]
    if len(texts) > MAX_SELECTED or not all(texts) or None in matches:
        raise build_selection_error()
    ids = [match.groupdict() for match in matches if match is not None]
    ids_by_type = [
        {int(groups[group_name]) for groups in ids if groups[group_name]}
        for group_name in ("member", "rater")
    ]
    members = list(
        project.members.select_related("user").filter(pk__in=ids_by_type[0]).order_by("pk")
    )
    raters = list(project.raters.filter(pk__in=ids_by_type[1]).order_by("key"))
    if len(members) != len(ids_by_type[0]) or len(raters) != len(ids_by_type[1]):
        raise build_selection_error()
    return members, raters


def build_selection_error() -> BadRequest:
    """Return the error for a selection that is too large, or of people who are not there."""
    return BadRequest(
        _("Select at most %(most)s rows, or reload the list.") % {"most": MAX_SELECTED}
    )
