"""Rows of the complete tables of the dashboard, for CSV files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from metrics.results.intervals import describe_clusters
from metrics.results.question_agreement import QuestionAgreement
from metrics.results.rater_results import RaterAgreement
from metrics.views.common.rater_columns import (
    COLUMNS,
    SORTABLE_COLUMNS,
    RaterColumn,
)
from metrics.views.common.selection import Selection
from metrics.views.common.sources.base import ProjectSource
from projects.models import Rater

from . import dashboard_context, tables

Row = dict[str, object]
Rows = list[Row]
ESTIMATE_FIELDS = ("value", "low", "high", "n_items")


def _flatten_estimate(estimate: Any, name: str = "") -> Row:
    """Return an estimate as columns: value, interval and number of items; None gives empty cells.

    ``name``: of the column of the value, and with _ the beginning of the other names (ac1,
    ac1_low); without it, they are value, low and so on.
    """
    values = estimate or {}
    prefix = f"{name}_" if name else ""
    columns = {f"{prefix}{field_name}": values.get(field_name) for field_name in ESTIMATE_FIELDS}
    return {name or "value": columns.pop(f"{prefix}value"), **columns}


def _build_statistic_rows(selection: Selection, source: ProjectSource) -> Rows:
    result = source.agreement
    if result is None:
        return []
    headline_name = selection.requested_coefficient or selection.headline["name"]
    headline = dashboard_context.get_headline_estimate(selection, result)
    rows = [(headline_name, headline), *tables.list_other_statistics(selection, result)]
    return [
        {
            "statistic": name,
            **_flatten_estimate(estimate),
            **_describe_clusters(selection, result, name),
            "reason": estimate["reason"] if estimate else None,
        }
        for name, estimate in rows
    ]


def _describe_clusters(selection: Selection, result: QuestionAgreement, name: str) -> Row:
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
    details = source.agreement.details if source.agreement else {}
    return [
        {
            "category": category["label"],
            "ratings": category["ratings"],
            **_flatten_estimate(category["agreement"]),
        }
        for category in details.get("categories", ())
    ]


def _build_coverage_rows(selection: Selection, source: ProjectSource) -> Rows:
    details = source.agreement.details if source.agreement else {}
    by_ratings = {int(number): items for number, items in details.get("by_ratings", {}).items()}
    coverage = tables.summarize_coverage(selection, source.agreement, source.count_items())
    by_ratings[0] = coverage.unrated
    return [{"ratings": number, "items": by_ratings[number]} for number in sorted(by_ratings)]


def _build_disputed_item_rows(selection: Selection, source: ProjectSource) -> Rows:
    rows = []
    for dispute in source.disputed_items.items:
        counts = dict(dispute.counts)
        rating_counts = {
            f"ratings {label}": counts.get(label, 0) for label in selection.scale.labels
        }
        rows.append(
            {"item": dispute.item.key, "disagreement": dispute.disagreement, **rating_counts}
        )
    return rows


def _build_rater_rows(selection: Selection, source: ProjectSource) -> Rows:
    raters = source.load_raters(source.list_rater_refs(SORTABLE_COLUMNS["rater"], descending=False))
    columns = [
        column for column in COLUMNS if column.is_number and column.is_applicable(selection, raters)
    ]
    return [
        _build_rater_columns(row.rater) | _build_cells(row, columns, selection) for row in raters
    ]


def _build_rater_columns(rater: Rater) -> Row:
    return {"rater": rater.key, "name": rater.name, "kind": rater.kind, "group": rater.group}


def _build_cells(row: RaterAgreement, columns: Iterable[RaterColumn], selection: Selection) -> Row:
    cells: Row = {}
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
