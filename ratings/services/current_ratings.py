"""What stands before something is recorded: read in one journey, and locked until the transaction
ends.

Plain SQL: every rating passes here, and the ORM takes ten times as long to build these queries.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from django.db import connection

from core.db import bulk
from projects.locks import hold_categories
from projects.models import Question

from .days import aware
from .judgement import KEPT
from .versions import Version

# Up to so many ratings are asked for by a statement each, which the database knows already.
RATINGS_ASKED_SINGLY = 32
# Up to so many raters are asked for by name; of more, all ratings of the items are read.
RATERS_NAMED = 5

Pair = tuple[int, int]  # ids of an item and a rater
FIRST = Version(1)


class Standing(NamedTuple):
    """What a rating says. ``kept`` has a text for each of KEPT."""

    code: int
    rated_at: datetime.datetime
    kept: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InForce:
    """The codes of the active categories, the project's time zone, its guidelines, and the contents
    of items, as they are now."""

    codes: set[int]
    zone: ZoneInfo
    guidelines: Version
    items: dict[int, Version]  # those whose content was ever another one
    archived: bool = False  # the project rests

    def content_of(self, item_id: int) -> Version:
        return self.items.get(item_id, FIRST)


_IN_FORCE = """
    SELECT c.code, p.time_zone, p.guidelines_version, g.made_at,
        p.archived_at IS NOT NULL
    FROM projects_category c
    JOIN projects_question q ON q.id = c.question_id
    JOIN projects_project p ON p.id = q.project_id
    LEFT JOIN projects_guidelineversion g
        ON g.project_id = p.id AND g.number = p.guidelines_version
    WHERE q.id = %s AND NOT c.retired
    """
_VERSIONS = "SELECT id, version, version_since FROM projects_item WHERE version > 1"
_STANDING = f"SELECT {', '.join(('item_id', 'rater_id', 'code', 'rated_at', *KEPT))}"
_ONE = f"{_STANDING} FROM ratings_rating WHERE question_id = %s AND item_id = %s AND rater_id = %s"


def read_and_lock(question: Question, wanted: set[Pair]) -> tuple[InForce, dict[Pair, Standing]]:
    """What is in force, and what stands of the wanted ratings.

    Both are read with the lock of the categories in hand: the caller's copies may be older than a
    change. Of a few wanted ratings also those are locked that are not there yet: sent several times
    at once, one is new and the others change nothing.
    """
    holding = hold_categories(question.pk)
    if len(wanted) <= RATINGS_ASKED_SINGLY:
        holding += _holding_places(question.pk, wanted)
    statements = [*holding, (_IN_FORCE, [question.pk]), _asking_versions(wanted)]
    if len(wanted) <= RATINGS_ASKED_SINGLY:
        statements += _asking_singly(question.pk, wanted)
    else:
        statements.append(_asking_at_once(question.pk, wanted))
    in_force, versions, *parts = bulk.several(statements)[len(holding) :]
    standing: dict[Pair, Standing] = {}
    for part in parts:
        for item, rater, code, rated_at, *kept in part:
            if (item, rater) in wanted:
                standing[item, rater] = Standing(code, aware(rated_at), tuple(kept))
    return _in_force(question, in_force, versions), standing


def _holding_places(question_id: int, wanted: Iterable[Pair]) -> list[bulk.Statement]:
    """SQLite needs none: its writers stand in one line."""
    if connection.vendor != "postgresql":
        return []
    # In the order in which ratings are locked and written: nobody waits in a circle.
    names = (f"{question_id} {item} {rater}".encode() for item, rater in sorted(wanted))
    keys = [int.from_bytes(blake2b(name, digest_size=8).digest(), signed=True) for name in names]
    return [("SELECT pg_advisory_xact_lock(key) FROM unnest(%s::bigint[]) AS key", [keys])]


def _in_force(question: Question, rows: list[tuple[Any, ...]], versions: Any) -> InForce:
    items = {item: Version(number, aware(since)) for item, number, since in versions}
    if not rows:
        return InForce(set(), ZoneInfo(question.project.time_zone), Version(0), items)
    _code, zone, number, since, archived = rows[0]
    guidelines = Version(number, since and aware(since))
    return InForce({code for code, *_ in rows}, ZoneInfo(zone), guidelines, items, bool(archived))


def _asking_versions(wanted: Iterable[Pair]) -> bulk.Statement:
    condition, values = bulk.among("id", sorted({item for item, _rater in wanted}))
    return f"{_VERSIONS} AND {condition}", values


def _asking_singly(question_id: int, wanted: Iterable[Pair]) -> list[bulk.Statement]:
    # In one order everywhere, so that two writers never wait for each other in a circle.
    return [(_ONE + _lock(), [question_id, item, rater]) for item, rater in sorted(wanted)]


def _asking_at_once(question_id: int, wanted: Iterable[Pair]) -> bulk.Statement:
    items = {item for item, _rater in wanted}
    raters = {rater for _item, rater in wanted}
    condition, values = bulk.among("item_id", sorted(items))
    parameters = [question_id, *values]
    if len(raters) <= RATERS_NAMED:
        of_raters, values = bulk.among("rater_id", sorted(raters))
        condition = f"{condition} AND {of_raters}"
        parameters += values
    sql = f"{_STANDING} FROM ratings_rating WHERE question_id = %s AND {condition}"
    return f"{sql} ORDER BY item_id, rater_id{_lock()}", parameters


def _lock() -> str:
    return " FOR UPDATE" if connection.features.has_select_for_update else ""
