"""Large files: memory use stays constant, and evicted keys are looked up again."""

from __future__ import annotations

import itertools
import sqlite3
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.readers import SOURCES
from ratings.imports.staging import database, file_validation, queries

COLUMNS = {"item": 0, "rater": 1, "label": 2}
MAPPING = ImportMapping("csv", "utf-8-sig", ",", "long", columns=COLUMNS)


def validate_lines(folder: Path, lines: list[str]) -> tuple[file_validation.FileReport, list[Any]]:
    path = folder / "file.csv"
    path.write_text("item,rater,label\n" + "".join(lines))
    scratch = database.StagingDatabase(folder / "file.rows", lambda: None)
    reader = SOURCES["csv"].open_reader(path, MAPPING)
    report = file_validation.validate_and_stage_file(
        reader, MAPPING, project=None, question=None, staging=scratch, heartbeat=lambda: None
    )
    scratch.close()
    with queries.open_staged_rows(folder / "file.rows", lambda: None) as staged_rows:
        return report, list(staged_rows.iter_ratings(0))


def test_evicted_keys_keep_their_ids(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(database, "MAX_CACHED_KEYS", 10)
    monkeypatch.setattr(file_validation, "RECORDS_PER_BATCH", 7)
    rows = [
        (f"i{number * 37 % 100}", f"r{number * 11 % 60}", "ab"[number % 2])
        for number in range(1000)
    ]
    report, staged_ratings = validate_lines(tmp_path, [",".join(row) + "\n" for row in rows])

    assert not report.problems
    assert (report.items, report.raters, report.rows) == (100, 60, 1000)
    assert sorted(
        (staged_rating.item, staged_rating.rater, staged_rating.label)
        for staged_rating in staged_ratings
    ) == sorted(rows)
    pairs = [(staged_rating.item, staged_rating.rater) for staged_rating in staged_ratings]
    assert len(list(dict.fromkeys(pairs))) == len(set(pairs)) == 1000 - report.repeats
    assert all(
        earlier.line < later.line
        for earlier, later in itertools.pairwise(staged_ratings)
        if earlier[1:4] == later[1:4]
    )


def test_memory_does_not_grow_with_the_file(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(database, "MAX_CACHED_KEYS", 1000)

    def measure_peak(rows: int) -> int:
        path = tmp_path / f"{rows}.csv"
        with path.open("w") as file:
            file.write("item,rater,label\n")
            file.writelines(
                f"item-{number},r{number % 7},{'ab'[number % 2]}\n" for number in range(rows)
            )
        scratch = database.StagingDatabase(tmp_path / f"{rows}.rows", lambda: None)
        tracemalloc.start()
        reader = SOURCES["csv"].open_reader(path, MAPPING)
        report = file_validation.validate_and_stage_file(
            reader, MAPPING, project=None, question=None, staging=scratch, heartbeat=lambda: None
        )
        _current, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        scratch.close()
        assert report.items == report.rows == rows
        return highest

    assert measure_peak(60_000) < 2 * measure_peak(10_000)


def test_lost_lease_ends_a_long_query(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(database, "INSTRUCTIONS_BETWEEN_HEARTBEATS", 100)
    is_lost = False

    def beat() -> None:
        if is_lost:
            raise RuntimeError

    scratch = database.StagingDatabase(tmp_path / "file.rows", beat)
    for number in range(5000):
        scratch.ratings.append(
            database.EncodedRating(1, number, 1, number, 1, None, None, None, None)
        )
    scratch.flush(save=True)
    is_lost = True
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        scratch.finish([(1, "q")], [(1, 1, "a")])
    scratch.close()
