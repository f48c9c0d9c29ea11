"""Items and raters by their keys: many in one request, the same request twice changes nothing.

Plain checks instead of serializers: ten thousand rows must take a fraction of a second.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.utils import timezone

from groundwork.database import bulk
from groundwork.rest.parameters import rows_error
from groundwork.text import has_control, key_trouble
from projects.models import Member, Project, Rater

LONGEST_ITEM_KEY = 255
LONGEST_RATER_KEY = 150
LONGEST_GROUP = 64
LARGEST_BODY = 1_000_000  # characters of JSON of one item's body or attributes
DEEPEST = 50

Row = dict[str, Any]
Counts = dict[str, int]


def key_problem(row: Row, *, longest: int, name: str = "key") -> str | None:
    key = row.get(name)
    if not isinstance(key, str):
        return (
            f"'{name}' is missing"
            if name not in row
            else f"'{name}' must be a text, not {kind_of(key)}"
        )
    trouble = key_trouble(key, longest=longest)
    if trouble in ("empty", "long"):
        return f"'{name}' must have 1 to {longest} characters; it has {len(key)}"
    if trouble:
        return (
            f"'{name}' must not begin or end with a blank, nor have line ends or control characters"
        )
    return None


def kind_of(value: Any) -> str:
    """What a JSON value is, for messages."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    names: dict[type, str] = {str: "a text", dict: "an object", list: "a list"}
    return names.get(type(value), "a number")


def checked(
    noun: str,
    rows: Sequence[Any],
    check: Callable[[Row], Iterable[str | None]],
    *,
    fields: Sequence[str],
) -> list[Row]:
    """The rows, when each is an object with these fields alone, passes ``check``, and no key comes
    twice."""
    wrong: dict[int, list[str]] = {}
    first: dict[Any, int] = {}
    known = frozenset(fields)
    for place, row in enumerate(rows):
        if not isinstance(row, dict):
            wrong[place] = [f"an object is needed, not {kind_of(row)}"]
            continue
        found = [problem for problem in check(row) if problem]
        if not known.issuperset(row):
            name = next(name for name in row if name not in known)
            found.append(f"unknown field '{name[:60]}'; one of {', '.join(fields)}")
        key = row.get("key")
        if isinstance(key, str) and first.setdefault(key, place) != place:
            found.append(f"the key '{key[:60]}' stands in row {first[key]} already")
        if found:
            wrong[place] = found
    if wrong:
        raise rows_error(noun, wrong)
    return list(rows)


# --- items

ITEM_FIELDS = ("key", "body", "attributes")


def put_items(*, project: Project, rows: Sequence[Any]) -> Counts:
    """Create or change items by key; ``attributes`` left out stay. All or nothing; 400 names each
    bad row."""
    items = checked("item", rows, _item_problems, fields=ITEM_FIELDS)
    with transaction.atomic():
        standing = _standing("projects_item", "body, attributes", project, items)
        counts = {"created": 0, "changed": 0, "unchanged": 0}
        now = connection.ops.adapt_datetimefield_value(timezone.now())
        writes = []
        for row in items:
            old = standing.get(row["key"])
            body, attributes = map(json.loads, old) if old else (None, {})
            new = (row["body"], row.get("attributes", attributes))
            state = (
                "created"
                if body is None
                else "unchanged"
                if same(new, (body, attributes))
                else "changed"
            )
            counts[state] += 1
            if state != "unchanged":
                writes.append(
                    (
                        project.pk,
                        row["key"],
                        *(json.dumps(part) if part else "{}" for part in new),
                        now,
                    )
                )
        bulk.upsert(
            "projects_item",
            ("project_id", "key", "body", "attributes", "created_at"),
            sorted(writes),
            key=("project_id", "key"),
            update={"body": "excluded.body", "attributes": "excluded.attributes"},
        )
        if writes:
            Project.objects.filter(pk=project.pk).catalogue_changed()
    return counts


def _item_problems(row: Row) -> Iterable[str | None]:
    yield key_problem(row, longest=LONGEST_ITEM_KEY)
    if "body" not in row:
        yield "'body' is missing"
    for name in ("body", "attributes"):
        if name in row:
            yield _object_problem(name, row[name])
    body = row.get("body")
    if isinstance(body, dict) and not isinstance(body.get("text", ""), str):
        yield f"'text' of 'body' must be a text, not {kind_of(body['text'])}"


def _object_problem(name: str, value: Any) -> str | None:
    if not isinstance(value, dict):
        return f"'{name}' must be an object, not {kind_of(value)}"
    if any(isinstance(part, dict | list) for part in value.values()) and not _shallow(
        value, DEEPEST
    ):
        return f"'{name}' is nested deeper than {DEEPEST} levels"
    size = sum(len(part) if isinstance(part, str) else 0 for part in value.values())
    if size > LARGEST_BODY or (size > LARGEST_BODY // 10 and len(json.dumps(value)) > LARGEST_BODY):
        return f"'{name}' is larger than {LARGEST_BODY} characters"
    return None


def _shallow(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    parts = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_shallow(part, levels - 1) for part in parts)


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same; Python takes true for 1, JSON does not."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            same(value, other[name]) for name, value in one.items()
        )
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _standing(
    table: str, columns: str, project: Project, rows: Sequence[Row]
) -> dict[str, tuple[Any, ...]]:
    """key -> the columns of the rows that exist."""
    found = bulk.several(bulk.find(table, columns, project.pk, [row["key"] for row in rows]))
    return {key: tuple(rest) for part in found for key, *rest in part}


