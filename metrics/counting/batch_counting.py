"""Small questions counted in one pass: a question's price is its statements and calls, not its
ratings.

The questions are of different projects, so an item tells its question, and a rater too. What is
tallied is tallied once for all questions of a scale, then added to the counts of each. Exact as in
`counting.count`, for the same reasons: under the lock of each question, and what is marked is the
code that was read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from core.db import bulk
from metrics.agreement.counts import tally
from metrics.models import CountState
from metrics.scale import QuestionScale
from projects.models import Question, Rater
from ratings.models import NOTHING
from ratings.services import uncounted

from . import peer_rows, question_counting, rater_kinds, rating_rows, store
from .rater_kinds import Kinds

RATINGS = 500  # a small question has no more, counted or not
LOOK = 4_000  # of what waits, when small questions are looked for
SHIFT = 1 << 40  # days of one question stand so far from those of the next: more than there are


@dataclass
class Counted:
    """Questions of one scale but for its words, with what counting moved: the days of each
    question, and the raters."""

    scale: QuestionScale
    labels: dict[int, list[str]]
    states: dict[int, CountState]
    whose: store.Whose
    days: dict[int, list[int]] = field(default_factory=dict)
    raters: set[int] = field(default_factory=set)

    @property
    def moved(self) -> list[int]:
        """The questions whose project's readings are to be made."""
        return list(self.days)


def waiting_small(skip: Collection[int]) -> list[int]:
    """Questions, one of a project, of which little seems to wait: ids, those that were rated last
    first."""
    seen = uncounted.numbers(LOOK)
    few = [pk for pk, number in seen.items() if number <= RATINGS and pk not in skip]
    if len(few) < 2:
        return []
    of_project = dict(Question.objects.filter(pk__in=few).values_list("pk", "project_id"))
    first: dict[int, int] = {}
    for pk in few:
        if pk in of_project:
            first.setdefault(of_project[pk], pk)
    return list(first.values())


def lock(question_ids: Sequence[int], at_once: int) -> dict[int, CountState]:
    """The rows of up to ``at_once`` of the questions that are small, and in nobody else's hands, as
    `count.lock` has them for one. What asks for more than counting and reading is left to that."""
    _make_missing(question_ids)
    _note_catalogue(question_ids)
    plain = Q(
        scale_version=F("question__scale_version"),
        ratings__lte=RATINGS,
        unread=0,
        backlog_from__isnull=True,
        cumulative_from__isnull=True,
        apart=False,
        model_raters=[],
    )
    rows = CountState.objects.filter(plain, pk__in=question_ids).exclude(rater_kinds.behind())
    rows = rows.select_for_update(skip_locked=True, of=("self",)).order_by("pk")
    return {row.pk: row for row in rows[:at_once]}


def _make_missing(question_ids: Sequence[int]) -> None:
    there = set(CountState.objects.filter(pk__in=question_ids).values_list("pk", flat=True))
    missing = Question.objects.filter(pk__in=set(question_ids) - there).order_by("pk")
    CountState.objects.bulk_create(
        [
            CountState(question_id=pk, scale_version=version)
            for pk, version in missing.values_list("pk", "scale_version")
        ],
        ignore_conflicts=True,
    )


def _note_catalogue(question_ids: Sequence[int]) -> None:
    """Where the catalogue moved and neither holds nor held models, nothing is to be counted
    anew."""
    models = Rater.objects.filter(project=OuterRef("question__project"), kind=Rater.Kind.MODEL)
    behind = CountState.objects.filter(
        rater_kinds.behind(), ~Exists(models), pk__in=question_ids, recount=False, model_raters=[]
    )
    # Two workers would wait for each other's rows; who comes second finds it done.
    free = behind.select_for_update(skip_locked=True, of=("self",)).order_by("pk")
    bulk.several(
        ("UPDATE metrics_countstate SET catalogue = %s WHERE question_id = %s", (version, pk))
        for pk, version in free.values_list("pk", "question__project__catalogue_version")
    )


def add(states: Mapping[int, CountState]) -> tuple[list[Counted], np.ndarray, list[int]]:
    """Count what waits in the questions, under their locks. What moved, the ratings as they were
    read (rating_rows.ROW), which are still to be marked, and what noted them.

    A question of which too much waits, or that a model has rated, is left out.
    """
    found, notes = uncounted.noted_of(states, LOOK)
    rows = rating_rows.of_keys([(pk, item) for pk, items in found.items() for item in items])
    home = {item: pk for pk, items in found.items() for item in items}
    of_row = np.array([home[item] for item in rows["item"].tolist()], np.int64)
    left = _of_models(rows, of_row)
    kept = ~np.isin(of_row, list(left))
    rows, of_row = rows[kept], of_row[kept]
    groups = []
    # Read with the locks in hand, and after the rows: the categories know every code in them.
    for scale, labels in _by_scale(found.keys() - left):
        mine = np.isin(of_row, list(labels))
        of = {pk: states[pk] for pk in labels}
        group = Counted(scale, labels, of, store.Whose(list(of), _homes(rows[mine], of_row[mine])))
        _add_group(group, rows[mine], of_row[mine])
        groups.append(group)
    done = [note for pk, own in notes.items() if pk not in left for note in own]
    return groups, rows[question_counting.moved(rows)], done


