"""Counts -> stored coefficients. Only what moved is read and computed again.

Rows of counts that moved are marked ``stale`` in the transaction that moved them; ``refresh`` makes
the readings that rest on them and clears the marks in one transaction under the same lock, so that
whatever dies, the rows still say what is left to do. A change on an old day moves every later
cumulative reading: where these are many, ``refresh`` notes the day in
``CountState.cumulative_from`` and the sweep makes them with ``finish``, seconds later.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from groundwork.database import bulk
from metrics import changes, periods
from metrics.agreement.coefficients import fleiss
from metrics.agreement.registry import MEAN_PAIRWISE
from metrics.agreement.weights import CUSTOM, weighted
from metrics.counting import store
from metrics.counting.count import lock
from metrics.models import (
    ALL_START,
    EVER,
    CountState,
    Diagnosis,
    PairTally,
    PatternTally,
    PeerTally,
    Reading,
    Span,
)
from metrics.scale import QuestionScale
from projects.models import Question
from ratings.recording.days import date_of

from . import raters
from .first import Counted, First
from .groups import Patterns, Row
from .value import mean_of_pairs, resting_on

TAIL = 62  # days of cumulative readings made at once; a longer tail is put off


def refresh(question_id: int) -> bool:
    """Bring the readings of a question up to its counts; True when something was stale.

    In transactions of bounded length, so that nobody who rates waits long for the database.
    """
    moved = False
    while (more := _refresh_some(question_id)) is not None:
        moved = True
        if not more:
            break
        while _refresh_beside(question_id):
            pass
    if moved:
        changes.announce(question_id)
    return moved


@transaction.atomic
def _refresh_some(question_id: int) -> bool | None:
    """The project's stale readings and those of some raters. None: nothing was stale; else whether
    more is."""
    try:
        state = lock(question_id)
    except Question.DoesNotExist:
        return None
    # With the lock in hand: the scale of now, or an older one that lags.
    question = Question.objects.get(pk=question_id)
    scale = QuestionScale.of(question)
    rescaled = state.scale_version != question.scale_version
    if rescaled:
        _renew_all(state, scale)
        state.scale_version = question.scale_version
    stale = PatternTally.objects.filter(question_id=question_id, stale=True)
    days = sorted(stale.values_list("day", flat=True))
    if days:
        _refresh_project(state, scale, [day for day in days if day != EVER])
        stale.update(stale=False)
    more = raters.refresh_some(question_id, scale)
    if not days and more is None:
        if rescaled or state.unread:  # changes that took each other back, so that no count moved
            state.unread = 0
            state.version += 1
            state.save()
        return None
    if not more:
        state.unread = 0
    state.read_at = timezone.now()
    state.version += 1
    state.save()
    return bool(more)


@transaction.atomic
def _refresh_beside(question_id: int) -> bool:
    """The readings of some raters, beside other workers who make those of others; False when there
    are none to make.

    Each shares the question's lock, so that no count moves meanwhile. SQLite has no such locks, and
    one writer.
    """
    if connection.vendor != "postgresql":
        return False
    question = Question.objects.filter(pk=question_id).first()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT scale_version FROM metrics_countstate WHERE question_id = %s FOR SHARE",
            [question_id],
        )
        made_for = cursor.fetchone()
    if question is None or made_for != (question.scale_version,):
        return False
    return raters.refresh_whole(question_id, QuestionScale.of(question))


@transaction.atomic
def finish(question_id: int) -> bool:
    """Make the cumulative readings that ``refresh`` put off; True when there were any."""
    if not CountState.objects.filter(pk=question_id, cumulative_from__isnull=False).exists():
        return False
    state = lock(question_id)
    first = state.cumulative_from
    if first is None:
        return False
    scale = QuestionScale.of(Question.objects.get(pk=question_id))
    counts, ever, days, by_day = _load(question_id, scale, Q(day__gte=periods.whole([first])[0]))
    spans = [_Periods.of(span, days, by_day).since(first) for span in periods.SPANS]
    made = First(Counted.of(state, scale), counts, ever, scale)
    items = np.concatenate([span.cumulative(ever) for span in spans])
    readings = counts.readings(items, scale, made.over_time)
    for span in spans:
        totals = dict(zip(span.starts(), readings, strict=False))
        stored = Reading.objects.filter(
            question_id=question_id, span=span.name, start__in=list(totals)
        )
        rows = []
        for pk, start in stored.values_list("id", "start"):
            row = totals[start]
            people = store.json_text(made.shown(row))
            rows.append((pk, store.json_text(row.pooled), people))
        bulk.update_by_id("metrics_reading", ["cumulative", "people_cumulative"], rows)
    state.cumulative_from = None
    state.version += 1
    state.save()
    changes.announce(question_id)
    return True


def _renew_all(state: CountState, scale: QuestionScale) -> None:
    """The scale changed: all pairs' kappas anew from their tables, and every reading stale."""
    state.pair_sums = store.renew_pairs(state.question_id, scale)
    for model in (PatternTally, PeerTally):
        model.objects.filter(question_id=state.question_id).update(stale=True)
    Diagnosis.objects.filter(question_id=state.question_id).delete()
    # until all are made: the readings wait, although no rating does
    state.unread = max(1, state.unread)


