"""Selectors of a project: numbers of its items, items with a text, and the list of its people.

Counting a million items takes longer than the rest of a page, so their numbers are cached. A user
and the rater as whom they rate are one entry of the list of people. Where raters are hidden, this
link is hidden too: the account is one entry, and the pseudonym is another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.core.cache import cache
from django.core.exceptions import BadRequest
from django.db import connection
from django.db.models import Count, Q, QuerySet, Value
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from core.db.prepared_query import Parameter, PreparedQuery
from core.hooks import Hook
from projects.models import WITHDRAWN, WITHOUT_CONTENT, Item, Member, Project, Rater
from projects.models.roles import Capability, list_roles_with

_USER, _PROJECT = Parameter("user"), Parameter("project")


@dataclass(frozen=True)
class ActiveProjects:
    """The active projects of a user, or only one of them; never examples.

    ``user``, ``project``: ids, or the parameters of a prepared query.
    """

    user: Any
    is_superuser: bool
    project: Any = None

    @classmethod
    def of_user(cls, user: Any, project_id: int | None = None) -> ActiveProjects:
        return cls(user.pk, user.is_superuser, project_id)

    def select(self, capability: Capability) -> QuerySet[Project]:
        """Return those in which the user has a capability."""
        projects = Project.objects.filter(archived_at=None, is_example=False)
        if self.project is not None:
            projects = projects.filter(pk=self.project)
        if self.is_superuser:
            return projects
        roles = list_roles_with(capability)
        return projects.filter(members__user=self.user, members__role__in=roles)

    def parametrize(self) -> ActiveProjects:
        """Return them with parameters, for a query that is prepared once for all users."""
        return ActiveProjects(_USER, self.is_superuser, None if self.project is None else _PROJECT)

    def bind(self, query: PreparedQuery) -> list[Any]:
        """Return the values of a query that was prepared for such projects."""
        return query.bind(user=self.user, project=self.project)


class ItemCounts(NamedTuple):
    """Numbers of a project's items: all, those without content, and withdrawn ones.

    Items without content are not given to raters.
    """

    items: int
    without_content: int
    withdrawn: int

    @property
    def available(self) -> int:
        """Number of items that can be given to raters."""
        return self.items - self.without_content - self.withdrawn


def get_item_counts(project: Project) -> ItemCounts:
    return get_item_counts_by_project([project])[project.pk]


def count_items(project: Project) -> int:
    return get_item_counts(project).items


def count_items_by_project(projects: Sequence[Project]) -> dict[int, int]:
    """Return {project id: number of its items}."""
    return {pk: counts.items for pk, counts in get_item_counts_by_project(projects).items()}


def get_item_counts_by_project(projects: Sequence[Project]) -> dict[int, ItemCounts]:
    """Return {project id: item counts}, with one query for the projects that are not cached.

    Cached counts are valid for one items_and_raters_version, which is incremented when items
    change. The version is read before the items are counted: the counts may then be newer than
    their version, and are counted once more than needed.
    """
    cached = cache.get_many([_get_cache_key(project) for project in projects])
    counts, uncached = {}, []
    for project in projects:
        version, values = cached.get(_get_cache_key(project), (None, ()))
        if version == project.items_and_raters_version:
            counts[project.pk] = ItemCounts(*values)
        else:
            uncached.append(project)
    if uncached:
        fresh_counts = _query_item_counts(uncached)
        cache_entries = {}
        for project in uncached:
            cache_entries[_get_cache_key(project)] = (
                project.items_and_raters_version,
                tuple(fresh_counts[project.pk]),
            )
        cache.set_many(cache_entries)
        counts |= fresh_counts
    return counts


def _query_item_counts(projects: Sequence[Project]) -> dict[int, ItemCounts]:
    """Count the projects' items in one query; each kind of item is counted in its own index."""
    items = Item.objects.filter(project__in=projects).order_by()
    queries = []
    for position, filtered in enumerate(
        (items, items.filter(WITHOUT_CONTENT), items.filter(WITHDRAWN))
    ):
        annotated = filtered.annotate(place=Value(position)).values_list("project_id", "place")
        queries.append(annotated.annotate(Count("id")))
    counts = {project.pk: [0, 0, 0] for project in projects}
    for project_id, position, count in queries[0].union(*queries[1:], all=True):
        counts[project_id][position] = count
    return {project_id: ItemCounts(*values) for project_id, values in counts.items()}


def _get_cache_key(project: Project) -> str:
    return f"sizes-of-{project.pk}"


def build_text_filter(text: str) -> Q:
    """Build a filter for items that may contain the text in the key or the body.

    The query must annotate the body's JSON as ``text``. It matches a few more items than
    ``contains_text``. SQLite stores the JSON as it was written, in ASCII, and ignores case for
    ASCII letters only; PostgreSQL stores it in its own form.
    """
    is_sqlite = connection.vendor == "sqlite"
    condition = Q()
    for variant in {text, text.lower(), text.upper()} if is_sqlite else {text}:
        stored = json.dumps(variant, ensure_ascii=is_sqlite)[1:-1]
        condition |= Q(key__icontains=variant) | Q(text__icontains=stored)
    return condition


def contains_text(item: Item, text: str) -> bool:
    """Return True if the text is in the key or in a value of the body.

    Names of fields do not count.
    """
    folded = text.casefold()
    return folded in item.key.casefold() or any(
        folded in body_text.casefold() for body_text in _iter_texts(item.body)
    )


def _iter_texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _iter_texts(inner)
    elif isinstance(value, bool) or value is None:
        return
    else:
        yield str(value)


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
    """Columns that one provider adds. ``note`` explains what they include, if needed."""

    columns: list[PeopleColumn]
    note: str = ""


# Functions that return columns for some raters (ids) of a project.
COLUMN_PROVIDERS: Hook[Callable[[Project, Collection[int]], ProvidedColumns]] = Hook(
    "columns_of_people"
)


class PersonEntry(NamedTuple):
    """A line of the list of people: a member, a rater, or a member with their own rater.

    ``member`` is 0 for a rater without a role in the project, ``rater`` for a member who does not
    rate; otherwise they are ids.
    """

    member: int
    rater: int
    names: tuple[str, ...]  # texts to search
    role: str


@dataclass(frozen=True)
class Person:
    """A person of a page. ``account`` is the username, empty if it must not be shown.

    ``member`` or ``rater`` is None as in PersonEntry. ``cells``: (format, value) of each column.
    """

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
    """Return members and raters with ``search`` in any of their names, sorted by role and name."""
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
    """The people of one page, the columns about those who rate, and notes on these columns."""

    people: list[Person]
    columns: list[PeopleColumn]
    notes: list[str]


def build_people_page(project: Project, entries: Sequence[PersonEntry]) -> PeoplePage:
    """Return the people of these entries, with the columns that all providers add."""
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
    """Return (members, raters) that ``texts`` select, such as ``m7``, ``r12`` and ``m7r12``.

    Raises BadRequest for people who are not in the project, and for more than MAX_SELECTED.
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
    """Build the error for a selection of too many people, or of people not in the project."""
    return BadRequest(_("Select at most %(most)s rows, or reload.") % {"most": MAX_SELECTED})
