"""Alerts that real data sets raise: alerts of drift and of the other kinds.

    python benchmarks/alert_sets.py FOLDER

FOLDER has CSV files with item, rater, label and optionally timestamp; of an item and rater the
first row counts. Ordinal scales are listed below. A set without times is one day, like its
import; in the sleep set a night is a day.
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
        rows = _read_rows(path)
        labels = ORDERED.get(name) or tuple(sorted({label for _, _, label, _ in rows}))
        columns = [
            np.unique([row[column] for row in rows], return_inverse=True) for column in (0, 1)
        ]
        (_, item), (raters, rater) = columns
        code = np.array([labels.index(row[2]) for row in rows])
        day = np.array([row[3] for row in rows])
        drift_result = drift.detect_drift(item, rater, code, day, len(labels), name in ORDERED)
        watch_result = outliers.detect_outliers(drift_result, len(labels))
        drifts = [
            f"{raters[alert.rater]} {alert.channel} on {_format_date(alert.day)} since {_format_date(alert.onset)}: "
            f"{alert.size:+.2f} ({alert.n_since:,} items, {alert.n_before:,} before)"
            for alert in drift_result.alerts
        ]
        max_evidence = max((alert.max_evidence for alert in drift_result.raters), default=0.0)
        print(
            f"| {name} | {raters.size:,} | {len(rows):,} | {'; '.join(drifts) or 'none'} | "
            f"{_format_findings(watch_result.findings, raters, labels) or 'none'} | {max_evidence:,.0f} |",
            flush=True,
        )


def _format_findings(
    findings: list[outliers.OutlierFinding], raters: np.ndarray, labels: tuple[str, ...]
) -> str:
    descriptions: dict[str, list[str]] = {}
    for finding in findings:
        who = " and ".join(str(raters[rater]) for rater in finding.raters)
        what = "" if finding.code is None else f"{labels[finding.code]}"
        descriptions.setdefault(finding.kind, []).append(
            f"{who} {what}".strip() or _format_date(finding.onset)
        )
    return "; ".join(
        f"{kind}: {len(texts)} ({', '.join(texts[:4])}{', ...' if len(texts) > 4 else ''})"
        for kind, texts in descriptions.items()
    )


def _read_rows(path: Path) -> list[tuple[str, str, str, int]]:
    """Return the first row of each item and rater in the file, as (item, rater, label, day)."""
    open_file = gzip.open if path.suffix == ".gz" else open
    first_rows: dict[tuple[str, str], tuple[str, str, str, int]] = {}
    with open_file(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            key = (row["item"], row["rater"])
            first_rows.setdefault(key, (*key, row["label"], _parse_day(path, row)))
    return [row for row in first_rows.values() if row[2]]


def _parse_day(path: Path, row: dict[str, str]) -> int:
    if path.name.startswith("sleep"):
        return int(row["item"][4:6])
    if not row.get("timestamp"):
        return 0
    return (datetime.datetime.fromisoformat(row["timestamp"]).date() - EPOCH).days


def _format_date(day: int) -> str:
    return str(EPOCH + datetime.timedelta(day))


if __name__ == "__main__":
    main()
