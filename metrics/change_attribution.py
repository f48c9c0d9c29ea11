"""On-demand jobs that explain a change of agreement between two periods.

A page requests a job, a worker computes it, and a row stores the result (core.jobs.on_demand).
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, NotRequired, TypedDict

import numpy as np
from django.db.models import Q
from scipy import special

from core.jobs.on_demand import OnDemandJob, delete_least_recently_requested
from metrics import periods
from metrics.agreement.coefficients import groups
from metrics.agreement.counts import tally
from metrics.agreement.counts.grouping import find_first_days
from metrics.agreement.estimate import REASONS, Value, to_finite_float
from metrics.agreement.explain.attribution import (
    BiasShifts,
    LeaveOneOutKappas,
    LeaveOut,
    TwoPeriods,
    compute_bias_shifts,
    find_distinct_contributions,
)
from metrics.agreement.headline import FLEISS
from metrics.models import Attribution, CountState
from metrics.question_scale import QuestionScale, get_weighted_name
from metrics.results.headline import trends
from metrics.results.intervals import QuestionClusters
from projects.models import Item, Question
from ratings.models import NO_CODE, Rating
from ratings.services.rating_timestamps import EPOCH

MAX_RATERS = 100  # in a result: those that explain most
MAX_ATTRIBUTE_VALUES = (
    30  # an attribute with more distinct values identifies items, not groups of items
)
MAX_ATTRIBUTES = 20  # in a result
MAX_ATTRIBUTES_READ = 50  # attributes that are read
SHIFT_LEVEL = 0.01  # probability that chance makes any pair's bias appear to shift
MAX_SHIFTS = 10
MAX_SHIFT_RATERS = 200  # raters whose pairs are examined: those with the most ratings
MIN_SHIFT = 0.1  # a smaller shift is not reported, however certain


class ContributionEntry(TypedDict):
    """A stored contribution of a rater, a category, or items with a value of an attribute."""

    name: Any  # id of the rater, label or value
    before: float | None  # kappa without it
    after: float | None
    contribution: float | None
    is_distinct: bool
    n_ratings: int  # left out with it
    reason: str | None  # why kappa is undefined without it
    bias: NotRequired[list[Value | None]]  # of a rater, before and after


ROW = np.dtype([("item", "i8"), ("rater", "i8"), ("code", "i8"), ("day", "i8")])


@dataclass(frozen=True)
class _Change:
    """The change of kappa between two periods, and the data that explain it."""

    two_periods: TwoPeriods
    value: float
    is_clear: bool
    variance_factor: float

    def build_entries(
        self, leave_out: LeaveOut, names: Iterable[Any] | None = None
    ) -> list[ContributionEntry]:
        """Return an entry for each part of the ratings that ``leave_out`` leaves out in turn.

        ``names``: those of the parts; their keys when None.
        """
        without = leave_out(self.two_periods, np.ones(len(self.two_periods.code), bool))
        is_distinct = np.zeros(without.keys.size, bool)
        if self.is_clear:  # otherwise no sentence names anybody
            is_distinct = find_distinct_contributions(
                self.two_periods, without, leave_out, variance_factor=self.variance_factor
            )
        return _build_entries(without, self.value, names or without.keys.tolist(), is_distinct)


def compute_attribution(
    row: Attribution, scale: QuestionScale, clusters: QuestionClusters | None = None
) -> dict[str, object]:
    """Return the JSON object that explains a change: both values, the change and contributions.

    It has the contributions of raters, categories and values of item attributes. ``clusters``: the
    clusters of the items, whose design effect widens the intervals; None without any.
    """
    items = _filter_items_of_periods(row)
    ratings, period = _load_ratings(row, scale)
    weights = scale.build_weight_matrices()[row.weights]
    two_periods = TwoPeriods.from_ratings(
        ratings["item"], ratings["rater"], ratings["code"], period, k=scale.k, weights=weights
    )
    kappa = two_periods.compute_kappa()
    name = get_weighted_name(FLEISS, row.weights)
    effect = 1.0 if clusters is None else clusters.get_effect(name)
    before, after = _count_patterns(ratings, period, scale)
    is_clear = bool(trends.compare_periods(before, after, weights, effect=effect)[2])
    change = _Change(two_periods, float(kappa.value[1] - kappa.value[0]), is_clear, effect)
    raters = sorted(change.build_entries(_leave_out_raters), key=_get_sort_key)
    shown_raters = raters[:MAX_RATERS]
    if scale.type.ordered:
        _add_biases(shown_raters, _compute_biases(ratings, period, scale))
    estimates = kappa.to_values()
    if clusters is not None:
        estimates = [clusters.widen_interval(name, estimate) for estimate in estimates]
    return {
        "before": estimates[0],
        "after": estimates[1],
        "change": to_finite_float(change.value),
        "se": to_finite_float(np.hypot(*kappa.se) * effect**0.5),
        "is_clear": is_clear,
        "raters": shown_raters,
        "raters_left_out": len(raters) - len(shown_raters),
        "categories": change.build_entries(_leave_out_categories, scale.labels),
        "attributes": _list_attributes(change, items, ratings["item"]),
        "shifts": _list_bias_shifts(ratings, period, scale) if scale.type.ordered else [],
    }


def _list_attributes(change: _Change, items: Any, item: np.ndarray) -> list[dict[str, object]]:
    """Return the attributes that group the items (M,) of ratings, with contributions by value."""
    attributes: list[dict[str, object]] = []
    for name, values, group in _group_by_attributes(items, item):
        entries = change.build_entries(partial(_leave_out_groups, group), values)
        attributes.append({"name": name, "values": sorted(entries, key=_get_sort_key)})
    return attributes


def _filter_counted(row: Attribution) -> Any:
    """Return the counted ratings of the attribution's population.

    Without a population they are all ratings, or those of people where models are separate and the
    lead did not pool them.
    """
    counted = Rating.objects.filter(question_id=row.question_id, counted__gt=NO_CODE)
    state = CountState.objects.select_related("question").filter(pk=row.question_id).first()
    population = row.population
    if not population and state and state.separates_models and not state.question.headline_pooled:
        population = "people"
    models = state.model_raters if state else []
    if population == "models":
        return counted.filter(rater__in=models)
    return counted.exclude(rater__in=models) if population == "people" else counted


def _compute_bounds(row: Attribution) -> list[tuple[int, int]]:
    """Return (first day, first day after) of the earlier and of the later period.

    Days are integers since 1970-01-01.
    """
    bounds = []
    for start in (row.earlier_start, row.later_start):
        end = periods.get_end_date(start, row.period_unit)
        bounds.append(((start - EPOCH).days, (end - EPOCH).days))
    return bounds


def _filter_items_of_periods(row: Attribution) -> Any:
    """Return a queryset of the ids of items that have a counted rating in either period."""
    within = Q()
    for first, end in _compute_bounds(row):
        within |= Q(counted_day__gte=first, counted_day__lt=end)
    return _filter_counted(row).filter(within).values("item_id")


def _load_ratings(row: Attribution, scale: QuestionScale) -> tuple[np.ndarray, np.ndarray]:
    """Return the ratings (M,) of items of the two periods, and the periods (M,), 0 or 1.

    Codes are indices in declared order. An item belongs to the day of its second rating, as in the
    trend, and all its ratings to the period of that day. One query reads all ratings, so that they
    are of the same moment.
    """
    columns = _filter_counted(row).filter(item_id__in=_filter_items_of_periods(row))
    columns = columns.values_list("item_id", "rater_id", "counted", "counted_day")
    rows = np.fromiter(columns.iterator(chunk_size=20_000), dtype=ROW)
    items, index = np.unique(rows["item"], return_inverse=True)
    _first_day, second_day = find_first_days(index, rows["day"], items.size)
    period = np.full(items.size, -1)
    for number, (first, end) in enumerate(_compute_bounds(row)):
        period[(second_day >= first) & (second_day < end)] = number
    index_of_code = np.full(scale.width, -1)
    index_of_code[scale.codes] = np.arange(scale.k)
    rows["code"] = index_of_code[rows["code"]]
    included = (period[index] >= 0) & (rows["code"] >= 0)
    return rows[included], period[index][included]


def _count_patterns(
    ratings: np.ndarray, period: np.ndarray, scale: QuestionScale
) -> list[trends.Patterns]:
    """Return the patterns and numbers of items of both periods; ``period`` (M,): 0 or 1."""
    patterns = []
    for number in (0, 1):
        rows = ratings[period == number]
        counted = tally.count_patterns(rows["item"], rows["code"], scale.k)
        patterns.append((counted.counts, counted.n_items))
    return patterns


def _leave_out_raters(part: TwoPeriods, _rows: np.ndarray) -> LeaveOneOutKappas:
    return part.compute_without_each_rater()


def _leave_out_categories(part: TwoPeriods, _rows: np.ndarray) -> LeaveOneOutKappas:
    return part.compute_without_each_category()


def _leave_out_groups(group: np.ndarray, part: TwoPeriods, rows: np.ndarray) -> LeaveOneOutKappas:
    """Return kappas without each group (M,), from a part of the ratings that ``rows`` selects."""
    return part.compute_without_each_group(group[rows])


def _build_entries(
    without: LeaveOneOutKappas, change: float, names: Iterable[Any], is_distinct: np.ndarray
) -> list[ContributionEntry]:
    contributions = without.compute_contributions(change)
    return [
        ContributionEntry(
            name=name,
            before=to_finite_float(kappa[0]),
            after=to_finite_float(kappa[1]),
            contribution=to_finite_float(contribution),
            is_distinct=distinct,
            n_ratings=n_ratings,
            reason=REASONS[int(max(reason))],
        )
        for name, kappa, contribution, distinct, n_ratings, reason in zip(
            names,
            without.kappa,
            contributions,
            is_distinct.tolist(),
            without.n_ratings.tolist(),
            without.reason,
            strict=True,
        )
    ]


def _get_sort_key(entry: ContributionEntry) -> float:
    """Return a sort key: the largest contribution first, undefined ones last."""
    return 1.0 if entry["contribution"] is None else -abs(entry["contribution"])


def _group_by_attributes(items: Any, item: np.ndarray) -> list[tuple[str, list[Any], np.ndarray]]:
    """Return (name, values, group (M,) of each rating) for the attributes that group the items.

    A group is an index into the values. ``item`` (M,): item ids; None is the value of items without
    the attribute. Attributes with one value, or with more than MAX_ATTRIBUTE_VALUES, are left out.
    """
    ids, index = np.unique(item, return_inverse=True)
    item_index = {pk: index_in_items for index_in_items, pk in enumerate(ids.tolist())}
    numbered: dict[str, dict[Any, int]] = {}
    groups: dict[str, np.ndarray] = {}
    rows = Item.objects.filter(pk__in=items).values_list("pk", "attributes")
    for pk, attributes in rows.iterator(chunk_size=5_000):
        if pk not in item_index or not isinstance(attributes, dict):
            continue
        for name, value in attributes.items():
            if value is None or (name not in numbered and len(numbered) >= MAX_ATTRIBUTES_READ):
                continue
            values = numbered.setdefault(name, {})
            if len(values) > MAX_ATTRIBUTE_VALUES:
                continue
            group = groups.setdefault(name, np.full(ids.size, -1))
            group[item_index[pk]] = values.setdefault(_format_value(value), len(values))
    groupings = []
    for name in sorted(numbered):
        distinct_values = list(numbered[name])
        if len(distinct_values) > MAX_ATTRIBUTE_VALUES:
            continue
        used, group = np.unique(groups[name][index], return_inverse=True)
        if used.size > 1:
            values_of_groups = [
                None if number < 0 else distinct_values[number] for number in used.tolist()
            ]
            groupings.append((name, values_of_groups, group))
    return groupings[:MAX_ATTRIBUTES]


def _format_value(value: Any) -> str:
    """Return an attribute value as text; also lists and objects, which rarely group items."""
    return str(value)[:200]


def _add_biases(raters: Iterable[ContributionEntry], biases: dict[tuple[int, int], Value]) -> None:
    """Add to each rater's entry the bias in both periods, None where the rater had no peers."""
    for entry in raters:
        entry["bias"] = [biases.get((entry["name"], number)) for number in (0, 1)]


