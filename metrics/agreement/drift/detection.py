"""Drift detection: run the control charts day by day, and raise one alert at a time.

On the first day on which any evidence reaches the alert level, the rater with the largest is
alerted, unless the shift is common to all raters (comparisons.CommonChange). Then all days are run
again: that rater's ratings since the onset no longer count as peers of others, and the rater's own
chart restarts after the day of the alert. So raters who merely shared items with a drifting rater
get no alert. It ends when no evidence reaches the level.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from .comparisons import BoolArray, DatedRatings
from .control_charts import (
    FAR_FUTURE,
    ChartRound,
    ControlChart,
    DriftData,
    ExcessBuilder,
    Exclusions,
)
from .daily_scores import DailyScores
from .drift_settings import DriftSettings

TOO_SHORT = "too_short"
NO_PEERS = "no_peers"
CANNOT_TELL_WHO = "cannot_tell_who"


@dataclass(frozen=True)
class DriftAlert:
    """One alert for the drift of a rater; all days are days since 1970-01-01.

    rater: key of the rater; raters: keys of all raters concerned, two where they cannot be
        distinguished (reason `cannot_tell_who`, otherwise None)
    channel: agreement, up or down; day: when the evidence reached the alert level
    onset: estimated first day of the drift; earliest, latest: its 95 % range
    size: signed shift of the mean, in kappa units (agreement) or ranks, on average since the
        onset; low, high: its 95 % interval, the onset unknown (shift_estimates.py)
    evidence: that of the rater's chart on `day`
    n_before, n_since: the rater's compared items of the segment before the onset, and from it to
        the alert
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
    chart: ControlChart = field(repr=False, compare=False)


@dataclass(frozen=True)
class ExcusedAlert:
    """An earlier alert that the lead resolved as not the rater's fault.

    rater: key; onset, day: days of its onset and of the alert, as in DriftAlert.
    """

    rater: int
    onset: int
    day: int

    def covers(self, alert: DriftAlert) -> bool:
        """Return whether an alert is on the same rater, and has days in common with this one."""
        overlap = alert.onset <= self.day and self.onset <= alert.day
        return alert.rater == self.rater and overlap


@dataclass(frozen=True)
class DriftContext:
    """Optional input of drift detection: attributes of items, clusters, segments, excused alerts.

    segment_starts: days on which a new segment begins for all raters, as for new guidelines
    excused: alerts after which the rater's ratings still count as peers of others
    attributes: columns (M,), each with a number >= 0 for the attribute's value of the rating's item
    clusters: number of the cluster of each rating's item (M,); None where items are independent
    """

    segment_starts: Sequence[int] = ()
    excused: Sequence[ExcusedAlert] = ()
    attributes: Sequence[npt.NDArray[np.int64]] = ()
    clusters: npt.NDArray[np.int64] | None = None


@dataclass(frozen=True)
class RaterEvidence:
    """Evidence about one rater after all alerts, in the present segment.

    evidence: on the last active day; max_evidence: the largest of all days; watched: whether the
    evidence is at the watch level or above, and the shift is not common to all raters; n: compared
    items; reason: why there can be no alert yet, or None.
    """

    rater: int
    evidence: float
    max_evidence: float
    watched: bool
    n: int
    reason: str | None


@dataclass(frozen=True)
class DriftResult:
    """Result of drift detection.

    alerts: in the order in which they were raised; raters: evidence about each, in the order of
    keys; charts: those of the last segments; days: score -> daily sums, also of earlier segments;
    data, exclusions: the input of these charts; excess: score -> function that returns the
    ExcessScores beyond each change that is common to all raters.
    """

    alerts: list[DriftAlert]
    raters: list[RaterEvidence]
    charts: list[ControlChart]
    days: dict[str, DailyScores] = field(repr=False, compare=False)
    data: DriftData = field(repr=False, compare=False)
    exclusions: Exclusions = field(repr=False, compare=False)
    excess: Mapping[str, ExcessBuilder] = field(repr=False, compare=False)

    @property
    def excluded_ratings(self) -> BoolArray:
        """The mask (M,) of ratings that drifting raters gave since their onset."""
        return self.exclusions.get_excluded(self.data.ratings)


