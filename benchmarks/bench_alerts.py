"""False alert rate and detection delay of drift alerts on simulated streams.

    python benchmarks/bench_alerts.py [--streams 6] [--drifting 25] [--normal 2000] [--seed 1]
        [--shapes 4] [--only quiet,levels,found,shapes,documents,normal,kinds,gold,speed]

Streams are those of `manage.py simulate`. The first two tables also show the figures that were
published before this code was written (a prototype of the same formulas with its own generator):

1. Nobody drifts, or other raters do: false alerts, and how many the promise allows (one in 20
   rater-years of 250 days). Raters with an alert who do not drift are the innocents.
2. One of 20 raters drifts from day 40 on: share detected within 60 days; quartiles of the rater's
   own compared items from the onset to the alert (undetected raters count as more), and to the
   watch level; coverage of the 95 % intervals of onset and size (of a gradual drift: of its mean
   size until the alert).
3. Exactly normal sums, as the proof assumes: raters with an alert within 250 days.
4. False alerts at the lower thresholds, the other kinds where nothing happens (alert_kinds.py),
   and gold (bench_gold.py).
5. Who is named in streams of 25 shapes, and of items in documents (alert_goals.py).
6. Seconds to compute all alerts of a question: a first pass, and with the alerts.
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
from alert_goals import print_documents, print_shapes
from alert_kinds import print_drift_levels, print_kinds

from metrics.agreement import drift
from metrics.example import streams
from metrics.example.streams import SimulatedCheat, SimulatedDrift, StreamPlan

ORDINAL = StreamPlan(days=250)
NOMINAL = replace(ORDINAL, ordered=False, prevalence=(0.4, 0.3, 0.2, 0.1), noise=0.2)
RARE = replace(NOMINAL, prevalence=(0.85, 0.15), noise=0.08)
ONSET_DAY = 40
DAYS_PER_YEAR = 250


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--streams", type=int, default=6, help="quiet streams a row, of 250 days")
    parser.add_argument("--drifting", type=int, default=25, help="streams with a drift a row")
    parser.add_argument("--normal", type=int, default=2_000, help="raters with normal sums")
    parser.add_argument("--shapes", type=int, default=4, help="streams a shape and scale")
    parser.add_argument(
        "--only", default="quiet,levels,found,shapes,documents,normal,kinds,gold,speed"
    )
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    sections = {
        "quiet": bench_quiet,
        "found": bench_detection,
        "shapes": print_shapes,
        "documents": print_documents,
        "normal": bench_normal,
        "levels": lambda options: print_drift_levels(list_stable_streams()[:3], options),
        "kinds": lambda options: print_kinds(list_stable_streams(), options),
        "gold": lambda options: bench_gold.run_gold(options.normal, sets=20),
        "speed": bench_speed,
    }
    for section in options.only.split(","):
        sections[section](options)


def list_stable_streams() -> list[tuple[str, StreamPlan]]:
    """Return the quiet rows in which nobody drifts or cheats."""
    rows = [(name, plan) for name, plan, _stated in list_quiet_rows()]
    return [(name, plan) for name, plan in rows if not (plan.drifts or plan.cheats)]


def run_stream(
    plan: StreamPlan, seed: int, alarm: float = 5_000.0
) -> tuple[streams.SimulatedStream, drift.DriftResult]:
    stream = streams.simulate_stream(plan, seed)
    columns = (stream.item, stream.rater, stream.code, stream.date)
    settings = drift.DriftSettings(alert_level=alarm)
    return stream, drift.detect_drift(*columns, plan.k, plan.ordered, settings=settings)


# --- false alerts


def build_drifts(kind: str, size: float, raters: tuple[int, ...]) -> tuple[SimulatedDrift, ...]:
    """Return drifts of these raters, a month apart."""
    return tuple(
        SimulatedDrift(rater, kind, size, 40 + 20 * number) for number, rater in enumerate(raters)
    )


def list_quiet_rows() -> list[tuple[str, StreamPlan, str]]:
    """Return rows without a drift of the raters in question: name, plan, published figure."""
    few = replace(ORDINAL, raters=5, drifts=build_drifts("bias", -0.5, (2,)))
    four = (1, 6, 11, 16)
    cheats = (SimulatedCheat(3, "constant", 60), SimulatedCheat(9, "guess", 120))
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
            replace(ORDINAL, drifts=build_drifts("bias", -0.5, four)),
            "0 in 136",
        ),
        (
            "others drift: 4 of 20, kappa -0.3, nominal",
            replace(NOMINAL, drifts=build_drifts("kappa", 0.3, four)),
            "1 in 141",
        ),
        ("others drift: 1 of 5, bias -0.5", few, "3 in 101"),
        ("others cheat: 2 of 20", replace(ORDINAL, cheats=cheats), ""),
    ]


def bench_quiet(options: argparse.Namespace) -> None:
    print("\n## Nobody drifts, or others do\n")
    print(
        "| stream | rater-years | false alarms, at most | false alarms | innocents named | stated | seconds a stream |"
    )
    print("|---|---|---|---|---|---|---|")
    total = np.zeros(3)
    for name, plan, stated in list_quiet_rows():
        started = time.perf_counter()
        repeats = options.streams * max(1, round(20 / plan.raters))
        figures = np.zeros(3)
        for number in range(repeats):
            figures += count_false_alerts(plan, options.seed * 1_000 + number)
        years, false_alerts, innocents = figures
        seconds = (time.perf_counter() - started) / repeats
        print(
            f"| {name} | {years:.0f} | {years / 20:.1f} | {false_alerts:.0f} | {innocents:.0f} | {stated} "
            f"| {seconds:.1f} |",
            flush=True,
        )
        total += figures
    print(
        f"| together | {total[0]:.0f} | {total[0] / 20:.1f} | {total[1]:.0f} | {total[2]:.0f} | | |"
    )


def count_false_alerts(plan: StreamPlan, seed: int) -> np.ndarray:
    """Return rater-years without drift, their false alerts, and the number of raters concerned."""
    stream, result = run_stream(plan, seed)
    guilty = {drift.rater for drift in plan.drifts} | {cheat.rater for cheat in plan.cheats}
    is_honest = ~np.isin(stream.rater, list(guilty))
    days = np.unique(stream.rater[is_honest] * plan.days + stream.day[is_honest]).size
    false_alerts = [alarm.rater for alarm in result.alerts if alarm.rater not in guilty]
    return np.array([days / DAYS_PER_YEAR, len(false_alerts), len(set(false_alerts))])


# --- detection delay


@dataclass(frozen=True)
class DetectionScenario:
    """A planted drift, with the published figures."""

    name: str
    plan: StreamPlan
    published: str  # figures of alert and watch


def list_drift_scenarios() -> list[DetectionScenario]:
    ordinal, nominal = replace(ORDINAL, days=100), replace(NOMINAL, days=100)
    rare, uneven = replace(RARE, days=100), replace(ordinal, uneven=2.0)

    def with_drift(plan: StreamPlan, kind: str, size: float, over: int = 0) -> StreamPlan:
        return replace(plan, drifts=(SimulatedDrift(7, kind, size, ONSET_DAY, over),))

    return [
        DetectionScenario(
            "bias 0.3", with_drift(ordinal, "bias", -0.3), "100 %; 186, **262**, 352; watch 136"
        ),
        DetectionScenario(
            "bias 0.3, twice as uneven",
            with_drift(uneven, "bias", -0.3),
            "100 %; 184, **321**, 419",
        ),
        DetectionScenario("bias 0.5", with_drift(ordinal, "bias", -0.5), "100 %; 74, **96**, 148"),
        DetectionScenario(
            "kappa -0.15, nominal",
            with_drift(nominal, "kappa", 0.15),
            "88 %; 289, **410**, 579; watch 220",
        ),
        DetectionScenario(
            "kappa -0.15, ordinal",
            with_drift(ordinal, "kappa", 0.15),
            "94 %; 449, **596**, 852; watch 291",
        ),
        DetectionScenario(
            "kappa -0.3, nominal", with_drift(nominal, "kappa", 0.3), "100 %; 111, **191**, 226"
        ),
        DetectionScenario(
            "kappa -0.3, ordinal", with_drift(ordinal, "kappa", 0.3), "100 %; 147, **193**, 239"
        ),
        DetectionScenario(
            "bias 0.6 growing over 30 days",
            with_drift(ordinal, "bias", 0.6, 30),
            "100 %; 356, **455**, 500",
        ),
        DetectionScenario(
            "kappa -0.15, rare binary", with_drift(rare, "kappa", 0.15), "31 %; > 1,000"
        ),
    ]


def bench_detection(options: argparse.Namespace) -> None:
    print("\n## One of 20 drifts\n")
    print(
        "| drift | streams | found in 60 days | own compared items until the alarm: quartiles | until watched: median | innocents named | interval of the onset holds it | of the size | stated |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for scenario in list_drift_scenarios():
        items_to_alert, items_to_watch, covered, innocents = [], [], [], 0
        for number in range(options.drifting):
            seed = options.seed * 1_000 + number
            stream, result = run_stream(scenario.plan, seed)
            items_to_alert.append(count_items_until_alert(stream, result))
            covered += check_intervals(stream, result, scenario.plan.drifts[0])
            innocents += len({alarm.rater for alarm in result.alerts} - {7})
            items_to_watch.append(
                count_items_until_alert(*run_stream(scenario.plan, seed, alarm=250.0))
            )
        share = np.mean(np.isfinite(items_to_alert))
        print(
            f"| {scenario.name} | {options.drifting} | {share:.0%} | {format_quartiles(items_to_alert)} | "
            f"{format_quartiles(items_to_watch, only_median=True)} | {innocents} | {_format_share(covered, 0)} | {_format_share(covered, 1)} | {scenario.published} |",
            flush=True,
        )


def count_items_until_alert(stream: streams.SimulatedStream, result: drift.DriftResult) -> float:
    """Return the drifter's own compared items from the onset to the first alert.

    Infinite without an alert.
    """
    since = int(streams.convert_working_days(ONSET_DAY))
    days = [alarm.day for alarm in result.alerts if alarm.rater == 7 and alarm.day >= since]
    if not days:
        return np.inf
    is_compared = np.bincount(stream.item)[stream.item] >= 2
    is_own = (stream.rater == 7) & (stream.date >= since) & (stream.date <= days[0])
    return float((is_own & is_compared).sum())


def check_intervals(
    stream: streams.SimulatedStream, result: drift.DriftResult, planted: SimulatedDrift
) -> list[tuple[bool, bool]]:
    """Check the intervals of the drifter's first alert: (onset covered, size covered).

    Empty without an alert, and if it concerns another channel than the planted drift.
    """
    since = int(streams.convert_working_days(ONSET_DAY))
    first_alerts = [alarm for alarm in result.alerts if alarm.rater == 7 and alarm.day >= since][:1]
    covered = []
    for alarm in first_alerts:
        if (alarm.channel == drift.AGREEMENT) != (planted.kind == "kappa"):
            continue
        rows = (stream.rater == 7) & (stream.date >= since) & (stream.date <= alarm.day)
        mean_share = np.clip((stream.day[rows] - ONSET_DAY + 1) / max(planted.over, 1), 0, 1).mean()
        size = mean_share * (-planted.size if planted.kind == "kappa" else planted.size)
        onset_covered = alarm.earliest <= since <= alarm.latest
        covered.append((bool(onset_covered), bool(alarm.low <= size <= alarm.high)))
    return covered


def _format_share(covered: list[tuple[bool, bool]], column: int) -> str:
    return f"{np.mean([pair[column] for pair in covered]):.0%}" if covered else ""


def format_quartiles(n_items: list[float], *, only_median: bool = False) -> str:
    low, middle, high = np.quantile(n_items, [0.25, 0.5, 0.75], method="higher")
    texts = [f"{value:,.0f}" if np.isfinite(value) else "more" for value in (low, middle, high)]
    return texts[1] if only_median else f"{texts[0]}, **{texts[1]}**, {texts[2]}"


# --- exactly normal sums


def bench_normal(options: argparse.Namespace) -> None:
    """Simulate 250 days of 20 items with two scores and known variances on an ordinal scale."""
    rng = np.random.default_rng(options.seed)
    shares = drift.DriftSettings().ordered
    items, alarmed, watched = 20, 0, 0
    for _ in range(options.normal):
        evidence = np.zeros(DAYS_PER_YEAR)
        for channels, s2 in (((drift.AGREEMENT,), 0.3), ((drift.UP, drift.DOWN), 0.7)):
            kappa2 = 0.005
            total = items * rng.normal(0.5, np.sqrt(s2 / items + kappa2), DAYS_PER_YEAR)
            squares = total**2 / items + s2 * rng.chisquare(items - 1, DAYS_PER_YEAR)
            days = (np.full(DAYS_PER_YEAR, items), total, squares)
            for channel in channels:
                side, prior = drift.SIDE_OF_CHANNEL[channel], drift.PRIORS[channel]
                result = drift.compute_evidence(*days, s2=s2, kappa2=kappa2, side=side, prior=prior)
                evidence += shares[channel] * result.total
        alarmed += int(evidence.max() >= 5_000)
        watched += int(evidence.max() >= 250)
    print("\n## Exactly normal sums, 250 days\n")
    print("| raters | alarmed | at most | stated | watched |")
    print("|---|---|---|---|---|")
    share, watch_share = alarmed / options.normal, watched / options.normal
    print(
        f"| {options.normal:,} | {share:.1%} | {DAYS_PER_YEAR / 5_000:.0%} | 2.0 % | {watch_share:.0%} |"
    )


# --- computing time


def bench_speed(options: argparse.Namespace) -> None:
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
        stream = streams.simulate_stream(plan, options.seed)
        columns = (stream.item, stream.rater, stream.code, stream.date)
        for level in (np.inf, 5_000.0):
            started, processor_seconds = time.perf_counter(), time.process_time()
            settings = drift.DriftSettings(alert_level=level)
            result = drift.detect_drift(*columns, plan.k, plan.ordered, settings=settings)
            seconds, processor_seconds = (
                time.perf_counter() - started,
                time.process_time() - processor_seconds,
            )
            n_alerts = "not asked" if np.isinf(level) else str(len(result.alerts))
            print(
                f"| {name} | {stream.item.size:,} | {plan.raters:,} | {plan.days} | {n_alerts} | "
                f"{seconds:.2f} | {processor_seconds:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