def _compute_biases(
    ratings: np.ndarray, period: np.ndarray, scale: QuestionScale
) -> dict[tuple[int, int], Value]:
    """Return (rater, period) -> Value of the bias against the peers; ``period`` (M,): 0 or 1."""
    peer_tables = tally.count_peer_tables(
        ratings["item"], ratings["rater"], ratings["code"], scale.k, day=period
    )
    if peer_tables.day is None or not len(peer_tables.rater):
        return {}
    bias = groups.peer_bias(
        peer_tables.tables, peer_tables.moments, peer_tables.n_items, values=scale.values
    )
    keys = zip(peer_tables.rater.tolist(), peer_tables.day.tolist(), strict=True)
    return dict(zip(keys, bias.to_values(), strict=True))


def _list_bias_shifts(
    ratings: np.ndarray, period: np.ndarray, scale: QuestionScale
) -> list[dict[str, object]]:
    """Return at most MAX_SHIFTS pairs of raters whose mutual bias clearly changed, ranked.

    ``ratings`` (M,): as from ``_load_ratings``; ``period`` (M,): 0 or 1.
    """
    _raters, index, n_ratings = np.unique(ratings["rater"], return_inverse=True, return_counts=True)
    busiest = np.argsort(-n_ratings, kind="stable")[:MAX_SHIFT_RATERS]
    busy = np.isin(index, busiest)
    tables = []
    for number in (0, 1):
        period_ratings = ratings[busy & (period == number)]
        tables.append(
            tally.count_pair_tables(
                period_ratings["item"], period_ratings["rater"], period_ratings["code"], scale.k
            )
        )
    all_shifts = compute_bias_shifts(*tables, values=scale.values)
    z = np.abs(all_shifts.z_scores)
    change = np.abs(all_shifts.bias[:, 1] - all_shifts.bias[:, 0])
    least_df = np.maximum(all_shifts.n_items.min(axis=1) - 1, 1)
    p = 2 * special.stdtr(least_df, -z) * max(z.size, 1)  # Bonferroni over the pairs
    clear = np.flatnonzero((p < SHIFT_LEVEL) & (change >= MIN_SHIFT))
    clearest = clear[np.argsort(-z[clear], kind="stable")][:MAX_SHIFTS]
    return [_serialize_pair_bias(all_shifts, position) for position in clearest.tolist()]


