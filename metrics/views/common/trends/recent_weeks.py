"""Headlines of the newest weeks of many questions, in a fixed number of queries."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from django.db.models import Max, Q
from django.utils import timezone

from metrics import periods
from metrics.agreement.headline import ICCS
from metrics.models import ALL_DAYS, PeerTally, PeriodUnit, Result
from metrics.question_scale import QuestionScale
from metrics.results import rater_periods
from metrics.results.headline import trends
from metrics.results.question_agreement import QuestionAgreement
from metrics.results.stored_values import HeadlineResult
from projects.models import Question, Rater
from ratings.services.rating_timestamps import EPOCH, date_from_day

from .period_comparison import MIN_SHOWN_CHANGE, compute_clear_change

WEEKS = 12
COMPARED_SPAN = datetime.timedelta(weeks=4)  # the newest weeks, compared with as many before them

WeeklyValues = list[float | None]


@dataclass(frozen=True)
class RecentWeeksChange:
    """Difference between the mean of the last four weeks and that of the four before.

    ``is_clear``: whether it is more than chance.
    """

    value: float
    is_clear: bool

    @property
    def may_be_chance(self) -> bool:
        """Return whether the change is large enough to be shown, but may be chance."""
        return not self.is_clear and abs(self.value) >= MIN_SHOWN_CHANGE


@dataclass(frozen=True)
class RecentWeeks:
    """The headline of the newest weeks that have enough items, oldest first.

    ``weeks``: (first day, estimate), at most WEEKS. ``newest_day``: the last day with a rating, or
    the first day of the last week that has comparisons. ``this_week``: Monday of the current week.
    """

    weeks: list[tuple[datetime.date, Mapping[str, Any]]]
    newest_day: datetime.date
    this_week: datetime.date

    @property
    def values(self) -> WeeklyValues:
        return [estimate.get("value") for _start, estimate in self.weeks]

    @property
    def n_items(self) -> int:
        defined = [estimate for _start, estimate in self.weeks if estimate.get("value") is not None]
        return sum(estimate["n_items"] for estimate in defined)

    @property
    def has_recent_ratings(self) -> bool:
        """Return whether any of these weeks has a rating."""
        return self.newest_day >= _get_first_week(self.this_week)

    @property
    def change(self) -> RecentWeeksChange | None:
        """Return the change of the last four weeks against the four before.

        None if either four have no value. Weeks are averaged by their items; no item
        belongs to two weeks.
        """
        middle = self.this_week - COMPARED_SPAN
        after = _compute_mean([estimate for start, estimate in self.weeks if start > middle])
        before = _compute_mean(
            [estimate for start, estimate in self.weeks if middle - COMPARED_SPAN < start <= middle]
        )
        if after is None or before is None:
            return None
        is_clear = compute_clear_change(before, after) is not None
        return RecentWeeksChange(after["value"] - before["value"], is_clear)


def _compute_mean(estimates: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the item-weighted mean of the weeks: value, low and high; None without any value.

    The limits are those of Zou & Donner 2008: their distance from the mean is the root of the
    summed squares of the weeks' weighted distances. A limit is None if a week lacks it.
    """
    defined = [estimate for estimate in estimates if estimate.get("value") is not None]
    n = sum(estimate["n_items"] for estimate in defined)
    if not n:
        return None
    value = sum(estimate["n_items"] * estimate["value"] for estimate in defined) / n
    mean = {"value": value, "low": None, "high": None}
    for end, sign in (("low", -1), ("high", 1)):
        if all(estimate.get(end) is not None for estimate in defined):
            distances = [
                estimate["n_items"] * (estimate[end] - estimate["value"]) / n
                for estimate in defined
            ]
            mean[end] = value + sign * math.hypot(*distances)
    return mean


def get_recent_weeks(agreements: Mapping[int, QuestionAgreement]) -> dict[int, RecentWeeks]:
    """Return {question id: its newest weeks up to today} of the questions that have ratings.

    ``agreements``: by question id.
    """
    two_rater_names, headlines = {}, {}
    for question_id, agreement in agreements.items():
        headline = agreement.headline
        if headline.get("name") and trends.is_two_rater_headline(
            headline, headline["value"]["reason"]
        ):
            two_rater_names[question_id] = headline["name"]
        else:
            headlines[question_id] = headline
    today = timezone.localdate(timezone=datetime.UTC)
    week = today - datetime.timedelta(days=today.weekday())
    recent = _get_weeks_from_results(headlines, week) | _get_for_two_raters(two_rater_names, week)
    for question_id, agreement in agreements.items():
        if agreement.clusters is not None and question_id in recent:
            widen = partial(agreement.clusters.widen_interval, agreement.headline["name"])
            weeks = [(start, widen(estimate)) for start, estimate in recent[question_id].weeks]
            recent[question_id] = replace(recent[question_id], weeks=weeks)
    return recent


