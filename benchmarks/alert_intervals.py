"""Coverage of the intervals of an alert's onset and size: simulated days, run until the alert.

    python benchmarks/alert_intervals.py [trials] [seed]

It prints the table of docs/statistics.md. A day's sum is that of normal scores around the
rater's level of that day, with variances as in the streams of bench_alerts.py: guesses scatter
more, and so does agreement after a fall. Gradual shifts grow evenly over 30 working days; their
size is the mean since the onset.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from metrics.agreement import drift
from metrics.agreement.drift.evidence import DailySums

TRIALS = 1_000
DAYS_AFTER = 60  # days simulated after the onset


@dataclass(frozen=True)
class PlantedShift:
    """A planted shift of size `size` from day `since` on, growing over `over` days.

    `items` per day, with variance `s2` before and `s2_since` after the onset; `share`: of the
    channel's evidence.
    """

    name: str
    channel: str
    size: float
    s2: float
    s2_since: float
    items: int = 30
    over: int = 0
    share: float = 1 / 3
    since: int = 40
    kappa2: float = 0.007

    @property
    def n_days(self) -> int:
        return self.since + DAYS_AFTER

    @property
    def grown(self) -> np.ndarray:
        """Return the fraction of the shift that is present on each day."""
        days = np.arange(self.n_days) - self.since
        return np.clip((days + 1) / max(self.over, 1), 0, 1) * (days >= 0)


NOMINAL: dict[str, Any] = {"channel": drift.AGREEMENT, "s2": 0.30, "share": 1.0}
ORDINAL: dict[str, Any] = {"channel": drift.AGREEMENT, "s2": 0.18}
BIAS: dict[str, Any] = {"channel": drift.DOWN, "s2": 0.67, "s2_since": 0.67}
SCENARIOS = (
    PlantedShift("bias 0.3", size=-0.3, **BIAS),
    PlantedShift("bias 0.5", size=-0.5, **BIAS),
    PlantedShift("bias 0.8", size=-0.8, **BIAS),
    PlantedShift("bias 0.5, 5 items a day", size=-0.5, items=5, since=60, **BIAS),
    PlantedShift("bias 0.6 growing over 30 days", size=-0.6, over=30, **BIAS),
    PlantedShift("kappa -0.15, nominal", size=-0.15, s2_since=0.33, **NOMINAL),
    PlantedShift("kappa -0.3, nominal", size=-0.3, s2_since=0.36, **NOMINAL),
    PlantedShift("... growing over 30 days", size=-0.3, s2_since=0.36, over=30, **NOMINAL),
    PlantedShift("... 150 items a day", size=-0.3, s2_since=0.36, items=150, since=30, **NOMINAL),
    PlantedShift("... 4 days before it", size=-0.3, s2_since=0.36, since=4, **NOMINAL),
    PlantedShift("kappa -0.15, ordinal", size=-0.15, s2_since=0.26, **ORDINAL),
    PlantedShift("kappa -0.3, ordinal", size=-0.3, s2_since=0.34, **ORDINAL),
)


@dataclass(frozen=True)
class IntervalCheck:
    """Coverage of an alert's intervals: whether onset and size contain the planted values.

    `onset_days`: width of the interval of the onset; `half_width`: half the width of the interval
    of the size, divided by the size.
    """

    onset_covered: bool
    size_covered: bool
    onset_days: int
    half_width: float


def simulate_days(planted: PlantedShift, rng: np.random.Generator) -> DailySums:
    """Return the simulated days of one rater."""
    grown, items = planted.grown, planted.items
    s2 = planted.s2 + (planted.s2_since - planted.s2) * grown
    level = planted.size * grown + rng.normal(0, np.sqrt(planted.kappa2), grown.size)
    sums = items * rng.normal(level, np.sqrt(s2 / items))
    squares = sums**2 / items + s2 * rng.chisquare(items - 1, grown.size)
    return DailySums(np.full(grown.size, items), sums, squares)


def check_first_alert(
    planted: PlantedShift, days: DailySums, level: float = 5_000.0
) -> IntervalCheck | None:
    """Return the check of the first alert after the onset; None without an alert."""
    s2 = (planted.since * planted.s2 + DAYS_AFTER * planted.s2_since) / planted.n_days
    parameters: dict[str, Any] = {
        "s2": s2,
        "kappa2": planted.kappa2,
        "side": drift.SIDE_OF_CHANNEL[planted.channel],
        "prior": drift.PRIORS[planted.channel],
    }
    evidence = drift.compute_evidence(*days, **parameters)
    reached = np.flatnonzero(planted.share * evidence.total >= level)
    reached = reached[reached >= planted.since]
    if not reached.size:
        return None
    t = int(reached[0])
    until = DailySums(*(np.asarray(column)[: t + 1] for column in days))
    shift = drift.estimate_shift(until, int(evidence.onset[t]), **parameters)
    size = planted.size * planted.grown[planted.since : t + 1].mean()
    return IntervalCheck(
        shift.earliest <= planted.since <= shift.latest,
        shift.low <= size <= shift.high,
        shift.latest - shift.earliest + 1,
        (shift.high - shift.low) / 2 / abs(size),
    )


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    print(
        "| drift | rang within 60 days | held since when | held by how much | days between the onsets: median | half the interval / size: median |"
    )
    print("|---|---|---|---|---|---|")
    for planted in SCENARIOS:
        rng = np.random.default_rng(seed)
        checks = [check_first_alert(planted, simulate_days(planted, rng)) for _ in range(trials)]
        alerts = [alert for alert in checks if alert is not None]
        print(
            f"| {planted.name} | {len(alerts) / trials:.0%} | {np.mean([alert.onset_covered for alert in alerts]):.1%} "
            f"| {np.mean([alert.size_covered for alert in alerts]):.1%} "
            f"| {np.median([alert.onset_days for alert in alerts]):.0f} "
            f"| {np.median([alert.half_width for alert in alerts]):.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
