"""The drills' check of histories finds each kind of error.

Otherwise a drill that passes would prove nothing.
"""

from __future__ import annotations

import pytest

from tests.drills.history import History, StoredRating, compare_history


def build_history(*lines: tuple[str, str, dict[str, str | None]]) -> History:
    """Build a history from lines of (operation, outcome, {item: label})."""
    new_history = History()
    for name, outcome, rows in lines:
        new_history.add_line({"type": "invoke", "name": name, "rows": rows})
        if outcome:
            new_history.add_line({"type": outcome, "name": name, "message": ""})
    return new_history


HISTORY = build_history(
    ("r-1", "ok", {"a": "minor", "b": "none"}),
    ("r-2", "unknown", {"a": "major"}),
    ("r-3", "ok", {"a": None}),
    ("r-4", "fail", {"b": "major"}),
    ("r-5", "", {"b": "critical"}),  # the client was stopped while it waited
)
CORRECT_RATINGS = {
    ("a", "r"): StoredRating(None, "r-3", ["r-1", "r-3"]),
    ("b", "r"): StoredRating("none", "r-1", ["r-1"]),
}


def test_correct_ratings_have_no_problems() -> None:
    assert compare_history(HISTORY, CORRECT_RATINGS).problems == {}


@pytest.mark.parametrize(
    "stored",
    [
        StoredRating("major", "r-2", ["r-1", "r-3", "r-2"]),  # came late
        StoredRating(None, "r-3", ["r-1", "r-2", "r-3"]),
    ],
)
def test_an_unknown_operation_may_have_happened_at_any_later_time(stored: StoredRating) -> None:
    assert compare_history(HISTORY, {**CORRECT_RATINGS, ("a", "r"): stored}).problems == {}


def test_an_unanswered_operation_may_have_happened() -> None:
    assert (
        compare_history(
            HISTORY,
            {**CORRECT_RATINGS, ("b", "r"): StoredRating("critical", "r-5", ["r-1", "r-5"])},
        ).problems
        == {}
    )


@pytest.mark.parametrize(
    ("kind", "key", "stored"),
    [
        ("lost", "a", StoredRating("minor", "r-1", ["r-1"])),
        ("invented", "b", StoredRating("major", "r-4", ["r-1", "r-4"])),
        ("invented", "c", StoredRating("minor", "", [""])),
        ("doubled", "b", StoredRating("none", "r-1", ["r-1", "r-1"])),
        ("outdated", "a", StoredRating("minor", "r-1", ["r-3", "r-1"])),
        ("outdated", "a", StoredRating("minor", "r-1", ["r-1", "r-3"])),
        ("outdated", "b", StoredRating("minor", "r-1", ["r-1"])),
    ],
)
def test_each_kind_of_problem_is_found(kind: str, key: str, stored: StoredRating) -> None:
    assert kind in compare_history(HISTORY, {**CORRECT_RATINGS, (key, "r"): stored}).problems


def test_missing_rating_is_lost() -> None:
    assert "lost" in compare_history(HISTORY, {("a", "r"): CORRECT_RATINGS["a", "r"]}).problems
