"""The staging database: a scratch SQLite file with the validated records of one import.

Validation fills it and writing reads it (`queries`). Keys are replaced by ids, and rows have the
order in which they are written. It limits the memory used whatever the size of the file, puts all
rows of one item and rater side by side wherever they were, and allows writing to resume at any row.
Every validation creates a new one, and it is deleted after the import. If it is lost, the file is
validated again; no rating is lost.
"""

from __future__ import annotations

import datetime
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MICROSECOND = datetime.timedelta(microseconds=1)
MAX_CACHED_KEYS = 100_000  # keys kept in memory; further ones are looked up in the scratch file
INSTRUCTIONS_BETWEEN_HEARTBEATS = (
    500_000  # instructions of SQLite's virtual machine, which take some milliseconds
)

# Reports that the worker is alive; raises when the worker has lost its lease.
Heartbeat = Callable[[], None]

_CREATE_TABLES_SQL = """
PRAGMA journal_mode=OFF;
PRAGMA synchronous=OFF;
PRAGMA cache_size=-8000;
CREATE TABLE item (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, line INTEGER NOT NULL);
CREATE TABLE rater (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, line INTEGER NOT NULL,
    kind TEXT NOT NULL DEFAULT '', name TEXT NOT NULL DEFAULT '',
    model TEXT NOT NULL DEFAULT '', prompt_version TEXT NOT NULL DEFAULT ''
);
CREATE TABLE question (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE);
CREATE TABLE label (id INTEGER PRIMARY KEY, question INTEGER NOT NULL, label TEXT NOT NULL);
CREATE TABLE raw_rating (
    question INTEGER, item INTEGER, rater INTEGER, line INTEGER, label INTEGER,
    rated_at INTEGER, comment TEXT, seconds REAL, guidelines INTEGER
);
CREATE TABLE raw_content (
    item INTEGER, line INTEGER, body TEXT, attributes TEXT, digest BLOB, body_digest BLOB
);
CREATE TABLE raw_gold (item INTEGER, question INTEGER, label INTEGER, line INTEGER);
CREATE TABLE skip (
    id INTEGER PRIMARY KEY, item INTEGER, rater INTEGER, line INTEGER, rated_at INTEGER, reason TEXT
);
"""
# Ratings of one item and rater are in the order of their times where all of them have one, else in
# that of their lines. The last one becomes the rater's current rating.
_TIME_ORDER_SQL = (
    "CASE WHEN count(rated_at) OVER same_rating = count(*) OVER same_rating THEN rated_at END, "
)
# An item with two different contents in the file is a problem; the first content is kept for the
# preview.
_ORDER_ROWS_SQL = """
CREATE TABLE rating (
    id INTEGER PRIMARY KEY,
    question INTEGER, item INTEGER, rater INTEGER, line INTEGER, label INTEGER,
    rated_at INTEGER, comment TEXT, seconds REAL, guidelines INTEGER
);
INSERT INTO rating (question, item, rater, line, label, rated_at, comment, seconds, guidelines)
    SELECT question, item, rater, line, label, rated_at, comment, seconds, guidelines
    FROM raw_rating ORDER BY question, item, rater, line;
DROP TABLE raw_rating;
CREATE TABLE gold (item INTEGER, question INTEGER, label INTEGER, line INTEGER,
    PRIMARY KEY (item, question, label)) WITHOUT ROWID;
INSERT OR IGNORE INTO gold SELECT item, question, label, line FROM raw_gold ORDER BY line;
DROP TABLE raw_gold;
CREATE INDEX content_by_item ON raw_content (item);
INSERT INTO raw_content (item, line)
    SELECT item, min(line) FROM gold
    WHERE item NOT IN (SELECT item FROM raw_content) GROUP BY item;
CREATE TABLE content (id INTEGER PRIMARY KEY, item INTEGER, raw INTEGER, body_digest BLOB);
INSERT INTO content (item, raw, body_digest)
    SELECT item, raw, body_digest FROM (
        SELECT item, rowid AS raw, body_digest,
            row_number() OVER (PARTITION BY item ORDER BY body IS NULL, rowid) AS place
        FROM raw_content
    ) WHERE place = 1 ORDER BY item;
CREATE INDEX content_by_digest ON content (body_digest) WHERE body_digest IS NOT NULL;
"""
_ORDER_TIMED_ROWS_SQL = _ORDER_ROWS_SQL.replace(
    "FROM raw_rating ORDER BY question, item, rater, line;",
    "FROM raw_rating WINDOW same_rating AS (PARTITION BY question, item, rater)"
    f" ORDER BY question, item, rater, {_TIME_ORDER_SQL}line;",
)
_INSERT_KEY_SQL = {
    "item": "INSERT INTO item (id, key, line) VALUES (?, ?, ?)",
    "rater": "INSERT INTO rater (id, key, line) VALUES (?, ?, ?)",
}
_SELECT_KEY_SQL = {
    "item": "SELECT id FROM item WHERE key = ?",
    "rater": "SELECT id FROM rater WHERE key = ?",
}


