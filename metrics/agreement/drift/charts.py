"""One round of charts: the evidence M_t of every rater on every active day, while what earlier
alarms take out is left out."""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from metrics.agreement.counts.grouping import Ints
from metrics.agreement.estimate import Floats

from .comparisons import Bools, Comparisons, Ratings, differences, effects
from .days import Days, Variances, by_day, common_weeks, scores, variances
from .evidence import Evidence, evidence
from .settings import AGREEMENT, SCORE, SIDE, Settings

_EVER = int(np.iinfo(np.int64).max)


@dataclass(frozen=True)
class Chart:
    """One rater's active days of the present segment; arrays (T,).

    rater: number; day: days since 1970-01-01; n: compared items; evidence: M; channels: name ->
    evidence of the channel; means: score -> means of the days
    """

    rater: int
    day: Ints
    n: Ints
    evidence: Floats
    channels: dict[str, Evidence]
    means: dict[str, Floats]

    def leading(self, t: int) -> str:
        """The channel with the largest sum on day t; of equal ones the first."""
        return max(self.channels, key=lambda name: float(self.channels[name].total[t]))

    def at_least(self, level: float) -> int | None:
        """The first of the days with so much evidence."""
        reached = self.evidence >= level
        return int(np.argmax(reached)) if reached.any() else None


@dataclass
class LeftOut:
    """What alarms take out, as days (R,).

    peers: a rater's ratings from then on are no longer peers of others, nor used for the effects
    before: a rater's own days up to then belong to an earlier segment
    until: everybody's days from then on belong to a later one; one day for all
    """

    peers: Ints
    before: Ints
    until: int = _EVER

    @classmethod
    def nothing(cls, n_raters: int) -> "LeftOut":
        none = np.full(n_raters, _EVER)
        return cls(none, np.full(n_raters, np.iinfo(np.int64).min))

    def of(self, ratings: Ratings) -> Bools:
        """Which ratings (M,) are peers of nobody any more."""
        return ratings.dated & (ratings.day >= self.peers[ratings.rater])

    def begin(self, first: int, until: int) -> None:
        """A segment of everybody's begins on the day `first` and ends before `until`."""
        self.before = np.maximum(self.before, first - 1)
        self.until = until


@dataclass(frozen=True)
class Round:
    """charts: of all raters with a compared and dated rating, in the order of raters; days: the
    sums of each score that they are made of, with those of earlier segments."""

    charts: list[Chart]
    days: dict[str, Days]


@dataclass(frozen=True)
class Material:
    """What every round starts from: ratings, comparisons, and d (C,) of each score."""

    ratings: Ratings
    compared: Comparisons
    d: dict[str, Floats]
    shares: dict[str, float]
    settings: Settings = field(default_factory=Settings)

    @classmethod
    def of(cls, ratings: Ratings, k: int, *, ordered: bool, settings: Settings) -> "Material":
        shares = dict(settings.shares(k, ordered=ordered))
        compared = Comparisons.of(ratings)
        d = {
            score: differences(score, ratings, compared, k, ordered=ordered)
            for score in dict.fromkeys(SCORE[channel] for channel in shares)
        }
        return cls(ratings, compared, d, shares, settings)

    def round(self, left_out: LeftOut) -> Round:
        """The charts, while this is left out."""
        if not self.compared.own.size:
            return Round([], {})
        ratings, settings = self.ratings, self.settings
        made = {score: self.days(score, left_out) for score in self.d}
        days: dict[str, Days] = {}
        spread: dict[str, Variances] = {}
        for score, found in made.items():
            present = (found.day > left_out.before[found.rater]) & (found.day < left_out.until)
            days[score] = found.chosen(present)
            spread[score] = variances(days[score], ratings.keys.size, score, settings)
        one = next(iter(days.values()))  # raters, days and items are those of every score
        edges = np.flatnonzero(np.diff(one.rater, prepend=-1, append=-1))
        charts = [
            self._chart(days, spread, slice(start, end)) for start, end in pairwise(edges.tolist())
        ]
        return Round(charts, made)

    def days(self, score: str, left_out: LeftOut) -> Days:
        """The sums of all days of a score."""
        ratings, compared, d = self.ratings, self.compared, self.d[score]
        out = left_out.of(ratings)
        used = ~out[compared.other]
        kept = used & ~out[compared.own]
        found = effects(
            score,
            d[kept],
            compared.g[kept],
            compared.h[kept],
            n_raters=ratings.keys.size,
            ridge=self.settings.ridge,
        )
        compared, d = compared.chosen(used), d[used]
        x = scores(ratings, compared, d, found)
        if score == AGREEMENT:
            x -= common_weeks(ratings, compared, d, found)
        scored = np.isfinite(x) & ratings.dated
        return by_day(ratings.rater[scored], ratings.day[scored], x[scored])

    def _chart(self, days: dict[str, Days], spread: dict[str, Variances], rows: slice) -> Chart:
        own = {score: found.chosen(rows) for score, found in days.items()}
        one = next(iter(own.values()))
        rater = int(one.rater[0])
        total: Floats = np.zeros(one.n.size)
        channels = {}
        for channel, share in self.shares.items():
            score = SCORE[channel]
            channels[channel] = evidence(
                own[score].n,
                own[score].total,
                own[score].squares,
                s2=float(spread[score].s2[rater]),
                kappa2=float(spread[score].kappa2[rater]),
                side=SIDE[channel],
                prior=self.settings.priors[channel],
            )
            total = total + share * channels[channel].total
        means = {score: found.total / found.n for score, found in own.items()}
        return Chart(rater, one.day, one.n, total, channels, means)
