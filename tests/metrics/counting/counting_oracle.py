"""The stored counts of a question, and the same counts computed slowly from its ratings."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations
from typing import Any

from metrics.counting import store
from metrics.models import ALL_DAYS, PairTally, PatternTally, PeerTally
from metrics.question_scale import QuestionScale
from ratings.models import Rating


def recount(question: Any) -> dict[str, dict[Any, int]]:
    """Count a question's ratings in pure Python, straight from the definitions.

    Returns patterns (day, counts) -> items; pairs (a, b, code of a, code of b) -> items;
    peers (rater, day, own, other) -> pairs; own (rater, day) -> ratings.
    """
    by_item: dict[int, list[Rating]] = defaultdict(list)
    for rating in Rating.objects.filter(question=question, code__gte=0):
        by_item[rating.item_id].append(rating)
    width = QuestionScale.for_question(question).width
    counters: dict[str, Counter[Any]] = {
        name: Counter() for name in ("patterns", "pairs", "peers", "own")
    }
    for ratings in by_item.values():
        counts = tuple(sum(rating.code == code for rating in ratings) for code in range(width))
        for day in (get_comparison_day([rating.day for rating in ratings]), ALL_DAYS):
            counters["patterns"][day, counts] += 1
        for first, second in combinations(sorted(ratings, key=lambda rating: rating.rater_id), 2):
            counters["pairs"][first.rater_id, second.rater_id, first.code, second.code] += 1
        for rating_of_rater in ratings:
            rater_id, own_day = rating_of_rater.rater_id, rating_of_rater.day
            others = [rating for rating in ratings if rating is not rating_of_rater]
            for day in (own_day, ALL_DAYS):
                counters["own"][rater_id, day] += 1
            for second in others:
                for day in (max(own_day, min(rating.day for rating in others)), ALL_DAYS):
                    counters["peers"][rater_id, day, rating_of_rater.code, second.code] += 1
    return {name: dict(counter) for name, counter in counters.items()}


def get_comparison_day(days: list[int]) -> int:
    """Return the day of an item: of its second rating, or of the only one."""
    return sorted(days)[:2][-1]


def load_stored_counts(question: Any) -> dict[str, dict[Any, int]]:
    """Return the same counts from the stored rows."""
    width = QuestionScale.for_question(question).width
    counts_by_name: dict[str, dict[Any, int]] = {
        name: {} for name in ("patterns", "pairs", "peers", "own")
    }
    for row in PatternTally.objects.filter(question=question):
        counts, n_items = store.decode_patterns(row, width)
        for pattern, n in zip(counts.tolist(), n_items.tolist(), strict=True):
            counts_by_name["patterns"][row.day, tuple(pattern)] = n
    for pair in PairTally.objects.filter(question=question):
        for (code_a, code_b), n in _list_nonzero_cells(
            store.decode_array(pair.table, pair.width, pair.width)
        ):
            counts_by_name["pairs"][pair.rater_a_id, pair.rater_b_id, code_a, code_b] = n
    for peer in PeerTally.objects.filter(question=question):
        for (own_code, other_code), n in _list_nonzero_cells(
            store.decode_array(peer.table, peer.width, peer.width)
        ):
            counts_by_name["peers"][peer.rater_id, peer.day, own_code, other_code] = n
        if peer.n_ratings:
            counts_by_name["own"][peer.rater_id, peer.day] = peer.n_ratings
    return counts_by_name


def _list_nonzero_cells(table: Any) -> list[tuple[tuple[int, int], int]]:
    return [
        ((i, j), int(n)) for i, row in enumerate(table.tolist()) for j, n in enumerate(row) if n
    ]
