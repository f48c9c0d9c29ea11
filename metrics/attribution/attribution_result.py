"""What explains a move between two periods: computed in a worker, for it needs all ratings of both
periods."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from django.db.models import Q

from metrics import periods
from metrics.agreement.coefficients.groups import peers
from metrics.agreement.counts import tally
from metrics.agreement.estimate import REASONS, Value, number
from metrics.agreement.explain.attribution import Shifts, TwoPeriods, Without, shifts
from metrics.models import Attribution, CountState
from metrics.scale import QuestionScale
from projects.models import Item
from ratings.models import NOTHING, Rating
from ratings.services.days import EPOCH

RATERS = 100  # raters in a result: those that explain most
VALUES = 30  # an attribute with more distinct values tells items apart, not kinds of items
ATTRIBUTES = 20  # attributes in a result,
NAMES = 50  # of so many that are looked at
CLEAR = 3.0  # a shift of the bias between two raters is told from so many standard errors on
SHIFTS = 10
SHIFT_RATERS = 200  # raters whose pairs are looked at: those with the most ratings
STEP = 0.1  # a smaller shift is of no interest, however sure

ROW = np.dtype([("item", "i8"), ("rater", "i8"), ("code", "i8"), ("day", "i8")])


def attributed(row: Attribution, scale: QuestionScale) -> dict[str, Any]:
    """The result: both readings, the move, and what raters, categories and attributes' values
    explain of it."""
    items = _touched(row)
    ratings, period = _ratings(row, scale)
    both = TwoPeriods.of(
        ratings["item"],
        ratings["rater"],
        ratings["code"],
        period,
        k=scale.k,
        weights=scale.weightings()[row.weights],
    )
    kappa = both.kappa()
    move = float(kappa.value[1] - kappa.value[0])
    raters = both.without_raters()
    by_rater = sorted(_entries(raters, move, raters.keys.tolist()), key=_size)[:RATERS]
    found_shifts = []
    if scale.type.ordered:
        biases = _biases(ratings, period, scale)
        for entry in by_rater:
            rater = entry["name"]
            entry["bias"] = [biases.get((rater, 0)), biases.get((rater, 1))]
        found_shifts = _shifts(ratings, period, scale)
    attributes = []
    for name, values, group in _attributes(items, ratings["item"]):
        entries = sorted(_entries(both.without_groups(group), move, values), key=_size)
        attributes.append({"name": name, "values": entries})
    return {
        "before": kappa.reading((0,)),
        "after": kappa.reading((1,)),
        "move": number(move),
        "se": number(np.hypot(*kappa.se)),
        "raters": by_rater,
        "raters_left_out": raters.keys.size - len(by_rater),
        "categories": _entries(both.without_categories(), move, scale.labels),
        "attributes": attributes,
        "shifts": found_shifts,
    }


def _held(row: Attribution) -> Any:
    """Ratings as the counts hold them: the people's where models are kept apart, unless the lead
    wants them pooled."""
    held = Rating.objects.filter(question_id=row.question_id, counted__gt=NOTHING)
    state = CountState.objects.select_related("question").filter(pk=row.question_id).first()
    if state is None or not state.apart or state.question.headline_pooled:
        return held
    return held.exclude(rater__in=state.model_raters)


def _bounds(row: Attribution) -> list[tuple[int, int]]:
    """First day and first day after of both periods."""
    bounds = []
    for start in (row.start_from, row.start_to):
        end = periods.end_date(start, row.span)
        bounds.append(((start - EPOCH).days, (end - EPOCH).days))
    return bounds


def _touched(row: Attribution) -> Any:
    """Ids of the items with a rating in either period; some of them have a later one."""
    within = Q()
    for first, end in _bounds(row):
        within |= Q(counted_day__gte=first, counted_day__lt=end)
    return _held(row).filter(within).values("item_id")


def _ratings(row: Attribution, scale: QuestionScale) -> tuple[np.ndarray, np.ndarray]:
    """All ratings (M,) of the items of both periods, codes in declared order, and the period of
    each (M,).

    An item belongs to the day of its latest rating. One statement, so that all is of one moment.
    """
    columns = _held(row).filter(item_id__in=_touched(row))
    columns = columns.values_list("item_id", "rater_id", "counted", "counted_day")
    rows = np.fromiter(columns.iterator(chunk_size=20_000), dtype=ROW)
    items, index = np.unique(rows["item"], return_inverse=True)
    latest = np.full(items.size, np.iinfo(np.int64).min)
    np.maximum.at(latest, index, rows["day"])
    period = np.full(items.size, -1)
    for which, (first, end) in enumerate(_bounds(row)):
        period[(latest >= first) & (latest < end)] = which
    place = np.full(scale.width, -1)
    place[scale.codes] = np.arange(scale.k)
    rows["code"] = place[rows["code"]]
    kept = (period[index] >= 0) & (rows["code"] >= 0)
    return rows[kept], period[index][kept]


def _entries(without: Without, move: float, names: Iterable[Any]) -> list[dict[str, Any]]:
    """One dict each: name, kappa before and after without it, contribution, ratings taken out, why
    undefined."""
    contributions = without.contributions(move)
    return [
        {
            "name": name,
            "before": number(kappa[0]),
            "after": number(kappa[1]),
            "contribution": number(contribution),
            "n_ratings": numbers,
            "reason": REASONS[int(max(reason))],
        }
        for name, kappa, contribution, numbers, reason in zip(
            names,
            without.kappa,
            contributions,
            without.n_ratings.tolist(),
            without.reason,
            strict=True,
        )
    ]


def _size(entry: dict[str, Any]) -> float:
    """Sorts what explains most first, what is undefined last."""
    return 1.0 if entry["contribution"] is None else -abs(entry["contribution"])


def _attributes(items: Any, item: np.ndarray) -> list[tuple[str, list[Any], np.ndarray]]:
    """Name, values and the value's number of each rating's item (M,), of the attributes that group
    items.

    None stands for items without the attribute. Attributes with one value, or more than VALUES, say
    nothing.
    """
    ids, index = np.unique(item, return_inverse=True)
    places = {pk: place for place, pk in enumerate(ids.tolist())}
    numbered: dict[str, dict[Any, int]] = {}
    groups: dict[str, np.ndarray] = {}
    rows = Item.objects.filter(pk__in=items).values_list("pk", "attributes")
    for pk, attributes in rows.iterator(chunk_size=5_000):
        if pk not in places or not isinstance(attributes, dict):
            continue
        for name, value in attributes.items():
            if value is None or (name not in numbered and len(numbered) >= NAMES):
                continue
            values = numbered.setdefault(name, {})
            if len(values) > VALUES:
                continue
            group = groups.setdefault(name, np.full(ids.size, -1))
            group[places[pk]] = values.setdefault(_value(value), len(values))
    found = []
    for name in sorted(numbered):
        known = list(numbered[name])
        if len(known) > VALUES:
            continue
        used, group = np.unique(groups[name][index], return_inverse=True)
        if used.size > 1:
            values_of_groups = [None if which < 0 else known[which] for which in used.tolist()]
            found.append((name, values_of_groups, group))
    return found[:ATTRIBUTES]


def _value(value: Any) -> str:
    """A value of an attribute as text; what is no single value is told by its text too, and rarely
    groups items."""
    return str(value)[:200]


def _biases(
    ratings: np.ndarray, period: np.ndarray, scale: QuestionScale
) -> dict[tuple[int, int], Value]:
    """(rater, period) -> reading of the bias against the peers on the same items."""
    found = tally.peer_tables(
        ratings["item"], ratings["rater"], ratings["code"], scale.k, day=period
    )
    if found.day is None or not len(found.rater):
        return {}
    bias = peers.bias(found.tables, found.moments, found.n_items, values=scale.values)
    keys = zip(found.rater.tolist(), found.day.tolist(), strict=True)
    return dict(zip(keys, bias.readings(), strict=True))


def _shifts(ratings: np.ndarray, period: np.ndarray, scale: QuestionScale) -> list[dict[str, Any]]:
    """The pairs of raters whose bias against each other moved most clearly."""
    _raters, index, n_ratings = np.unique(ratings["rater"], return_inverse=True, return_counts=True)
    busiest = np.argsort(-n_ratings, kind="stable")[:SHIFT_RATERS]
    busy = np.isin(index, busiest)
    tables = []
    for which in (0, 1):
        mine = ratings[busy & (period == which)]
        tables.append(tally.pair_tables(mine["item"], mine["rater"], mine["code"], scale.k))
    found = shifts(*tables, values=scale.values)
    z = np.abs(found.z)
    change = np.abs(found.bias[:, 1] - found.bias[:, 0])
    clear = np.flatnonzero((z > CLEAR) & (change >= STEP))
    clearest = clear[np.argsort(-z[clear], kind="stable")][:SHIFTS]
    return [_shift(found, place) for place in clearest.tolist()]


def _shift(found: Shifts, place: int) -> dict[str, Any]:
    return {
        "a": int(found.rater_a[place]),
        "b": int(found.rater_b[place]),
        "bias": found.bias[place].tolist(),
        "se": found.se[place].tolist(),
        "n_items": found.n_items[place].tolist(),
    }
