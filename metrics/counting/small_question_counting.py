"""Batch counting: count many questions with few uncounted ratings in one pass.

The cost of a small question is its statements and calls, not its ratings. The questions belong to
different projects, so an item identifies its question, and so does a rater. Everything is tallied
once for all questions of a scale, then added to the counts of each. It is exact for the same
reasons as `question_counting`: it runs under the lock of each question, and the code that was read
is stored as counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from core.db import bulk
from metrics.agreement.counts import tally
from metrics.models import CountState, Population
from metrics.question_scale import QuestionScale
from projects.models import Category, Question, Rater
from ratings.models import NO_CODE
from ratings.services import uncounted_ratings

from . import peer_store, question_counting, rater_kinds, rating_rows, store
from .rater_kinds import RaterKinds

MAX_RATINGS = 500  # of a small question, counted or not
MAX_NOTES = 4_000  # uncounted items that are read when small questions are selected
DAYS_PER_QUESTION = 1 << 40  # offset between the days of two questions; larger than any day


@dataclass
class SmallQuestionCounts:
    """Changed counts of several questions, whose scales are equal apart from labels.

    ``labels``: of the categories, by question; ``days``: the changed days by question; ``raters``:
    ids of the changed raters.
    """

    scale: QuestionScale
    labels: dict[int, list[str]]
    states: dict[int, CountState]
    scope: store.CountScope
    days: dict[int, list[int]] = field(default_factory=dict)
    raters: set[int] = field(default_factory=set)

    @property
    def changed_questions(self) -> list[int]:
        """Ids of the questions whose project results must be computed."""
        return list(self.days)


def list_small_uncounted_questions(skip: Collection[int]) -> list[int]:
    """Return ids of questions with few uncounted ratings, one for each project.

    Questions in ``skip`` are left out. Empty if there are fewer than two.
    """
    numbers = uncounted_ratings.count_by_question(MAX_NOTES)
    small = [pk for pk, number in numbers.items() if number <= MAX_RATINGS and pk not in skip]
    if len(small) < 2:
        return []
    project_ids = dict(Question.objects.filter(pk__in=small).values_list("pk", "project_id"))
    by_project: dict[int, int] = {}
    for pk in small:
        if pk in project_ids:
            by_project.setdefault(project_ids[pk], pk)
    return list(by_project.values())


def lock_states_of_small_questions(
    question_ids: Collection[int], max_questions: int
) -> dict[int, CountState]:
    """Lock the CountState of at most ``max_questions`` small questions, by question id.

    States that another worker has locked are skipped.

    A question that needs more than counting and results is not included: `question_counting` does
    it.
    """
    _update_items_and_raters_versions(question_ids, max_questions)
    is_simple = Q(
        scale_version=F("question__scale_version"),
        ratings__lte=MAX_RATINGS,
        unrefreshed=0,
        backlog_from__isnull=True,
        cumulative_from__isnull=True,
        separates_models=False,
        model_raters=[],
    )
    rows = CountState.objects.filter(is_simple, pk__in=question_ids).exclude(
        rater_kinds.build_kinds_stale_filter()
    )
    rows = rows.select_for_update(skip_locked=True, of=("self",)).order_by("pk")
    return {row.pk: row for row in rows[:max_questions]}


def create_missing_states(question_ids: Collection[int]) -> None:
    """Create the CountState of each question that has none.

    Do not call it in the transaction of a batch: other workers that create the same rows would
    wait for its end.
    """
    existing = set(CountState.objects.filter(pk__in=question_ids).values_list("pk", flat=True))
    missing = Question.objects.filter(pk__in=set(question_ids) - existing).order_by("pk")
    CountState.objects.bulk_create(
        [
            CountState(question_id=pk, scale_version=version)
            for pk, version in missing.values_list("pk", "scale_version")
        ],
        ignore_conflicts=True,
    )


def _update_items_and_raters_versions(question_ids: Collection[int], limit: int) -> None:
    """Store the project's current version of items and raters for up to ``limit`` questions.

    They are questions without ratings of models in projects without models: there, kinds of raters
    cannot change counts, so no recount is needed.
    """
    models = Rater.objects.filter(project=OuterRef("question__project"), kind=Rater.Kind.MODEL)
    behind = CountState.objects.filter(
        rater_kinds.build_kinds_stale_filter(),
        ~Exists(models),
        pk__in=question_ids,
        needs_recount=False,
        model_raters=[],
    )
    # Without skip_locked two workers would wait for each other's rows; the second finds it done.
    unlocked = behind.select_for_update(skip_locked=True, of=("self",)).order_by("pk")
    rows = unlocked.values_list("pk", "question__project__items_and_raters_version")[:limit]
    bulk.update_rows_by_id(
        "metrics_countstate", ["items_and_raters_version"], list(rows), key="question_id"
    )


def count_uncounted_items(
    states: Mapping[int, CountState],
) -> tuple[list[SmallQuestionCounts], np.ndarray, list[int]]:
    """Count the uncounted items of the questions, under their locks.

    Returns the changed counts in groups of equal scales, the ratings as read (rating_rows.ROW),
    which the caller has to mark, and the ids of their notes. Questions with too many uncounted
    items, or that a model has rated, are left out.
    """
    items_by_question, notes_by_question = uncounted_ratings.get_batches(states, MAX_NOTES)
    rows = rating_rows.load_ratings_of_keys(
        [(pk, item) for pk, items in items_by_question.items() for item in items]
    )
    question_of_item = {item: pk for pk, items in items_by_question.items() for item in items}
    question_ids = np.array([question_of_item[item] for item in rows["item"].tolist()], np.int64)
    skipped = _find_questions_with_models(rows, question_ids)
    included = ~np.isin(question_ids, list(skipped))
    rows, question_ids = rows[included], question_ids[included]
    groups = []
    # Read while the locks are held, and after the rows, so that each scale has every code in them.
    for scale, labels in _group_by_scale(items_by_question.keys() - skipped):
        in_group = np.isin(question_ids, list(labels))
        group_states = {pk: states[pk] for pk in labels}
        group = SmallQuestionCounts(
            scale,
            labels,
            group_states,
            store.CountScope(
                list(group_states), _map_raters_to_questions(rows[in_group], question_ids[in_group])
            ),
        )
        _add_group(group, rows[in_group], question_ids[in_group])
        groups.append(group)
    note_ids = [
        note
        for pk, note_list in notes_by_question.items()
        if pk not in skipped
        for note in note_list
    ]
    return groups, rows[question_counting.build_uncounted_mask(rows)], note_ids


def _find_questions_with_models(rows: np.ndarray, question_ids: np.ndarray) -> set[int]:
    """Return the ids of questions that have a model's rating among the rows (M,).

    ``question_ids`` (M,): the question of each row.
    """
    models = Rater.objects.filter(
        pk__in=np.unique(rows["rater"]).tolist(), kind=Rater.Kind.MODEL
    ).values_list("pk", flat=True)
    return set(question_ids[np.isin(rows["rater"], list(models))].tolist())


def _group_by_scale(
    question_ids: Iterable[int],
) -> Iterable[tuple[QuestionScale, dict[int, list[str]]]]:
    """Return (scale, {question id: labels}) of each group of questions with equal scales.

    Scales that differ only in labels, or in the note on the headline, count as equal.
    """
    ids = list(question_ids)
    # Not prefetched: Django would build a query for each of the questions.
    categories: dict[int, list[Category]] = {pk: [] for pk in ids}
    for category in Category.objects.filter(question__in=ids):
        categories[category.question_id].append(category)
    groups: dict[str, tuple[QuestionScale, dict[int, list[str]]]] = {}
    for question in Question.objects.filter(pk__in=ids).order_by("pk"):
        scale = QuestionScale.for_question(question, categories[question.pk])
        declaration = question.get_declaration(categories[question.pk])
        shared = {
            **declaration,
            "width": scale.width,
            "note": "",
            "categories": [{**category, "label": ""} for category in declaration["categories"]],
        }
        group = groups.setdefault(store.encode_json(shared), (scale, {}))
        group[1][question.pk] = scale.labels
    return groups.values()


def _map_raters_to_questions(rows: np.ndarray, question_ids: np.ndarray) -> dict[int, int]:
    """Return {rater id: question id}; ``question_ids`` (M,) are those of the rows (M,)."""
    return dict(zip(rows["rater"].tolist(), question_ids.tolist(), strict=True))


def _add_group(group: SmallQuestionCounts, rows: np.ndarray, question_ids: np.ndarray) -> None:
    """Add the changes by these ratings to the counts and states of the group's questions.

    ``question_ids``: the question of each of the ``rows``.
    """
    scale, states, width = group.scale, group.states, group.scale.width
    patterns = _tally_patterns(rows, question_ids, "code", width) - _tally_patterns(
        rows, question_ids, "counted", width
    )
    current = question_counting.select_ratings(rows, "code")
    counted = question_counting.select_ratings(rows, "counted")
    no_kinds = RaterKinds()
    pairs = tally.count_pair_tables(*current[:3], width) - tally.count_pair_tables(
        *counted[:3], width
    )
    peers = no_kinds.tally_peers(current, width) - no_kinds.tally_peers(counted, width)
    own_counts = question_counting.compute_own_counts(current, counted)
    sums = {pk: store.create_pair_sums() | state.pair_sums for pk, state in states.items()}
    changes = dict(_split_by_question(patterns))
    store.add_patterns(
        {(pk, Population.ALL): change for pk, change in changes.items()}, width, stale=False
    )
    store.add_pair_tables(group.scope, pairs, scale, sums)
    rater_steps = peer_store.add_peer_counts(group.scope, peers, own_counts, stale=False)
    _note_changed_days_and_raters(
        group, changes, pairs, np.concatenate([peers.rater, own_counts[:, 0]])
    )
    for rater_id, step in rater_steps.items():
        states[group.scope.get_question_id(rater_id)].n_people += step
    for pk, state in states.items():
        in_question = question_ids == pk
        uncounted = question_counting.build_uncounted_mask(rows[in_question])
        if uncounted.any():
            state.pair_sums = sums[pk]
            state.ratings += int((rows["code"][in_question] > NO_CODE).sum())
            state.ratings -= int((rows["counted"][in_question] > NO_CODE).sum())
            state.version += 1
            state.counted_at = timezone.now()


def _tally_patterns(
    rows: np.ndarray, question_ids: np.ndarray, code_column: str, width: int
) -> tally.PatternCounts:
    """Return the patterns of the rows by shifted day: day + DAYS_PER_QUESTION * question id.

    So the days identify the questions. ``code_column``: "code" or "counted".
    """
    has_code = rows[code_column] > NO_CODE
    rows, question_ids = rows[has_code], question_ids[has_code]
    day = rows["day" if code_column == "code" else "counted_day"]
    return tally.count_patterns(
        rows["item"], rows[code_column], width, day=day + DAYS_PER_QUESTION * question_ids
    )


def _split_by_question(patterns: tally.PatternCounts) -> Iterator[tuple[int, tally.PatternCounts]]:
    """Yield (question id, its patterns by day) of patterns by shifted day (`_tally_patterns`)."""
    if patterns.day is None or not len(patterns.n_items):
        return
    question_ids, day = np.divmod(patterns.day, DAYS_PER_QUESTION)
    for pk in np.unique(question_ids).tolist():
        in_question = question_ids == pk
        yield (
            pk,
            replace(
                patterns,
                counts=patterns.counts[in_question],
                n_items=patterns.n_items[in_question],
                day=day[in_question],
            ),
        )


def _note_changed_days_and_raters(
    group: SmallQuestionCounts,
    changes: Mapping[int, tally.PatternCounts],
    pairs: tally.PairTables,
    raters: np.ndarray,
) -> None:
    """Note on the group the days and raters whose results the changes affect.

    ``changes``: changed patterns by question; ``raters``: ids of raters with other own or peer
    counts.
    """
    for pk, change in changes.items():
        group.days[pk] = sorted(set([] if change.day is None else change.day.tolist()))
    group.raters.update(raters.tolist())
    # As in question_counting._mark_pair_changes_stale: some changes affect pairs only.
    for rater in np.unique([*pairs.rater_a.tolist(), *pairs.rater_b.tolist()]).tolist():
        group.raters.add(int(rater))
        group.days.setdefault(group.scope.get_question_id(int(rater)), [])


def mark_ratings_counted(rows: np.ndarray, notes: list[int]) -> None:
    """Mark ratings (array of rating_rows.ROW) as counted as they were read; delete the notes."""
    rating_rows.mark_rows_of_questions_counted(rows)
    uncounted_ratings.delete_notes(notes)
