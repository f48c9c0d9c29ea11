"""Rows of the complete tables of the dashboard, for CSV files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from metrics.models import Result
from metrics.results.clusters import JsonObject, describe_clusters
from metrics.views.common.rater_columns import (
    COLUMNS,
    SORTABLE_COLUMNS,
    RaterColumn,
    RaterResultRow,
)
from metrics.views.common.selection import Selection
from metrics.views.common.sources.base import ProjectSource
from projects.models import Rater

from . import dashboard_context, tables

Rows = list[dict[str, Any]]
ESTIMATE_FIELDS = ("value", "low", "high", "n_items")


def _flatten_estimate(estimate: Any, name: str = "") -> dict[str, Any]:
    """Return the columns of an estimate; each but the value is prefixed with its name."""
    values = estimate or {}
    prefix = f"{name}_" if name else ""
    columns = {f"{prefix}{field_name}": values.get(field_name) for field_name in ESTIMATE_FIELDS}
    return {name or "value": columns.pop(f"{prefix}value"), **columns}


def _build_statistic_rows(selection: Selection, source: ProjectSource) -> Rows:
    result = source.question_result
    if result is None:
        return []
    headline_row = (
        selection.requested_coefficient or selection.headline["name"],
        dashboard_context.get_headline_estimate(selection, result) or {},
    )
    rows = [headline_row, *tables.list_other_statistics(selection, result)]
    return [
        {
            "statistic": name,
            **_flatten_estimate(estimate),
            **_describe_clusters(selection, result, name),
            "reason": estimate.get("reason"),
        }
        for name, estimate in rows
    ]


def _describe_clusters(selection: Selection, result: Result, name: str) -> JsonObject:
    """Return the columns on clusters of items; none where the project has no clusters."""
    cluster = describe_clusters(selection.project, result.clusters, name)
    if cluster is None:
        return {}
    return {
        "cluster": cluster["attribute"],
        "clusters": cluster["n_clusters"],
        "design_effect": cluster["design_effect"],
    }


def _build_category_rows(_selection: Selection, source: ProjectSource) -> Rows:
    details = source.question_result.details if source.question_result else {}
    return [
        {
            "category": category["label"],
            "ratings": category["ratings"],
            **_flatten_estimate(category["agreement"]),
        }
        for category in details.get("categories", ())
    ]


def _build_coverage_rows(selection: Selection, source: ProjectSource) -> Rows:
    details = source.question_result.details if source.question_result else {}
    by_ratings = {int(number): items for number, items in details.get("by_ratings", {}).items()}
    by_ratings[0] = tables.summarize_coverage(
        selection, source.question_result, source.count_items()
    )["unrated"]
    return [{"ratings": number, "items": by_ratings[number]} for number in sorted(by_ratings)]


def _build_disputed_item_rows(selection: Selection, source: ProjectSource) -> Rows:
    rows = []
    for dispute in source.get_disputed_items().items:
        counts = dict(dispute.counts)
        rating_counts = {
            f"ratings {label}": counts.get(label, 0) for label in selection.scale.labels
        }
        rows.append(
            {"item": dispute.item.key, "disagreement": dispute.disagreement, **rating_counts}
        )
    return rows


def _build_rater_rows(selection: Selection, source: ProjectSource) -> Rows:
    rows = [
        RaterResultRow(result, [])
        for result in source.list_rater_results(SORTABLE_COLUMNS["rater"], descending=False)
    ]
    columns = [
        column for column in COLUMNS if column.is_number and column.is_applicable(selection, rows)
    ]
    return [
        _build_rater_columns(row.result.rater) | _build_cells(row, columns, selection)
        for row in rows
    ]


def _build_rater_columns(rater: Rater) -> dict[str, Any]:
    return {"rater": rater.key, "name": rater.name, "kind": rater.kind, "group": rater.group}


def _build_cells(
    row: RaterResultRow, columns: Iterable[RaterColumn], selection: Selection
) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    for column in columns:
        value = column.get_value(row, selection)
        cells |= (
            {column.key: value} if column.is_plain_number else _flatten_estimate(value, column.key)
        )
    return cells


# Name in the URL of the CSV -> function that builds the rows.
TABLES: dict[str, Callable[[Selection, ProjectSource], Rows]] = {
    "statistics": _build_statistic_rows,
    "categories": _build_category_rows,
    "missing": _build_coverage_rows,
    "disputes": _build_disputed_item_rows,
    "raters": _build_rater_rows,
}
