"""The list of a project's raters: who is shown, in which order, and what is known of a page of
them.

Of all raters it reads what one row holds (quality.rater_status.comparison) and the ids of those of whom
something else is told; the whole card is read for one page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from django.core.exceptions import BadRequest
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from metrics.agreement.rater_quality.gold import PAUSE_AT
from metrics.views.common.selection import one_of
from projects.models import Question, Rater
from quality.models import DriftStanding, GoldScore, Kind, RepeatScore
from quality.rater_status import comparison
from quality.rater_status.status import signs, unresolved

LONGEST_SEARCH = 100
MOST_LEAST = 1_000_000
MOST_CHOSEN = 100  # raters, in one act
# Chip -> its words, in the order of the page.
SHOWN: dict[str, Promise] = {
    "same": gettext_lazy("nearly always the same answer"),
    "fast": gettext_lazy("too fast"),
    "apart": gettext_lazy("far apart"),
    "drifted": gettext_lazy("drifted"),
    "alarm": gettext_lazy("alarm"),
    "gold": gettext_lazy("miss gold"),
    "few": gettext_lazy("few overlaps"),
    "paused": gettext_lazy("paused"),
}
NAME_OF = {
    "apart_from_peers": "apart",
    "one_answer": "same",
    "too_fast": "fast",
}  # of signs that cases give


class Line(NamedTuple):
    """A rater among all; ``standing``: None without a rating."""

    pk: int
    key: str
    name: str
    group: str
    standing: comparison.Standing | None
    harm: float
    told: set[str]  # of SHOWN


@dataclass(frozen=True)
class Wanted:
    """What the address asks for: a chip, a least number of ratings, a text in key, name or
    group."""

    show: str = ""
    least: int = 0
    search: str = ""

    @classmethod
    def of(cls, given: QueryDict) -> Wanted:
        """Raises Http404 for an unknown chip, BadRequest for what cannot be."""
        show = one_of(given, "show", list(SHOWN)) or ""
        text = given.get("least") or "0"
        if not (text.isascii() and text.isdigit() and int(text[:8]) <= MOST_LEAST):
            raise BadRequest(
                _("“least” is a number of ratings, from 0 to %(most)s.") % {"most": MOST_LEAST}
            )
        search = (given.get("search") or "").strip()
        if len(search) > LONGEST_SEARCH:
            raise BadRequest(_("Search for a shorter text."))
        return cls(show, int(text), search)

    def holds(self, line: Line) -> bool:
        if self.show and self.show not in line.told:
            return False
        if self.least and (line.standing is None or line.standing.n_ratings < self.least):
            return False
        text = self.search.casefold()
        return not text or any(
            text in part.casefold() for part in (line.key, line.name, line.group)
        )


def _at(name: str) -> Callable[[RaterList, Line], Any]:
    return lambda _all, line: getattr(line.standing, name) if line.standing else None


NOTHING: tuple[float | None, int] = (None, 0)
# Column -> what it is sorted by; None comes last, and before it whoever of COMPARED has too few.
SORTED_BY: dict[str, Callable[[RaterList, Line], Any]] = {
    "harm": lambda _all, line: line.harm,
    "rater": lambda _all, line: line.key,
    "ratings": _at("n_ratings"),
    "peers": _at("value"),
    "bias": _at("bias"),
    "seconds": _at("seconds"),
    "gold": lambda every, line: every.gold_values.get(line.pk, NOTHING)[0],
    "repeats": lambda every, line: every.repeat_values.get(line.pk, NOTHING)[0],
    "drift": lambda every, line: every.evidence.get(line.pk),
}
# Column that compares -> the number of items on which it rests.
COMPARED: dict[str, Callable[[RaterList, Line], int]] = {
    "peers": lambda _all, line: line.standing.n_items if line.standing else 0,
    "bias": lambda _all, line: line.standing.n_items if line.standing else 0,
    "gold": lambda every, line: every.gold_values.get(line.pk, NOTHING)[1],
    "repeats": lambda every, line: every.repeat_values.get(line.pk, NOTHING)[1],
}


@dataclass
class RaterList:
    """All people of a question's project. ``standings``: of the last sweep."""

    question: Question
    standings: comparison.Standings = field(init=False)

    def __post_init__(self) -> None:
        self.standings = comparison.of(self.question)

    @property
    def waiting(self) -> bool:
        """Whether a worker will set the raters beside each other for the first time. Where nobody
        has rated there is nothing to wait for."""
        made, rated = self.standings.made_at is not None, comparison.stamps(self.question.pk)
        return not made and bool(rated) and bool(self.lines)

    @cached_property
    def lines(self) -> list[Line]:
        people = Rater.objects.filter(project=self.question.project_id, kind=Rater.Kind.HUMAN)
        alarms = unresolved(self.question)
        drifting = DriftStanding.objects.filter(question=self.question, watched=True)
        watched = {*drifting.values_list("rater_id", flat=True)}
        missing = GoldScore.objects.filter(question=self.question, evidence__gte=PAUSE_AT)
        below = {*missing.values_list("rater_id", flat=True)}
        of_rater = self.standings.raters
        found = []
        columns = ("pk", "key", "name", "group", "paused")
        for pk, key, name, group, paused in people.order_by().values_list(*columns):
            standing = of_rater.get(pk)
            told = {NAME_OF[sign] for sign in signs(alarms.get(pk, []))}
            if any(case.kind == Kind.RATER_DRIFT for case in alarms.get(pk, [])):
                told.add("drifted")
            if pk in alarms or pk in watched:
                told.add("alarm")
            if pk in below:
                told.add("gold")
            if paused:
                told.add("paused")
            if standing is None or not standing.enough:
                told.add("few")
            harm = self.standings.harm(pk)
            found.append(Line(pk, key, name, group, standing, harm, told))
        return found

    def chips(self) -> list[tuple[str, Promise, int]]:
        """Chip, its words, and of how many raters it is true."""
        return [
            (name, words, sum(name in line.told for line in self.lines))
            for name, words in SHOWN.items()
        ]

    def chosen(self, wanted: Wanted, sort: str = "-harm") -> list[Line]:
        """By one column, equals by key. In either order last comes what has no value, and before
        it what rests on too few items: of five, one is the worst or the best by chance."""
        name = sort.removeprefix("-")
        column, compared = SORTED_BY[name], COMPARED.get(name)
        lines = sorted(filter(wanted.holds, self.lines), key=lambda line: line.key)
        known = [line for line in lines if column(self, line) is not None]
        known.sort(key=lambda line: column(self, line), reverse=sort.startswith("-"))
        if compared is not None:
            known.sort(key=lambda line: compared(self, line) < comparison.LEAST_ITEMS)
        return known + [line for line in lines if column(self, line) is None]

    @cached_property
    def gold_values(self) -> dict[int, tuple[float | None, int]]:
        return _kappas(GoldScore.objects.filter(question=self.question))

    @cached_property
    def repeat_values(self) -> dict[int, tuple[float | None, int]]:
        return _kappas(RepeatScore.objects.filter(question=self.question))

    @cached_property
    def evidence(self) -> dict[int, float | None]:
        rows = DriftStanding.objects.filter(question=self.question)
        return dict(rows.values_list("rater_id", "evidence"))


def _kappas(rows: QuerySet[Any]) -> dict[int, tuple[float | None, int]]:
    """Rater id -> kappa, and the number of items on which it rests."""
    found = rows.values_list("rater_id", "kappa")
    return {rater: (kappa["value"], kappa["n_items"] or 0) for rater, kappa in found}


def ids_of(texts: Sequence[str]) -> list[int]:
    """Ids of raters as a form or an address sends them. Raises BadRequest for what is none."""
    if len(texts) > MOST_CHOSEN or not all(
        text.isascii() and text.isdigit() and len(text) < 19 for text in texts
    ):
        raise refused_choice()
    return [int(text) for text in texts]


def refused_choice() -> BadRequest:
    return BadRequest(_("Choose at most %(most)s raters of this project.") % {"most": MOST_CHOSEN})
