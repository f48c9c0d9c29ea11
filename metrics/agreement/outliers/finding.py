"""What a rule finds."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from metrics.agreement.counts.grouping import Ints
from metrics.agreement.estimate import Floats

RATER_SAME = "rater_same"
RATER_FAST = "rater_fast"
RATER_APART = "rater_apart"
QUESTION_FELL = "question_fell"
PAIR_DIVERGED = "pair_diverged"
CATEGORY_COLLAPSED = "category_collapsed"

# Measures beside drift.AGREEMENT.
ANSWERS, PACE, USE = "answers", "pace", "use"


@dataclass(frozen=True)
class Series:
    """Means day by day, or week by week; all (T,). day: (first) day since 1970-01-01; n: what the
    mean is of; mean; evidence: up to that day."""

    day: Ints
    n: Ints
    mean: Floats
    evidence: Floats


@dataclass(frozen=True)
class Found:
    """Something that somebody should look at. Days are days since 1970-01-01.

    kind, measure: what is told, and in what; raters: keys, none where it is about all of them;
    code: place of the category that it is about, or None
    day: when the evidence was enough; onset, and earliest and latest: since when, and the days
        between which it began (95 %)
    size, low, high: by how much, with its 95 % interval
    n, n_before: items that it rests on, since the onset and before
    evidence: on `day`; facts: more numbers that it rests on
    """

    kind: str
    measure: str
    raters: tuple[int, ...]
    code: int | None
    day: int
    onset: int
    earliest: int
    latest: int
    size: float
    low: float
    high: float
    n: int
    n_before: int
    evidence: float
    series: Series = field(repr=False)
    facts: Mapping[str, float] = field(default_factory=dict)