def _of_models(rows: np.ndarray, of_row: np.ndarray) -> set[int]:
    """The questions that a model has rated."""
    models = Rater.objects.filter(
        pk__in=np.unique(rows["rater"]).tolist(), kind=Rater.Kind.MODEL
    ).values_list("pk", flat=True)
    return set(of_row[np.isin(rows["rater"], list(models))].tolist())


def _by_scale(
    question_ids: Iterable[int],
) -> Iterable[tuple[QuestionScale, dict[int, list[str]]]]:
    """The questions, each with its labels, by all else that is declared of them."""
    questions = Question.objects.filter(pk__in=list(question_ids)).prefetch_related("categories")
    groups: dict[str, tuple[QuestionScale, dict[int, list[str]]]] = {}
    for question in questions.order_by("pk"):
        scale = QuestionScale.of(question)
        form = question.declared(question.categories.all()) | {"width": scale.width, "note": ""}
        form["categories"] = [one | {"label": ""} for one in form["categories"]]
        alike = groups.setdefault(store.json_text(form), (scale, {}))
        alike[1][question.pk] = scale.labels
    return groups.values()


def _homes(rows: np.ndarray, of_row: np.ndarray) -> dict[int, int]:
    """Rater -> question."""
    return dict(zip(rows["rater"].tolist(), of_row.tolist(), strict=True))


def _add_group(found: Counted, rows: np.ndarray, of_row: np.ndarray) -> None:
    """Add what moved to the counts of questions of one scale, and to their states."""
    scale, states, width = found.scale, found.states, found.scale.width
    patterns = _patterns(rows, of_row, "code", width) - _patterns(rows, of_row, "counted", width)
    now, before = rows[rows["code"] > NOTHING], rows[rows["counted"] > NOTHING]
    nobody = Kinds()
    pairs = question_counting.pairs(now, "code", width) - question_counting.pairs(
        before, "counted", width
    )
    peers = question_counting.peers(now, "code", width, nobody) - question_counting.peers(
        before, "counted", width, nobody
    )
    own = question_counting.own_counts(rows)
    sums = {pk: store.no_sums() | state.pair_sums for pk, state in states.items()}
    changes = dict(_split(patterns))
    store.add_patterns_of(changes, width, stale=False)
    store.add_pairs(found.whose, pairs, scale, sums)
    come = peer_rows.add_peers(found.whose, peers, own, stale=False)
    _note_moved(found, changes, pairs, np.concatenate([peers.rater, own[:, 0]]))
    for rater, step in come.items():
        states[found.whose.question(rater)].n_people += step
    for pk, state in states.items():
        mine = of_row == pk
        moved = question_counting.moved(rows[mine])
        if moved.any():
            state.pair_sums = sums[pk]
            state.ratings += int((rows["code"][mine] > NOTHING).sum())
            state.ratings -= int((rows["counted"][mine] > NOTHING).sum())
            state.version += 1
            state.counted_at = timezone.now()


def _patterns(rows: np.ndarray, of_row: np.ndarray, code: str, width: int) -> tally.Patterns:
    """count.patterns, with the days of each question apart."""
    said = rows[code] > NOTHING
    rows, of_row = rows[said], of_row[said]
    day = rows["day" if code == "code" else "counted_day"]
    return tally.patterns(rows["item"], rows[code], width, day=day + SHIFT * of_row)


def _split(patterns: tally.Patterns) -> Iterator[tuple[int, tally.Patterns]]:
    """Question -> its patterns by its own days."""
    if patterns.day is None or not len(patterns.n_items):
        return
    of_row, day = np.divmod(patterns.day, SHIFT)
    for pk in np.unique(of_row).tolist():
        mine = of_row == pk
        yield (
            pk,
            replace(
                patterns,
                counts=patterns.counts[mine],
                n_items=patterns.n_items[mine],
                day=day[mine],
            ),
        )


def _note_moved(
    found: Counted,
    changes: Mapping[int, tally.Patterns],
    pairs: tally.PairTables,
    raters: np.ndarray,
) -> None:
    for pk, change in changes.items():
        found.days[pk] = sorted(set([] if change.day is None else change.day.tolist()))
    found.raters.update(raters.tolist())
    # As count._mark_what_pairs_moved: who says what another one takes back moves pairs alone.
    for rater in np.unique([*pairs.rater_a.tolist(), *pairs.rater_b.tolist()]).tolist():
        found.raters.add(int(rater))
        found.days.setdefault(found.whose.question(int(rater)), [])


def mark(rows: np.ndarray, notes: list[int]) -> None:
    """Every rating remembers what was read of it (count.mark_counted)."""
    rating_rows.mark_few(rows)
    uncounted.forget(notes)