@dataclass(frozen=True)
class _Periods:
    """The periods of one span: first days (D,) and numbers of items by pattern (D, P)."""

    name: str
    begins: np.ndarray
    n_items: np.ndarray

    @classmethod
    def of(cls, name: str, days: np.ndarray, by_day: np.ndarray) -> _Periods:
        begins, index = np.unique(periods.starts(days, name), return_inverse=True)
        n_items = np.zeros((len(begins), by_day.shape[1]), np.int64)
        np.add.at(n_items, index, by_day)
        return cls(name, begins, n_items)

    def since(self, day: int) -> _Periods:
        """From the period of ``day`` on. What was read may begin in the middle of an earlier
        one."""
        return self._only(self.begins >= periods.starts(np.array([day]), self.name)[0])

    def containing(self, days: Iterable[int]) -> _Periods:
        return self._only(
            np.isin(self.begins, periods.starts(np.fromiter(days, np.int64), self.name))
        )

    def _only(self, chosen: np.ndarray) -> _Periods:
        return _Periods(self.name, self.begins[chosen], self.n_items[chosen])

    def cumulative(self, ever: np.ndarray) -> np.ndarray:
        """Items by pattern up to each period's end (D, P), where these are the last periods of
        all."""
        return ever - self.n_items.sum(axis=0) + self.n_items.cumsum(axis=0)

    def starts(self) -> list[Any]:
        return [date_of(begin) for begin in self.begins.tolist()]

    def empty(self) -> list[Any]:
        """First days of the periods that have no item any more."""
        return [
            start
            for start, items in zip(self.starts(), self.n_items.sum(axis=1), strict=True)
            if not items
        ]


def _refresh_project(state: CountState, scale: QuestionScale, days: list[int]) -> None:
    """The project's readings: ever, of the periods of ``days``, and the cumulative ones from the
    first of them on."""
    question_id = state.question_id
    wanted, put_off = Q(pk__isnull=True), False
    if days:
        later = PatternTally.objects.filter(question_id=question_id, day__gt=days[0]).count()
        put_off = later - len(days) > TAIL
        whole = periods.whole(days if put_off else days[:1])
        wanted = Q(day__in=whole) if put_off else Q(day__gte=whole[0])
    if put_off:
        state.cumulative_from = min(days[0], state.cumulative_from or days[0])
    counts, ever, read, by_day = _load(question_id, scale, wanted)
    spans = [_Periods.of(span, read, by_day) for span in periods.SPANS] if days else []
    moved = [span.containing(days) for span in spans]
    since = [] if put_off else [span.since(days[0]) for span in spans]
    first = First(Counted.of(state, scale), counts, ever, scale)
    items = [
        ever[None],
        *(span.n_items for span in moved),
        *(span.cumulative(ever) for span in since),
    ]
    readings = counts.readings(np.concatenate(items), scale, first.over_time)
    all_days = next(readings)
    headline = first.whole(all_days)
    found = all_days.pooled
    found |= mean_pairwise(question_id, state.pair_sums, found["percent_agreement"])
    details = whole_details(counts, ever, scale)
    _save(question_id, [(Span.ALL, ALL_START, found, found, details, headline, {})])
    own = {(span.name, start): next(readings) for span in moved for start in span.starts()}
    total = {(span.name, start): next(readings) for span in since for start in span.starts()}
    gone = {(span.name, start) for span in [*moved, *since] for start in span.empty()}
    for name, start in gone & own.keys():
        Reading.objects.filter(question_id=question_id, span=name, start=start).delete()
    for key in gone:
        own.pop(key, None)
        total.pop(key, None)
    _save_periods(question_id, own, total, first, put_off=put_off)


