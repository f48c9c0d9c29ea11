"""OutlierFinding: the result of an outlier rule."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from metrics.agreement.counts.grouping import Ints
from metrics.agreement.estimate import Floats

RATER_SAME_ANSWER = "rater_same_answer"
RATER_TOO_FAST = "rater_fast"
RATER_DISAGREES = "rater_apart"
NEWCOMER_BELOW_TEAM = "newcomer_below"
RATER_COPIES = "rater_copies"
QUESTION_AGREEMENT_FELL = "question_fell"
PAIR_DIVERGED = "pair_diverged"
CATEGORY_COLLAPSED = "category_collapsed"

# Items of a rater, or of a pair, below which no rule on single raters or pairs is tested.
MIN_ITEMS_TO_TEST = 30

# Measures besides drift.AGREEMENT.
ANSWERS_MEASURE, PACE_MEASURE, USE_MEASURE = "other_answers", "pace", "category_share"


@dataclass(frozen=True)
class EvidenceSeries:
    """Means and evidence by day or by week; all (T,).

    day: (first) day, in days since 1970-01-01; n: number of values in the mean; evidence: from the
    start up to and including that day or week.
    """

    day: Ints
    n: Ints
    mean: Floats
    evidence: Floats


@dataclass(frozen=True)
class OutlierFinding:
    """An outlier that needs attention; all days are days since 1970-01-01.

    kind, measure: the rule, and the measured quantity; raters: keys, empty if it concerns all of
        them; code: category concerned, or None
    day: when the evidence reached the alert level; onset: estimated start; earliest, latest: its
        95 % range
    size, low, high: size of the effect with its 95 % interval
    n, n_before: items since the onset, and before it
    evidence: on `day`; series: means and evidence over time; facts: further figures, by name
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
    series: EvidenceSeries = field(repr=False)
    facts: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def since_start(  # noqa: PLR0917
        cls,
        kind: str,
        measure: str,
        raters: tuple[int, ...],
        series: EvidenceSeries,
        index: int,
        interval: tuple[float, float, float],
        *,
        facts: Mapping[str, float],
        code: int | None = None,
    ) -> "OutlierFinding":
        """Return the finding raised on day `index` of the series, with its first day as onset.

        kind, measure, raters, facts: as in the class; interval: size, low, high; code: the category
        concerned, or None.
        """
        size, low, high = interval
        first_day = int(series.day[0])
        return cls(
            kind=kind,
            measure=measure,
            raters=raters,
            code=code,
            day=int(series.day[index]),
            onset=first_day,
            earliest=first_day,
            latest=first_day,
            size=size,
            low=low,
            high=high,
            n=int(series.n[: index + 1].sum()),
            n_before=0,
            evidence=float(series.evidence[index]),
            series=series,
            facts=facts,
        )
