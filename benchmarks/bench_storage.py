"""How many bytes a rating, a pair that met and a rater's day take, with their indexes.

    python benchmarks/bench_storage.py [--ratings 100000] [--raters 1000] [--days 730] [--sparse]
    python benchmarks/bench_storage.py --ratings 200000 --raters 5000 --days 400 --sparse

The second is a crowd that shares little: hardly two raters meet twice.

Measures a whole database, so give it one of its own: a temporary SQLite file when neither
DATABASE_URL nor DATA_DIR is set, or `python tests/tools/with_services.py --postgres python
benchmarks/bench_storage.py` for a new PostgreSQL. A project of this size that an earlier run left
there is taken as it is. PostgreSQL is measured after VACUUM, as autovacuum does: the room of rows
that counting has replaced stays in the table for later ones.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import large_project

# What a number of rows is counted of -> the tables that grow with it.
GROUPS = {
    "rating": ("ratings_rating",),
    "line of history": ("ratings_revision",),
    "item": ("projects_item",),
    "pair that met": ("metrics_pairtally",),
    "rater and day": ("metrics_peertally", "metrics_raterreading"),
    "day": ("metrics_patterntally", "metrics_reading"),
}

# What is said in bytes a rating; no table named: all there are.
SUMS: dict[str, tuple[str, ...]] = {
    "raters against their peers, and what is read off": GROUPS["rater and day"],
    "the same with the pairs": GROUPS["rater and day"] + GROUPS["pair that met"],
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
    with large_project.database():
        project = large_project.find_or_make(
            ratings=options.ratings,
            raters=options.raters,
            days=options.days,
            sparse=options.sparse,
        )
        if project.__class__.objects.count() > 1:
            sys.exit("This database holds other projects too: give the benchmark one of its own.")
        report(project, options)


def report(project: Any, options: Any) -> None:
    from django.db import connection

    sizes = postgresql() if connection.vendor == "postgresql" else sqlite()
    numbers = rows(project)
    print(
        f"{connection.vendor}: {options.ratings:,} ratings, {options.raters:,} raters, "
        f"{options.days} days\n"
    )
    print("| of a | rows | bytes each | with indexes | MB |")
    print("|---|---|---|---|---|")
    for name, tables in GROUPS.items():
        bare, whole = (sum(sizes[table][which] for table in tables) for which in (0, 1))
        number = numbers[name]
        print(
            f"| {name} | {number:,} | {bare / number:.0f} | {whole / number:.0f} | "
            f"{whole / 1e6:.0f} |"
        )
    print()
    for name, tables in SUMS.items():
        size = sum(sizes[table][1] for table in tables or sizes)
        print(f"{name}: {size / 1e6:.0f} MB, {size / options.ratings:.0f} bytes a rating")


def rows(project: Any) -> dict[str, int]:
    from metrics.models import EVER, PairTally, PatternTally, PeerTally
    from ratings.models import Rating, Revision

    question = project.questions.get()
    return {
        "rating": Rating.objects.filter(question=question).count(),
        "line of history": Revision.objects.filter(rating__question=question).count(),
        "item": project.items.count(),
        "pair that met": PairTally.objects.filter(question=question).count(),
        "rater and day": PeerTally.objects.filter(question=question).exclude(day=EVER).count(),
        "day": PatternTally.objects.filter(question=question).exclude(day=EVER).count(),
    }


def postgresql() -> dict[str, tuple[int, int]]:
    """Table -> bytes without and with its indexes."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
        cursor.execute(
            "SELECT relname, pg_table_size(relid), pg_total_relation_size(relid) FROM "
            "pg_stat_user_tables"
        )
        return {name: (bare, whole) for name, bare, whole in cursor.fetchall()}


def sqlite() -> dict[str, tuple[int, int]]:
    """The same, from SQLite's own table of its pages."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        cursor.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name")
        pages = dict(cursor.fetchall())
        cursor.execute("SELECT name, tbl_name FROM sqlite_schema WHERE rootpage > 0")
        table_of = dict(cursor.fetchall())
    found = {name: (size, 0) for name, size in pages.items() if table_of.get(name, name) == name}
    for name, size in pages.items():
        bare, whole = found[table_of.get(name, name)]
        found[table_of.get(name, name)] = (bare, whole + size)
    return found


if __name__ == "__main__":
    main()