# --- raters

RATER_FIELDS = ("key", "name", "kind", "group", "username")


def put_raters(*, project: Project, rows: Sequence[Any]) -> Counts:
    """Create or change raters by key; what is left out stays. All or nothing; 400 names each bad
    row.

    ``username`` ties the rater to an account, which becomes an annotator of the project when it has
    no role in it; null unties it.
    """
    raters = checked("rater", rows, _rater_problems, fields=RATER_FIELDS)
    with transaction.atomic():
        # one account is tied to one rater, whoever asks
        Project.objects.select_for_update().get(pk=project.pk)
        users = _users(raters)
        standing = _standing("projects_rater", 'name, kind, "group", user_id', project, raters)
        counts = {"created": 0, "changed": 0, "unchanged": 0}
        writes = []
        for row in raters:
            old = standing.get(row["key"])
            name, kind, group, user_id = old or ("", Rater.Kind.HUMAN.value, "", None)
            if "username" in row:
                user_id = users.get(row["username"])
            new = (row.get("name", name), row.get("kind", kind), row.get("group", group), user_id)
            state = "created" if old is None else "unchanged" if new == old else "changed"
            counts[state] += 1
            if state != "unchanged":
                writes.append((project.pk, row["key"], *new))
        _refuse_tied(project, raters, users, {row[1]: row[5] for row in writes})
        _write_raters(project, writes)
    return counts


def _rater_problems(row: Row) -> Iterable[str | None]:
    yield key_problem(row, longest=LONGEST_RATER_KEY)
    name = row.get("name", "")
    if not isinstance(name, str) or len(name) > 200 or has_control(name):
        yield "'name' must be a text of 200 characters at most, without control characters"
    kind = row.get("kind", "human")
    if not isinstance(kind, str) or kind not in Rater.Kind.values:
        yield f"unknown kind {json.dumps(kind)[:40]}; one of {', '.join(Rater.Kind.values)}"
    if group_problem(row.get("group", "")):
        yield f"'group' must be a text of {LONGEST_GROUP} characters at most, without blanks at its ends"
    username = row.get("username")
    if username is not None and (not isinstance(username, str) or not 0 < len(username) <= 150):
        yield "'username' must be a text of 1 to 150 characters, or null"


def group_problem(group: Any) -> bool:
    """Whether this cannot be the group of a rater."""
    return (
        not isinstance(group, str)
        or len(group) > LONGEST_GROUP
        or group != group.strip()
        or not group.isprintable()
    )


def _users(raters: Sequence[Row]) -> dict[str, int]:
    """username -> id of the accounts that the rows name; 400 for one that does not exist or is
    named twice."""
    names = [row["username"] for row in raters if row.get("username") is not None]
    if not names:
        return {}
    known = dict(
        get_user_model()
        .objects.filter(username__in=names, is_active=True)
        .values_list("username", "pk")
    )
    wrong: dict[int, list[str]] = {}
    first: dict[str, int] = {}
    for place, row in enumerate(raters):
        name = row.get("username")
        if name is not None and name not in known:
            wrong[place] = [f"there is no account '{name}' on this site"]
        elif name is not None and first.setdefault(name, place) != place:
            wrong[place] = [
                f"the account '{name}' is tied to the rater of row {first[name]} already"
            ]
    if wrong:
        raise rows_error("rater", wrong)
    return known


def _refuse_tied(
    project: Project, raters: Sequence[Row], users: dict[str, int], new: dict[str, int | None]
) -> None:
    """400 when an account would be tied to two raters of the project."""
    tied = Rater.objects.filter(project=project, user__in=users.values()).values_list(
        "user_id", "key"
    )
    holders = {user_id: key for user_id, key in tied if new.get(key, user_id) == user_id}
    wrong = {}
    for place, row in enumerate(raters):
        holder = holders.get(users.get(row.get("username") or "", 0))
        if holder is not None and holder != row["key"]:
            wrong[place] = [f"the account '{row['username']}' is tied to rater '{holder}' already"]
    if wrong:
        raise rows_error("rater", wrong)


def _write_raters(project: Project, writes: list[tuple[Any, ...]]) -> None:
    # Ties that are given up first: two raters may swap their accounts.
    Rater.objects.filter(project=project, key__in=[row[1] for row in writes]).update(user=None)
    rows = [(*row, False) for row in sorted(writes, key=lambda row: row[1])]
    bulk.upsert(
        "projects_rater",
        ("project_id", "key", "name", "kind", "group", "user_id", "paused"),
        rows,
        key=("project_id", "key"),
        update={name: f'excluded."{name}"' for name in ("name", "kind", "group", "user_id")},
    )
    if writes:
        Project.objects.filter(pk=project.pk).catalogue_changed()
    tied = {row[5] for row in writes if row[5] is not None}
    members = set(
        Member.objects.filter(project=project, user__in=tied).values_list("user_id", flat=True)
    )
    Member.objects.bulk_create(
        [
            Member(project=project, user_id=user_id, role=Member.Role.ANNOTATOR)
            for user_id in sorted(tied - members)
        ],
        ignore_conflicts=True,
    )
