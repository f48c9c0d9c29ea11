"""One round of control charts: the evidence M_t of every rater on every active day.

Ratings and days that earlier alerts exclude are left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from metrics.agreement.counts.grouping import Ints
from metrics.agreement.estimate import Floats

from .comparisons import BoolArray, Comparisons, DatedRatings, compute_differences, fit_effects
from .daily_scores import (
    DailyScores,
    ScoreVariances,
    estimate_common_weeks,
    estimate_variances,
    score_ratings,
    sum_by_day,
)
from .evidence import DailySums, ShiftEvidence, compute_evidence_by_side
from .settings import AGREEMENT, SCORE_OF_CHANNEL, SIDE_OF_CHANNEL, DriftSettings, ShiftPrior
from .shift_estimates import ShiftEstimate, estimate_shift

FAR_FUTURE = 2**62  # a day after all other days


class DayVariance(NamedTuple):
    """Variance of an item about its day, and of the days about their level."""

    s2: float
    kappa2: float


@dataclass(frozen=True)
class ControlChart:
    """One rater's active days of the present segment; arrays (T,).

    rater: number; day: days since 1970-01-01; n: compared items; evidence: M; channels: name ->
    evidence of the channel; days: score -> its daily sums; variance: score -> variance of a day;
    priors: of each channel
    """

    rater: int
    day: Ints
    n: Ints
    evidence: Floats
    channels: dict[str, ShiftEvidence]
    days: dict[str, DailyScores] = field(repr=False)
    variance: dict[str, DayVariance] = field(repr=False)
    priors: Mapping[str, ShiftPrior] = field(repr=False)

    def compute_means(self, score: str) -> Floats:
        """Return the mean scores of the days (T,)."""
        return self.days[score].total / self.n

    def estimate_shift(self, name: str, index: int) -> ShiftEstimate:
        """Return onset range and size interval of a channel's shift on a day with an onset."""
        score, onset = SCORE_OF_CHANNEL[name], int(self.channels[name].onset[index])
        return estimate_shift(
            _get_daily_sums(self.days[score].select(slice(index + 1))),
            onset,
            **self.variance[score]._asdict(),
            side=SIDE_OF_CHANNEL[name],
            prior=self.priors[name],
        )

    def find_leading_channel(self, index: int) -> str:
        """Return the channel with the largest evidence on day t; of equal ones the first."""
        return max(self.channels, key=lambda name: float(self.channels[name].total[index]))

    def find_first_reaching(self, level: float) -> int | None:
        """Return the index of the first day with this much evidence, or None."""
        reached = self.evidence >= level
        return int(np.argmax(reached)) if reached.any() else None


@dataclass
class Exclusions:
    """Ratings and days that alerts exclude, as days (R,).

    peers: a rater's ratings from this day on are no longer peers of others, nor used for the
    effects
    before: a rater's own days up to this one belong to an earlier segment
    until: all raters' days from this one on belong to a later segment; one day for all
    """

    peers: Ints
    before: Ints
    until: int = FAR_FUTURE

    @classmethod
    def empty(cls, n_raters: int) -> "Exclusions":
        """Return exclusions that exclude nothing."""
        far_future = np.full(n_raters, FAR_FUTURE)
        return cls(far_future, np.full(n_raters, np.iinfo(np.int64).min))

    def get_excluded(self, ratings: DatedRatings) -> BoolArray:
        """Return the mask (M,) of ratings that no longer count as peers."""
        return ratings.dated & (ratings.day >= self.peers[ratings.rater])

    def start_segment(self, first: int, until: int) -> None:
        """Start a segment of all raters on the day `first`, which ends before `until`."""
        self.before = np.maximum(self.before, first - 1)
        self.until = until


