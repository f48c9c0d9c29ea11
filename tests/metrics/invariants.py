"""What must hold of a question of which nothing is uncounted: said in full, and checked from the
ratings alone."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from metrics.agreement import pattern_coefficients
from metrics.agreement.coefficients import cohen
from metrics.agreement.coefficients.groups import peers
from metrics.agreement.counts import tally
from metrics.counting import store
from metrics.integrity.audit import audit_question
from metrics.models import CountState, PairTally, PatternTally, PeerTally, RaterReading, Reading
from metrics.results.raters import rater_periods
from metrics.scale import QuestionScale, get_weighted_name
from projects.models import Question
from ratings.models import Rating
from tests.metrics.counting.counting_oracle import recounted, stored

EPOCH = datetime.date(1970, 1, 1)
SPANS = ("all", "day", "week", "month")
Key = tuple[Any, ...]


def check(question_id: int) -> None:
    """Nothing is left to do, and counts, sums and readings are those of the ratings as they
    stand."""
    question = Question.objects.select_related("project").get(pk=question_id)
    assert not Rating.objects.filter(question=question).uncounted().exists()
    for model in (PatternTally, PeerTally):
        assert not model.objects.filter(question=question, stale=True).exists()
    assert stored(question) == recounted(question)
    found = audit_question(question_id)
    assert not found.differences, found
    scale = QuestionScale.for_question(question)
    ratings = list(Rating.objects.filter(question=question).current().order_by("pk"))
    check_pairs(question, scale)
    check_state(question, len(ratings))
    same(project_readings(question), expected_readings(ratings, scale))
    same(rater_readings(question), expected_rater_readings(ratings, scale))


def check_pairs(question: Question, scale: QuestionScale) -> None:
    """Each pair's kappas are those of its own table under the scale as it is, and the sums are
    those of the pairs."""
    sums = store.create_pair_sums()
    for row in PairTally.objects.filter(question=question):
        table = store.decode_stack([row.table], [row.width], scale.width, axes=2)[0]
        for name in store.KAPPA_WEIGHTINGS:
            matrix = scale.build_weight_matrices().get(name)
            fresh: Mapping[str, object] = {}
            if matrix is not None:
                fresh = cohen.kappa(scale.reorder(table, axes=2), matrix).to_value()
            for part, made in (("kappa", "value"), ("low", "low"), ("high", "high")):
                stored = getattr(row, f"{part}_{name}")
                assert near(stored, fresh.get(made)), (row.pk, part, name, stored, fresh)
            kept = getattr(row, f"kappa_{name}")
            if kept is not None:
                sums[name][0] += round(kept * store.KAPPA_UNITS)
                sums[name][1] += 1
    state = CountState.objects.filter(question=question).first()
    assert (
        store.create_pair_sums() | state.pair_sums if state else store.create_pair_sums()
    ) == sums


def check_state(question: Question, standing: int) -> None:
    state = CountState.objects.filter(question=question).first()
    if state is None:
        assert standing == 0
        return
    assert state.ratings == standing
    assert state.unread == 0
    assert state.scale_version == question.scale_version


# --- the readings as they are stored


def project_readings(question: Question) -> dict[Key, Any]:
    rows = Reading.objects.filter(question=question)
    return {
        (row.span, row.start): {"each": row.coefficients, "cumulative": row.cumulative}
        for row in rows
    }


def rater_readings(question: Question) -> dict[Key, Any]:
    """As they are stored, and those of days, weeks and months, which are read off the counts."""
    found = {
        (row.rater_id, "all", EPOCH): {"n": row.n_ratings, "each": row.coefficients}
        for row in RaterReading.objects.filter(question=question)
    }
    scale = QuestionScale.for_question(question)
    names = [get_weighted_name("vs_peers", name) for name in scale.build_weight_matrices()] + [
        "vs_peers_percent",
        "vs_peers_bias",
    ]
    for rater in question.project.raters.all():
        given = rater_periods.filter_rater_days(question, rater).values_list("day", "n_ratings")
        for span in SPANS[1:]:
            n_ratings: dict[datetime.date, int] = defaultdict(int)
            for day, number in given:
                n_ratings[start_of(day, span)] += number
            rows = rater_periods.list_newest_periods(
                question, rater, span, names, scale=scale, number=len(given)
            )
            for start, *each in rows:
                n = n_ratings.pop(start)
                found[rater.pk, span, start] = {
                    "n": n,
                    "each": dict(zip(names, each, strict=True)),
                }
            assert not n_ratings
    return found


# --- the same from the ratings, by the pure library


def expected_readings(ratings: list[Rating], scale: QuestionScale) -> dict[Key, Any]:
    codes: dict[int, list[int]] = defaultdict(list)
    days: dict[int, int] = {}
    for rating in ratings:
        codes[rating.item_id].append(rating.code)
        days[rating.item_id] = max(days.get(rating.item_id, rating.day), rating.day)
    found: dict[Key, Any] = {}
    for span in SPANS:
        starts = {item: start_of(day, span) for item, day in days.items()}
        for start in set(starts.values()):
            here = [codes[item] for item in codes if starts[item] == start]
            until = [codes[item] for item in codes if starts[item] <= start]
            found[span, start] = {
                "each": coefficients(here, scale),
                "cumulative": coefficients(until, scale),
            }
    return found


def coefficients(items: Iterable[list[int]], scale: QuestionScale) -> dict[str, Any]:
    counts = np.array(
        [[codes.count(code) for code in scale.codes.tolist()] for codes in items], np.int64
    )
    estimates = pattern_coefficients(
        counts,
        np.ones(len(counts), np.int64),
        scale=scale.kind,
        values=scale.values,
        weight_matrix=scale.matrix,
    )
    return {name: estimate.to_value() for name, estimate in estimates.items()}


def expected_rater_readings(
    ratings: list[Rating], scale: QuestionScale, spans: tuple[str, ...] = SPANS
) -> dict[Key, Any]:
    items, raters = [rating.item_id for rating in ratings], [rating.rater_id for rating in ratings]
    codes = [rating.code for rating in ratings]
    found: dict[Key, Any] = {}
    for span in spans:
        starts = [start_of(rating.day, span) for rating in ratings]
        periods = [(start - EPOCH).days for start in starts]
        tables = tally.count_peer_tables(items, raters, codes, scale.width, day=periods)
        assert tables.day is not None
        places = {
            key: at
            for at, key in enumerate(zip(tables.rater.tolist(), tables.day.tolist(), strict=True))
        }
        for rating, start, period in zip(ratings, starts, periods, strict=True):
            key = (rating.rater_id, span, start)
            if key in found:
                found[key]["n"] += 1
                continue
            place = places.get((rating.rater_id, period))
            found[key] = {
                "n": 1,
                "each": {} if place is None else against_peers(tables, place, scale),
            }
    return found


def against_peers(tables: tally.PeerTables, place: int, scale: QuestionScale) -> dict[str, Any]:
    table = scale.reorder(tables.tables[place], axes=2)
    moments = None if tables.moments is None else scale.reorder(tables.moments[place], axes=3)
    n_items = tables.n_items[place]
    found = {}
    for name, matrix in scale.build_weight_matrices().items():
        suffix = "" if name == "none" else f"_{name}"
        found[f"vs_peers{suffix}"] = peers.peer_kappa(
            table, moments, n_items, weights=matrix
        ).to_value()
    found["vs_peers_percent"] = peers.peer_percent_agreement(table, moments, n_items).to_value()
    found["vs_peers_bias"] = peers.peer_bias(
        table, moments, n_items, values=scale.values
    ).to_value()
    return found


def start_of(day: int, span: str) -> datetime.date:
    date = EPOCH + datetime.timedelta(days=day)
    return {
        "all": EPOCH,
        "day": date,
        "week": date - datetime.timedelta(days=date.weekday()),
        "month": date.replace(day=1),
    }[span]


# --- comparing


def same(kept: dict[Key, Any], fresh: dict[Key, Any]) -> None:
    """The same periods (an empty question may keep its reading of nothing), and every value of
    ``fresh``."""
    extra = set(kept) - set(fresh)
    assert not extra or (not fresh and all(key[-2] == "all" for key in extra)), extra
    assert not set(fresh) - set(kept), set(fresh) - set(kept)
    for key, value in fresh.items():
        assert holds(kept[key], value), (key, kept[key], value)


def holds(kept: Any, fresh: Any) -> bool:
    """Whether ``kept`` says all that ``fresh`` says; sums of floats may be taken in another
    order."""
    if isinstance(fresh, dict):
        return isinstance(kept, dict) and all(
            name in kept and holds(kept[name], fresh[name]) for name in fresh
        )
    return near(kept, fresh)


def near(kept: Any, fresh: Any) -> bool:
    if isinstance(kept, float) and isinstance(fresh, float | int):
        return abs(kept - fresh) <= 1e-9 * max(1.0, abs(fresh))
    return kept == fresh
