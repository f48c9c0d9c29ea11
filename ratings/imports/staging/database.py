"""A scratch file between the check and the writing: what the file says, by number, in an order
that suits the writing.

It keeps memory flat whatever the size, puts everything that a file says about one item and rater
side by side wherever it stood, and lets the writing go on at any row. It is made anew by every
check and removed after the import; losing it costs a check, never a rating. `staged` reads it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

REMEMBERED = 100_000  # keys kept in memory; beyond, the scratch file is asked
TICK = 500_000  # steps of SQLite's machine between two signs of life: some milliseconds

Beat = Callable[[], None]  # tells that the worker lives; raises when the work is no longer its own

_TABLES = """
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
CREATE TABLE raw (
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
# An item that the file describes differently in two places is a problem; the first one is kept
# here so that it can be shown.
_ORDERED = """
CREATE TABLE said (
    id INTEGER PRIMARY KEY,
    question INTEGER, item INTEGER, rater INTEGER, line INTEGER, label INTEGER,
    rated_at INTEGER, comment TEXT, seconds REAL, guidelines INTEGER
);
INSERT INTO said (question, item, rater, line, label, rated_at, comment, seconds, guidelines)
    SELECT question, item, rater, line, label, rated_at, comment, seconds, guidelines
    FROM raw ORDER BY question, item, rater, line;
DROP TABLE raw;
CREATE TABLE gold (item INTEGER, question INTEGER, label INTEGER, line INTEGER,
    PRIMARY KEY (item, question, label)) WITHOUT ROWID;
INSERT OR IGNORE INTO gold SELECT item, question, label, line FROM raw_gold ORDER BY line;
DROP TABLE raw_gold;
CREATE INDEX content_by_item ON raw_content (item);
INSERT INTO raw_content (item, line)
    SELECT item, min(line) FROM gold
    WHERE item NOT IN (SELECT item FROM raw_content) GROUP BY item;
CREATE TABLE content (
    id INTEGER PRIMARY KEY, item INTEGER, line INTEGER, body TEXT, attributes TEXT, body_digest BLOB
);
INSERT INTO content (item, line, body, attributes, body_digest)
    SELECT item, line, body, attributes, body_digest FROM (
        SELECT *, row_number() OVER (PARTITION BY item ORDER BY body IS NULL, rowid) AS place
        FROM raw_content
    ) WHERE place = 1 ORDER BY item;
CREATE INDEX content_by_digest ON content (body_digest) WHERE body IS NOT NULL;
"""
_STORE = {
    "item": "INSERT INTO item (id, key, line) VALUES (?, ?, ?)",
    "rater": "INSERT INTO rater (id, key, line) VALUES (?, ?, ?)",
}
_STORED = {
    "item": "SELECT id FROM item WHERE key = ?",
    "rater": "SELECT id FROM rater WHERE key = ?",
}


class Row(NamedTuple):
    """A judgement as numbers; ``rated_at`` in microseconds since 1970."""

    question: int
    item: int
    rater: int
    line: int
    label: int
    rated_at: int | None
    comment: str | None
    seconds: float | None
    guidelines: int | None


class Content(NamedTuple):
    """What the file says of an item, as JSON texts; None where it says nothing."""

    item: int
    line: int
    body: str | None
    attributes: str | None
    digest: bytes | None
    body_digest: bytes | None


class Keys:
    """Numbers for the keys of one table, in the order of their first lines."""

    def __init__(self, db: sqlite3.Connection, table: str) -> None:
        self.db = db
        self.table = table
        self.count = 0
        self.known: dict[str, int] = {}
        self.new: list[tuple[int, str, int]] = []
        self.forgot = False

    def number(self, key: str, line: int) -> int:
        found = self.known.get(key)
        if found is None:
            found = self._stored(key) if self.forgot else None
            if found is None:
                self.count += 1
                found = self.count
                self.new.append((found, key, line))
            self.known[key] = found
        return found

    def _stored(self, key: str) -> int | None:
        row = self.db.execute(_STORED[self.table], (key,)).fetchone()
        return row[0] if row else None

    def flush(self) -> None:
        self.db.executemany(_STORE[self.table], self.new)
        self.new.clear()
        if len(self.known) > REMEMBERED:
            self.known.clear()
            self.forgot = True


class Staging:
    """A new scratch file being filled. What is put aside is written by ``flush``."""

    def __init__(self, path: Path, beat: Beat) -> None:
        self.path = path
        path.unlink(missing_ok=True)
        self.db = alive(sqlite3.connect(path, isolation_level=None), beat)
        self.db.executescript(_TABLES)
        self.items = Keys(self.db, "item")
        self.raters = Keys(self.db, "rater")
        self.rows: list[Row] = []
        self.contents: list[Content] = []
        self.golds: list[tuple[int, int, int, int]] = []
        self.skips: list[tuple[int, int, int, int | None, str]] = []
        # what the file says of raters: kind, name, model, version of its prompt
        self.kinds: dict[int, tuple[str, str, str, str]] = {}
        # number of an item -> digest of what was last said of it: a file may say it in every row
        self.described: dict[int, bytes | None] = {}

    def describe(self, content: Content) -> None:
        """Put aside what the file says of an item, unless it said just that before."""
        if self.described.get(content.item, b"") != content.digest:
            self.described[content.item] = content.digest
            self.contents.append(content)

    def flush(self, *, keep: bool) -> None:
        """Write what was put aside, or forget it: once there is a problem, nothing is needed."""
        if keep:
            self.db.execute("BEGIN")
            self.items.flush()
            self.raters.flush()
            self.db.executemany("INSERT INTO raw VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", self.rows)
            self.db.executemany("INSERT INTO raw_content VALUES (?, ?, ?, ?, ?, ?)", self.contents)
            self.db.executemany("INSERT INTO raw_gold VALUES (?, ?, ?, ?)", self.golds)
            self.db.executemany(
                "INSERT INTO skip (item, rater, line, rated_at, reason) VALUES (?, ?, ?, ?, ?)",
                self.skips,
            )
            self.db.execute("COMMIT")
        for aside in (self.rows, self.contents, self.golds, self.skips):
            aside.clear()
        if len(self.described) > REMEMBERED:
            self.described.clear()

    def drop(self, question: int) -> int:
        """Forget what is staged of a question; how many judgements that were."""
        self.db.execute("DELETE FROM raw_gold WHERE question = ?", (question,))
        return self.db.execute("DELETE FROM raw WHERE question = ?", (question,)).rowcount

    def finish(
        self, questions: Sequence[tuple[int, str]], labels: Sequence[tuple[int, int, str]]
    ) -> None:
        """Order what was staged. ``questions``: (number, key); ``labels``: (number, number of the
        question, label)."""
        self.flush(keep=True)
        self.db.executemany("INSERT INTO question (id, key) VALUES (?, ?)", questions)
        self.db.executemany("INSERT INTO label (id, question, label) VALUES (?, ?, ?)", labels)
        self.db.executemany(
            "UPDATE rater SET kind = ?, name = ?, model = ?, prompt_version = ? WHERE id = ?",
            [(*said, number) for number, said in self.kinds.items()],
        )
        self.db.executescript(_ORDERED)

    def close(self) -> None:
        self.db.close()


def alive(db: sqlite3.Connection, beat: Beat) -> sqlite3.Connection:
    """Sorting millions of rows takes longer than a worker may be silent: beat meanwhile; an error
    ends the query."""

    def tick() -> int:
        try:
            beat()
        # it cannot pass through SQLite; the worker meets it again at its own next beat
        except Exception:
            return 1
        return 0

    db.set_progress_handler(tick, TICK)
    return db