@dataclass(frozen=True)
class ChartRound:
    """Days and variances of each score, from which charts are built on request.

    days: of the present segments; all_days: with those of earlier ones; rows: rater -> rows of the
    days, of all raters with a compared and dated rating, in their order
    """

    days: dict[str, DailyScores] = field(default_factory=dict)
    all_days: dict[str, DailyScores] = field(default_factory=dict)
    variances: dict[str, ScoreVariances] = field(default_factory=dict)
    rows: dict[int, slice] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)
    priors: Mapping[str, ShiftPrior] = field(default_factory=dict)
    _full_charts: dict[int, ControlChart] = field(default_factory=dict)

    @property
    def charts(self) -> list[ControlChart]:
        """The charts of all raters."""
        return [self.get_chart(rater) for rater in self.rows]

    def get_chart(self, rater: int, until: int = FAR_FUTURE) -> ControlChart:
        """Return the chart of a rater, up to a day; the full one is built once."""
        if until < FAR_FUTURE:
            return self._build_chart(rater, until)
        if rater not in self._full_charts:
            self._full_charts[rater] = self._build_chart(rater, until)
        return self._full_charts[rater]

    def _build_chart(self, rater: int, until: int) -> ControlChart:
        rows = self.rows[rater]
        day = next(iter(self.days.values())).day[rows]
        rows = slice(rows.start, rows.start + int(np.searchsorted(day, until, side="right")))
        rater_days = {score: evidence.select(rows) for score, evidence in self.days.items()}
        any_days = next(iter(rater_days.values()))  # all scores have the same days and items
        total: Floats = np.zeros(any_days.n.size)
        channels: dict[str, ShiftEvidence] = {}
        day_variances = {
            score: DayVariance(float(variance.s2[rater]), float(variance.kappa2[rater]))
            for score, variance in self.variances.items()
        }
        for names in self._group_channels_by_score_and_prior():
            score, prior = SCORE_OF_CHANNEL[names[0]], self.priors[names[0]]
            sides = [SIDE_OF_CHANNEL[name] for name in names]
            evidence = compute_evidence_by_side(
                _get_daily_sums(rater_days[score]),
                sides,
                **day_variances[score]._asdict(),
                prior=prior,
            )
            channels |= zip(names, evidence, strict=True)
        for name, share in self.shares.items():
            total = total + share * channels[name].total
        channels = {name: channels[name] for name in self.shares}
        return ControlChart(
            rater, any_days.day, any_days.n, total, channels, rater_days, day_variances, self.priors
        )

    def _group_channels_by_score_and_prior(self) -> list[list[str]]:
        """Return the channels in groups with the same score and the same prior."""
        groups: dict[tuple[str, ShiftPrior], list[str]] = {}
        for name in self.shares:
            groups.setdefault((SCORE_OF_CHANNEL[name], self.priors[name]), []).append(name)
        return list(groups.values())


def _get_daily_sums(days: DailyScores) -> DailySums:
    return DailySums(days.n, days.total, days.squares)


@dataclass(frozen=True)
class DriftData:
    """Input of every round: ratings, comparisons, and d (C,) of each score."""

    ratings: DatedRatings
    comparisons: Comparisons
    differences: dict[str, Floats]
    shares: dict[str, float]
    settings: DriftSettings = field(default_factory=DriftSettings)

    @classmethod
    def from_ratings(
        cls, ratings: DatedRatings, k: int, *, ordered: bool, settings: DriftSettings
    ) -> "DriftData":
        """Compare the ratings on a scale of k categories, for every score in use."""
        shares = dict(settings.get_shares(k, ordered=ordered))
        comparisons = Comparisons.from_ratings(ratings)
        d = {
            score: compute_differences(score, ratings, comparisons, k, ordered=ordered)
            for score in dict.fromkeys(SCORE_OF_CHANNEL[channel] for channel in shares)
        }
        return cls(ratings, comparisons, d, shares, settings)

    def build_round(self, exclusions: Exclusions) -> ChartRound:
        """Return the round of charts under these exclusions."""
        if not self.comparisons.own.size:
            return ChartRound()
        ratings, settings = self.ratings, self.settings
        all_days = {score: self.compute_days(score, exclusions) for score in self.differences}
        days: dict[str, DailyScores] = {}
        score_variances: dict[str, ScoreVariances] = {}
        for score, score_days in all_days.items():
            is_present = (score_days.day > exclusions.before[score_days.rater]) & (
                score_days.day < exclusions.until
            )
            days[score] = score_days.select(is_present)
            score_variances[score] = estimate_variances(
                days[score], ratings.keys.size, score, settings
            )
        any_days = next(iter(days.values()))  # all scores have the same raters, days and items
        edges = np.flatnonzero(np.diff(any_days.rater, prepend=-1, append=-1)).tolist()
        rows = {int(any_days.rater[start]): slice(start, end) for start, end in pairwise(edges)}
        return ChartRound(days, all_days, score_variances, rows, self.shares, settings.priors)

    def compute_days(self, score: str, exclusions: Exclusions) -> DailyScores:
        """Return the sums of all days of a score."""
        ratings, comparisons, d = self.ratings, self.comparisons, self.differences[score]
        excluded = exclusions.get_excluded(ratings)
        is_compared = ~excluded[comparisons.other]
        is_fitted = is_compared & ~excluded[comparisons.own]
        rater_effects = fit_effects(
            score,
            d[is_fitted],
            comparisons.own_rater[is_fitted],
            comparisons.other_rater[is_fitted],
            n_raters=ratings.keys.size,
            ridge=self.settings.ridge,
        )
        comparisons, d = comparisons.select(is_compared), d[is_compared]
        rating_scores = score_ratings(ratings, comparisons, d, rater_effects)
        if score == AGREEMENT:
            rating_scores -= estimate_common_weeks(ratings, comparisons, d, rater_effects)
        scored = np.isfinite(rating_scores) & ratings.dated
        return sum_by_day(ratings.rater[scored], ratings.day[scored], rating_scores[scored])
