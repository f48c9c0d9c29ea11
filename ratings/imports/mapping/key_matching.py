"""Match the rater and question keys of a file with those of the project.

A rater of the file may be a member of the project. The ratings then belong to the rater of this
member; a member who has none gets one with the file's key.
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
from projects.services.rater_upsert import upsert_raters
from ratings.models import ImportRun

from . import import_mapping

MAX_CHECKED_RATERS = 10_000  # raters of a file that are compared with the members
MAX_LISTED_RATERS = 100  # raters of a file that are offered for matching
MAX_EARLIER_RUNS = 50  # earlier imports whose matches are reused


@dataclass(frozen=True)
class RaterMatches:
    """Raters of a file that are members of the project.

    ``raters`` maps the rater's key in the file to the key in the project, ``user_links`` maps the
    key in the project to the id of the user account to link.
    """

    raters: dict[str, str] = field(default_factory=dict)
    user_links: dict[str, int] = field(default_factory=dict)


def get_matchable_users(project: Project | None, by: Any) -> QuerySet[User]:
    """Return the users whom raters of the file can be matched with.

    These are the project's members with an active account; ``by`` alone if the import creates the
    project (None), and nobody if ``by`` is None as well.
    """
    if project is None:
        return User.objects.filter(pk=by.pk) if by else User.objects.none()
    return User.objects.filter(memberships__project=project, is_active=True).order_by("username")


def resolve_matches(
    project: Project | None, matches: Mapping[str, int], *, by: Any
) -> RaterMatches:
    """Return the project's raters for matches (rater key in the file -> user id).

    Matches with users who are no longer active members are ignored. ``project`` is None if the
    import creates it; only ``by`` can then be matched.
    """
    member_ids = set(
        get_matchable_users(project, by)
        .filter(pk__in=matches.values())
        .values_list("pk", flat=True)
    )
    key_by_user: dict[int | None, str] = {}
    if project is not None:
        rows = Rater.objects.filter(project=project, user__in=member_ids)
        key_by_user = dict(rows.values_list("user_id", "key"))
    raters: dict[str, str] = {}
    user_links: dict[str, int] = {}
    for key, user_id in matches.items():
        if user_id not in member_ids:
            continue
        if user_id not in key_by_user:
            key_by_user[user_id] = key
            user_links[key] = user_id
        raters[key] = key_by_user[user_id]
    return RaterMatches(raters, user_links)


def create_matched_raters(project: Project, matches: Mapping[str, int], *, by: Any) -> None:
    """Create raters for the matched members who have none in the project yet.

    Raises BadRequest if the key in the file is that of another user's rater.
    """
    user_links = resolve_matches(project, matches, by=by).user_links
    usernames = dict(
        get_user_model().objects.filter(pk__in=user_links.values()).values_list("pk", "username")
    )
    rows = [{"key": key, "username": usernames[user]} for key, user in user_links.items()]
    if rows:
        upsert_raters(project=project, rows=rows, by=by)


def suggest_matches(
    project: Project | None, raters: Iterable[tuple[str, str]], *, by: Any
) -> dict[str, int]:
    """Return suggested matches (rater key -> user id) for raters given as (key, name).

    A rater matches the one member whose e-mail address, user name or full name equals the key or
    the name, in any case of the letters. A name shared by two members matches nobody, and a rater
    whom the project has linked to an account already is left out. Of a new project (None), only
    ``by`` is a member.
    """
    users_by_name: dict[str, set[int]] = defaultdict(set)
    for user in get_matchable_users(project, by):
        for text in (user.email, user.username, user.get_full_name()):
            if text:
                users_by_name[text.casefold()].add(user.pk)
    linked_keys = set()
    if project is not None:
        linked_raters = Rater.objects.filter(project=project, user__isnull=False)
        linked_keys = set(linked_raters.values_list("key", flat=True))
    suggestions = {}
    for key, name in raters:
        for text in (key, name):
            user_ids = users_by_name.get(text.strip().casefold(), set())
            if key not in linked_keys and len(user_ids) == 1:
                suggestions[key] = next(iter(user_ids))
                break
    return suggestions


def add_earlier_matches(mapping: import_mapping.ImportMapping, project: Project | None) -> None:
    """Add the matches of the project's last MAX_EARLIER_RUNS finished imports to the mapping.

    Where they differ, the latest counts. Importing the same file again then changes nothing. A new
    project (None) has no earlier imports.
    """
    if project is None:
        return
    finished_runs = project.imports.filter(state=ImportRun.State.DONE).order_by("-id")
    for earlier_mapping in reversed(
        finished_runs.values_list("mapping", flat=True)[:MAX_EARLIER_RUNS]
    ):
        mapping.members |= earlier_mapping.get("members", {})
        if earlier_mapping.get("source") == mapping.source:
            mapping.questions |= earlier_mapping.get("questions", {})
