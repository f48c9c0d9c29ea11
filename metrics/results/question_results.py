"""What of the readings of questions is to be made anew, and their writing: for one question, or for
several small ones in one pass, whose formulas cost as much as those of one."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connection
from django.db.models import Q
from django.utils import timezone

from core.db import bulk
from metrics import periods
from metrics.agreement.coefficients import fleiss
from metrics.agreement.registry import MEAN_PAIRWISE
from metrics.agreement.weights import CUSTOM, weighted
from metrics.counting import store
from metrics.models import ALL_START, EVER, CountState, PairTally, PatternTally, Reading, Span
from metrics.scale import QuestionScale

from .grouped_patterns import Patterns, Row
from .headline.headline_computation import First
from .period_patterns import Periods
from .values import mean_of_pairs, resting_on


@dataclass(frozen=True)
class Due:
    """Of one question: what is read first, items by pattern ever (P,), the periods that moved, and
    those whose cumulative readings are to be made; none where these are put off."""

    state: CountState
    first: First
    moved: list[Periods]
    since: list[Periods]
    put_off: bool

    @classmethod
    def of(
        cls,
        state: CountState,
        first: First,
        days: Collection[int],
        read: tuple[np.ndarray, np.ndarray],
        *,
        put_off: bool,
    ) -> Due:
        """``days`` moved; ``read``: days (D,) and their items by pattern (D, P), of whole periods,
        and unless the cumulative ones are put off of all days from the first on."""
        spans = [Periods.of(span, *read) for span in periods.SPANS] if days else []
        since = [] if put_off else [span.since(min(days)) for span in spans]
        return cls(state, first, [span.containing(days) for span in spans], since, put_off)

    def items(self) -> np.ndarray:
        """Items by pattern (n, P) of the readings to be made."""
        ever = self.first.n_items
        return np.concatenate(
            [
                ever[None],
                *(span.n_items for span in self.moved),
                *(span.cumulative(ever) for span in self.since),
            ]
        )

    def rows(self, readings: Iterator[Row], details: dict[str, Any]) -> Rows:
        """What is to be written of the readings, which come in the order of ``items``."""
        question_id, first = self.state.question_id, self.first
        all_days = next(readings)
        headline = first.whole(all_days)
        found = all_days.pooled
        found |= mean_pairwise(question_id, self.state.pair_sums, found["percent_agreement"])
        own = {(span.name, start): next(readings) for span in self.moved for start in span.starts()}
        total = {
            (span.name, start): next(readings) for span in self.since for start in span.starts()
        }
        gone = {(span.name, start) for span in [*self.moved, *self.since] for start in span.empty()}
        made = Rows([(question_id, Span.ALL, ALL_START, found, found, details, headline, {})])
        made.gone = [(question_id, *key) for key in gone & own.keys()]
        for key in gone:
            own.pop(key, None)
            total.pop(key, None)
        for key, row in own.items():
            until = total.pop(key, Row({}))
            values: Any = (row.pooled, until.pooled, {}, first.period(row), first.shown(until))
            (made.parts if self.put_off else made.whole).append((question_id, *key, *values))
        # Of the periods after them nothing else moved.
        for key, row in total.items():
            made.tail.append((question_id, *key, {}, row.pooled, {}, {}, first.shown(row)))
        return made


class Rows:
    """Rows of readings to be written, by what is to be kept of those that are there."""

    def __init__(self, whole: Iterable[tuple[Any, ...]] = ()) -> None:
        self.whole = list(whole)
        self.parts: list[tuple[Any, ...]] = []  # without the cumulative ones
        self.tail: list[tuple[Any, ...]] = []  # the cumulative ones alone
        self.gone: list[tuple[int, str, datetime.date]] = []  # periods without an item

    def __add__(self, other: Rows) -> Rows:
        joined = Rows(self.whole + other.whole)
        joined.parts, joined.tail = self.parts + other.parts, self.tail + other.tail
        joined.gone = self.gone + other.gone
        return joined

    def save(self) -> None:
        for question_id, name, start in self.gone:
            Reading.objects.filter(question=question_id, span=name, start=start).delete()
        _save(self.whole)
        _save(self.parts, kept=("cumulative", "people_cumulative"))
        _save(self.tail, kept=("coefficients", "details", "headline"))


def make(
    due: Sequence[Due],
    patterns: Patterns,
    scale: QuestionScale,
    labels: Sequence[list[str]] | None = None,
) -> None:
    """Make and write the readings of questions of this scale, whose ``labels`` may differ. Their
    items are all by the same patterns. The formulas are called once."""
    readings = patterns.readings(
        np.concatenate([one.items() for one in due]), scale, due[0].first.over_time
    )
    details = details_of(patterns, np.stack([one.first.n_items for one in due]), scale)
    made = Rows()
    for place, one in enumerate(due):
        if labels is not None:
            for category, label in zip(details[place]["categories"], labels[place], strict=True):
                category["label"] = label
        made += one.rows(readings, details[place])
    made.save()


@dataclass(frozen=True)
class Loaded:
    """Stored patterns: counts (P), the question and day of each row, and their items (R, P)."""

    patterns: Patterns
    keys: np.ndarray  # (R, 2)
    n_items: np.ndarray

    @classmethod
    def of(cls, rows: Sequence[PatternTally], scale: QuestionScale) -> Loaded:
        apart = any(row.apart for row in rows)
        decoded = [store.decode_patterns(row, scale.width, apart=apart) for row in rows]
        counts, where = np.unique(
            np.concatenate([part for part, _ in decoded]), axis=0, return_inverse=True
        )
        n_items = np.zeros((len(rows), len(counts)), np.int64)
        at = np.repeat(np.arange(len(rows)), [len(part) for part, _ in decoded])
        n_items[at, where.ravel()] = np.concatenate([n for _, n in decoded])
        keys = np.array([(row.question_id, row.day) for row in rows], np.int64)
        return cls(Patterns.of(counts, scale), keys, n_items)

    def question(self, question_id: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Items ever (P,), days (D,) and their items (D, P)."""
        mine = np.flatnonzero(self.keys[:, 0] == question_id)
        days, n_items = self.keys[mine, 1], self.n_items[mine]
        return n_items[days == EVER][0], days[days != EVER], n_items[days != EVER]


