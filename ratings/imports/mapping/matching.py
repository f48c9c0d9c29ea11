"""Whose ratings a file holds, and which questions they answer: the file's own keys of raters and
questions beside those of the project.

A rater of the file may be a member of the project. What they said there is then said by the rater
that they are here; a member who is no rater yet becomes one under the file's key.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db.models import QuerySet

from projects.models import Project, Rater
from projects.services.raters.upsert import put_raters
from ratings.models import ImportRun

from . import import_mapping

LOOKED_AT = 10_000  # raters of a file
LISTED = 100  # raters of a file that are offered to be matched
REMEMBERED = 50  # earlier imports whose matches are taken over


@dataclass(frozen=True)
class Matched:
    """``raters``: key in the file -> key in the project. ``ties``: key in the project -> account
    that this rater is to be tied to."""

    raters: dict[str, str] = field(default_factory=dict)
    ties: dict[str, int] = field(default_factory=dict)


def members(project: Project | None, by: Any) -> QuerySet[User]:
    """Whom a rater of the file may be: the members; of a new project its lead alone."""
    if project is None:
        return User.objects.filter(pk=by.pk) if by else User.objects.none()
    return User.objects.filter(memberships__project=project, is_active=True).order_by("username")


def matched(project: Project | None, wanted: Mapping[str, int], *, by: Any) -> Matched:
    """What the matches (key in the file -> account) come to now; accounts that are no members (any
    more) are left out."""
    known = set(members(project, by).filter(pk__in=wanted.values()).values_list("pk", flat=True))
    own: dict[int | None, str] = {}
    if project is not None:
        rows = Rater.objects.filter(project=project, user__in=known)
        own = dict(rows.values_list("user_id", "key"))
    raters: dict[str, str] = {}
    ties: dict[str, int] = {}
    for key, user in wanted.items():
        if user not in known:
            continue
        if user not in own:
            own[user] = key
            ties[key] = user
        raters[key] = own[user]
    return Matched(raters, ties)


def tie(project: Project, wanted: Mapping[str, int], *, by: Any) -> None:
    """Make the raters of members who are none yet. Raises BadRequest where a rater of the file's
    key is somebody else's."""
    ties = matched(project, wanted, by=by).ties
    names = dict(
        get_user_model().objects.filter(pk__in=ties.values()).values_list("pk", "username")
    )
    rows = [{"key": key, "username": names[user]} for key, user in ties.items()]
    if rows:
        put_raters(project=project, rows=rows, by=by)


def suggested(
    project: Project | None, found: Iterable[tuple[str, str]], *, by: Any
) -> dict[str, int]:
    """key -> account of the raters (key, name) that one member's e-mail, user name or full name
    names. A name that two members have names nobody."""
    named: dict[str, set[int]] = defaultdict(set)
    for user in members(project, by):
        for word in (user.email, user.username, user.get_full_name()):
            if word:
                named[word.casefold()].add(user.pk)
    taken = set()
    if project is not None:
        tied = Rater.objects.filter(project=project, user__isnull=False)
        taken = set(tied.values_list("key", flat=True))
    suggestions = {}
    for key, name in found:
        for word in (key, name):
            users = named.get(word.strip().casefold(), set())
            if key not in taken and len(users) == 1:
                suggestions[key] = next(iter(users))
                break
    return suggestions


def remember(chosen: import_mapping.Mapping, project: Project | None) -> None:
    """Take over what was matched in earlier imports of the project, so that the same file changes
    nothing."""
    if project is None:
        return
    done = project.imports.filter(state=ImportRun.State.DONE).order_by("-id")
    for earlier in reversed(done.values_list("mapping", flat=True)[:REMEMBERED]):
        chosen.members |= earlier.get("members", {})
        if earlier.get("source") == chosen.source:
            chosen.questions |= earlier.get("questions", {})