def _serialize_pair_bias(all_shifts: BiasShifts, index: int) -> dict[str, object]:
    return {
        "a": int(all_shifts.rater_a[index]),
        "b": int(all_shifts.rater_b[index]),
        "bias": all_shifts.bias[index].tolist(),
        "se": all_shifts.se[index].tolist(),
        "n_items": all_shifts.n_items[index].tolist(),
    }


MAX_STORED = 100  # for a question


def get_or_request_attribution(question: Question, **parameters: Any) -> Attribution:
    """Return the stored attribution of a change, or request it; request a stale one again.

    ``parameters``: period_unit ("week" or "month"), earlier_start and later_start (first days of
    the periods), weights, and population (people, models or all; by default as the question shows).
    """
    parameters = {"population": "", **parameters}
    row, is_new = ATTRIBUTION_JOB.get_or_start(question=question, **parameters)
    if is_new:
        delete_least_recently_requested(
            Attribution.objects.filter(question=question), keep=MAX_STORED
        )
    else:
        ATTRIBUTION_JOB.request_refresh(
            row, is_stale=lambda: row.version != CountState.get_version(question.pk)
        )
    return row


def _compute_stored_fields(row: Attribution) -> dict[str, object] | None:
    """Return the values of the row; None, which deletes it, if its custom weights were removed."""
    scale = QuestionScale.for_question(row.question)
    if row.weights not in scale.list_weightings():
        return None  # the custom weights were removed
    # Read before computing: if counting goes on meanwhile, the result is marked stale.
    version = CountState.get_version(row.question_id)
    clusters = QuestionClusters.load(row.question_id, row.question.project)
    return {"result": compute_attribution(row, scale, clusters), "version": version}


ATTRIBUTION_JOB = OnDemandJob(
    rows=Attribution.objects.select_related("question").defer("result"),
    result_field="result",
    task_name="metrics.tasks.compute_attribution",
    compute_result=_compute_stored_fields,
    min_cooldown=datetime.timedelta(seconds=30),
)
