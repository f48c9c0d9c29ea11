"""Control charts of drift: the evidence of every rater on every active day, in one round.

Ratings and days that earlier alerts exclude are left out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from metrics.agreement.counts.grouping import Ints
from metrics.agreement.drift.comparisons import CommonChange
from metrics.agreement.estimate import Floats

from .comparisons import (
    BoolArray,
    Comparisons,
    DatedRatings,
    build_agreement_matrix,
    compute_differences,
    fit_effects,
)
from .daily_scores import (
    DailyScores,
    ScoreVariances,
    estimate_common_weeks,
    estimate_variances,
    score_ratings,
    sum_by_day,
)
from .drift_settings import AGREEMENT, SCORE_OF_CHANNEL, SIDE_OF_CHANNEL, DriftSettings, ShiftPrior
from .evidence import (
    CommonScores,
    DailySums,
    ShiftEvidence,
    compute_bayes_factors_beyond_common,
    compute_evidence_by_side,
)
from .shift_estimates import ShiftEstimate, estimate_shift

FAR_FUTURE = 2**62  # a day after all other days


class DayVariance(NamedTuple):
    """Variances of a score: s2 of items about their day's mean, kappa2 of days about the level."""

    s2: float
    kappa2: float


@dataclass(frozen=True)
class ControlChart:
    """Control chart of one rater: the evidence on each active day of the present segment (T,).

    rater: number; day: days since 1970-01-01; n: compared items; evidence: M, the sum of the
    channels' evidence weighted by their shares of the alert level; channels: name -> evidence of
    the channel; days, variance: score -> its daily sums and variances; priors: by channel.
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
        """Return the mean of a score on each day (T,)."""
        return self.days[score].total / self.n

    def estimate_shift(self, name: str, index: int) -> ShiftEstimate:
        """Return onset range and size interval of a channel's shift, as seen on day `index`."""
        score, onset = SCORE_OF_CHANNEL[name], int(self.channels[name].onset[index])
        return estimate_shift(
            _get_daily_sums(self.days[score].select(slice(index + 1))),
            onset,
            **self.variance[score]._asdict(),
            side=SIDE_OF_CHANNEL[name],
            prior=self.priors[name],
        )

    def find_leading_channel(self, index: int) -> str:
        """Return the channel with the largest evidence on day `index`; the first of equal ones."""
        return max(self.channels, key=lambda name: float(self.channels[name].total[index]))

    def find_first_reaching(self, level: float) -> int | None:
        """Return the index of the first day whose evidence is at least `level`, or None."""
        reached = self.evidence >= level
        return int(np.argmax(reached)) if reached.any() else None


@dataclass
class Exclusions:
    """Ratings and days that alerts exclude from later rounds of detection.

    peers (R,): first day from which a rater's ratings are no longer peers, nor used for effects
    before (R,): last day of a rater that belongs to an earlier segment
    until: first day of a later segment, the same for all raters
    """

    peers: Ints
    before: Ints
    until: int = FAR_FUTURE

    @classmethod
    def empty(cls, n_raters: int) -> "Exclusions":
        """Return the exclusions before any alert, which exclude nothing."""
        far_future = np.full(n_raters, FAR_FUTURE)
        return cls(far_future, np.full(n_raters, np.iinfo(np.int64).min))

    def get_excluded(self, ratings: DatedRatings) -> BoolArray:
        """Return the mask (M,) of ratings that no longer count as peers."""
        return ratings.dated & (ratings.day >= self.peers[ratings.rater])

    def start_segment(self, first: int, until: int) -> None:
        """Start a segment of all raters on the day `first`; `until` is the first day after it."""
        self.before = np.maximum(self.before, first - 1)
        self.until = until


@dataclass(frozen=True)
class ExcessScores:
    """Daily sums of a score less the change that all raters share.

    days: daily sums over the ratings whose common part can be measured; common (D,): daily sums of
    that part; level: mean agreement of all raters; variances: of the excess
    """

    days: DailyScores
    common: Floats
    level: float
    variances: ScoreVariances


