"""Bytes per rating, per pair of raters and per rater and day, with indexes.

    python benchmarks/bench_storage.py [--ratings 100000] [--raters 1000] [--days 730] [--sparse]
    python benchmarks/bench_storage.py --ratings 200000 --raters 5000 --days 400 --sparse

The second one is a crowd with little overlap: hardly two raters meet twice.

It measures a whole database, so give it one of its own: a temporary SQLite file when neither
DATABASE_URL nor DATA_DIR is set, or a new PostgreSQL by `python tests/tools/with_services.py
--postgres python benchmarks/bench_storage.py`. A project of this size from an earlier run is
reused. PostgreSQL is measured after VACUUM, as by autovacuum: the space of rows that counting has
replaced stays in the table for later ones.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import large_project

# Unit of which rows are counted -> tables that grow with it.
TABLES_BY_UNIT = {
    "rating": ("ratings_rating",),
    "line of history": ("ratings_revision",),
    "item": ("projects_item",),
    "pair that met": ("metrics_pairtally",),
    "rater and day": ("metrics_peertally", "metrics_raterresult"),
    "day": ("metrics_patterntally", "metrics_result"),
}

# Sums printed in MB and in bytes per rating -> tables; an empty tuple means all tables.
TABLES_BY_SUM: dict[str, tuple[str, ...]] = {
    "raters against their peers, and what is read off": TABLES_BY_UNIT["rater and day"],
    "the same with the pairs": TABLES_BY_UNIT["rater and day"] + TABLES_BY_UNIT["pair that met"],
    "all tables": (),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ratings", type=int, default=100_000)
    parser.add_argument("--raters", type=int, default=1_000)
    parser.add_argument("--days", type=int, default=730)
    parser.add_argument("--sparse", action="store_true")
    options = parser.parse_args()
    with large_project.open_database():
        project = large_project.get_or_create_project(
            ratings=options.ratings,
            raters=options.raters,
            days=options.days,
            sparse=options.sparse,
        )
        if project.__class__.objects.count() > 1:
            sys.exit("This database holds other projects too: give the benchmark one of its own.")
        print_report(project, options)


def print_report(project: Any, options: Any) -> None:
    from django.db import connection

    sizes = measure_postgresql() if connection.vendor == "postgresql" else measure_sqlite()
    row_counts = count_rows(project)
    print(
        f"{connection.vendor}: {options.ratings:,} ratings, {options.raters:,} raters, "
        f"{options.days} days\n"
    )
    print("| of a | rows | bytes each | with indexes | MB |")
    print("|---|---|---|---|---|")
    for name, tables in TABLES_BY_UNIT.items():
        without_indexes, with_indexes = (
            sum(sizes[table][column] for table in tables) for column in (0, 1)
        )
        n_rows = row_counts[name]
        print(
            f"| {name} | {n_rows:,} | {without_indexes / n_rows:.0f} | {with_indexes / n_rows:.0f} | "
            f"{with_indexes / 1e6:.0f} |"
        )
    print("\n| sum | MB | bytes a rating |\n|---|---|---|")
    for name, tables in TABLES_BY_SUM.items():
        size = sum(sizes[table][1] for table in tables or sizes)
        print(f"| {name} | {size / 1e6:.0f} | {size / options.ratings:.0f} |")


def count_rows(project: Any) -> dict[str, int]:
    from metrics.models import ALL_DAYS, PairTally, PatternTally, PeerTally
    from ratings.models import Rating, Revision

    question = project.questions.get()
    return {
        "rating": Rating.objects.filter(question=question).count(),
        "line of history": Revision.objects.filter(rating__question=question).count(),
        "item": project.items.count(),
        "pair that met": PairTally.objects.filter(question=question).count(),
        "rater and day": PeerTally.objects.filter(question=question).exclude(day=ALL_DAYS).count(),
        "day": PatternTally.objects.filter(question=question).exclude(day=ALL_DAYS).count(),
    }


def measure_postgresql() -> dict[str, tuple[int, int]]:
    """Return {table: (bytes without its indexes, bytes with them)}."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
        cursor.execute(
            "SELECT relname, pg_table_size(relid), pg_total_relation_size(relid) FROM "
            "pg_stat_user_tables"
        )
        return {
            name: (without_indexes, with_indexes)
            for name, without_indexes, with_indexes in cursor.fetchall()
        }


def measure_sqlite() -> dict[str, tuple[int, int]]:
    """Return the same as measure_postgresql, from SQLite's table of its pages."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        cursor.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name")
        pages = dict(cursor.fetchall())
        cursor.execute("SELECT name, tbl_name FROM sqlite_schema WHERE rootpage > 0")
        table_of = dict(cursor.fetchall())
    sizes = {name: (size, 0) for name, size in pages.items() if table_of.get(name, name) == name}
    for name, size in pages.items():
        without_indexes, with_indexes = sizes[table_of.get(name, name)]
        sizes[table_of.get(name, name)] = (without_indexes, with_indexes + size)
    return sizes


if __name__ == "__main__":
    main()
