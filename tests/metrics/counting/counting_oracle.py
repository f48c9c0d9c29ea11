"""The stored counts of a question, and the same counts made slowly from its ratings."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations
from typing import Any

from metrics.counting import store
from metrics.models import ALL_DAYS, PairTally, PatternTally, PeerTally
from metrics.scale import QuestionScale
from ratings.models import Rating


def recounted(question: Any) -> dict[str, dict[Any, int]]:
    """patterns (day, counts) -> items; pairs (a, b, code of a, code of b) -> items; peers (rater,
    day, own, other) -> pairs; own (rater, day) -> ratings. Pure Python, straight from the
    definitions."""
    by_item: dict[int, list[Rating]] = defaultdict(list)
    for rating in Rating.objects.filter(question=question, code__gte=0):
        by_item[rating.item_id].append(rating)
    width = QuestionScale.for_question(question).width
    found: dict[str, Counter[Any]] = {
        name: Counter() for name in ("patterns", "pairs", "peers", "own")
    }
    for ratings in by_item.values():
        counts = tuple(sum(rating.code == code for rating in ratings) for code in range(width))
        for day in (max(rating.day for rating in ratings), ALL_DAYS):
            found["patterns"][day, counts] += 1
        for one, other in combinations(sorted(ratings, key=lambda rating: rating.rater_id), 2):
            found["pairs"][one.rater_id, other.rater_id, one.code, other.code] += 1
        for own in ratings:
            for day in (own.day, ALL_DAYS):
                found["own"][own.rater_id, day] += 1
                for other in ratings:
                    if other is not own:
                        found["peers"][own.rater_id, day, own.code, other.code] += 1
    return {name: dict(counter) for name, counter in found.items()}


def stored(question: Any) -> dict[str, dict[Any, int]]:
    """The same from the stored rows."""
    width = QuestionScale.for_question(question).width
    found: dict[str, dict[Any, int]] = {name: {} for name in ("patterns", "pairs", "peers", "own")}
    for row in PatternTally.objects.filter(question=question):
        counts, n_items = store.decode_patterns(row, width)
        for pattern, n in zip(counts.tolist(), n_items.tolist(), strict=True):
            found["patterns"][row.day, tuple(pattern)] = n
    for pair in PairTally.objects.filter(question=question):
        for (a, b), n in _cells(store.decode_array(pair.table, pair.width, pair.width)):
            found["pairs"][pair.rater_a_id, pair.rater_b_id, a, b] = n
    for peer in PeerTally.objects.filter(question=question):
        for (own, other), n in _cells(store.decode_array(peer.table, peer.width, peer.width)):
            found["peers"][peer.rater_id, peer.day, own, other] = n
        if peer.n_ratings:
            found["own"][peer.rater_id, peer.day] = peer.n_ratings
    return found


def _cells(table: Any) -> list[tuple[tuple[int, int], int]]:
    return [
        ((i, j), int(n)) for i, row in enumerate(table.tolist()) for j, n in enumerate(row) if n
    ]