# Computes the excess over each explanation that is common to all raters, once.
ExcessBuilder = Callable[[], list[ExcessScores]]


@dataclass(frozen=True)
class ChartRound:
    """Daily sums and variances of each score, from which charts are built on request.

    days: of the present segments; all_days: with those of earlier ones; rows: rater -> slice of
    `days`, for each rater with a compared and dated rating; shares: channel -> share of the alert
    level; excess: score -> function that computes its ExcessScores once
    """

    days: dict[str, DailyScores] = field(default_factory=dict)
    all_days: dict[str, DailyScores] = field(default_factory=dict)
    variances: dict[str, ScoreVariances] = field(default_factory=dict)
    rows: dict[int, slice] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)
    priors: Mapping[str, ShiftPrior] = field(default_factory=dict)
    excess: Mapping[str, ExcessBuilder] = field(default_factory=dict)
    _full_charts: dict[int, ControlChart] = field(default_factory=dict)

    @property
    def charts(self) -> list[ControlChart]:
        """The charts of all raters with a compared and dated rating."""
        return [self.get_chart(rater) for rater in self.rows]

    def get_chart(self, rater: int, until: int = FAR_FUTURE) -> ControlChart:
        """Return a rater's chart up to the day `until`; the chart of all days is cached."""
        if until < FAR_FUTURE:
            return self._build_chart(rater, until)
        if rater not in self._full_charts:
            self._full_charts[rater] = self._build_chart(rater, until)
        return self._full_charts[rater]

    def find_alert(self, chart: ControlChart, settings: DriftSettings) -> int | None:
        """Return the index of the first day on which the rater gets an alert, or None.

        On that day the evidence reaches the alert level, and no explanation that is common to all
        raters accounts for the shift.
        """
        for index in np.flatnonzero(chart.evidence >= settings.alert_level).tolist():
            if self.is_own_shift(chart, index, settings, least=settings.own_evidence):
                return int(index)
        return None

    def is_own_shift(
        self, chart: ControlChart, index: int, settings: DriftSettings, *, least: float
    ) -> bool:
        """Return whether the rater's shift on a day exceeds every change common to all raters.

        The Bayes factor beyond each explanation must be at least `least`, and at least that of the
        whole shift to the power settings.own_exponent (up to settings.own_limit). An explanation is
        skipped where it covers less than half of the items before the onset, or since.
        """
        channel = chart.find_leading_channel(index)
        score, prior = SCORE_OF_CHANNEL[channel], self.priors[channel]
        onset = int(chart.channels[channel].onset[index])
        side = SIDE_OF_CHANNEL[channel]
        (whole_factor,) = compute_bayes_factors_beyond_common(
            _get_daily_sums(chart.days[score]),
            np.array([index]),
            np.array([onset]),
            **chart.variance[score]._asdict(),
            side=side,
            prior=prior,
        )
        needed = max(least, min(float(whole_factor) ** settings.own_exponent, settings.own_limit))
        for excess in self.excess[score]():
            start, end = np.searchsorted(excess.days.rater, [chart.rater, chart.rater + 1])
            rows = slice(int(start), int(end))
            days = excess.days.select(rows)
            is_current = (days.day >= chart.day[0]) & (days.day <= chart.day[index])
            days, common = days.select(is_current), excess.common[rows][is_current]
            first = int(np.searchsorted(days.day, chart.day[onset]))
            is_tested = (
                2 * days.n[:first].sum() >= chart.n[:onset].sum()
                and 2 * days.n[first:].sum() >= chart.n[onset : index + 1].sum()
            )
            if not is_tested:
                continue
            (own,) = compute_bayes_factors_beyond_common(
                _get_daily_sums(days),
                np.array([days.day.size - 1]),
                np.array([first]),
                s2=float(excess.variances.s2[chart.rater]),
                kappa2=float(excess.variances.kappa2[chart.rater]),
                common=CommonScores(common, excess.level),
                side=side,
                prior=prior,
            )
            if own < needed:
                return False
        return True

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
        """Return lists of channels that have the same score and the same prior."""
        groups: dict[tuple[str, ShiftPrior], list[str]] = {}
        for name in self.shares:
            groups.setdefault((SCORE_OF_CHANNEL[name], self.priors[name]), []).append(name)
        return list(groups.values())


