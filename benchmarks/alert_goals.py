"""Raters named in streams of 25 shapes, as rows "goal | measured"; a part of bench_alerts.py."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from alert_shapes import (
    N_DAYS,
    N_RATERS,
    Shape,
    SimulatedRatings,
    list_document_shapes,
    list_shapes,
    simulate_shape,
)

from metrics.agreement import drift, outliers

DAYS_PER_YEAR = 250
SEED_OFFSET = 90_000  # the rules were chosen on other seeds
GOALS = {
    "innocent": "named in <= 5% of rater-years",
    "drift": "named >= 90%",
    "newcomer": "named >= 90%",
    "copy": "named >= 80%",
}


@dataclass
class ShapeFigures:
    """Figures of one shape over all its streams.

    innocents: raters named who are not to be named, and pairs of copies with such a rater; years:
    rater-years of those; named: raters named who are to be; expected: all of these; questions:
    alerts about the question
    """

    innocents: int = 0
    years: float = 0.0
    named: int = 0
    expected: int = 0
    questions: int = 0


def print_shapes(options: argparse.Namespace) -> None:
    """Print a row for each shape and scale."""
    print("\n## Who is named, by shape of the stream\n")
    print("| shape | scale | goal | measured | innocents | rater-years | question alerts |")
    print("|---|---|---|---|---|---|---|")
    for shape in list_shapes():
        for ordered in (False, True):
            figures = _measure_shape(shape, options, ordered=ordered)
            print(
                f"| {shape.name} | {'ordinal' if ordered else 'nominal'} | {GOALS[shape.goal]} "
                f"| {_describe_measured(shape, figures)} | {figures.innocents} "
                f"| {figures.years:.0f} | {figures.questions} |",
                flush=True,
            )


def print_documents(options: argparse.Namespace) -> None:
    """Print a row for each shape and scale of items in documents, with and without clusters."""
    print("\n## Who is named, items in documents\n")
    print("| shape | scale | without clusters | goal | measured | innocents | rater-years |")
    print("|---|---|---|---|---|---|---|")
    for shape in list_document_shapes():
        for ordered in (False, True):
            independent = _measure_shape(shape, options, ordered=ordered, with_clusters=False)
            figures = _measure_shape(shape, options, ordered=ordered)
            print(
                f"| {shape.name} | {'ordinal' if ordered else 'nominal'} "
                f"| {_describe_measured(shape, independent)} | {GOALS[shape.goal]} "
                f"| {_describe_measured(shape, figures)} | {figures.innocents} "
                f"| {figures.years:.0f} |",
                flush=True,
            )


def _describe_measured(shape: Shape, figures: ShapeFigures) -> str:
    if shape.named:
        return f"{figures.named / figures.expected:.0%}"
    return f"{figures.innocents / figures.years:.1%} a rater-year"


def _measure_shape(
    shape: Shape, options: argparse.Namespace, *, ordered: bool, with_clusters: bool = True
) -> ShapeFigures:
    figures = ShapeFigures()
    for number in range(options.shapes):
        seed = SEED_OFFSET + options.seed * 1_000 + number
        stream = simulate_shape(shape, seed, ordered=ordered)
        context = drift.DriftContext(
            attributes=stream.attributes, clusters=stream.clusters if with_clusters else None
        )
        _add_stream(figures, shape, stream, context)
    return figures


def _add_stream(
    figures: ShapeFigures, shape: Shape, stream: SimulatedRatings, context: drift.DriftContext
) -> None:
    columns = (stream.item, stream.rater, stream.code, stream.date)
    drift_result = drift.detect_drift(*columns, stream.k, stream.ordered, context=context)
    outlier_result = outliers.detect_outliers(drift_result, stream.k)
    named = outliers.get_alerted_raters(drift_result, outlier_result)
    figures.innocents += len(named - set(shape.named))
    figures.years += (N_RATERS - len(shape.named)) * N_DAYS / DAYS_PER_YEAR
    figures.named += len(named & set(shape.named))
    figures.expected += len(shape.named)
    figures.questions += sum(not finding.raters for finding in outlier_result.findings)
