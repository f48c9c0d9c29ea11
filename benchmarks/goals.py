"""The goals of speed and size: one table of goals and figures, measured by the other benchmarks.

    python tests/tools/with_services.py python benchmarks/goals.py [--quick] [--only start,http]
    python tests/tools/with_services.py --postgres python benchmarks/goals.py

It runs each benchmark as a program of its own, on the database of DATABASE_URL or on SQLite, and
picks the figures from the tables that they print. A rival's figure is of the same run where the
benchmark measures it (bench_agreement.py, if the package is installed), else of an earlier run
(benchmarks/http.md). `--quick` has a tenth of the ratings and shorter loads: good for a first look,
not for the goals. Run it on a machine without other load.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
Row = dict[str, str]  # {column: cell} of a table
Rows = list[Row]


@dataclass(frozen=True)
class Goal:
    """A figure of a benchmark, and what it should be.

    ``find`` returns the figure from all rows that the benchmark printed; ``at_most``: the figure
    should not be above ``goal``, else not below. ``rival``: a figure of another product.
    """

    job: str
    goal: float
    find: Callable[[Rows], float]
    unit: str = "s"
    at_most: bool = True
    rival: str = ""

    def format_row(self, rows: Rows) -> str:
        """Return the row of the goal in the table of all goals."""
        try:
            value = self.find(rows)
        except LookupError:
            return f"| {self.job} | {self.rival} | not measured | {self.format_goal()} | |"
        is_met = value <= self.goal if self.at_most else value >= self.goal
        verdict = "met" if is_met else f"missed, {self.compute_miss(value):.1f} x"
        number = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
        figure = f"{number} {self.unit}"
        return f"| {self.job} | {self.rival} | {figure} | {self.format_goal()} | {verdict} |"

    def format_goal(self) -> str:
        return f"{'<=' if self.at_most else '>='} {self.goal:,} {self.unit}"

    def compute_miss(self, value: float) -> float:
        return value / self.goal if self.at_most else self.goal / value


@dataclass(frozen=True)
class Benchmark:
    """A program with its arguments, ``quick_arguments`` of a short run, and its goals."""

    name: str
    program: str
    arguments: str
    quick_arguments: str
    goals: Sequence[Goal]

    def run(self, *, quick: bool) -> Rows:
        """Run the program and return the rows of its tables.

        Raises CalledProcessError if the program fails.
        """
        arguments = self.quick_arguments if quick else self.arguments
        command = [sys.executable, str(FOLDER / self.program), *arguments.split()]
        return parse_tables(
            subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        )


def parse_tables(text: str) -> Rows:
    """Return the rows of all Markdown tables of a text, each as {column: cell}."""
    rows: Rows = []
    columns: list[str] = []
    for line in text.splitlines():
        if not line.startswith("|"):
            columns = []
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not columns:
            columns = cells
        elif not set(line) <= set("|-: "):
            rows.append(dict(zip(columns, cells, strict=False)))
    return rows


def find(column: str, **cells: str) -> Callable[[Rows], float]:
    """Return a function that finds the number in ``column`` of the first row with these cells.

    Spaces in the names of columns are written as underscores. The function raises LookupError if
    there is no such row.
    """

    def find_figure(rows: Rows) -> float:
        for row in rows:
            if column in row and all(
                text in row.get(name.replace("_", " "), "") for name, text in cells.items()
            ):
                return float(row[column].split()[0].replace(",", ""))
        raise LookupError(column)

    return find_figure


def list_rating_goals() -> list[Goal]:
    """Return the goals of single ratings, by number of clients."""
    goals = [
        Goal(
            f"one rating a request, clients: {clients}",
            least,
            find("requests/s", clients=str(clients)),
            "per s",
            at_most=False,
            rival=f"doccano {doccano}",
        )
        for clients, least, doccano in ((1, 250, 50), (8, 415, 83), (32, 400, 80))
    ]
    processor = find("all", clients="8")
    return [*goals, Goal("processor time a rating, 8 clients", 3.5, processor, "ms")]


def is_postgresql() -> bool:
    return os.environ.get("DATABASE_URL", "").startswith("postgres")


def list_benchmarks() -> list[Benchmark]:
    database = "postgresql" if is_postgresql() else "sqlite"
    http = f"--databases {database}"
    return [
        Benchmark("start", "bench_services.py", "", "", [
            Goal("first page, new data folder", 5, find("seconds", what="first page, new"),
                 rival="doccano 11.8"),
            Goal("first page, started again", 3, find("seconds", what="first page, started again")),
            Goal("idle site: processor", 0.5, find("CPU %", process="all"), "%"),
            Goal("idle site: memory", 280, find("PSS MB", process="all"), "MB",
                 rival="Potato 159"),
        ]),
        Benchmark("ratings", "bench_http.py", f"{http} --only-single",
                  f"{http} --only-single --seconds 2", list_rating_goals()),
        Benchmark("bulk", "bench_http.py", f"{http} --clients 1 --seconds 1 --queue 20000",
                  f"{http} --clients 1 --seconds 1 --rows 20000 --queue 20000", [
            Goal("items in bulk, 4 clients", 42_150, find("rows/s", what="items in bulk, 4"),
                 "per s", at_most=False, rival="Label Studio 4,215"),
            Goal("ratings in bulk, 4 clients", 23_220, find("rows/s", what="ratings in bulk, 4"),
                 "per s", at_most=False, rival="Label Studio 2,322"),
        ]),
        Benchmark("import", "bench_import.py", "--sizes 100000", "--sizes 10000", [
            Goal("ratings by CSV", 23_220, find("rows/s"), "per s", at_most=False,
                 rival="Label Studio 2,322"),
        ]),
        Benchmark("projects", "bench_many_questions.py", "--projects 1000 --workers 2",
                  "--projects 100 --workers 2", [
            Goal("one change in each of 1,000 projects, two workers", 4,
                 find("all final, s", **{"": "one changed"})),
        ]),
        Benchmark("list", "bench_project_list.py", "--projects 200,10000", "--projects 200", [
            Goal("list of 200 projects", 80, find("median, ms", projects="200"), "ms"),
            Goal("list of 10,000 projects", 80, find("median, ms", projects="10,000"), "ms"),
        ]),
        Benchmark("backlog", "bench_counting.py", "--sizes 0 --burst 0 --backlog 1000000",
                  "--sizes 0 --burst 0 --backlog 100000", [
            Goal("backlog of 10^6, one worker", 12, find("count + readings, s", workers="1")),
            Goal("backlog of 10^6, two workers", 7, find("count + readings, s", workers="2")),
        ]),
        Benchmark("pages", "bench_pages.py", "--only dashboard", "--only dashboard --ratings 100000", [
            Goal("dashboard of 10^6, p95", 90, find("p95, ms", page="dashboard"), "ms"),
            Goal("open dashboard, nothing new", 5, find("median, ms", page="nothing new"), "ms"),
        ]),
        Benchmark("storage", "bench_storage.py", "--ratings 1000000", "--ratings 100000", [
            Goal("size of a rating at 10^6", 300, find("bytes a rating", sum="all tables"), "bytes"),
        ]),
        Benchmark("export", "bench_export.py", "--ratings 1000000", "--ratings 100000", [
            Goal("export of 10^6 rows", 7.8, find("seconds", kind="csv")),
        ]),
        Benchmark("agreement", "bench_agreement.py", "--only alpha,floor",
                  "--only alpha,floor --items 20000", [
            Goal("ordinal alpha of 10^6, times as fast as krippendorff", 10,
                 find("ratio to Concord", who="krippendorff"), "x", at_most=False),
            Goal("Fleiss' kappa of 10^6, against reading its arrays once", 10,
                 lambda rows: 1 / find("ratio to Concord", who="reading")(rows), "x"),
        ]),
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="names of benchmarks, separated by commas")
    options = parser.parse_args()
    names = set(filter(None, options.only.split(",")))
    benchmarks = list_benchmarks()
    if unknown := names - {benchmark.name for benchmark in benchmarks}:
        available = ", ".join(benchmark.name for benchmark in benchmarks)
        parser.error(f"--only {', '.join(sorted(unknown))}: the benchmarks are {available}")
    print(f"{'PostgreSQL' if is_postgresql() else 'SQLite'}\n")
    print("| job | rival | measured | goal | |\n|---|---|---|---|---|", flush=True)
    status = 0
    for benchmark in benchmarks:
        if names and benchmark.name not in names:
            continue
        try:
            rows = benchmark.run(quick=options.quick)
        except subprocess.CalledProcessError as error:
            print(f"{benchmark.program} ended with status {error.returncode}", file=sys.stderr)
            status, rows = 1, []
        for goal in benchmark.goals:
            print(goal.format_row(rows), flush=True)
    sys.exit(status)


if __name__ == "__main__":
    main()