def load(
    question_id: int, scale: QuestionScale, wanted: Q
) -> tuple[Patterns, np.ndarray, np.ndarray, np.ndarray]:
    """Patterns (P), items ever (P,), the wanted days (D,) and their items (D, P)."""
    rows = PatternTally.objects.filter(wanted | Q(day=EVER), question_id=question_id)
    found = Loaded.of(list(rows.order_by("day")), scale)
    return found.patterns, *found.question(question_id)


def whole_details(patterns: Patterns, n_items: np.ndarray, scale: QuestionScale) -> dict[str, Any]:
    """Items (P,) by number of ratings, ratings by category, and agreement on each category versus
    the rest: of all raters."""
    return details_of(patterns, n_items[None], scale)[0]


def details_of(
    patterns: Patterns, n_items: np.ndarray, scale: QuestionScale
) -> list[dict[str, Any]]:
    """The same of each row of items (D, P)."""
    counts = patterns.pooled
    m = counts.sum(axis=1)
    numbers, where = np.unique(m, return_inverse=True)
    per_category = fleiss.category_kappas(counts, n_items)
    found = []
    for place, (items, ratings) in enumerate(zip(n_items, n_items @ counts, strict=True)):
        by_ratings = np.zeros(len(numbers), np.int64)
        np.add.at(by_ratings, where, items)
        each = zip(numbers.tolist(), by_ratings.tolist(), strict=True)
        named = zip(scale.labels, ratings.tolist(), strict=True)
        found.append(
            {
                "by_ratings": {str(number): count for number, count in each if count},
                "rated": int(items[m >= 1].sum()),
                "with_two_or_more": int(items[m >= 2].sum()),
                "categories": [
                    {
                        "label": label,
                        "ratings": number,
                        "agreement": per_category.reading((place, index)),
                    }
                    for index, (label, number) in enumerate(named)
                ],
            }
        )
    return found


def mean_pairwise(
    question_id: int, sums: dict[str, Any], like: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """The mean of the defined Cohen's kappas over all pairs that share items, under each weighting
    (Light 1971)."""
    found = {}
    for name, (total, pairs) in (store.no_sums() | sums).items():
        if name == CUSTOM and not pairs:
            continue
        if pairs:
            mean = mean_of_pairs(total / pairs / store.UNIT, pairs)
        else:
            mean = mean_of_pairs(None, 0, undefined=_why_no_mean(question_id))
        found[weighted(MEAN_PAIRWISE, name)] = mean
    return resting_on(found, like)


def _why_no_mean(question_id: int) -> str:
    met = PairTally.objects.filter(question_id=question_id).exists()
    return "single_category" if met else "no_pairable_items"


def _save(rows: list[tuple[Any, ...]], *, kept: Collection[str] = ()) -> None:
    """Write (question, span, start, coefficients, cumulative, details, headline,
    people_cumulative); of a known period all but the columns to be kept."""
    moment = connection.ops.adapt_datetimefield_value(timezone.now())
    day = connection.ops.adapt_datefield_value
    columns = (
        "question_id",
        "span",
        "start",
        "coefficients",
        "cumulative",
        "details",
        "headline",
        "people_cumulative",
        "computed_at",
    )
    data = [
        (question_id, str(span), day(start), *(store.json_text(part) for part in parts), moment)
        for question_id, span, start, *parts in rows
    ]
    update = {name: f'excluded."{name}"' for name in columns[3:] if name not in kept}
    bulk.upsert(
        "metrics_reading", columns, data, key=("question_id", "span", "start"), update=update
    )
