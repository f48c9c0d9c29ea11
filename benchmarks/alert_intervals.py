"""How often the intervals that an alarm is told with hold since when and by how much: charts of
days, drawn anew each time, run until they ring. Prints the table of docs/statistics.md.

    python benchmarks/alert_intervals.py [trials] [seed]

A day's sum is that of normal scores about the rater's level of that day, with variances as they
are in the streams of bench_alarms.py: guesses scatter more, and so does agreement once it fell.
What grows does so evenly over 30 working days; its size is the mean since it began.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from metrics.agreement import drift
from metrics.agreement.drift.evidence import Sums

TRIALS = 1_000
AFTER = 60  # days since


@dataclass(frozen=True)
class Planted:
    """size: of the shift, from day `since` on, growing over `over` days; items of a day, their
    variance before and since; share: of the channel's evidence."""

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
        return self.since + AFTER

    @property
    def grown(self) -> np.ndarray:
        """How much of the shift there is on each day."""
        days = np.arange(self.n_days) - self.since
        return np.clip((days + 1) / max(self.over, 1), 0, 1) * (days >= 0)


NOMINAL: dict[str, Any] = {"channel": drift.AGREEMENT, "s2": 0.30, "share": 1.0}
ORDINAL: dict[str, Any] = {"channel": drift.AGREEMENT, "s2": 0.18}
BIAS: dict[str, Any] = {"channel": drift.DOWN, "s2": 0.67, "s2_since": 0.67}
ROWS = (
    Planted("bias 0.3", size=-0.3, **BIAS),
    Planted("bias 0.5", size=-0.5, **BIAS),
    Planted("bias 0.8", size=-0.8, **BIAS),
    Planted("bias 0.5, 5 items a day", size=-0.5, items=5, since=60, **BIAS),
    Planted("bias 0.6 growing over 30 days", size=-0.6, over=30, **BIAS),
    Planted("kappa -0.15, nominal", size=-0.15, s2_since=0.33, **NOMINAL),
    Planted("kappa -0.3, nominal", size=-0.3, s2_since=0.36, **NOMINAL),
    Planted("... growing over 30 days", size=-0.3, s2_since=0.36, over=30, **NOMINAL),
    Planted("... 150 items a day", size=-0.3, s2_since=0.36, items=150, since=30, **NOMINAL),
    Planted("... 4 days before it", size=-0.3, s2_since=0.36, since=4, **NOMINAL),
    Planted("kappa -0.15, ordinal", size=-0.15, s2_since=0.26, **ORDINAL),
    Planted("kappa -0.3, ordinal", size=-0.3, s2_since=0.34, **ORDINAL),
)


@dataclass(frozen=True)
class Told:
    """Whether the intervals hold what was planted, days between the onsets, and half the width of
    the size's interval over the size."""

    onset: bool
    size: bool
    days: int
    half: float


def drawn(planted: Planted, rng: np.random.Generator) -> Sums:
    """The days of one rater."""
    grown, items = planted.grown, planted.items
    s2 = planted.s2 + (planted.s2_since - planted.s2) * grown
    level = planted.size * grown + rng.normal(0, np.sqrt(planted.kappa2), grown.size)
    total = items * rng.normal(level, np.sqrt(s2 / items))
    squares = total**2 / items + s2 * rng.chisquare(items - 1, grown.size)
    return Sums(np.full(grown.size, items), total, squares)


def told(planted: Planted, days: Sums, level: float = 5_000.0) -> Told | None:
    """What the first alarm since tells; None without one."""
    s2 = (planted.since * planted.s2 + AFTER * planted.s2_since) / planted.n_days
    known: dict[str, Any] = {
        "s2": s2,
        "kappa2": planted.kappa2,
        "side": drift.SIDE[planted.channel],
        "prior": drift.PRIORS[planted.channel],
    }
    found = drift.evidence(*days, **known)
    reached = np.flatnonzero(planted.share * found.total >= level)
    reached = reached[reached >= planted.since]
    if not reached.size:
        return None
    t = int(reached[0])
    until = Sums(*(np.asarray(column)[: t + 1] for column in days))
    shift = drift.extent(until, int(found.onset[t]), **known)
    size = planted.size * planted.grown[planted.since : t + 1].mean()
    return Told(
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
    for planted in ROWS:
        rng = np.random.default_rng(seed)
        all_told = [told(planted, drawn(planted, rng)) for _ in range(trials)]
        rang = [one for one in all_told if one is not None]
        print(
            f"| {planted.name} | {len(rang) / trials:.0%} | {np.mean([one.onset for one in rang]):.1%} "
            f"| {np.mean([one.size for one in rang]):.1%} "
            f"| {np.median([one.days for one in rang]):.0f} "
            f"| {np.median([one.half for one in rang]):.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
