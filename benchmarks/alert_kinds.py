"""How often the alarms beside drift ring where nothing happens, each kind by itself; a part of
bench_alarms.py.

Everything in these streams stays as it is: raters differ in level and pace, weeks and documents in
difficulty. Looked at are the two ends of the sensitivity page: evidence 5,000 (few and sure) and
250 (many and early), where a promise that does not hold shows soonest.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence

import numpy as np

from metrics.agreement import drift, outliers
from metrics.example import streams
from metrics.example.streams import Plan

LEVELS = (5_000.0, 250.0)
# Kind -> what it promises one false alarm in so many of.
OF_RATERS = (outliers.RATER_APART, outliers.RATER_SAME, outliers.RATER_FAST)
OF_DAYS = (outliers.QUESTION_FELL, outliers.PAIR_DIVERGED, outliers.CATEGORY_COLLAPSED)
_PACE = 0.4  # standard deviation of raters' pace, and of
_ITEMS = 0.6  # one answer's time, both of logarithms


def kinds(plans: Sequence[tuple[str, Plan]], options: argparse.Namespace) -> None:
    print("\n## The other kinds, where nothing happens\n")
    print(
        "| stream | level | raters | days of the question | "
        + " | ".join(OF_RATERS + OF_DAYS)
        + " |"
    )
    print("|---|---|---|---|" + "---|" * len(OF_RATERS + OF_DAYS))
    total: dict[float, Counter[str]] = {level: Counter() for level in LEVELS}
    for name, plan in plans:
        for level in LEVELS:
            found: Counter[str] = Counter()
            for number in range(options.streams):
                found += _rung(plan, options.seed * 1_000 + number, level)
            total[level] += found
            _row(name, level, found)
    for level in LEVELS:
        _row("together", level, total[level])
        allowed = Counter(dict.fromkeys(OF_RATERS, total[level]["raters"] / level))
        allowed.update(dict.fromkeys(OF_DAYS, total[level]["days"] / level))
        told = " | ".join(f"{allowed[kind]:.2g}" for kind in OF_RATERS + OF_DAYS)
        print(f"| ... at most | {level:,.0f} | | | {told} |")


def _row(name: str, level: float, found: Counter[str]) -> None:
    told = " | ".join(str(found[kind]) for kind in OF_RATERS + OF_DAYS)
    print(
        f"| {name} | {level:,.0f} | {found['raters']:,} | {found['days']:,} | {told} |", flush=True
    )


def _rung(plan: Plan, seed: int, level: float) -> Counter[str]:
    """What rang, by kind, with the numbers of raters and of the question's working days."""
    stream = streams.simulate(plan, seed)
    rng = np.random.default_rng(seed)
    pace = rng.normal(3, _PACE, plan.raters)[stream.rater]
    seconds = np.exp(pace + rng.normal(0, _ITEMS, stream.item.size))
    columns = (stream.item, stream.rater, stream.code, stream.date)
    moved = drift.alarms(*columns, plan.k, plan.ordered, settings=drift.Settings(alarm=level))
    watched = outliers.watch(moved, plan.k, seconds=seconds)
    rung = Counter(one.kind for one in watched.found)
    rung["raters"], rung["days"] = plan.raters, plan.days
    return rung


def levels(plans: Sequence[tuple[str, Plan]], options: argparse.Namespace) -> None:
    """False alarms of drift at the two lower levels of the sensitivity page."""
    print("\n## Nobody drifts, by level\n")
    print("| evidence that rings | rater-years | false alarms, at most | false alarms |")
    print("|---|---|---|---|")
    for level in (1_000.0, 250.0):
        days = rang = 0
        for _name, plan in plans:
            for number in range(options.streams):
                stream = streams.simulate(plan, options.seed * 2_000 + number)
                columns = (stream.item, stream.rater, stream.code, stream.date)
                settings = drift.Settings(alarm=level)
                found = drift.alarms(*columns, plan.k, plan.ordered, settings=settings)
                rang += len(found.alarms)
                days += np.unique(stream.rater * plan.days + stream.day).size
        print(f"| {level:,.0f} | {days / 250:.0f} | {days / level:.0f} | {rang} |", flush=True)
