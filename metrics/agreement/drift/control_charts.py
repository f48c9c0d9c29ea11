"""One round of charts: the evidence M_t of every rater on every active day, while what earlier
alarms take out is left out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from metrics.agreement.counts.grouping import Ints
from metrics.agreement.estimate import Floats

from .comparisons import Bools, Comparisons, Ratings, differences, effects
from .daily_scores import Days, Variances, by_day, common_weeks, scores, variances
from .evidence import Evidence, Sums, of_sides
from .settings import AGREEMENT, SCORE, SIDE, Prior, Settings
from .shift_estimates import Extent, extent

EVER = 2**62  # a day after all


class Worth(NamedTuple):
    """Variance of an item about its day, and of the days about their level."""

    s2: float
    kappa2: float


@dataclass(frozen=True)
class Chart:
    """One rater's active days of the present segment; arrays (T,).

    rater: number; day: days since 1970-01-01; n: compared items; evidence: M; channels: name ->
    evidence of the channel; days: score -> its sums; worth: score -> what a day is worth; priors:
    of each channel
    """

    rater: int
    day: Ints
    n: Ints
    evidence: Floats
    channels: dict[str, Evidence]
    days: dict[str, Days] = field(repr=False)
    worth: dict[str, Worth] = field(repr=False)
    priors: Mapping[str, Prior] = field(repr=False)

    def means(self, score: str) -> Floats:
        """Of the days (T,)."""
        return self.days[score].total / self.n

    def extent(self, name: str, t: int) -> Extent:
        """Of the shift for which a channel's evidence on day t is; it has an onset there."""
        score, onset = SCORE[name], int(self.channels[name].onset[t])
        return extent(
            _sums(self.days[score].chosen(slice(t + 1))),
            onset,
            **self.worth[score]._asdict(),
            side=SIDE[name],
            prior=self.priors[name],
        )

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
    until: int = EVER

    @classmethod
    def nothing(cls, n_raters: int) -> "LeftOut":
        none = np.full(n_raters, EVER)
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
    """Days and variances of each score, from which charts are made when they are asked for.

    days: of the present segments; all_days: with those of earlier ones; rows: rater -> rows of the
    days, of all raters with a compared and dated rating, in their order
    """

    days: dict[str, Days] = field(default_factory=dict)
    all_days: dict[str, Days] = field(default_factory=dict)
    spread: dict[str, Variances] = field(default_factory=dict)
    rows: dict[int, slice] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)
    priors: Mapping[str, Prior] = field(default_factory=dict)
    _whole: dict[int, Chart] = field(default_factory=dict)

    @property
    def charts(self) -> list[Chart]:
        """Those of all raters."""
        return [self.chart(rater) for rater in self.rows]

    def chart(self, rater: int, until: int = EVER) -> Chart:
        """A rater's, up to a day; the whole one is made once."""
        if until < EVER:
            return self._made(rater, until)
        if rater not in self._whole:
            self._whole[rater] = self._made(rater, until)
        return self._whole[rater]

    def _made(self, rater: int, until: int) -> Chart:
        rows = self.rows[rater]
        first = next(iter(self.days.values())).day[rows]
        rows = slice(rows.start, rows.start + int(np.searchsorted(first, until, side="right")))
        own = {score: found.chosen(rows) for score, found in self.days.items()}
        one = next(iter(own.values()))  # days and items are those of every score
        total: Floats = np.zeros(one.n.size)
        channels: dict[str, Evidence] = {}
        worth = {
            score: Worth(float(one.s2[rater]), float(one.kappa2[rater]))
            for score, one in self.spread.items()
        }
        for names in self._together():
            score, prior = SCORE[names[0]], self.priors[names[0]]
            sides = [SIDE[name] for name in names]
            found = of_sides(_sums(own[score]), sides, **worth[score]._asdict(), prior=prior)
            channels |= zip(names, found, strict=True)
        for name, share in self.shares.items():
            total = total + share * channels[name].total
        channels = {name: channels[name] for name in self.shares}
        return Chart(rater, one.day, one.n, total, channels, own, worth, self.priors)

    def _together(self) -> list[list[str]]:
        """The channels, in parts of the same score and the same assumptions."""
        parts: dict[tuple[str, Prior], list[str]] = {}
        for name in self.shares:
            parts.setdefault((SCORE[name], self.priors[name]), []).append(name)
        return list(parts.values())


def _sums(days: Days) -> Sums:
    return Sums(days.n, days.total, days.squares)


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
            return Round()
        ratings, settings = self.ratings, self.settings
        made = {score: self.days(score, left_out) for score in self.d}
        days: dict[str, Days] = {}
        spread: dict[str, Variances] = {}
        for score, found in made.items():
            present = (found.day > left_out.before[found.rater]) & (found.day < left_out.until)
            days[score] = found.chosen(present)
            spread[score] = variances(days[score], ratings.keys.size, score, settings)
        one = next(iter(days.values()))  # raters, days and items are those of every score
        edges = np.flatnonzero(np.diff(one.rater, prepend=-1, append=-1)).tolist()
        rows = {int(one.rater[start]): slice(start, end) for start, end in pairwise(edges)}
        return Round(days, made, spread, rows, self.shares, settings.priors)

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
