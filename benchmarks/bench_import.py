"""Speed and memory of the import of a CSV file, and of the export.

    python benchmarks/bench_import.py [--sizes 10000,100000,1000000] [--file FILE.csv]

It uses the database of DATABASE_URL, which it does not empty (each file becomes a project of its
own), else a temporary SQLite file, and prints one table. Each size runs in a process of its own,
so that the peak memory is its own. References from the same run: Python's csv module reading the
file, and one bare INSERT per row in one transaction, without items, raters, revisions or a
resumable state. "CPU" is the time of the importing process; on a busy machine it says more than
the clock.
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
RATINGS_PER_ITEM = 9
LABELS = ("none", "minor", "major", "critical")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="10000,100000")
    parser.add_argument(
        "--file", help="a CSV file item,rater,label[,timestamp] instead of generated ones"
    )
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(measure_file(Path(options.file)))
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
            else [write_csv(Path(folder), int(n)) for n in options.sizes.split(",")]
        )
        for file in files:
            command = [sys.executable, __file__, "--child", "--file", str(file)]
            print(
                subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip(),
                flush=True,
            )


def write_csv(folder: Path, rows: int) -> Path:
    """Write a file of ``rows`` ratings, nine an item by nine of 800 raters; return its path.

    Every thirtieth row repeats the previous one.
    """
    rng = random.Random(rows)
    path = folder / f"{rows}.csv"
    with path.open("w") as file:
        file.write("item,rater,label\n")
        for number in range(rows):
            row = number - (number % 30 == 29)
            file.write(
                f"i{row // RATINGS_PER_ITEM:07},w{(row * 89 + row // RATINGS_PER_ITEM) % 800:04},{rng.choice(LABELS)}\n"
            )
    return path


def measure_file(path: Path) -> str:
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
    start_memory = get_peak_memory()
    with path.open(newline="") as file:
        read_seconds, rows = measure_time(lambda: sum(1 for _ in csv.reader(file)) - 1)
    insert_seconds = measure_time(lambda: insert_rows(path))[0]
    check_seconds, write_seconds, processor_seconds, run = measure_import(path, user, None)
    repeat_seconds = sum(measure_import(path, user, run)[:2])
    client = Client(headers={"host": "localhost"})
    client.force_login(user)
    url = f"/projects/{run.project_id}/data/export.csv"
    client.get("/healthz")  # loads the site's pages
    export_seconds = measure_time(lambda: count_bytes(client.get(url)))[0]
    return (
        f"| {connection.vendor} | {rows:,} | {read_seconds:.2f} | {check_seconds:.2f} | {insert_seconds:.2f} | {write_seconds:.2f} | "
        f"{processor_seconds:.2f} "
        f"| {rows / write_seconds:,.0f} | {write_seconds / insert_seconds:.1f} | {repeat_seconds:.2f} | {export_seconds:.2f} | {start_memory:.0f} | "
        f"{get_peak_memory():.0f} |"
    )


def count_bytes(response: Any) -> int:
    """Return the number of bytes of a streamed response, without keeping them."""
    return sum(map(len, response.streaming_content))


def measure_import(path: Path, user: Any, previous: Any) -> tuple[float, float, float, Any]:
    """Return (seconds of the check, of the writing, processor seconds of the writing, import run).

    Imports into the project of the run ``previous``, or into a new one if it is None.
    """
    from ratings.imports import jobs, services
    from ratings.imports.mapping.import_mapping import ImportMapping
    from ratings.imports.values.label_order import guess_order

    with path.open("rb") as file:
        run = services.create_run(
            file=file, name=path.name, project=previous and previous.project, by=user
        )
    mapping = ImportMapping.from_run(run)
    mapping.project_name, mapping.question_key, mapping.question_text = path.stem, "q", "Which?"
    mapping.question_id = previous and previous.question_id
    services.start_check(run=run, mapping=mapping)
    check_seconds = measure_time(lambda: jobs.run_import(run.pk))[0]
    run.refresh_from_db()
    new_scales = {}
    for key in services.list_new_question_keys(run):
        order, scale, *_basis = guess_order(run.summary["questions"][key]["labels"])
        new_scales[key] = services.NewQuestionScale(scale, order)
    services.start_writing(run=run, duplicate_policy="last", new_scales=new_scales, by=user)
    processor_seconds = time.process_time()
    write_seconds = measure_time(lambda: jobs.run_import(run.pk))[0]
    processor_seconds = time.process_time() - processor_seconds
    run.refresh_from_db()
    if run.state != "done":
        sys.exit(
            f"the import ended as {run.state}: {run.problems[:1]} {run.summary.get('stopped')}"
        )
    return check_seconds, write_seconds, processor_seconds, run


def insert_rows(path: Path) -> None:
    from django.db import connection, transaction

    with transaction.atomic(), connection.cursor() as cursor, path.open(newline="") as file:
        cursor.execute("CREATE TEMPORARY TABLE bare (item text, rater text, label text)")
        cursor.executemany(
            "INSERT INTO bare VALUES (%s, %s, %s)",
            (row[:3] for row in csv.reader(file)),  # type: ignore[arg-type]  # a generator
        )
        cursor.execute("DROP TABLE bare")


def measure_time(work: Any) -> tuple[float, Any]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def get_peak_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
