"""Queries of a finished staging database (see `database`)."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ratings.imports.mapping.name_tests import MEDIA_ROLES

from .database import Heartbeat, add_heartbeat

_RATINGS_SQL = (
    "SELECT rating.id, question.key, item.key, rater.key, rating.line, label.label,"
    " rating.rated_at, rating.comment, rating.seconds, rating.guidelines FROM rating"
    " JOIN question ON question.id = rating.question"
    " JOIN item ON item.id = rating.item"
    " JOIN rater ON rater.id = rating.rater"
    " JOIN label ON label.id = rating.label"
)
_KEYS_SQL = {
    "item": "SELECT key, line FROM item ORDER BY id",
    "rater": "SELECT key, line FROM rater ORDER BY id",
}
_REPEAT_PAIRS_SQL = (
    "FROM rating a JOIN rating b ON b.id = a.id + ?"
    " AND b.question = a.question AND b.item = a.item AND b.rater = a.rater"
)
_CONTENT_SQL = (
    "SELECT content.id, item.key, raw_content.line, raw_content.body, raw_content.attributes"
    " FROM content JOIN raw_content ON raw_content.rowid = content.raw"
    " JOIN item ON item.id = content.item"
)
_HAS_MEDIA_SQL = " OR ".join(f"instr(raw_content.body, '\"{role}\"')" for role in MEDIA_ROLES)
_GOLD_SQL = (
    "SELECT item.key, question.key, label.label FROM gold"
    " JOIN item ON item.id = gold.item"
    " JOIN question ON question.id = gold.question"
    " JOIN label ON label.id = gold.label"
)
_SKIPS_SQL = (
    "SELECT skip.id, item.key, rater.key, skip.rated_at, skip.reason FROM skip"
    " JOIN item ON item.id = skip.item JOIN rater ON rater.id = skip.rater"
)
_DUPLICATE_CONTENT_SQL = (
    "SELECT min(id), count(*) FROM content WHERE body_digest IS NOT NULL"
    " GROUP BY body_digest HAVING count(*) > 1"
)
# Items whose keys differ in case, in blanks, or as 001, 1 and 1.0 do.
_SIMILAR_ITEMS_SQL = (
    "SELECT group_concat(key, ' / ') FROM item GROUP BY CASE WHEN key GLOB '*[0-9].0'"
    " THEN substr(key, 1, length(key) - 2) WHEN key NOT GLOB '*[^0-9]*' THEN ltrim(key, '0')"
    " ELSE lower(replace(key, ' ', '')) END"
    " HAVING count(*) > 1 LIMIT ?"
)
_COUNT_DUPLICATES_SQL = (
    "SELECT coalesce(sum(n - 1), 0) FROM (SELECT count(*) AS n FROM content"
    " WHERE body_digest IS NOT NULL GROUP BY body_digest HAVING count(*) > 1)"
)
_COUNT_SQL = {
    "rating": "SELECT count(*) FROM rating",
    "without_time": "SELECT count(*) FROM rating WHERE rated_at IS NULL",
    "content": "SELECT count(*) FROM content",
    "gold": "SELECT count(*) FROM gold",
    "skip": "SELECT count(*) FROM skip",
}
_CONFLICTING_CONTENT_SQL = (
    "SELECT raw_content.item, item.key FROM raw_content"
    " JOIN item ON item.id = raw_content.item WHERE digest IS NOT NULL"
    " GROUP BY raw_content.item HAVING count(DISTINCT digest) > 1 ORDER BY min(raw_content.line)"
)
_DIFFERING_CONTENT_SQL = (
    "SELECT line, body, attributes, min(rowid) FROM raw_content"
    " WHERE item = ? AND digest IS NOT NULL GROUP BY digest ORDER BY 4 LIMIT 2"
)


class ConflictingItem(NamedTuple):
    """An item with different contents: its key, and the lines, bodies and attributes of each."""

    key: str
    lines: list[int]
    bodies: list[Mapping[str, Any]]
    attributes: list[Mapping[str, Any]]


class StagedRating(NamedTuple):
    """A rating in a staging database.

    ``rated_at`` is in microseconds since 1970 or None. ``comment`` is None if the file has none.
    ``guidelines`` is 0 if the file says that the version is unknown, None if it has none.
    """

    id: int
    question: str
    item: str
    rater: str
    line: int
    label: str
    rated_at: int | None
    comment: str | None
    seconds: float | None
    guidelines: int | None


class StagedContent(NamedTuple):
    """Content and attributes of an item as JSON texts, or None where the file has none."""

    id: int
    item: str
    line: int
    body: str | None
    attributes: str | None


class StagedSkip(NamedTuple):
    """An item that a rater skipped; ``rated_at`` in microseconds since 1970 or None."""

    id: int
    item: str
    rater: str
    rated_at: int | None
    reason: str


class StagedRows:
    """Reads the rows of a finished staging database."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db

    def count(self, table: str) -> int:
        """Return the number of rows of ``rating``, ``content``, ``gold`` or ``skip``.

        For ``without_time``, return the number of ratings without a time.
        """
        return self.db.execute(_COUNT_SQL[table]).fetchone()[0]

    # --- ratings

    def list_first_ratings(self, limit: int) -> list[StagedRating]:
        """Return the first ratings of the file."""
        rows = self.db.execute(f"{_RATINGS_SQL} ORDER BY rating.line, rating.id LIMIT ?", (limit,))
        return [StagedRating(*row) for row in rows]

    def iter_ratings(self, last_id: int) -> Iterator[StagedRating]:
        """Yield the ratings after id ``last_id``, in order.

        Those of one question, item and rater follow each other.
        """
        return map(
            StagedRating._make,
            self.db.execute(f"{_RATINGS_SQL} WHERE rating.id > ? ORDER BY rating.id", (last_id,)),
        )

    def get_newest_guidelines(self) -> int:
        """Return the highest version of the guidelines in the file, 0 if there is none."""
        newest = self.db.execute("SELECT max(guidelines) FROM rating").fetchone()[0]
        return newest or 0

    def count_repeats(self) -> int:
        """Return the number of ratings that repeat an earlier question, item and rater."""
        return self.db.execute(f"SELECT count(*) {_REPEAT_PAIRS_SQL}", (1,)).fetchone()[0]

    def list_repeats(self, limit: int) -> list[tuple[StagedRating, StagedRating]]:
        """Return the first pairs of consecutive ratings of the same question, item and rater."""
        rows = self.db.execute(
            f"SELECT a.id {_REPEAT_PAIRS_SQL} ORDER BY a.id LIMIT ?", (1, limit)
        ).fetchall()
        pairs = []
        for (rating_id,) in rows:
            first, second = self.db.execute(
                f"{_RATINGS_SQL} WHERE rating.id IN (?, ?) ORDER BY rating.id",
                (rating_id, rating_id + 1),
            )
            pairs.append((StagedRating(*first), StagedRating(*second)))
        return pairs

    def list_excess_repeats(self, times: int, limit: int) -> list[StagedRating]:
        """Return the ratings beyond the first ``times`` of a question, item and rater."""
        rows = self.db.execute(
            f"SELECT b.id {_REPEAT_PAIRS_SQL} ORDER BY b.id LIMIT ?", (times, limit)
        ).fetchall()
        return [
            StagedRating(*self.db.execute(f"{_RATINGS_SQL} WHERE rating.id = ?", row).fetchone())
            for row in rows
        ]

    # --- items and raters

    def iter_keys(self, table: str, size: int = 5000) -> Iterator[list[tuple[str, int]]]:
        """Yield (key, first line) of all items or raters in batches; ``table`` is item or rater."""
        cursor = self.db.execute(_KEYS_SQL[table])
        while batch := cursor.fetchmany(size):
            yield batch

    def get_rater_details(self) -> dict[str, dict[str, str]]:
        """Return key -> {kind, name, model, prompt_version} of the raters with such details."""
        rows = self.db.execute(
            "SELECT key, kind, name, model, prompt_version FROM rater WHERE kind != ''"
        )
        columns = ("kind", "name", "model", "prompt_version")
        return {key: dict(zip(columns, values, strict=True)) for key, *values in rows}

    def list_similar_items(self, limit: int) -> list[str]:
        """Return groups of item keys that are written alike, each as one text: Text 1 / text 1."""
        return [keys for (keys,) in self.db.execute(_SIMILAR_ITEMS_SQL, (limit,))]

    def get_person_names(self, limit: int) -> dict[str, str]:
        """Return key -> name of the first raters that are not models."""
        query = "SELECT key, name FROM rater WHERE kind != 'model' ORDER BY id LIMIT ?"
        return dict(self.db.execute(query, (limit,)))

    def iter_content(
        self, last_id: int, size: int, *, only_media: bool = False
    ) -> Iterator[list[StagedContent]]:
        """Yield the contents of items after id ``last_id``, in batches.

        ``only_media``: only those that may refer to images, audio or video.
        """
        condition = f"content.id > ? AND ({_HAS_MEDIA_SQL if only_media else 'TRUE'})"
        cursor = self.db.execute(
            f"{_CONTENT_SQL} WHERE {condition} ORDER BY content.id", (last_id,)
        )
        while batch := cursor.fetchmany(size):
            yield [StagedContent(*row) for row in batch]

    def list_first_content(self, limit: int) -> list[StagedContent]:
        """Return the first items with content."""
        rows = self.db.execute(
            f"{_CONTENT_SQL} WHERE content.body_digest IS NOT NULL ORDER BY content.id LIMIT ?",
            (limit,),
        )
        return [StagedContent(*row) for row in rows]

    def iter_conflicting_items(self) -> Iterator[ConflictingItem]:
        """Yield the items with different contents in the file, ordered by their first lines."""
        for item, key in self.db.execute(_CONFLICTING_CONTENT_SQL).fetchall():
            rows = self.db.execute(_DIFFERING_CONTENT_SQL, (item,)).fetchall()
            lines = [line for line, _body, _attributes, _rowid in rows]
            bodies = [json.loads(body or "{}") for _line, body, _attributes, _rowid in rows]
            attributes = [json.loads(text or "{}") for _line, _body, text, _rowid in rows]
            yield ConflictingItem(key, lines, bodies, attributes)

    def count_items_with_repeated_content(self) -> int:
        """Return the number of items whose content also occurs under an earlier key."""
        return self.db.execute(_COUNT_DUPLICATES_SQL).fetchone()[0]

    def list_duplicates(self, limit: int) -> list[list[str]]:
        """Return the first pairs of keys with the same content."""
        pairs = []
        for first, _count in self.db.execute(
            f"{_DUPLICATE_CONTENT_SQL} ORDER BY 1 LIMIT ?", (limit,)
        ):
            rows = self.db.execute(
                "SELECT item.key FROM content JOIN item ON item.id = content.item"
                " WHERE body_digest = (SELECT body_digest FROM content WHERE id = ?)"
                " ORDER BY content.id LIMIT 2",
                (first,),
            )
            pairs.append([key for (key,) in rows])
        return pairs

    # --- gold answers and skips

    def get_gold_answers(self, items: list[str]) -> dict[str, dict[str, list[str]]]:
        """Return item key -> {question key: gold labels} of these items."""
        labels_by_item: dict[str, dict[str, list[str]]] = {}
        for start in range(0, len(items), 500):
            batch = items[start : start + 500]
            placeholders = ", ".join("?" * len(batch))
            for item, question, label in self.db.execute(
                f"{_GOLD_SQL} WHERE item.key IN ({placeholders})", batch
            ):
                labels_by_item.setdefault(item, {}).setdefault(question, []).append(label)
        return labels_by_item

    def iter_skips(self, last_id: int, size: int) -> Iterator[list[StagedSkip]]:
        """Yield the skips after id ``last_id``, in batches."""
        cursor = self.db.execute(f"{_SKIPS_SQL} WHERE skip.id > ? ORDER BY skip.id", (last_id,))
        while batch := cursor.fetchmany(size):
            yield [StagedSkip(*row) for row in batch]


@contextlib.contextmanager
def open_staged_rows(path: Path, heartbeat: Heartbeat) -> Iterator[StagedRows]:
    """Open a finished staging database read-only, and yield its rows.

    ``heartbeat`` is called during long queries. Raises FileNotFoundError if the file is missing.
    """
    if not path.is_file():
        raise FileNotFoundError(path)
    db: Any = add_heartbeat(sqlite3.connect(f"file:{path}?mode=ro", uri=True), heartbeat)
    with contextlib.closing(db):
        yield StagedRows(db)
