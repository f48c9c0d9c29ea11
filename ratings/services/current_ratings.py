"""Read and lock current ratings and the question's state before a write, in one round trip.

Plain SQL: every rating passes through here, and the ORM takes ten times as long to build these
queries.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from django.db import connection

from core.db import bulk
from projects.locks import build_shared_categories_lock
from projects.models import Question
from ratings.models import NO_CODE

from .judgement import STORED_TEXTS, Judgement, UnknownCode
from .permissions import ProjectArchived
from .rating_timestamps import ensure_aware


@dataclass(frozen=True, slots=True)
class CurrentVersion:
    """Number of the current version of guidelines or of an item, and since when it is current.

    ``since`` is None for a version that has always been current.
    """

    number: int
    since: datetime.datetime | None = None

    def get_number_for(
        self, answered_at: datetime.datetime | None, shown_number: int | None = None
    ) -> int | None:
        """Return the version number to store with an answer; None if unknown.

        ``answered_at`` is the time that the source sends, None for now: an answer from before the
        current version was created belongs to another version. ``shown_number`` is the version that
        the rater saw, if a form or file says so (0: unknown).
        """
        if shown_number is not None:
            return min(shown_number, self.number) or None
        if answered_at is not None and self.since is not None and answered_at < self.since:
            return None
        return self.number or None


# Up to this many ratings are read by one (prepared) statement each.
MAX_RATINGS_READ_SINGLY = 32
# Up to this many raters are listed in the query; with more, all ratings of the items are read.
MAX_RATERS_LISTED = 5

Pair = tuple[int, int]  # ids of an item and a rater
FIRST_VERSION = CurrentVersion(1)


class CurrentRating(NamedTuple):
    """Code, time and texts of a stored rating; one text for each of STORED_TEXTS."""

    code: int
    rated_at: datetime.datetime
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QuestionState:
    """State of a question before a write.

    The codes of the active categories, the project's time zone and guidelines version, and the
    versions of items.
    """

    codes: set[int]
    zone: ZoneInfo
    guidelines: CurrentVersion
    item_versions: dict[int, CurrentVersion]  # items whose content was ever changed
    archived: bool = False  # the project is archived

    def get_versions(
        self,
        item_id: int,
        answered_at: datetime.datetime | None,
        guidelines: int | None = None,
        item_version: int | None = None,
    ) -> tuple[int | None, int | None]:
        """Return the versions of guidelines and item content to store with an answer to the item.

        A version is None if it is unknown. ``answered_at``: the time that the source sends, None
        for now. ``guidelines`` and ``item_version``: the versions that the rater saw, None if the
        source does not say; then the time decides.
        """
        version = self.item_versions.get(item_id, FIRST_VERSION)
        return (
            self.guidelines.get_number_for(answered_at, guidelines),
            version.get_number_for(answered_at, item_version),
        )


_QUESTION_STATE_SQL = """
    SELECT c.code, p.time_zone, p.guidelines_version, g.created_at,
        p.archived_at IS NOT NULL
    FROM projects_category c
    JOIN projects_question q ON q.id = c.question_id
    JOIN projects_project p ON p.id = q.project_id
    LEFT JOIN projects_guidelineversion g
        ON g.project_id = p.id AND g.number = p.guidelines_version
    WHERE q.id = %s AND NOT c.retired
    """
_VERSIONS_SQL = "SELECT id, version, version_since FROM projects_item WHERE version > 1"
_SELECT_RATING_SQL = (
    f"SELECT {', '.join(('item_id', 'rater_id', 'code', 'rated_at', *STORED_TEXTS))}"
)
_ONE_RATING_SQL = (
    f"{_SELECT_RATING_SQL} FROM ratings_rating"
    " WHERE question_id = %s AND item_id = %s AND rater_id = %s"
)


def lock_and_get_current_ratings(
    question: Question, judgements: Sequence[Judgement], *, purging: bool = False
) -> tuple[QuestionState, dict[Pair, CurrentRating]]:
    """Return the question's state, and (item, rater) -> current rating of the judgements.

    Both are read while the lock of the categories is held, because the caller's copies may be
    outdated. Up to MAX_RATINGS_READ_SINGLY pairs are locked even if they have no rating yet: of
    several equal requests at once, one creates the rating and the others change nothing.

    Raises UnknownCode, and ProjectArchived unless a deletion withdraws ratings (``purging``).
    """
    # Sorted, so that two writers cannot deadlock.
    pairs = sorted({(judgement.item_id, judgement.rater_id) for judgement in judgements})
    locks = build_shared_categories_lock(question.pk)
    rating_queries: list[bulk.Statement]
    if len(pairs) <= MAX_RATINGS_READ_SINGLY:
        locks += _build_pair_locks(question.pk, pairs)
        rating_queries = [
            (_ONE_RATING_SQL + _get_lock_clause(), [question.pk, *pair]) for pair in pairs
        ]
    else:
        rating_queries = [_build_locking_select(question.pk, pairs)]
    items, item_ids = bulk.build_in_condition("id", sorted({item for item, _rater in pairs}))
    version_query = (f"{_VERSIONS_SQL} AND {items}", item_ids)
    statements = [*locks, (_QUESTION_STATE_SQL, [question.pk]), version_query, *rating_queries]
    results = bulk.execute_statements(statements)[len(locks) :]
    state = _build_question_state(question, results[0], results[1])
    if state.archived and not purging:
        raise ProjectArchived
    if unknown_codes := {judgement.code for judgement in judgements} - state.codes - {NO_CODE}:
        raise UnknownCode(
            f"no category of question '{question.key}' has the code {min(unknown_codes)}"
        )
    requested_pairs = set(pairs)
    return state, {
        (item, rater): CurrentRating(code, ensure_aware(rated_at), tuple(texts))
        for rows in results[2:]
        for item, rater, code, rated_at, *texts in rows
        if (item, rater) in requested_pairs
    }


def _build_pair_locks(question_id: int, pairs: Iterable[Pair]) -> list[bulk.Statement]:
    """Return statements for advisory locks of the pairs; none on SQLite, which has one writer."""
    if connection.vendor != "postgresql":
        return []
    names = (f"{question_id} {item} {rater}".encode() for item, rater in pairs)
    keys = [int.from_bytes(blake2b(name, digest_size=8).digest(), signed=True) for name in names]
    return [("SELECT pg_advisory_xact_lock(key) FROM unnest(%s::bigint[]) AS key", [keys])]


def _build_question_state(
    question: Question, rows: list[tuple[Any, ...]], versions: Any
) -> QuestionState:
    """Return the state of a question, with the versions of changed items.

    ``rows`` are those of the question's query: without any, the question has no active category.
    ``versions``: (item id, number, time) of each changed item.
    """
    item_versions = {
        item_id: CurrentVersion(number, ensure_aware(since)) for item_id, number, since in versions
    }
    if not rows:
        return QuestionState(
            set(), ZoneInfo(question.project.time_zone), CurrentVersion(0), item_versions
        )
    _code, zone, number, since, archived = rows[0]
    guidelines = CurrentVersion(number, since and ensure_aware(since))
    return QuestionState(
        {code for code, *_ in rows}, ZoneInfo(zone), guidelines, item_versions, bool(archived)
    )


def _build_locking_select(question_id: int, pairs: Iterable[Pair]) -> bulk.Statement:
    """Return the query that locks and reads the ratings of the pairs (item, rater).

    For more than MAX_RATERS_LISTED raters, it reads all ratings of these items.
    """
    items = {item for item, _rater in pairs}
    raters = {rater for _item, rater in pairs}
    condition, values = bulk.build_in_condition("item_id", sorted(items))
    parameters = [question_id, *values]
    if len(raters) <= MAX_RATERS_LISTED:
        rater_condition, values = bulk.build_in_condition("rater_id", sorted(raters))
        condition = f"{condition} AND {rater_condition}"
        parameters += values
    sql = f"{_SELECT_RATING_SQL} FROM ratings_rating WHERE question_id = %s AND {condition}"
    return f"{sql} ORDER BY item_id, rater_id{_get_lock_clause()}", parameters


def _get_lock_clause() -> str:
    """Return the clause that locks the rows of a SELECT; empty where the database has none."""
    return " FOR UPDATE" if connection.features.has_select_for_update else ""
