"""Compare client histories with stored ratings: nothing lost, invented, doubled or outdated."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Key = tuple[str, str]  # item, rater


@dataclass
class History:
    """Operations in the order in which each client sent them."""

    # operation -> item -> label
    rows: dict[str, dict[str, str | None]] = field(default_factory=dict)
    outcomes: dict[str, str] = field(default_factory=dict)  # operation -> ok, fail, unknown
    messages: dict[str, str] = field(default_factory=dict)
    operations_by_key: dict[Key, list[str]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def from_files(cls, files: Iterable[Path]) -> History:
        history = cls()
        for file in files:
            for line in file.read_text().splitlines():
                history.add_line(json.loads(line))
        return history

    def add_line(self, line: dict[str, Any]) -> None:
        name = line["name"]
        if line["type"] != "invoke":
            self.outcomes[name], self.messages[name] = line["type"], line["message"]
            return
        self.rows[name] = line["rows"]
        self.outcomes[name] = "unknown"  # until its outcome is logged
        rater = name.rpartition("-")[0]
        for item in line["rows"]:
            self.operations_by_key[item, rater].append(name)

    def count_outcomes(self) -> Counter[str]:
        """Return {outcome: number of operations}."""
        return Counter(self.outcomes.values())

    def count_ratings(self, outcome: str) -> int:
        """Return the number of ratings in operations with this outcome."""
        return sum(
            len(self.rows[name]) for name, actual in self.outcomes.items() if actual == outcome
        )


@dataclass
class StoredRating:
    """One rating: its current state, and the operations of its history in the order of writing."""

    label: str | None
    operation: str
    history: list[str]


@dataclass
class Verdict:
    """Operations and ratings that contradict the history, by kind of error."""

    lost: list[str] = field(default_factory=list)  # acknowledged and not in the history
    # stored, and neither acknowledged nor unknown
    invented: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    outdated: list[str] = field(default_factory=list)  # the current state is not the last one sent

    @property
    def problems(self) -> dict[str, list[str]]:
        """{kind of error: its first five cases}, without kinds that did not occur."""
        return {name: cases[:5] for name, cases in vars(self).items() if cases}


def compare_history(history: History, stored: dict[Key, StoredRating]) -> Verdict:
    """Compare each rating of the history with the stored one."""
    verdict = Verdict()
    for key in history.operations_by_key.keys() | stored.keys():
        operations = history.operations_by_key.get(key, [])
        rating = stored.get(key)
        stored_operations = rating.history if rating else []
        _check_operations(verdict, history, operations, stored_operations)
        if rating is not None:
            _check_current(verdict, history, key, rating)
    return verdict


def _check_operations(
    verdict: Verdict, history: History, operations: list[str], stored_operations: list[str]
) -> None:
    acknowledged = [name for name in operations if history.outcomes[name] == "ok"]
    possible = {name for name in operations if history.outcomes[name] != "fail"}
    verdict.lost += [name for name in acknowledged if name not in stored_operations]
    verdict.invented += [name for name in stored_operations if name not in possible]
    verdict.doubled += [name for name, times in Counter(stored_operations).items() if times > 1]
    # Each client sends one operation at a time, so acknowledged ones were written in this order.
    if [name for name in stored_operations if history.outcomes.get(name) == "ok"] != [
        name for name in acknowledged if name in stored_operations
    ]:
        verdict.outdated.append(f"order of {stored_operations}")


def _check_current(verdict: Verdict, history: History, key: Key, rating: StoredRating) -> None:
    """Check that the last revision is the current state.

    By the order checked above it is the last acknowledged operation or an unknown one.
    """
    expected = history.rows.get(rating.operation, {}).get(key[0], "never said")
    if rating.history[-1] != rating.operation or rating.label != expected:
        verdict.outdated.append(f"{key}: {rating.operation} {rating.label}, said {expected}")