def _get_daily_sums(days: DailyScores) -> DailySums:
    return DailySums(days.n, days.total, days.squares)


@dataclass(frozen=True)
class DriftData:
    """Ratings, comparisons and their scores, which all rounds of detection share.

    agreement_matrix (k, k): chance-corrected agreement of two categories; differences: score -> d
    (C,) of each comparison; shares: channel -> share of the alert level; attributes: columns (M,)
    with the values of the items' attributes
    """

    ratings: DatedRatings
    comparisons: Comparisons
    agreement_matrix: Floats
    differences: dict[str, Floats]
    shares: dict[str, float]
    settings: DriftSettings = field(default_factory=DriftSettings)
    attributes: Sequence[Ints] = ()

    @classmethod
    def from_ratings(
        cls,
        ratings: DatedRatings,
        k: int,
        *,
        ordered: bool,
        settings: DriftSettings,
        attributes: Sequence[Ints] = (),
    ) -> "DriftData":
        """Return the data of ratings on k categories, with the scores of all comparisons."""
        shares = dict(settings.get_alert_level_shares(k, ordered=ordered))
        comparisons = Comparisons.from_ratings(ratings)
        matrix = build_agreement_matrix(ratings, k, ordered=ordered)
        d = {
            score: compute_differences(score, ratings, comparisons, matrix)
            for score in dict.fromkeys(SCORE_OF_CHANNEL[channel] for channel in shares)
        }
        return cls(ratings, comparisons, matrix, d, shares, settings, attributes)

    def build_round(self, exclusions: Exclusions) -> ChartRound:
        """Return the daily sums and variances of all raters, from which charts are built.

        exclusions: the ratings and days that earlier alerts exclude.
        """
        if not self.comparisons.own.size:
            return ChartRound()
        ratings, settings = self.ratings, self.settings
        all_days: dict[str, DailyScores] = {}
        excess: dict[str, ExcessBuilder] = {}
        for score in self.differences:
            all_days[score], excess[score] = self.compute_scores(score, exclusions)
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
        return ChartRound(
            days, all_days, score_variances, rows, self.shares, settings.priors, excess
        )

    def compute_scores(
        self, score: str, exclusions: Exclusions
    ) -> tuple[DailyScores, ExcessBuilder]:
        """Return the daily scores of all raters, and a function that builds their ExcessScores."""
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
        raw_scores = rating_scores

        @cache
        def build_excess() -> list[ExcessScores]:
            # A bias is a difference between raters, which a change for all leaves as it is.
            if score != AGREEMENT:
                return []
            common_change = CommonChange(
                ratings,
                comparisons,
                d,
                measures_others=is_fitted[is_compared],
                effects=rater_effects,
            )
            return [
                self._sum_excess(raw_scores, common_part, rater_effects.mu)
                for common_part in common_change.measure_common_parts(self.attributes)
            ]

        if score == AGREEMENT:
            rating_scores = rating_scores - estimate_common_weeks(
                ratings, comparisons, d, rater_effects
            )
        scored = np.isfinite(rating_scores) & ratings.dated
        days = sum_by_day(ratings.rater[scored], ratings.day[scored], rating_scores[scored])
        return days, build_excess

    def _sum_excess(self, x: Floats, common_part: Floats, level: float) -> ExcessScores:
        """Return the daily sums of scores x (M,) less their common part (M,), and of that part."""
        ratings = self.ratings
        tested = np.isfinite(x - common_part) & ratings.dated
        rater, day = ratings.rater[tested], ratings.day[tested]
        days = sum_by_day(rater, day, (x - common_part)[tested])
        common = sum_by_day(rater, day, common_part[tested]).total
        variances = estimate_variances(days, ratings.keys.size, AGREEMENT, self.settings)
        return ExcessScores(days, common, level, variances)
