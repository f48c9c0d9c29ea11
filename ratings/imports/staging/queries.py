"""A finished scratch file, for reading (see `staging`)."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .database import Beat, alive

_NAMED = (
    "SELECT said.id, question.key, item.key, rater.key, said.line, label.label, said.rated_at,"
    " said.comment, said.seconds, said.guidelines FROM said"
    " JOIN question ON question.id = said.question"
    " JOIN item ON item.id = said.item"
    " JOIN rater ON rater.id = said.rater"
    " JOIN label ON label.id = said.label"
)
_KEYS = {
    "item": "SELECT key, line FROM item ORDER BY id",
    "rater": "SELECT key, line FROM rater ORDER BY id",
}
_PAIRS = (
    "FROM said a JOIN said b ON b.id = a.id + ?"
    " AND b.question = a.question AND b.item = a.item AND b.rater = a.rater"
)
_CONTENT = (
    "SELECT content.id, item.key, content.line, content.body, content.attributes"
    " FROM content JOIN item ON item.id = content.item"
)
_GOLD = (
    "SELECT item.key, question.key, label.label FROM gold"
    " JOIN item ON item.id = gold.item"
    " JOIN question ON question.id = gold.question"
    " JOIN label ON label.id = gold.label"
)
_SKIPS = (
    "SELECT skip.id, item.key, rater.key, skip.rated_at, skip.reason FROM skip"
    " JOIN item ON item.id = skip.item JOIN rater ON rater.id = skip.rater"
)
_SAME_CONTENT = (
    "SELECT min(id), count(*) FROM content WHERE body IS NOT NULL"
    " GROUP BY body_digest HAVING count(*) > 1"
)
_DOUBLES = (
    "SELECT coalesce(sum(n - 1), 0) FROM (SELECT count(*) AS n FROM content"
    " WHERE body IS NOT NULL GROUP BY body_digest HAVING count(*) > 1)"
)
_COUNT = {
    "said": "SELECT count(*) FROM said",
    "untimed": "SELECT count(*) FROM said WHERE rated_at IS NULL",
    "content": "SELECT count(*) FROM content",
    "gold": "SELECT count(*) FROM gold",
    "skip": "SELECT count(*) FROM skip",
}
_DIFFERENT = (
    "SELECT item.key, min(raw_content.line), max(raw_content.line) FROM raw_content"
    " JOIN item ON item.id = raw_content.item WHERE digest IS NOT NULL"
    " GROUP BY raw_content.item HAVING count(DISTINCT digest) > 1 ORDER BY 2 LIMIT ?"
)


class Said(NamedTuple):
    """One staged judgement. ``rated_at`` in microseconds since 1970 or None; ``comment`` None where
    the file brings none; ``guidelines`` 0 where nobody knows."""

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


class Described(NamedTuple):
    """What is said of an item: JSON texts, or None where the file says nothing."""

    id: int
    item: str
    line: int
    body: str | None
    attributes: str | None


class Skipped(NamedTuple):
    id: int
    item: str
    rater: str
    rated_at: int | None
    reason: str


class Staged:
    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db

    def count(self, what: str) -> int:
        """Rows of ``said``, ``content``, ``gold`` or ``skip``; ``untimed``: judgements of which the
        file does not say when they were made."""
        return self.db.execute(_COUNT[what]).fetchone()[0]

    # --- judgements

    def first(self, count: int) -> list[Said]:
        """The judgements that stand first in the file."""
        rows = self.db.execute(f"{_NAMED} ORDER BY said.line, said.id LIMIT ?", (count,))
        return [Said(*row) for row in rows]

    def after(self, done: int) -> Iterator[Said]:
        """The judgements from the one after number ``done``, in order; all of one question, item
        and rater in a row."""
        return map(
            Said._make, self.db.execute(f"{_NAMED} WHERE said.id > ? ORDER BY said.id", (done,))
        )

    def newest_guidelines(self) -> int:
        """The highest version of guidelines that is named; 0 where none is."""
        found = self.db.execute("SELECT max(guidelines) FROM said").fetchone()[0]
        return found or 0

    def count_repeats(self) -> int:
        """Judgements whose item and rater stood in the file before."""
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
        """Judgements that repeat an item and rater for more than the given number of times."""
        found = self.db.execute(
            f"SELECT b.id {_PAIRS} ORDER BY b.id LIMIT ?", (times, limit)
        ).fetchall()
        return [
            Said(*self.db.execute(f"{_NAMED} WHERE said.id = ?", row).fetchone()) for row in found
        ]

    # --- items and raters

    def keys(self, table: str, size: int = 5000) -> Iterator[list[tuple[str, int]]]:
        """(key, first line) of all items or raters, in batches."""
        cursor = self.db.execute(_KEYS[table])
        while batch := cursor.fetchmany(size):
            yield batch

    def raters(self) -> dict[str, dict[str, str]]:
        """key -> kind, name, model and prompt_version of the raters of whom the file says more than
        the key."""
        rows = self.db.execute(
            "SELECT key, kind, name, model, prompt_version FROM rater WHERE kind != ''"
        )
        columns = ("kind", "name", "model", "prompt_version")
        return {key: dict(zip(columns, said, strict=True)) for key, *said in rows}

    def people(self, limit: int) -> dict[str, str]:
        """key -> name of the first raters that are no models."""
        found = "SELECT key, name FROM rater WHERE kind != 'model' ORDER BY id LIMIT ?"
        return dict(self.db.execute(found, (limit,)))

    def described(self, done: int, size: int) -> Iterator[list[Described]]:
        """What is said of items, from the one after number ``done``, in batches."""
        cursor = self.db.execute(f"{_CONTENT} WHERE content.id > ? ORDER BY content.id", (done,))
        while batch := cursor.fetchmany(size):
            yield [Described(*row) for row in batch]

    def first_described(self, limit: int) -> list[Described]:
        """The first items whose content the file brings."""
        rows = self.db.execute(
            f"{_CONTENT} WHERE content.body IS NOT NULL ORDER BY content.id LIMIT ?", (limit,)
        )
        return [Described(*row) for row in rows]

    def different(self, limit: int) -> list[tuple[str, int, int]]:
        """(key, first line, last line) of items that the file describes in two ways."""
        return self.db.execute(_DIFFERENT, (limit,)).fetchall()

    def count_doubles(self) -> int:
        """Items whose content stands under another key before."""
        return self.db.execute(_DOUBLES).fetchone()[0]

    def doubles(self, limit: int) -> list[list[str]]:
        """The first pairs of keys under which the same content stands."""
        pairs = []
        for first, _count in self.db.execute(f"{_SAME_CONTENT} ORDER BY 1 LIMIT ?", (limit,)):
            rows = self.db.execute(
                "SELECT item.key FROM content JOIN item ON item.id = content.item"
                " WHERE body_digest = (SELECT body_digest FROM content WHERE id = ?)"
                " ORDER BY content.id LIMIT 2",
                (first,),
            )
            pairs.append([key for (key,) in rows])
        return pairs

    # --- gold answers and skips

    def gold(self, items: list[str]) -> dict[str, dict[str, list[str]]]:
        """item -> question -> its right labels, of these items."""
        found: dict[str, dict[str, list[str]]] = {}
        for start in range(0, len(items), 500):
            part = items[start : start + 500]
            marks = ", ".join("?" * len(part))
            for item, question, label in self.db.execute(
                f"{_GOLD} WHERE item.key IN ({marks})", part
            ):
                found.setdefault(item, {}).setdefault(question, []).append(label)
        return found

    def skips(self, done: int, size: int) -> Iterator[list[Skipped]]:
        cursor = self.db.execute(f"{_SKIPS} WHERE skip.id > ? ORDER BY skip.id", (done,))
        while batch := cursor.fetchmany(size):
            yield [Skipped(*row) for row in batch]


@contextlib.contextmanager
def opened(path: Path, beat: Beat) -> Iterator[Staged]:
    """A finished scratch file, read-only; FileNotFoundError where it is gone."""
    if not path.is_file():
        raise FileNotFoundError(path)
    db: Any = alive(sqlite3.connect(f"file:{path}?mode=ro", uri=True), beat)
    with contextlib.closing(db):
        yield Staged(db)