def _build_recent_weeks(
    weeks: Iterable[tuple[datetime.date, Any]], newest_day: datetime.date, this_week: datetime.date
) -> RecentWeeks:
    """Build RecentWeeks without the weeks of few items, whose values are too imprecise."""
    firm_weeks = [
        week_estimate
        for week_estimate in weeks
        if (week_estimate[1].get("n_items") or 0) >= periods.MIN_ITEMS
    ]
    return RecentWeeks(firm_weeks, newest_day, this_week)


def _get_first_week(week: datetime.date) -> datetime.date:
    return week - datetime.timedelta(weeks=WEEKS - 1)


def _get_weeks_from_results(
    headlines: Mapping[int, HeadlineResult], this_week: datetime.date
) -> dict[int, RecentWeeks]:
    rater_groups = {pk: headline.get("population") for pk, headline in headlines.items()}
    by_name: dict[str, list[int]] = {}  # by coefficient: one query each
    for question_id, headline in headlines.items():
        if name := headline.get("trend_coefficient"):
            by_name.setdefault(name, []).append(question_id)
    weeks: dict[int, list[tuple[datetime.date, Any]]] = {}
    for name, questions in by_name.items():
        rows = Result.objects.filter(question__in=questions, period_unit=PeriodUnit.WEEK)
        rows = rows.filter(start__gte=_get_first_week(this_week)).order_by("question_id", "start")
        columns = f"coefficients__{name}", f"headline__people__{name}"
        for question, start, all_estimate, people_estimate in rows.values_list(
            "question_id", "start", *columns
        ):
            estimate = (
                all_estimate
                if people_estimate is None or rater_groups[question] == "all"
                else people_estimate
            )
            weeks.setdefault(question, []).append((start, estimate or {}))
    newest_days = {question: question_weeks[-1][0] for question, question_weeks in weeks.items()}
    newest_days |= rater_periods.get_newest_days(rater_groups.keys() - weeks.keys())
    return {
        question: _build_recent_weeks(weeks.get(question, []), newest_day, this_week)
        for question, newest_day in newest_days.items()
    }


def _get_for_two_raters(names: dict[int, str], this_week: datetime.date) -> dict[int, RecentWeeks]:
    """Return {question id: newest weeks} of questions whose headline is of two raters.

    ``names``: that headline, Cohen's kappa or an intraclass correlation, by question id. It is
    computed from the peer counts of one of the two raters (trends.get_trend_rater).
    """
    raters: dict[int, Rater] = trends.get_trend_raters(list(names)) if names else {}
    if not raters:
        return {}
    rater_filter = Q()
    for question, rater in raters.items():
        rater_filter |= Q(question_id=question, rater=rater)
    days = PeerTally.objects.filter(rater_filter, rater_periods.COMPARED_DAYS, day__gt=ALL_DAYS)
    days = days.order_by()
    recent = days.filter(day__gte=(_get_first_week(this_week) - EPOCH).days)
    questions = Question.objects.filter(pk__in=list(raters)).prefetch_related("categories")
    scales = {question.pk: QuestionScale.for_question(question) for question in questions}
    names = {question_id: name for question_id, name in names.items() if question_id in raters}
    iccs = {question_id: name for question_id, name in names.items() if name in ICCS}
    kappas = {
        question_id: trends.get_peer_kappa_name(name)
        for question_id, name in names.items()
        if name not in ICCS
    }
    weekly_estimates: dict[int, trends.TrendPoints] = {}
    if kappas:
        rows = recent.filter(question__in=list(kappas))
        weekly_estimates |= rater_periods.get_trends_by_question(
            rows, PeriodUnit.WEEK, scales, kappas
        )
    if iccs:
        rows = recent.filter(question__in=list(iccs))
        weekly_estimates |= trends.get_icc_trends(rows, PeriodUnit.WEEK, scales, iccs)
    newest = days.values_list("question_id").annotate(Max("day"))
    return {
        question_id: _build_recent_weeks(
            weekly_estimates.get(question_id, []), date_from_day(day), this_week
        )
        for question_id, day in newest
    }
