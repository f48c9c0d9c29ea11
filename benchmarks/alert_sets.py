"""What the real sets raise: alarms of drift, and of the other kinds.

    python benchmarks/alert_sets.py FOLDER

FOLDER holds CSV files of item, rater, label and perhaps timestamp, of an item and rater the first
row; scales are named below. Sets without times are one day, as an import of them is; of the sleep
stages a night is a day.
"""

from __future__ import annotations

import csv
import datetime
import gzip
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from metrics.agreement import drift, outliers

ORDERED = {
    "sxs_mqm_zhen": ("none", "minor", "major"),
    "sxs_mqm_ende": ("none", "minor", "major"),
    "gal_adult2": ("G", "P", "R", "X"),
}
EPOCH = datetime.date(1970, 1, 1)


def main() -> None:
    print("| set | raters | ratings | drift | others | greatest evidence left |")
    print("|---|---|---|---|---|---|")
    for path in sorted(Path(sys.argv[1]).glob("*.csv*")):
        name = path.name.split(".")[0]
        rows = _rows(path)
        labels = ORDERED.get(name) or tuple(sorted({label for _, _, label, _ in rows}))
        columns = [np.unique([row[place] for row in rows], return_inverse=True) for place in (0, 1)]
        (_, item), (raters, rater) = columns
        code = np.array([labels.index(row[2]) for row in rows])
        day = np.array([row[3] for row in rows])
        moved = drift.alarms(item, rater, code, day, len(labels), name in ORDERED)
        watched = outliers.watch(moved, len(labels))
        drifts = [
            f"{raters[one.rater]} {one.channel} on {_date(one.day)} since {_date(one.onset)}: "
            f"{one.size:+.2f} ({one.n_since:,} items, {one.n_before:,} before)"
            for one in moved.alarms
        ]
        greatest = max((one.greatest for one in moved.raters), default=0.0)
        print(
            f"| {name} | {raters.size:,} | {len(rows):,} | {'; '.join(drifts) or 'none'} | "
            f"{_told(watched.found, raters, labels) or 'none'} | {greatest:,.0f} |",
            flush=True,
        )


def _told(found: list[outliers.Found], raters: np.ndarray, labels: tuple[str, ...]) -> str:
    told: dict[str, list[str]] = {}
    for one in found:
        who = " and ".join(str(raters[rater]) for rater in one.raters)
        what = "" if one.code is None else f"{labels[one.code]}"
        told.setdefault(one.kind, []).append(f"{who} {what}".strip() or _date(one.onset))
    return "; ".join(
        f"{kind}: {len(those)} ({', '.join(those[:4])}{', ...' if len(those) > 4 else ''})"
        for kind, those in told.items()
    )


def _rows(path: Path) -> list[tuple[str, str, str, int]]:
    opened = gzip.open if path.suffix == ".gz" else open
    standing: dict[tuple[str, str], tuple[str, str, str, int]] = {}
    with opened(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            key = (row["item"], row["rater"])
            standing.setdefault(key, (*key, row["label"], _day(path, row)))
    return [row for row in standing.values() if row[2]]


def _day(path: Path, row: dict[str, str]) -> int:
    if path.name.startswith("sleep"):
        return int(row["item"][4:6])
    if not row.get("timestamp"):
        return 0
    return (datetime.datetime.fromisoformat(row["timestamp"]).date() - EPOCH).days


def _date(day: int) -> str:
    return str(EPOCH + datetime.timedelta(day))


if __name__ == "__main__":
    main()
