"""The judge of the drills finds each kind of trouble; else a drill that passes would say
nothing."""

from __future__ import annotations

import pytest

from tests.drills.history import History, Stored, judge


def history(*lines: tuple[str, str, dict[str, str | None]]) -> History:
    """(operation, outcome, item -> label) ..."""
    found = History()
    for name, outcome, rows in lines:
        found.add({"type": "invoke", "name": name, "rows": rows})
        if outcome:
            found.add({"type": outcome, "name": name, "said": ""})
    return found


TOLD = history(
    ("r-1", "ok", {"a": "minor", "b": "none"}),
    ("r-2", "unknown", {"a": "major"}),
    ("r-3", "ok", {"a": None}),
    ("r-4", "fail", {"b": "major"}),
    ("r-5", "", {"b": "critical"}),  # the client was stopped while it waited
)
RIGHT = {
    ("a", "r"): Stored(None, "r-3", ["r-1", "r-3"]),
    ("b", "r"): Stored("none", "r-1", ["r-1"]),
}


def test_what_was_told_is_what_is_stored() -> None:
    assert judge(TOLD, RIGHT).problems == {}


@pytest.mark.parametrize(
    "stored",
    [
        Stored("major", "r-2", ["r-1", "r-3", "r-2"]),  # came late
        Stored(None, "r-3", ["r-1", "r-2", "r-3"]),
    ],
)
def test_an_unknown_operation_may_have_happened_at_any_later_time(stored: Stored) -> None:
    assert judge(TOLD, {**RIGHT, ("a", "r"): stored}).problems == {}


def test_an_unanswered_operation_may_have_happened() -> None:
    assert (
        judge(TOLD, {**RIGHT, ("b", "r"): Stored("critical", "r-5", ["r-1", "r-5"])}).problems == {}
    )


@pytest.mark.parametrize(
    ("kind", "key", "stored"),
    [
        ("lost", "a", Stored("minor", "r-1", ["r-1"])),
        ("invented", "b", Stored("major", "r-4", ["r-1", "r-4"])),
        ("invented", "c", Stored("minor", "", [""])),
        ("doubled", "b", Stored("none", "r-1", ["r-1", "r-1"])),
        ("outdated", "a", Stored("minor", "r-1", ["r-3", "r-1"])),
        ("outdated", "a", Stored("minor", "r-1", ["r-1", "r-3"])),
        ("outdated", "b", Stored("minor", "r-1", ["r-1"])),
    ],
)
def test_trouble_is_found(kind: str, key: str, stored: Stored) -> None:
    assert kind in judge(TOLD, {**RIGHT, (key, "r"): stored}).problems


def test_a_rating_that_is_gone_is_lost() -> None:
    assert "lost" in judge(TOLD, {("a", "r"): RIGHT["a", "r"]}).problems