Key = tuple[str, Any]  # span, first day


def _save_periods(
    question_id: int,
    own: dict[Key, Row],
    total: dict[Key, Row],
    first: First,
    *,
    put_off: bool,
) -> None:
    """``own``: of the periods that moved; ``total``: cumulative ones, of these and of the periods
    after them, unless they are put off."""
    rows: list[tuple[Any, ...]] = []
    for key, row in own.items():
        until = total.pop(key, Row({}))
        sums = first.shown(until)
        rows.append((*key, row.pooled, until.pooled, {}, first.period(row), sums))
    _save(question_id, rows, kept=("cumulative", "people_cumulative") if put_off else ())
    # Of the periods after them nothing else moved.
    tail: list[tuple[Any, ...]] = []
    for key, row in total.items():
        tail.append((*key, {}, row.pooled, {}, {}, first.shown(row)))
    _save(question_id, tail, kept=("coefficients", "details", "headline"))


def _load(
    question_id: int, scale: QuestionScale, wanted: Q
) -> tuple[Patterns, np.ndarray, np.ndarray, np.ndarray]:
    """Patterns (P), items ever (P,), the wanted days (D,) and their items (D, P)."""
    rows = list(
        PatternTally.objects.filter(wanted | Q(day=EVER), question_id=question_id).order_by("day")
    )
    apart = any(row.apart for row in rows)
    decoded = [store.decode_patterns(row, scale.width, apart=apart) for row in rows]
    counts, where = np.unique(
        np.concatenate([part for part, _ in decoded]), axis=0, return_inverse=True
    )
    n_items = np.zeros((len(rows), len(counts)), np.int64)
    at = np.repeat(np.arange(len(rows)), [len(part) for part, _ in decoded])
    n_items[at, where.ravel()] = np.concatenate([n for _, n in decoded])
    days = np.array([row.day for row in rows[1:]], np.int64)
    return Patterns.of(counts, scale), n_items[0], days, n_items[1:]


def whole_details(patterns: Patterns, n_items: np.ndarray, scale: QuestionScale) -> dict[str, Any]:
    """Items by number of ratings, ratings by category, and agreement on each category versus the
    rest: of all raters."""
    counts = patterns.pooled
    m = counts.sum(axis=1)
    numbers, where = np.unique(m, return_inverse=True)
    by_ratings = np.zeros(len(numbers), np.int64)
    np.add.at(by_ratings, where, n_items)
    per_category = fleiss.category_kappas(counts, n_items)
    return {
        "by_ratings": {
            str(number): int(items) for number, items in zip(numbers, by_ratings, strict=True)
        },
        "rated": int(n_items[m >= 1].sum()),
        "with_two_or_more": int(n_items[m >= 2].sum()),
        "categories": [
            {"label": label, "ratings": int(ratings), "agreement": per_category.reading((index,))}
            for index, (label, ratings) in enumerate(
                zip(scale.labels, n_items @ counts, strict=True)
            )
        ],
    }


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


def _save(question_id: int, rows: list[tuple[Any, ...]], *, kept: Collection[str] = ()) -> None:
    """Write (span, start, coefficients, cumulative, details, headline, people_cumulative); of a
    known period all but the columns to be kept."""
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
        for span, start, *parts in rows
    ]
    update = {name: f'excluded."{name}"' for name in columns[3:] if name not in kept}
    bulk.upsert(
        "metrics_reading", columns, data, key=("question_id", "span", "start"), update=update
    )