def detect_drift(  # noqa: PLR0917
    item: npt.ArrayLike,
    rater: npt.ArrayLike,
    code: npt.ArrayLike,
    day: npt.ArrayLike,
    k: int,
    ordered: bool,
    *,
    context: DriftContext | None = None,
    settings: DriftSettings | None = None,
) -> DriftResult:
    """Return the drift alerts of a question, and the evidence about each of its raters.

    item, rater, code, day (M,): at most one rating for an item and rater, codes 0..k-1, days since
    1970-01-01 or UNDATED: an undated rating is compared with others but is on no chart. ordered:
    whether the categories have an order. context and settings: the defaults of their classes when
    None. The result does not depend on the order of the rows. Raises ValueError for columns of
    unequal length, a code outside 0..k-1, and an item that a rater rated twice.
    """
    context, settings = context or DriftContext(), settings or DriftSettings()
    ratings = DatedRatings.from_columns(item, rater, code, day, k, clusters=context.clusters)
    data = DriftData.from_ratings(
        ratings,
        k,
        ordered=ordered,
        settings=settings,
        attributes=[np.asarray(column)[ratings.row] for column in context.attributes],
    )
    exclusions = Exclusions.empty(ratings.keys.size)
    alerts: list[DriftAlert] = []
    final_round = ChartRound()
    for first, end in pairwise([-FAR_FUTURE, *sorted(set(context.segment_starts)), FAR_FUTURE]):
        exclusions.start_segment(first, end)
        segment_alerts, final_round = _detect_in_segment(data, exclusions, context)
        alerts += segment_alerts
    rater_evidence = _build_rater_evidence(final_round, ratings, settings)
    return DriftResult(
        alerts,
        rater_evidence,
        final_round.charts,
        final_round.all_days,
        data,
        exclusions,
        final_round.excess,
    )


def _detect_in_segment(
    data: DriftData, exclusions: Exclusions, context: DriftContext
) -> tuple[list[DriftAlert], ChartRound]:
    """Return the alerts of one segment, and the charts after the last of them.

    `exclusions` is updated in place.
    """
    level = data.settings.alert_level
    alerts: list[DriftAlert] = []
    candidates: dict[int, int] = {}
    while True:
        charts = data.build_round(exclusions)
        alert_day = _find_first_alert(charts, candidates, data.settings)
        if alert_day is None:  # before the end, all raters are checked again
            candidates = _find_candidates(charts, level)
            alert_day = _find_first_alert(charts, candidates, data.settings)
        if alert_day is None:
            return alerts, charts
        rater, index = alert_day
        raters = _list_indistinguishable_raters(data, rater)
        alert = _build_alert(charts.get_chart(rater), index, data.ratings, raters)
        alerts.append(alert)
        is_excused = any(excuse.covers(alert) for excuse in context.excused)
        if alert.reason is None and not is_excused:
            exclusions.peers[rater] = min(exclusions.peers[rater], alert.onset)
        exclusions.before[raters] = np.maximum(exclusions.before[raters], alert.day)
        candidates = (
            dict.fromkeys(_list_raters_of_same_items(data, rater, alert.onset), FAR_FUTURE)
            | candidates
        )


def _find_candidates(charts: ChartRound, level: float) -> dict[int, int]:
    """Return rater -> first day on which the evidence reaches a tenth of `level`.

    After an alert only these raters and those of the same items are examined: the charts of all
    others change little, by the rater effects and the common weeks. So a thousand raters stay fast.
    """
    candidates = {}
    for chart in charts.charts:
        index = chart.find_first_reaching(level / 10)
        if index is not None:
            candidates[chart.rater] = int(chart.day[index])
    return candidates


