"""How fresh a page is: what it says of itself, and what it compares to know whether it is still
right."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from metrics.counting import backlog
from metrics.filters import Filter
from metrics.jobs import question_updates
from metrics.models import CountState, Slice
from projects.models import Question


@dataclass(frozen=True)
class Freshness:
    """How far counting is."""

    state: CountState | None
    uncounted: int

    @classmethod
    def of(cls, question: Question) -> Freshness:
        state = CountState.objects.filter(question=question).first()
        return cls(state, question_updates.waiting_ratings(question, state))

    @property
    def filtered(self) -> bool:
        """Whether the numbers are those of some ratings, and as old as their slice."""
        return False

    @property
    def waiting(self) -> bool:
        """Whether there are no numbers yet, because a worker is at them."""
        return False

    @property
    def following(self) -> bool:
        """Whether the sentences, the mean pairwise kappas, the intervals by the bootstrap or what
        is read first are still those of older readings (metrics.results.deferred_results)."""
        state = self.state
        if state is None or self.filtered:
            return False
        return state.bootstrapped != state.version or state.drawn_behind

    @property
    def version(self) -> str:
        """What is shown, a dot, and what is known to be missing from it."""
        return f"{self.state.version if self.state else 0}.{self.uncounted}"

    @property
    def backlog(self) -> dict[str, int] | None:
        """How far a backlog is counted, while there is one."""
        return backlog.progress(self.state) if self.state else None


class Counted(NamedTuple):
    """When somebody's ratings were counted last, and how many are."""

    counted_at: datetime.datetime | None
    ratings: int


@dataclass(frozen=True)
class SeveralFreshness:
    """How far counting is of several questions together; read by a page as `Freshness` is."""

    states: Mapping[int, CountState]
    uncounted: int
    filtered = waiting = False

    @classmethod
    def of(cls, questions: Sequence[Question]) -> SeveralFreshness:
        states = CountState.objects.in_bulk([question.pk for question in questions])
        return cls(states, question_updates.waiting_together(questions, states))

    @property
    def state(self) -> Counted:
        moments = [state.counted_at for state in self.states.values() if state.counted_at]
        ratings = sum(state.ratings for state in self.states.values())
        return Counted(max(moments, default=None), ratings)

    @property
    def following(self) -> bool:
        return any(
            state.bootstrapped != state.version or state.drawn_behind
            for state in self.states.values()
        )

    @property
    def version(self) -> str:
        """Each question's only rises, and so does their sum."""
        versions = [state.version for state in self.states.values()]
        return f"{len(versions)}-{sum(versions)}.{self.uncounted}"

    @property
    def backlog(self) -> dict[str, int] | None:
        found = [backlog.progress(state) for state in self.states.values()]
        open_ones = [one for one in found if one is not None]
        if not open_ones:
            return None
        return {name: sum(one[name] for one in open_ones) for name in ("done", "total")}


@dataclass(frozen=True)
class SliceFreshness(Freshness):
    """How fresh a page with a slice is: its numbers are those of ``row``, or on a page of all
    ratings some are."""

    row: Slice

    @property
    def waiting(self) -> bool:
        return self.filtered and self.row.computed_at is None

    @property
    def filtered(self) -> bool:
        return bool(Filter.from_spec(self.row.spec))

    @property
    def version(self) -> str:
        computed = self.row.computed_at
        at = int(computed.timestamp() * 1_000_000) if computed else 0
        counts = self.state.version if self.state and not self.filtered else 0
        return f"{self.row.pk}-{at}-{counts}.{self.uncounted}-{self.behind}"

    @property
    def behind(self) -> int:
        """1 when numbers or items moved since the slice was computed."""
        current = self.state.version if self.state else 0
        catalogue = self.row.question.project.catalogue_version
        return int((self.row.version, self.row.catalogue) != (current, catalogue))
