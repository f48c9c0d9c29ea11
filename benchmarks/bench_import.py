"""How fast a CSV file becomes ratings, and ratings a CSV file again; and whether memory stays flat.

    python benchmarks/bench_import.py [--sizes 10000,100000,1000000] [--file FILE.csv]

Uses the database of DATABASE_URL (emptied of nothing: each file becomes a project of its own), else
a temporary SQLite file. Prints one table. Each size runs in a process of its own, so that the peak
is its own. The yardsticks of the same run: Python's csv module that only reads the file, and one
bare INSERT a row in one transaction, without items, raters, history, or anything to resume. "CPU"
is the importing process's own; on a busy machine it says more than the clock.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PER_ITEM = 9
LABELS = ("none", "minor", "major", "critical")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument(
        "--file", help="a CSV file item,rater,label[,timestamp] instead of made ones"
    )
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(measure(Path(options.file)))
        return
    with tempfile.TemporaryDirectory(prefix="concord-bench-") as folder:
        os.environ["DATA_DIR"] = folder
        print(
            "| database | rows | csv alone, s | check, s | bare insert, s | import, s | CPU, s | "
            "rows/s "
            "| import / bare | same file again, s | export, s | MB at start | peak MB |"
        )
        print("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
        files = (
            [Path(options.file)]
            if options.file
            else [made(Path(folder), int(n)) for n in options.sizes.split(",")]
        )
        for file in files:
            command = [sys.executable, __file__, "--child", "--file", str(file)]
            print(
                subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip(),
                flush=True,
            )


def made(folder: Path, rows: int) -> Path:
    """Nine ratings an item by nine of 800 raters; every thirtieth row is a repeat of the one
    before."""
    rng = random.Random(rows)
    path = folder / f"{rows}.csv"
    with path.open("w") as file:
        file.write("item,rater,label\n")
        for number in range(rows):
            row = number - (number % 30 == 29)
            file.write(
                f"i{row // PER_ITEM:07},w{(row * 89 + row // PER_ITEM) % 800:04},{rng.choice(LABELS)}\n"
            )
    return path


def measure(path: Path) -> str:
    os.environ["DJANGO_SETTINGS_MODULE"] = "agreement_site.settings"
    sys.path.insert(0, str(ROOT))
    import django

    django.setup()
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.db import connection
    from django.test import Client

    call_command("migrate", verbosity=0)
    user, _made = User.objects.get_or_create(username="bench")
    start = peak()
    with path.open(newline="") as file:
        read, rows = timed(lambda: sum(1 for _ in csv.reader(file)) - 1)
    bare = timed(lambda: bare_insert(path))[0]
    check, write, spent, run = imported(path, user, None)
    again = sum(imported(path, user, run)[:2])
    client = Client(headers={"host": "localhost"})
    client.force_login(user)
    address = f"/projects/{run.project_id}/data/export.csv"
    client.get("/healthz")  # loads the site's pages
    export = timed(lambda: read_all(client.get(address)))[0]
    return (
        f"| {connection.vendor} | {rows:,} | {read:.2f} | {check:.2f} | {bare:.2f} | {write:.2f} | "
        f"{spent:.2f} "
        f"| {rows / write:,.0f} | {write / bare:.1f} | {again:.2f} | {export:.2f} | {start:.0f} | "
        f"{peak():.0f} |"
    )


def read_all(answer: Any) -> int:
    """Bytes of a streamed answer, none of which is kept."""
    return sum(map(len, answer.streaming_content))


def imported(path: Path, user: Any, before: Any) -> tuple[float, float, float, Any]:
    """Seconds of the check, of the writing, and of the processor for it, and the run.

    Into the project of the run ``before``, or a new one.
    """
    from ratings.imports import jobs, services
    from ratings.imports.mapping.import_mapping import Mapping
    from ratings.imports.mapping.label_order import guess_order

    with path.open("rb") as file:
        run = services.upload(file=file, name=path.name, project=before and before.project, by=user)
    mapping = Mapping.of(run)
    mapping.project_name, mapping.question_key, mapping.question_text = path.stem, "q", "Which?"
    mapping.question_id = before and before.question_id
    services.choose_columns(run=run, mapping=mapping)
    check = timed(lambda: jobs.run_import(run.pk))[0]
    run.refresh_from_db()
    new = {}
    for key in services.new_questions(run):
        order, scale = guess_order(run.summary["questions"][key]["labels"])
        new[key] = services.NewScale(scale, order)
    services.start(run=run, stands="last", new=new, by=user)
    spent = time.process_time()
    write = timed(lambda: jobs.run_import(run.pk))[0]
    spent = time.process_time() - spent
    run.refresh_from_db()
    if run.state != "done":
        sys.exit(
            f"the import ended as {run.state}: {run.problems[:1]} {run.summary.get('stopped')}"
        )
    return check, write, spent, run


def bare_insert(path: Path) -> None:
    from django.db import connection, transaction

    with transaction.atomic(), connection.cursor() as cursor, path.open(newline="") as file:
        cursor.execute("CREATE TEMPORARY TABLE bare (item text, rater text, label text)")
        cursor.executemany(
            "INSERT INTO bare VALUES (%s, %s, %s)",
            (row[:3] for row in csv.reader(file)),  # type: ignore[arg-type]  # read as it is sent
        )
        cursor.execute("DROP TABLE bare")


def timed(work: Any) -> tuple[float, Any]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