def _list_raters_of_same_items(data: DriftData, rater: int, onset: int) -> list[int]:
    """Return the rater, and the raters of the items that the rater rated since the onset."""
    comparisons, day = data.comparisons, data.ratings.day
    is_since_onset = (comparisons.own_rater == rater) & (day[comparisons.own] >= onset)
    return [rater, *np.unique(comparisons.other_rater[is_since_onset]).tolist()]


def _find_first_alert(
    charts: ChartRound, candidates: dict[int, int], settings: DriftSettings
) -> tuple[int, int] | None:
    """Return (rater, index of the day) of the earliest alert among the candidates, or None.

    Of alerts on the same day the one with the largest evidence is returned, then the one of the
    lowest rater number. candidates: rater -> day; raters are examined in the order of these days,
    each up to the day of the earliest alert found so far.
    """
    first_alert = None
    best = (FAR_FUTURE, 0.0, 0)
    for rater in sorted(
        set(candidates) & set(charts.rows), key=lambda number: (candidates[number], number)
    ):
        chart = charts.get_chart(rater, until=best[0])
        index = charts.find_alert(chart, settings)
        if index is None:
            continue
        rank = (int(chart.day[index]), -float(chart.evidence[index]), rater)
        if rank < best:
            first_alert, best = (rater, index), rank
    return first_alert


def _list_indistinguishable_raters(data: DriftData, rater: int) -> list[int]:
    """Return the rater, and also the peer if the two are compared with each other only."""
    comparisons = data.comparisons
    peers = np.unique(comparisons.other_rater[comparisons.own_rater == rater])
    if (
        peers.size == 1
        and (comparisons.other_rater[comparisons.own_rater == peers[0]] == rater).all()
    ):
        return [rater, int(peers[0])]
    return [rater]


def _build_alert(
    chart: ControlChart, index: int, ratings: DatedRatings, raters: list[int]
) -> DriftAlert:
    channel = chart.find_leading_channel(index)
    evidence = chart.channels[channel]
    onset = int(evidence.onset[index])
    extent = chart.estimate_shift(channel, index)
    return DriftAlert(
        rater=int(ratings.keys[chart.rater]),
        raters=tuple(int(ratings.keys[number]) for number in raters),
        channel=channel,
        day=int(chart.day[index]),
        onset=int(chart.day[onset]),
        earliest=int(chart.day[extent.earliest]),
        latest=int(chart.day[extent.latest]),
        size=float(evidence.step[index]),
        low=extent.low,
        high=extent.high,
        evidence=float(chart.evidence[index]),
        n_before=int(chart.n[:onset].sum()),
        n_since=int(chart.n[onset : index + 1].sum()),
        reason=CANNOT_TELL_WHO if len(raters) > 1 else None,
        chart=chart,
    )


def _build_rater_evidence(
    final_round: ChartRound, ratings: DatedRatings, settings: DriftSettings
) -> list[RaterEvidence]:
    chart_by_rater = {chart.rater: chart for chart in final_round.charts}
    has_peers = np.bincount(ratings.rater, minlength=ratings.keys.size) > 0
    rater_evidence = []
    for number, key in enumerate(ratings.keys.tolist()):
        chart = chart_by_rater.get(number)
        if chart is None:
            reason = TOO_SHORT if has_peers[number] else NO_PEERS
            rater_evidence.append(RaterEvidence(key, 0.0, 0.0, watched=False, n=0, reason=reason))
            continue
        evidence = float(chart.evidence[-1])
        rater_evidence.append(
            RaterEvidence(
                rater=key,
                evidence=evidence,
                max_evidence=float(chart.evidence.max()),
                watched=evidence >= settings.watch_level
                and final_round.is_own_shift(chart, chart.day.size - 1, settings, least=1.0),
                n=int(chart.n.sum()),
                reason=None if _has_onset(chart) else TOO_SHORT,
            )
        )
    return rater_evidence


def _has_onset(chart: ControlChart) -> bool:
    return any((evidence.onset >= 0).any() for evidence in chart.channels.values())
