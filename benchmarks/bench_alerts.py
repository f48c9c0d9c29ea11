"""Alarms of drift on simulated streams: how often they are false, and how soon they come.

    python benchmarks/bench_alerts.py [--streams 6] [--drifting 25] [--normal 2000] [--seed 1]
        [--only quiet,levels,found,normal,kinds,gold,speed]

Streams are those of `manage.py simulate`. The first two tables stand beside the figures that were
stated before this code was written (a prototype of the same formulas on a generator of its own):

1. Nobody drifts, or others do: false alarms, and how many the promise allows (one in 20
   rater-years of 250 days). Who is alarmed beside a drifter is an innocent.
2. One of 20 drifts from day 40 on: found within 60 days, quartiles of the rater's own compared
   items since the drift until the alarm (who is not found counts as more), and until the rater is
   watched; how often the 95 % intervals of onset and size hold what was planted (of what grows: by
   how much on average until the alarm).
3. Exactly normal sums, as the proof assumes them: raters with an alarm within 250 days.
4. False alarms at the lower levels, the other kinds where nothing happens (alert_kinds.py), and gold (bench_gold.py).
5. Seconds of all alarms of a question: of one round, and with the alarms that ring.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import bench_gold
from alert_kinds import kinds, levels

from metrics.agreement import drift
from metrics.example import streams
from metrics.example.streams import Cheat, Drift, Plan

ORDINAL = Plan(days=250)
NOMINAL = replace(ORDINAL, ordered=False, prevalence=(0.4, 0.3, 0.2, 0.1), noise=0.2)
RARE = replace(NOMINAL, prevalence=(0.85, 0.15), noise=0.08)
SINCE = 40
YEAR = 250


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--streams", type=int, default=6, help="quiet streams a row, of 250 days")
    parser.add_argument("--drifting", type=int, default=25, help="streams with a drift a row")
    parser.add_argument("--normal", type=int, default=2_000, help="raters with normal sums")
    parser.add_argument("--only", default="quiet,levels,found,normal,kinds,gold,speed")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    parts = {
        "quiet": quiet,
        "found": found,
        "normal": normal,
        "levels": lambda options: levels(still()[:3], options),
        "kinds": lambda options: kinds(still(), options),
        "gold": lambda options: bench_gold.run(options.normal, sets=20),
        "speed": speed,
    }
    for part in options.only.split(","):
        parts[part](options)


def still() -> list[tuple[str, Plan]]:
    """The quiet rows in which nobody drifts or cheats."""
    rows = [(name, plan) for name, plan, _stated in quiet_rows()]
    return [(name, plan) for name, plan in rows if not (plan.drifts or plan.cheats)]


def run(plan: Plan, seed: int, alarm: float = 5_000.0) -> tuple[streams.Stream, drift.Drift]:
    stream = streams.simulate(plan, seed)
    columns = (stream.item, stream.rater, stream.code, stream.date)
    settings = drift.Settings(alarm=alarm)
    return stream, drift.alarms(*columns, plan.k, plan.ordered, settings=settings)


# --- false alarms


def several(kind: str, size: float, raters: tuple[int, ...]) -> tuple[Drift, ...]:
    """Drifts of these raters, a month apart."""
    return tuple(Drift(rater, kind, size, 40 + 20 * number) for number, rater in enumerate(raters))


def quiet_rows() -> list[tuple[str, Plan, str]]:
    """What nobody, or others, do: name, plan, what was stated of it."""
    few = replace(ORDINAL, raters=5, drifts=several("bias", -0.5, (2,)))
    four = (1, 6, 11, 16)
    cheats = (Cheat(3, "constant", 60), Cheat(9, "guess", 120))
    return [
        ("ordinal, 5 categories", ORDINAL, "2 in 461 rater-years (with the next two)"),
        ("nominal, 4 categories", NOMINAL, ""),
        ("binary, 15 % rare", RARE, ""),
        ("documents and weeks twice as uneven, ordinal", replace(ORDINAL, uneven=2.0), "3 in 152"),
        ("... nominal", replace(NOMINAL, uneven=2.0), "8 in 151"),
        ("5 items a day, 2 raters an item", replace(ORDINAL, a_day=5, per_item=2), "0 in 141"),
        ("raters come and go", replace(ORDINAL, come_and_go=0.8), "0 in 124"),
        ("3 raters only", replace(ORDINAL, raters=3), "0 in 89"),
        ("150 items a day", replace(ORDINAL, days=60, a_day=150), "1 in 32"),
        (
            "others drift: 4 of 20, bias -0.5",
            replace(ORDINAL, drifts=several("bias", -0.5, four)),
            "0 in 136",
        ),
        (
            "others drift: 4 of 20, kappa -0.3, nominal",
            replace(NOMINAL, drifts=several("kappa", 0.3, four)),
            "1 in 141",
        ),
        ("others drift: 1 of 5, bias -0.5", few, "3 in 101"),
        ("others cheat: 2 of 20", replace(ORDINAL, cheats=cheats), ""),
    ]


def quiet(options: argparse.Namespace) -> None:
    print("\n## Nobody drifts, or others do\n")
    print(
        "| stream | rater-years | false alarms, at most | false alarms | innocents named | stated | seconds a stream |"
    )
    print("|---|---|---|---|---|---|---|")
    total = np.zeros(3)
    for name, plan, stated in quiet_rows():
        start = time.perf_counter()
        times = options.streams * max(1, round(20 / plan.raters))
        figures = np.zeros(3)
        for number in range(times):
            figures += false_alarms(plan, options.seed * 1_000 + number)
        years, false, innocents = figures
        seconds = (time.perf_counter() - start) / times
        print(
            f"| {name} | {years:.0f} | {years / 20:.1f} | {false:.0f} | {innocents:.0f} | {stated} "
            f"| {seconds:.1f} |",
            flush=True,
        )
        total += figures
    print(
        f"| together | {total[0]:.0f} | {total[0] / 20:.1f} | {total[1]:.0f} | {total[2]:.0f} | | |"
    )


def false_alarms(plan: Plan, seed: int) -> np.ndarray:
    """Rater-years of those who do not drift, false alarms of them, and how many of them were
    named."""
    stream, result = run(plan, seed)
    guilty = {drift.rater for drift in plan.drifts} | {cheat.rater for cheat in plan.cheats}
    honest = ~np.isin(stream.rater, list(guilty))
    days = np.unique(stream.rater[honest] * plan.days + stream.day[honest]).size
    wrong = [alarm.rater for alarm in result.alarms if alarm.rater not in guilty]
    return np.array([days / YEAR, len(wrong), len(set(wrong))])


# --- how soon


@dataclass(frozen=True)
class Row:
    name: str
    plan: Plan
    stated: str  # of alarm and watch


def found_rows() -> list[Row]:
    ordinal, nominal = replace(ORDINAL, days=100), replace(NOMINAL, days=100)
    rare, uneven = replace(RARE, days=100), replace(ordinal, uneven=2.0)

    def with_drift(plan: Plan, kind: str, size: float, over: int = 0) -> Plan:
        return replace(plan, drifts=(Drift(7, kind, size, SINCE, over),))

    return [
        Row("bias 0.3", with_drift(ordinal, "bias", -0.3), "100 %; 186, **262**, 352; watch 136"),
        Row(
            "bias 0.3, twice as uneven",
            with_drift(uneven, "bias", -0.3),
            "100 %; 184, **321**, 419",
        ),
        Row("bias 0.5", with_drift(ordinal, "bias", -0.5), "100 %; 74, **96**, 148"),
        Row(
            "kappa -0.15, nominal",
            with_drift(nominal, "kappa", 0.15),
            "88 %; 289, **410**, 579; watch 220",
        ),
        Row(
            "kappa -0.15, ordinal",
            with_drift(ordinal, "kappa", 0.15),
            "94 %; 449, **596**, 852; watch 291",
        ),
        Row("kappa -0.3, nominal", with_drift(nominal, "kappa", 0.3), "100 %; 111, **191**, 226"),
        Row("kappa -0.3, ordinal", with_drift(ordinal, "kappa", 0.3), "100 %; 147, **193**, 239"),
        Row(
            "bias 0.6 growing over 30 days",
            with_drift(ordinal, "bias", 0.6, 30),
            "100 %; 356, **455**, 500",
        ),
        Row("kappa -0.15, rare binary", with_drift(rare, "kappa", 0.15), "31 %; > 1,000"),
    ]


def found(options: argparse.Namespace) -> None:
    print("\n## One of 20 drifts\n")
    print(
        "| drift | streams | found in 60 days | own compared items until the alarm: quartiles | until watched: median | innocents named | interval of the onset holds it | of the size | stated |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for row in found_rows():
        until, watched, held, innocents = [], [], [], 0
        for number in range(options.drifting):
            seed = options.seed * 1_000 + number
            stream, result = run(row.plan, seed)
            until.append(items_until(stream, result))
            held += intervals(stream, result, row.plan.drifts[0])
            innocents += len({alarm.rater for alarm in result.alarms} - {7})
            watched.append(items_until(*run(row.plan, seed, alarm=250.0)))
        share = np.mean(np.isfinite(until))
        print(
            f"| {row.name} | {options.drifting} | {share:.0%} | {quartiles(until)} | "
            f"{quartiles(watched, only_median=True)} | {innocents} | {_share(held, 0)} | {_share(held, 1)} | {row.stated} |",
            flush=True,
        )


def items_until(stream: streams.Stream, result: drift.Drift) -> float:
    """The drifter's own compared items from the drift to the first alarm since; infinite where
    there is none."""
    since = int(streams.date_of(SINCE))
    days = [alarm.day for alarm in result.alarms if alarm.rater == 7 and alarm.day >= since]
    if not days:
        return np.inf
    compared = np.bincount(stream.item)[stream.item] >= 2
    own = (stream.rater == 7) & (stream.date >= since) & (stream.date <= days[0])
    return float((own & compared).sum())


def intervals(
    stream: streams.Stream, result: drift.Drift, planted: Drift
) -> list[tuple[bool, bool]]:
    """Of the drifter's first alarm since, where it speaks of what was planted: whether its
    intervals hold the onset and the size."""
    since = int(streams.date_of(SINCE))
    own = [alarm for alarm in result.alarms if alarm.rater == 7 and alarm.day >= since][:1]
    held = []
    for alarm in own:
        if (alarm.channel == drift.AGREEMENT) != (planted.kind == "kappa"):
            continue
        rows = (stream.rater == 7) & (stream.date >= since) & (stream.date <= alarm.day)
        grown = np.clip((stream.day[rows] - SINCE + 1) / max(planted.over, 1), 0, 1).mean()
        size = grown * (-planted.size if planted.kind == "kappa" else planted.size)
        began = alarm.earliest <= since <= alarm.latest
        held.append((bool(began), bool(alarm.low <= size <= alarm.high)))
    return held


def _share(held: list[tuple[bool, bool]], place: int) -> str:
    return f"{np.mean([one[place] for one in held]):.0%}" if held else ""


def quartiles(until: list[float], *, only_median: bool = False) -> str:
    low, middle, high = np.quantile(until, [0.25, 0.5, 0.75], method="higher")
    told = [f"{value:,.0f}" if np.isfinite(value) else "more" for value in (low, middle, high)]
    return told[1] if only_median else f"{told[0]}, **{told[1]}**, {told[2]}"


# --- exactly normal sums


def normal(options: argparse.Namespace) -> None:
    """250 days of 20 items, two scores, variances known; on an ordered scale."""
    rng = np.random.default_rng(options.seed)
    shares = drift.Settings().ordered
    items, alarmed, watched = 20, 0, 0
    for _ in range(options.normal):
        evidence = np.zeros(YEAR)
        for channels, s2 in (((drift.AGREEMENT,), 0.3), ((drift.UP, drift.DOWN), 0.7)):
            kappa2 = 0.005
            total = items * rng.normal(0.5, np.sqrt(s2 / items + kappa2), YEAR)
            squares = total**2 / items + s2 * rng.chisquare(items - 1, YEAR)
            days = (np.full(YEAR, items), total, squares)
            for channel in channels:
                side, prior = drift.SIDE[channel], drift.PRIORS[channel]
                found = drift.evidence(*days, s2=s2, kappa2=kappa2, side=side, prior=prior)
                evidence += shares[channel] * found.total
        alarmed += int(evidence.max() >= 5_000)
        watched += int(evidence.max() >= 250)
    print("\n## Exactly normal sums, 250 days\n")
    print("| raters | alarmed | at most | stated | watched |")
    print("|---|---|---|---|---|")
    share, watch = alarmed / options.normal, watched / options.normal
    print(f"| {options.normal:,} | {share:.1%} | {YEAR / 5_000:.0%} | 2.0 % | {watch:.0%} |")


# --- how long it takes


def speed(options: argparse.Namespace) -> None:
    print("\n## Seconds of all alarms\n")
    print("| stream | ratings | raters | days | alarms | seconds | of processor |")
    print("|---|---|---|---|---|---|---|")
    rows = [
        ("20 raters, ordinal", replace(ORDINAL, days=20)),
        ("20 raters, ordinal", replace(ORDINAL, days=60)),
        (
            "3,800 raters of one day each, nominal",
            replace(NOMINAL, raters=3_800, days=1, per_item=5),
        ),
        (
            "1,000 raters of two years, 5 items a day, ordinal",
            replace(ORDINAL, raters=1_000, days=500, a_day=5),
        ),
    ]
    for name, plan in rows:
        stream = streams.simulate(plan, options.seed)
        columns = (stream.item, stream.rater, stream.code, stream.date)
        for level in (np.inf, 5_000.0):
            start, used = time.perf_counter(), time.process_time()
            settings = drift.Settings(alarm=level)
            result = drift.alarms(*columns, plan.k, plan.ordered, settings=settings)
            seconds, used = time.perf_counter() - start, time.process_time() - used
            rang = "not asked" if np.isinf(level) else str(len(result.alarms))
            print(
                f"| {name} | {stream.item.size:,} | {plan.raters:,} | {plan.days} | {rang} | "
                f"{seconds:.2f} | {used:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
