"""The tables of the dashboard as rows of a file: all of a table, not the page of it that is
shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from metrics.views.common.rater_columns import COLUMNS, SORTED_BY, Column, RaterRow
from metrics.views.common.selection import Selection
from metrics.views.common.sources.base import ProjectNumbers
from projects.models import Rater

from . import dashboard_context, tables

Rows = list[dict[str, Any]]
PARTS = ("value", "low", "high", "n_items")


def _of(reading: Any, name: str = "") -> dict[str, Any]:
    """The columns of a reading; its name in front of all but the value."""
    known = reading or {}
    prefix = f"{name}_" if name else ""
    found = {f"{prefix}{part}": known.get(part) for part in PARTS}
    return {name or "value": found.pop(f"{prefix}value"), **found}


def _statistics(chosen: Selection, numbers: ProjectNumbers) -> Rows:
    reading = numbers.reading
    if reading is None:
        return []
    first = (
        chosen.asked or chosen.first["name"],
        dashboard_context.first_number(chosen, reading) or {},
    )
    rows = [first, *tables.beside(chosen, reading)]
    return [{"statistic": name, **_of(one), "reason": one.get("reason")} for name, one in rows]


def _categories(_chosen: Selection, numbers: ProjectNumbers) -> Rows:
    details = numbers.reading.details if numbers.reading else {}
    return [
        {"category": one["label"], "ratings": one["ratings"], **_of(one["agreement"])}
        for one in details.get("categories", ())
    ]


def _missing(chosen: Selection, numbers: ProjectNumbers) -> Rows:
    details = numbers.reading.details if numbers.reading else {}
    by_ratings = {int(number): items for number, items in details.get("by_ratings", {}).items()}
    by_ratings[0] = tables.missing(chosen, numbers.reading, numbers.n_items())["unrated"]
    return [{"ratings": number, "items": by_ratings[number]} for number in sorted(by_ratings)]


def _disputes(chosen: Selection, numbers: ProjectNumbers) -> Rows:
    rows = []
    for dispute in numbers.disputes().top:
        counts = dict(dispute.counts)
        said = {f"ratings {label}": counts.get(label, 0) for label in chosen.scale.labels}
        rows.append({"item": dispute.item.key, "disagreement": dispute.disagreement, **said})
    return rows


def _raters(chosen: Selection, numbers: ProjectNumbers) -> Rows:
    rows = [RaterRow(one, []) for one in numbers.raters(SORTED_BY["rater"], descending=False)]
    shown = [column for column in COLUMNS if column.is_number and column.applies(chosen, rows)]
    return [_who(row.reading.rater) | _cells(row, shown, chosen) for row in rows]


def _who(rater: Rater) -> dict[str, Any]:
    return {"rater": rater.key, "name": rater.name, "kind": rater.kind, "group": rater.group}


def _cells(row: RaterRow, shown: Iterable[Column], chosen: Selection) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    for column in shown:
        value = column.value(row, chosen)
        cells |= {column.key: value} if column.is_one else _of(value, column.key)
    return cells


# Name in the address of a chart's CSV -> its rows.
TABLES: dict[str, Callable[[Selection, ProjectNumbers], Rows]] = {
    "statistics": _statistics,
    "categories": _categories,
    "missing": _missing,
    "disputes": _disputes,
    "raters": _raters,
}