_MERGE_LABELS_SQL = (
    (
        "DELETE FROM raw_rating WHERE label IN (SELECT old FROM merged WHERE new IS NULL)",
        "UPDATE raw_rating SET label = (SELECT new FROM merged WHERE old = label)"
        " WHERE label IN (SELECT old FROM merged)",
    ),
    (
        "DELETE FROM raw_gold WHERE label IN (SELECT old FROM merged WHERE new IS NULL)",
        "UPDATE raw_gold SET label = (SELECT new FROM merged WHERE old = label)"
        " WHERE label IN (SELECT old FROM merged)",
    ),
)


class EncodedRating(NamedTuple):
    """A rating with staged ids; ``rated_at`` in microseconds since 1970."""

    question: int
    item: int
    rater: int
    line: int
    label: int
    rated_at: int | None
    comment: str | None
    seconds: float | None
    guidelines: int | None


class EncodedContent(NamedTuple):
    """Content and attributes of an item as JSON texts; None where the file has none."""

    item: int
    line: int
    body: str | None
    attributes: str | None
    digest: bytes | None
    body_digest: bytes | None


class StagedKeys:
    """Assigns ids to the keys of items or raters, in the order of their first appearance."""

    def __init__(self, db: sqlite3.Connection, table: str) -> None:
        self.db = db
        self.table = table
        self.count = 0
        self.cached_ids: dict[str, int] = {}
        self.unsaved: list[tuple[int, str, int]] = []
        self.was_cache_cleared = False

    def get_or_create_id(self, key: str, line: int) -> int:
        """Return the id of a key, a new one on its first appearance."""
        key_id = self.cached_ids.get(key)
        if key_id is None:
            key_id = self._load_id(key) if self.was_cache_cleared else None
            if key_id is None:
                self.count += 1
                key_id = self.count
                self.unsaved.append((key_id, key, line))
            self.cached_ids[key] = key_id
        return key_id

    def _load_id(self, key: str) -> int | None:
        """Return the id of a key in the scratch file, or None."""
        row = self.db.execute(_SELECT_KEY_SQL[self.table], (key,)).fetchone()
        return row[0] if row else None

    def flush(self) -> None:
        """Write new keys to the scratch file; clear the cache when it is too large."""
        self.db.executemany(_INSERT_KEY_SQL[self.table], self.unsaved)
        self.unsaved.clear()
        if len(self.cached_ids) > MAX_CACHED_KEYS:
            self.cached_ids.clear()
            self.was_cache_cleared = True


