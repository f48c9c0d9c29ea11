"""A scratch file between the check and the writing: the file's rows by number, ordered by item and
rater.

It keeps memory flat whatever the size, puts everything that a file says about one item and rater
side by side wherever it stood, and lets the writing go on at any row. It is made anew by every
check and removed after the import; losing it costs a check, never a rating.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
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
CREATE TABLE rater (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, line INTEGER NOT NULL);
CREATE TABLE label (id INTEGER PRIMARY KEY, label TEXT NOT NULL UNIQUE);
CREATE TABLE raw (
    item INTEGER, rater INTEGER, line INTEGER, label INTEGER, rated_at INTEGER, comment TEXT
);
"""
_ORDERED = """
CREATE TABLE said (
    id INTEGER PRIMARY KEY,
    item INTEGER, rater INTEGER, line INTEGER, label INTEGER, rated_at INTEGER, comment TEXT
);
INSERT INTO said (item, rater, line, label, rated_at, comment)
    SELECT item, rater, line, label, rated_at, comment FROM raw ORDER BY item, rater, line;
DROP TABLE raw;
"""
_NAMED = (
    "SELECT said.id, item.key, rater.key, said.line, label.label, said.rated_at, said.comment"
    " FROM said"
    " JOIN item ON item.id = said.item"
    " JOIN rater ON rater.id = said.rater"
    " JOIN label ON label.id = said.label"
)
_STORE = {
    "item": "INSERT INTO item (id, key, line) VALUES (?, ?, ?)",
    "rater": "INSERT INTO rater (id, key, line) VALUES (?, ?, ?)",
}
_STORED = {
    "item": "SELECT id FROM item WHERE key = ?",
    "rater": "SELECT id FROM rater WHERE key = ?",
}
_KEYS = {
    "item": "SELECT key, line FROM item ORDER BY id",
    "rater": "SELECT key, line FROM rater ORDER BY id",
}
_PAIRS = "FROM said a JOIN said b ON b.id = a.id + ? AND b.item = a.item AND b.rater = a.rater"


class Said(NamedTuple):
    """One staged row. ``rated_at`` in microseconds since 1970 or None; ``comment`` None where no
    column brings one."""

    id: int
    item: str
    rater: str
    line: int
    label: str
    rated_at: int | None
    comment: str | None


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
    """A new scratch file being filled."""

    def __init__(self, path: Path, beat: Beat) -> None:
        self.path = path
        path.unlink(missing_ok=True)
        self.db = _alive(sqlite3.connect(path, isolation_level=None), beat)
        self.db.executescript(_TABLES)
        self.items = Keys(self.db, "item")
        self.raters = Keys(self.db, "rater")

    def add(self, rows: Sequence[tuple[int, int, int, int, int | None, str | None]]) -> None:
        """Rows as (item number, rater number, line, label number, rated_at, comment)."""
        self.db.execute("BEGIN")
        self.items.flush()
        self.raters.flush()
        self.db.executemany("INSERT INTO raw VALUES (?, ?, ?, ?, ?, ?)", rows)
        self.db.execute("COMMIT")

    def finish(self, labels: Sequence[tuple[int, str]]) -> None:
        """Order the rows; ``labels`` are (number, label) of every number used."""
        self.db.executemany("INSERT INTO label (id, label) VALUES (?, ?)", labels)
        self.db.executescript(_ORDERED)

    def close(self) -> None:
        self.db.close()


class Staged:
    """A finished scratch file, for reading."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db

    def first(self, count: int) -> list[Said]:
        """The rows that stand first in the file."""
        rows = self.db.execute(f"{_NAMED} ORDER BY said.line, said.id LIMIT ?", (count,))
        return [Said(*row) for row in rows]

    def after(self, done: int) -> Iterator[Said]:
        """The rows from the one after number ``done``, in order; all of one item and rater in a
        row."""
        return map(
            Said._make, self.db.execute(f"{_NAMED} WHERE said.id > ? ORDER BY said.id", (done,))
        )

    def keys(self, table: str, size: int = 5000) -> Iterator[list[tuple[str, int]]]:
        """(key, first line) of all items or raters, in batches."""
        cursor = self.db.execute(_KEYS[table])
        while batch := cursor.fetchmany(size):
            yield batch

    def count_repeats(self) -> int:
        """Rows whose item and rater stood in the file before."""
        return self.db.execute(f"SELECT count(*) {_PAIRS}", (1,)).fetchone()[0]

    def repeats(self, limit: int) -> list[tuple[Said, Said]]:
        """The first neighbours that say something about the same item and rater."""
        found = self.db.execute(
            f"SELECT a.id {_PAIRS} ORDER BY a.id LIMIT ?", (1, limit)
        ).fetchall()
        pairs = []
        for (number,) in found:
            one, other = self.db.execute(
                f"{_NAMED} WHERE said.id IN (?, ?) ORDER BY said.id", (number, number + 1)
            )
            pairs.append((Said(*one), Said(*other)))
        return pairs

    def beyond(self, times: int, limit: int) -> list[Said]:
        """Rows that repeat an item and rater for more than the given number of times."""
        found = self.db.execute(
            f"SELECT b.id {_PAIRS} ORDER BY b.id LIMIT ?", (times, limit)
        ).fetchall()
        return [
            Said(*self.db.execute(f"{_NAMED} WHERE said.id = ?", row).fetchone()) for row in found
        ]


@contextlib.contextmanager
def opened(path: Path, beat: Beat) -> Iterator[Staged]:
    """A finished scratch file, read-only; FileNotFoundError where it is gone."""
    if not path.is_file():
        raise FileNotFoundError(path)
    with contextlib.closing(_alive(sqlite3.connect(f"file:{path}?mode=ro", uri=True), beat)) as db:
        yield Staged(db)


def _alive(db: sqlite3.Connection, beat: Beat) -> sqlite3.Connection:
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
