"""Time of an export of all ratings of a large project, streamed by one request.

    python benchmarks/bench_export.py [--ratings 1000000] [--raters 1000] [--days 730]

It uses the database of DATABASE_URL, else that of DATA_DIR, else a temporary SQLite file; a
project of this size from an earlier run is reused. The request is made in this process, and its
chunks are read as they come. "CPU" is this process's; "peak" is the largest chunk, because the rows
are never in memory together.
"""

from __future__ import annotations

import argparse
import time

import bench_pages
import large_project

KINDS = ("csv", "jsonl", "parquet")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ratings", type=int, default=1_000_000)
    parser.add_argument("--raters", type=int, default=1_000)
    parser.add_argument("--days", type=int, default=730)
    parser.add_argument("--kinds", default="csv", help=f"of {', '.join(KINDS)}, with commas")
    options = parser.parse_args()
    with large_project.open_database():
        size = {"ratings": options.ratings, "raters": options.raters, "days": options.days}
        project = large_project.get_or_create_project(**size, report=bench_pages.print_progress)
        session, _api = bench_pages.create_clients(project)
        print("| kind | rows | seconds | rows/s | CPU, s | MB | peak, kB |")
        print("|---|---|---|---|---|---|---|")
        for kind in options.kinds.split(","):
            started, processor = time.perf_counter(), time.process_time()
            sizes = [
                len(chunk) for chunk in session.get(f"/projects/{project.pk}/data/export.{kind}")
            ]
            seconds = time.perf_counter() - started
            print(
                f"| {kind} | {options.ratings:,} | {seconds:.2f} | {options.ratings / seconds:,.0f} "
                f"| {time.process_time() - processor:.2f} | {sum(sizes) / 1e6:.0f} "
                f"| {max(sizes) / 1e3:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
