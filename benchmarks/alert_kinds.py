"""False alert rates of all kinds except drift, where nothing happens; a part of bench_alerts.py.

Everything in these streams is stable: raters differ in level and speed, weeks and documents in
difficulty. The two thresholds are the ends of the sensitivity page: evidence 5,000 (few and
sure) and 250 (many and early), where a broken promise would show soonest.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence

import numpy as np

from metrics.agreement import drift, outliers
from metrics.example import streams
from metrics.example.streams import StreamPlan

LEVELS = (5_000.0, 250.0)
# Kinds whose promise is one false alert per so many raters, or days of the question.
RATER_KINDS = (outliers.RATER_DISAGREES, outliers.RATER_SAME_ANSWER, outliers.RATER_TOO_FAST)
DAY_KINDS = (outliers.QUESTION_AGREEMENT_FELL, outliers.PAIR_DIVERGED, outliers.CATEGORY_COLLAPSED)
_RATER_SPEED_SD = 0.4  # standard deviation of the raters' log speed
_ANSWER_TIME_SD = 0.6  # standard deviation of the log seconds of an answer


def print_kinds(plans: Sequence[tuple[str, StreamPlan]], options: argparse.Namespace) -> None:
    print("\n## The other kinds, where nothing happens\n")
    print(
        "| stream | level | raters | days of the question | "
        + " | ".join(RATER_KINDS + DAY_KINDS)
        + " |"
    )
    print("|---|---|---|---|" + "---|" * len(RATER_KINDS + DAY_KINDS))
    total: dict[float, Counter[str]] = {level: Counter() for level in LEVELS}
    for name, plan in plans:
        for level in LEVELS:
            counts: Counter[str] = Counter()
            for number in range(options.streams):
                counts += _count_alerts(plan, options.seed * 1_000 + number, level)
            total[level] += counts
            _print_row(name, level, counts)
    for level in LEVELS:
        _print_row("together", level, total[level])
        expected = Counter(dict.fromkeys(RATER_KINDS, total[level]["raters"] / level))
        expected.update(dict.fromkeys(DAY_KINDS, total[level]["days"] / level))
        cells = " | ".join(f"{expected[kind]:.2g}" for kind in RATER_KINDS + DAY_KINDS)
        print(f"| ... at most | {level:,.0f} | | | {cells} |")


def _print_row(name: str, level: float, counts: Counter[str]) -> None:
    cells = " | ".join(str(counts[kind]) for kind in RATER_KINDS + DAY_KINDS)
    print(
        f"| {name} | {level:,.0f} | {counts['raters']:,} | {counts['days']:,} | {cells} |",
        flush=True,
    )


def _count_alerts(plan: StreamPlan, seed: int, level: float) -> Counter[str]:
    """Return the alerts by kind, with the numbers of raters and of working days as further keys."""
    stream = streams.simulate_stream(plan, seed)
    rng = np.random.default_rng(seed)
    speed = rng.normal(3, _RATER_SPEED_SD, plan.raters)[stream.rater]
    seconds = np.exp(speed + rng.normal(0, _ANSWER_TIME_SD, stream.item.size))
    columns = (stream.item, stream.rater, stream.code, stream.date)
    drift_result = drift.detect_drift(
        *columns, plan.k, plan.ordered, settings=drift.DriftSettings(alert_level=level)
    )
    watch_result = outliers.detect_outliers(drift_result, plan.k, seconds=seconds)
    counts = Counter(finding.kind for finding in watch_result.findings)
    counts["raters"], counts["days"] = plan.raters, plan.days
    return counts


def print_drift_levels(
    plans: Sequence[tuple[str, StreamPlan]], options: argparse.Namespace
) -> None:
    """Print false alerts of drift at the two lower thresholds of the sensitivity page."""
    print("\n## Nobody drifts, by level\n")
    print("| evidence that rings | rater-years | false alarms, at most | false alarms |")
    print("|---|---|---|---|")
    for level in (1_000.0, 250.0):
        days = n_alerts = 0
        for _name, plan in plans:
            for number in range(options.streams):
                stream = streams.simulate_stream(plan, options.seed * 2_000 + number)
                columns = (stream.item, stream.rater, stream.code, stream.date)
                settings = drift.DriftSettings(alert_level=level)
                result = drift.detect_drift(*columns, plan.k, plan.ordered, settings=settings)
                n_alerts += len(result.alerts)
                days += np.unique(stream.rater * plan.days + stream.day).size
        print(f"| {level:,.0f} | {days / 250:.0f} | {days / level:.0f} | {n_alerts} |", flush=True)
