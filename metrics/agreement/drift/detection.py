"""Who drifted: charts run day by day, one alarm after the other.

On the first day on which somebody's evidence reaches the alarm, the one with the largest is
alarmed. Then all days are run again: that rater's ratings since the onset are no longer peers of
others, and the rater's own chart begins anew after the day of the alarm. So who merely shared items
with a drifter is not blamed. It ends when nobody is left.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from .comparisons import Bools, Ratings
from .control_charts import EVER, Chart, LeftOut, Material, Round
from .daily_scores import Days
from .settings import Settings

TOO_SHORT = "too_short"
NO_PEERS = "no_peers"
CANNOT_TELL_WHO = "cannot_tell_who"

NORMAL = 1.959964  # 95 % of a normal distribution lie within so many standard errors


@dataclass(frozen=True)
class Alarm:
    """One rater's drift. Days are days since 1970-01-01.

    rater: key of who is alarmed; raters: keys of all whom it names, two where nothing tells them
        apart (reason `cannot_tell_who`)
    channel: agreement, up or down; day: when the evidence was enough
    onset: the day since when; earliest, latest: it is one of the days between them (95 %)
    size: how far the mean moved, in kappa units (agreement) or ranks, with its sign, on average
        since the onset; low, high: its 95 % interval, the onset unknown (extent.py)
    evidence: M on that day
    n_before, n_since: own compared items of the segment before the onset, and from it to the alarm
    """

    rater: int
    raters: tuple[int, ...]
    channel: str
    day: int
    onset: int
    earliest: int
    latest: int
    size: float
    low: float
    high: float
    evidence: float
    n_before: int
    n_since: int
    reason: str | None
    chart: Chart = field(repr=False, compare=False)


@dataclass(frozen=True)
class Excused:
    """An alarm of which somebody said that it was not the rater's fault: key of the rater, and the
    days from its onset to when it was raised."""

    rater: int
    onset: int
    day: int

    def covers(self, alarm: Alarm) -> bool:
        """Whether the alarm is the excused one: of the same rater, and days in common."""
        overlap = alarm.onset <= self.day and self.onset <= alarm.day
        return alarm.rater == self.rater and overlap


@dataclass(frozen=True)
class Known:
    """What is known beside the ratings.

    begins: days on which a new segment begins for everybody, as other guidelines do
    excused: alarms after which the rater's ratings stay peers of others
    """

    begins: Sequence[int] = ()
    excused: Sequence[Excused] = ()


@dataclass(frozen=True)
class Standing:
    """Where one rater stands after all alarms, in the present segment.

    evidence: M on the last active day; greatest: the largest M; watched: evidence is at the watch
    level or above; n: compared items; reason: why there can be no alarm yet, None where there can
    """

    rater: int
    evidence: float
    greatest: float
    watched: bool
    n: int
    reason: str | None


@dataclass(frozen=True)
class Drift:
    """alarms: in the order in which they were raised; raters: where each stands, by key; charts:
    those of the present segments; days: the sums that they are made of, and those of earlier
    segments; material, left_out: what all of it was made of, in the end."""

    alarms: list[Alarm]
    raters: list[Standing]
    charts: list[Chart]
    days: dict[str, Days] = field(repr=False, compare=False)
    material: Material = field(repr=False, compare=False)
    left_out: LeftOut = field(repr=False, compare=False)

    @property
    def out(self) -> Bools:
        """Which ratings (M,) of the material drifters gave since their onset."""
        return self.left_out.of(self.material.ratings)


def alarms(  # noqa: PLR0917
    item: npt.ArrayLike,
    rater: npt.ArrayLike,
    code: npt.ArrayLike,
    day: npt.ArrayLike,
    k: int,
    ordered: bool,
    *,
    known: Known | None = None,
    settings: Settings | None = None,
) -> Drift:
    """The alarms of a question's ratings.

    item, rater, code, day (M,): at most one rating for an item and rater, codes 0..k-1, days since
    1970-01-01 or UNDATED: an undated rating is compared with others but is on no chart. `ordered`:
    ranks mean something. `known`: what is known beside the ratings. The same for any order of the
    rows. ValueError names what is wrong.
    """
    known, settings = known or Known(), settings or Settings()
    ratings = Ratings.of(item, rater, code, day, k)
    material = Material.of(ratings, k, ordered=ordered, settings=settings)
    left_out = LeftOut.nothing(ratings.keys.size)
    raised: list[Alarm] = []
    last = Round()
    for first, until in pairwise([-EVER, *sorted(set(known.begins)), EVER]):
        left_out.begin(first, until)
        found, last = _of_segment(material, left_out, known)
        raised += found
    standings = _standings(last.charts, ratings, settings)
    return Drift(raised, standings, last.charts, last.all_days, material, left_out)


def _of_segment(material: Material, left_out: LeftOut, known: Known) -> tuple[list[Alarm], Round]:
    """The alarms of a segment of everybody's, and the round after them; what each of them takes out
    is left out from then on."""
    level = material.settings.alarm
    raised: list[Alarm] = []
    near: dict[int, int] = {}
    while True:
        made = material.round(left_out)
        rater = _first(made, near, level)
        if rater is None:  # nobody is passed over in the end
            near = _near(made, level)
            rater = _first(made, near, level)
        if rater is None:
            return raised, made
        named = _named(material, rater)
        alarm = _alarm(made.chart(rater), level, material.ratings, named)
        raised.append(alarm)
        excused = any(one.covers(alarm) for one in known.excused)
        if alarm.reason is None and not excused:
            left_out.peers[rater] = min(left_out.peers[rater], alarm.onset)
        left_out.before[named] = np.maximum(left_out.before[named], alarm.day)
        near = dict.fromkeys(_touched(material, rater, alarm.onset), EVER) | near


def _near(made: Round, level: float) -> dict[int, int]:
    """Raters who reach a tenth of the level, and on which day.

    The next round is for them and those whose items change: of all others no more than the effects
    of raters and what all have in common does, by a little. That keeps a thousand raters quick.
    """
    near = {}
    for chart in made.charts:
        t = chart.at_least(level / 10)
        if t is not None:
            near[chart.rater] = int(chart.day[t])
    return near


def _touched(material: Material, rater: int, onset: int) -> list[int]:
    """The rater, and whoever rated the same items since the onset."""
    compared, day = material.compared, material.ratings.day
    since = (compared.g == rater) & (day[compared.own] >= onset)
    return [rater, *np.unique(compared.h[since]).tolist()]


def _first(made: Round, raters: dict[int, int], level: float) -> int | None:
    """Who of them reaches the level on the earliest day, of several the one with most evidence
    there; of equal ones the first. The earlier of them are looked at first: of the others only the
    days until then matter."""
    found = None
    best = (EVER, 0.0, 0)
    for rater in sorted(set(raters) & set(made.rows), key=lambda one: (raters[one], one)):
        chart = made.chart(rater, until=best[0])
        t = chart.at_least(level)
        if t is None:
            continue
        rank = (int(chart.day[t]), -float(chart.evidence[t]), rater)
        if rank < best:
            found, best = rater, rank
    return found


def _named(material: Material, rater: int) -> list[int]:
    """The rater, and the only peer where that one has no other peer either."""
    compared = material.compared
    peers = np.unique(compared.h[compared.g == rater])
    if peers.size == 1 and (compared.h[compared.g == peers[0]] == rater).all():
        return [rater, int(peers[0])]
    return [rater]


def _alarm(chart: Chart, level: float, ratings: Ratings, named: list[int]) -> Alarm:
    t = chart.at_least(level)
    assert t is not None
    channel = chart.leading(t)
    found = chart.channels[channel]
    onset = int(found.onset[t])
    extent = chart.extent(channel, t)
    return Alarm(
        rater=int(ratings.keys[chart.rater]),
        raters=tuple(int(ratings.keys[number]) for number in named),
        channel=channel,
        day=int(chart.day[t]),
        onset=int(chart.day[onset]),
        earliest=int(chart.day[extent.earliest]),
        latest=int(chart.day[extent.latest]),
        size=float(found.step[t]),
        low=extent.low,
        high=extent.high,
        evidence=float(chart.evidence[t]),
        n_before=int(chart.n[:onset].sum()),
        n_since=int(chart.n[onset : t + 1].sum()),
        reason=CANNOT_TELL_WHO if len(named) > 1 else None,
        chart=chart,
    )


def _standings(charts: list[Chart], ratings: Ratings, settings: Settings) -> list[Standing]:
    of_rater = {chart.rater: chart for chart in charts}
    has_peers = np.bincount(ratings.rater, minlength=ratings.keys.size) > 0
    standings = []
    for number, key in enumerate(ratings.keys.tolist()):
        chart = of_rater.get(number)
        if chart is None:
            reason = TOO_SHORT if has_peers[number] else NO_PEERS
            standings.append(Standing(key, 0.0, 0.0, watched=False, n=0, reason=reason))
            continue
        last = float(chart.evidence[-1])
        standings.append(
            Standing(
                rater=key,
                evidence=last,
                greatest=float(chart.evidence.max()),
                watched=last >= settings.watch,
                n=int(chart.n.sum()),
                reason=None if _has_onset(chart) else TOO_SHORT,
            )
        )
    return standings


def _has_onset(chart: Chart) -> bool:
    return any((found.onset >= 0).any() for found in chart.channels.values())
