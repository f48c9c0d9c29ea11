"""What clients were told against what is stored: nothing lost, invented, doubled or out of date."""

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
    outcome: dict[str, str] = field(default_factory=dict)  # operation -> ok, fail, unknown
    said: dict[str, str] = field(default_factory=dict)
    by_key: dict[Key, list[str]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def read(cls, files: Iterable[Path]) -> History:
        history = cls()
        for file in files:
            for line in file.read_text().splitlines():
                history.add(json.loads(line))
        return history

    def add(self, line: dict[str, Any]) -> None:
        name = line["name"]
        if line["type"] != "invoke":
            self.outcome[name], self.said[name] = line["type"], line["said"]
            return
        self.rows[name] = line["rows"]
        self.outcome[name] = "unknown"  # until its end is written down
        rater = name.rpartition("-")[0]
        for item in line["rows"]:
            self.by_key[item, rater].append(name)

    def counts(self) -> Counter[str]:
        """Outcome -> operations."""
        return Counter(self.outcome.values())

    def ratings(self, outcome: str) -> int:
        return sum(len(self.rows[name]) for name, found in self.outcome.items() if found == outcome)


@dataclass
class Stored:
    """One rating: what stands, and the operations of its history in the order of their writing."""

    label: str | None
    operation: str
    history: list[str]


@dataclass
class Verdict:
    lost: list[str] = field(default_factory=list)  # acknowledged and not in the history
    # stored, and neither acknowledged nor unknown
    invented: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    outdated: list[str] = field(default_factory=list)  # what stands is not the last that was said

    @property
    def problems(self) -> dict[str, list[str]]:
        return {name: found[:5] for name, found in vars(self).items() if found}


def judge(history: History, stored: dict[Key, Stored]) -> Verdict:
    verdict = Verdict()
    for key in history.by_key.keys() | stored.keys():
        sent = history.by_key.get(key, [])
        rating = stored.get(key)
        kept = rating.history if rating else []
        _judge_one(verdict, history, sent, kept)
        if rating is not None:
            _judge_standing(verdict, history, key, rating)
    return verdict


def _judge_one(verdict: Verdict, history: History, sent: list[str], kept: list[str]) -> None:
    acknowledged = [name for name in sent if history.outcome[name] == "ok"]
    possible = {name for name in sent if history.outcome[name] != "fail"}
    verdict.lost += [name for name in acknowledged if name not in kept]
    verdict.invented += [name for name in kept if name not in possible]
    verdict.doubled += [name for name, times in Counter(kept).items() if times > 1]
    # One client, one operation after the other: what was acknowledged was written in this order.
    if [name for name in kept if history.outcome.get(name) == "ok"] != [
        name for name in acknowledged if name in kept
    ]:
        verdict.outdated.append(f"order of {kept}")


def _judge_standing(verdict: Verdict, history: History, key: Key, rating: Stored) -> None:
    """The last line of the history stands; by the order above it is the last acknowledged or an
    unknown one."""
    said = history.rows.get(rating.operation, {}).get(key[0], "never said")
    if rating.history[-1] != rating.operation or rating.label != said:
        verdict.outdated.append(f"{key}: {rating.operation} {rating.label}, said {said}")
