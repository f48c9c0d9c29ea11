"""The people of a project in one list: who has a role, who rates, and who does both.

An account and the rater as whom it rates are one line. Where it is hidden who the raters are, that
they are one is hidden too: the account is a line, and the pseudonym is another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.core.exceptions import BadRequest
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from projects.models import Member, Project, Rater

MOST_CHOSEN = 100  # people, in one act
_CHOICE = re.compile(r"(?:m(?P<member>\d{1,18}))?(?:r(?P<rater>\d{1,18}))?", re.ASCII)
# Who decides comes first; the others, with a role or without one, by their names.
_PLACES: dict[str, int] = {Member.Role.LEAD: 0, Member.Role.ADJUDICATOR: 1, Member.Role.VIEWER: 2}


@dataclass(frozen=True)
class Column:
    """What a higher room has to tell of raters. ``show``: how a cell is drawn
    (templates/projects/people.html): whole, tenths, reading or moment; ``about``: what explains it
    (metrics.agreement.glossary); ``values``: by the rater's id."""

    heading: str | Promise
    show: str
    values: Mapping[int, Any]
    about: str = ""


@dataclass(frozen=True)
class Told:
    """``note``: what the columns are of, where that is not plain."""

    columns: list[Column]
    note: str = ""


# Of raters of a project, some at a time.
COLUMNS: list[Callable[[Project, Collection[int]], Told]] = []


class Line(NamedTuple):
    """A person among all; 0: has no role, or does not rate."""

    member: int
    rater: int
    names: tuple[str, ...]  # by which the person is found
    role: str


@dataclass(frozen=True)
class Person:
    """A line of a page. ``account``: the name of the account, where it may be told."""

    member: Member | None
    rater: Rater | None
    account: str
    cells: list[tuple[str, Any]]

    @property
    def name(self) -> str:
        return str(self.rater) if self.rater is not None else self.account

    @property
    def choice(self) -> str:
        """What a box sends: see ``chosen``."""
        member = f"m{self.member.pk}" if self.member is not None else ""
        return member + (f"r{self.rater.pk}" if self.rater is not None else "")


def everybody(project: Project, wanted: str = "") -> list[Line]:
    """All people, or those who have ``wanted`` in a name or are of this group."""
    members = project.members.values_list("user_id", "pk", "user__username", "role")
    left = {user: (pk, username, role) for user, pk, username, role in members}
    lines = []
    columns = ("pk", "key", "name", "group", "kind", "user_id", "user__username")
    for pk, key, name, group, kind, user, username in project.raters.order_by().values_list(
        *columns
    ):
        tied = user is not None and not is_hidden(project, kind)
        member, _username, role = left.pop(user, (0, "", "")) if tied else (0, "", "")
        names = (name or key, key, group, username if tied else "")
        lines.append(Line(member, pk, names, role))
    lines += [Line(pk, 0, (username,), role) for pk, username, role in left.values()]
    text = wanted.casefold()
    found = [line for line in lines if any(text in name.casefold() for name in line.names)]
    return sorted(found, key=lambda line: (_PLACES.get(line.role, 3), _natural(line.names[0])))


def is_hidden(project: Project, kind: str) -> bool:
    """Whether it is hidden who a rater of this kind is."""
    return project.raters_hidden and kind == Rater.Kind.HUMAN


def _natural(name: str) -> list[Any]:
    """Sorts "rater2" before "rater10"."""
    parts = re.split(r"(\d+)", name.casefold())
    return [int(part) if at % 2 else part for at, part in enumerate(parts)]


@dataclass(frozen=True)
class Page:
    """People of one page, and the heads of what is told of those who rate."""

    people: list[Person]
    columns: list[Column]
    notes: list[str]


def page_of(project: Project, lines: Sequence[Line]) -> Page:
    """The people of these lines, and what is told of them."""
    members = project.members.select_related("user").in_bulk([line.member for line in lines])
    raters = project.raters.select_related("user").in_bulk([line.rater for line in lines])
    told = [of(project, list(raters)) for of in COLUMNS]
    columns = [column for one in told for column in one.columns]
    people = []
    for line in lines:
        member, rater = members.get(line.member), raters.get(line.rater)
        user = member.user if member is not None else None
        if rater is not None and not is_hidden(project, rater.kind):
            user = rater.user
        values = [(one.show, one.values.get(line.rater)) for one in columns]
        account = user.get_username() if user is not None else ""
        people.append(Person(member, rater, account, values))
    return Page(people, columns, [one.note for one in told if one.note])


def chosen(project: Project, texts: Sequence[str]) -> tuple[list[Member], list[Rater]]:
    """Who is meant by ``m7``, ``r12`` and ``m7r12``: members and raters by their ids. Raises
    BadRequest for others than those of the project, and for too many."""
    found = [_CHOICE.fullmatch(text) for text in texts]
    if len(texts) > MOST_CHOSEN or not all(texts) or None in found:
        raise _refused()
    ids = [match.groupdict() for match in found if match is not None]
    wanted = [{int(one[of]) for one in ids if one[of]} for of in ("member", "rater")]
    members = list(project.members.select_related("user").filter(pk__in=wanted[0]).order_by("pk"))
    raters = list(project.raters.filter(pk__in=wanted[1]).order_by("key"))
    if len(members) != len(wanted[0]) or len(raters) != len(wanted[1]):
        raise _refused()
    return members, raters


def _refused() -> BadRequest:
    return BadRequest(_("Choose at most %(most)s people of this project.") % {"most": MOST_CHOSEN})