class StagingDatabase:
    """A new scratch file that collects rows in memory; `flush` writes them."""

    def __init__(self, path: Path, heartbeat: Heartbeat) -> None:
        self.path = path
        path.unlink(missing_ok=True)
        self.db = add_heartbeat(sqlite3.connect(path, isolation_level=None), heartbeat)
        self.db.executescript(_CREATE_TABLES_SQL)
        self.items = StagedKeys(self.db, "item")
        self.raters = StagedKeys(self.db, "rater")
        self.ratings: list[EncodedRating] = []
        self.contents: list[EncodedContent] = []
        self.gold_answers: list[tuple[int, int, int, int]] = []
        self.skips: list[tuple[int, int, int, int | None, str]] = []
        # Rater id -> kind, name, model, prompt version.
        self.rater_details: dict[int, tuple[str, str, str, str]] = {}
        # Item id -> digest of its last content, because a file may repeat the content in each row.
        self.content_digests: dict[int, bytes | None] = {}

    def add_content(self, content: EncodedContent) -> None:
        """Collect the content of an item, unless it equals the item's last content."""
        if self.content_digests.get(content.item, b"") != content.digest:
            self.content_digests[content.item] = content.digest
            self.contents.append(content)

    def flush(self, *, save: bool) -> None:
        """Write the collected rows if ``save``, else discard them; clear the lists in any case.

        New keys, and the details of raters, stay in memory until they are written.
        """
        if save:
            self.db.execute("BEGIN")
            self.items.flush()
            self.raters.flush()
            self.db.executemany(
                "INSERT INTO raw_rating VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", self.ratings
            )
            self.db.executemany("INSERT INTO raw_content VALUES (?, ?, ?, ?, ?, ?)", self.contents)
            self.db.executemany("INSERT INTO raw_gold VALUES (?, ?, ?, ?)", self.gold_answers)
            self.db.executemany(
                "INSERT INTO skip (item, rater, line, rated_at, reason) VALUES (?, ?, ?, ?, ?)",
                self.skips,
            )
            self.db.execute("COMMIT")
        for collected in (self.ratings, self.contents, self.gold_answers, self.skips):
            collected.clear()
        if len(self.content_digests) > MAX_CACHED_KEYS:
            self.content_digests.clear()

    def delete_question(self, question: int) -> int:
        """Delete the staged rows of a question and return the number of its ratings."""
        self.db.execute("DELETE FROM raw_gold WHERE question = ?", (question,))
        return self.db.execute("DELETE FROM raw_rating WHERE question = ?", (question,)).rowcount

    def merge_labels(self, ids: Mapping[int, int | None]) -> None:
        """Replace label ids in the staged rows by ``ids``; delete rows whose id maps to None."""
        if not ids:
            return
        self.db.execute("CREATE TEMP TABLE merged (old INTEGER PRIMARY KEY, new INTEGER)")
        self.db.executemany("INSERT INTO merged VALUES (?, ?)", ids.items())
        for delete_rows, update_rows in _MERGE_LABELS_SQL:
            self.db.execute(delete_rows)
            self.db.execute(update_rows)
        self.db.execute("DROP TABLE merged")

    def finish(
        self, questions: Sequence[tuple[int, str]], labels: Sequence[tuple[int, int, str]]
    ) -> None:
        """Write questions, labels and raters, and store the ratings in their final order.

        ``questions`` are (id, key), ``labels`` are (id, question id, label).
        """
        self.flush(save=True)
        self.db.executemany("INSERT INTO question (id, key) VALUES (?, ?)", questions)
        self.db.executemany("INSERT INTO label (id, question, label) VALUES (?, ?, ?)", labels)
        self.db.executemany(
            "UPDATE rater SET kind = ?, name = ?, model = ?, prompt_version = ? WHERE id = ?",
            [(*details, rater_id) for rater_id, details in self.rater_details.items()],
        )
        self._order_rows()

    def _order_rows(self) -> None:
        """Build the final tables of ratings, gold answers and contents from the raw ones.

        The ratings of an item by a rater are in the order of time if all of them have one, else in
        the order of lines.
        """
        has_times = self.db.execute(
            "SELECT EXISTS (SELECT 1 FROM raw_rating WHERE rated_at IS NOT NULL)"
        ).fetchone()[0]
        self.db.executescript(_ORDER_TIMED_ROWS_SQL if has_times else _ORDER_ROWS_SQL)

    def close(self) -> None:
        self.db.close()


def add_heartbeat(db: sqlite3.Connection, heartbeat: Heartbeat) -> sqlite3.Connection:
    """Make the connection call ``heartbeat`` during long queries, and return the connection.

    Sorting millions of rows takes longer than the timeout of a worker's lease. An exception of the
    heartbeat interrupts the query, which then raises sqlite3.OperationalError.
    """

    def call_heartbeat() -> int:
        try:
            heartbeat()
        # The error cannot pass through SQLite; the worker's own next heartbeat raises it again.
        except Exception:
            return 1
        return 0

    db.set_progress_handler(call_heartbeat, INSTRUCTIONS_BETWEEN_HEARTBEATS)
    return db


# --- times: microseconds since 1970


def to_microseconds(value: datetime.datetime) -> int:
    """Return a datetime as microseconds since 1970."""
    return (value - EPOCH) // MICROSECOND


def to_datetime(microseconds: int | None) -> datetime.datetime | None:
    """Return the datetime of a number of microseconds since 1970, or None."""
    return None if microseconds is None else EPOCH + microseconds * MICROSECOND


def format_timestamp(microseconds: int | None) -> str:
    """Return the time as ISO 8601 text in UTC; empty if there is none (None)."""
    value = to_datetime(microseconds)
    return "" if value is None else value.isoformat().replace("+00:00", "Z")
