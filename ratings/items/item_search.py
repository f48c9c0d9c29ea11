"""Items by what is said of them and how often they were rated: a page at a time, at a bounded cost
in a project of a million."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.db.models import Count, Exists, F, Max, Min, OuterRef, QuerySet, Subquery, TextField
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce

from projects.models import ASKED, WAITING, WITHDRAWN, GoldAnswer, Item, Project
from projects.selectors import item_search
from ratings.models import Assignment, Rating

LOOKED_AT = 20_000  # items that one page looks at, in search of those that fit
FEW, MANY = 200, 5_000  # of these, at a time
READ_AT_ONCE = 1_000  # items whose texts are looked through by Python
COUNTED = 10_000  # items that fit are counted up to here,
COUNTED_TEXTS = 1_000  # and where Python reads their texts, up to here
STATES = ("asked", "waiting", "withdrawn", "flagged", "skipped", "gold")
OF_ITSELF = {"asked": ASKED, "waiting": WAITING, "withdrawn": WITHDRAWN}
ANSWERS = ("differ", "same")


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What an item must have to be found; nothing is wanted where nothing is said.

    ``search`` is a text of its key or its body. ``attributes`` are (name, value as text).
    ``least`` and ``most`` ratings that stand: of ``question`` (an id), else of all questions.
    ``since`` is when it was changed last, at the earliest. ``state`` is one of STATES.

    Of what was said to ``question``: ``answers`` that "differ", or two and more that are the
    "same"; each of the codes ``said`` by somebody; something by the ``rater`` (an id).
    """

    search: str = ""
    attributes: Sequence[tuple[str, str]] = ()
    least: int | None = None
    most: int | None = None
    question: int | None = None
    since: datetime.datetime | None = None
    state: str = ""
    answers: str = ""
    said: Sequence[int] = ()
    rater: int | None = None

    @property
    def narrow(self) -> bool:
        """Whether no index says which items fit."""
        return bool(
            self.search
            or self.attributes
            or self.since
            or self.most is not None
            or (self.least or 0) > 0
            or self.answers
            or self.said
            or self.rater is not None
        )


@dataclass(frozen=True)
class Found:
    """Items in the order of their ids. ``after`` is the id behind which to go on, None at the end;
    ``cut`` says that the search stopped before it had as many as were asked for."""

    items: list[Item]
    after: int | None
    cut: bool = False


@dataclass(frozen=True)
class Number:
    """How many items fit. ``more``: there are more than these. ``looked_at``: so many items, and
    the others were not; None: all were."""

    items: int
    more: bool = False
    looked_at: int | None = None


def is_name(name: str) -> bool:
    """Whether an attribute of this name can be asked for; the databases take a number for a place
    in a list."""
    return 0 < len(name) <= 100 and "\0" not in name and not name.lstrip("+-").isdecimal()


def find(project: Project, wanted: Wanted, *, after: int, size: int) -> Found:
    """Up to ``size`` items behind the id ``after`` that fit, of the next LOOKED_AT; of all, where a
    rater is wanted who rated no more than that."""
    few = _rated_by(wanted)
    if few is not None:
        page = list(islice(among(project, wanted, [pk for pk in few if pk > after]), size + 1))
        return Found(page[:size], page[size - 1].pk if len(page) > size else None)
    rows = _behind(matching(project, wanted), wanted, after)
    bound = None
    if wanted.narrow:
        bound = _bound(project, after)
        rows = rows if bound is None else rows.filter(pk__lte=bound)
    found: list[Item] = []
    for item in _read(rows, wanted, after, size + 1):
        if len(found) == size:
            return Found(found, found[-1].pk)
        found.append(item)
    return Found(found, bound, cut=bound is not None)


def among(project: Project, wanted: Wanted, ids: Sequence[int]) -> Iterator[Item]:
    """Those of these items that fit, in this order: a few are looked at first, then more and more
    at a time."""
    start, size = 0, FEW
    while start < len(ids):
        part = ids[start : start + size]
        rows = matching(project, wanted).filter(pk__in=part)
        fit = {item.pk: item for item in rows if item_search.says(item, wanted.search)}
        yield from (fit[pk] for pk in part if pk in fit)
        start, size = start + size, min(2 * size, MANY)


def number(project: Project, wanted: Wanted) -> Number:
    """How many items fit: of the first LOOKED_AT, as one page looks at them; of all, where a page
    would find them among all."""
    few = _rated_by(wanted)
    rows = matching(project, wanted)
    bound = _bound(project, 0) if wanted.narrow and few is None else None
    if bound is not None:
        rows = rows.filter(pk__lte=bound)
    if wanted.search:
        fitting = (
            _read(rows, wanted, 0, READ_AT_ONCE) if few is None else among(project, wanted, few)
        )
        n_items, most = sum(1 for _item in islice(fitting, COUNTED_TEXTS + 1)), COUNTED_TEXTS
    elif few is not None:
        parts = (few[start : start + MANY] for start in range(0, len(few), MANY))
        n_items, most = sum(rows.filter(pk__in=part).count() for part in parts), LOOKED_AT
    else:
        n_items, most = rows[: COUNTED + 1].count(), COUNTED
    if n_items > most:
        return Number(most, more=True)
    return Number(n_items, looked_at=None if bound is None else LOOKED_AT)


def every(project: Project, wanted: Wanted) -> Iterator[Item]:
    """All that fit, some at a time: for what is streamed."""
    after: int | None = 0
    while after is not None:
        page = find(project, wanted, after=after, size=READ_AT_ONCE)
        yield from page.items
        after = page.after


def matching(project: Project, wanted: Wanted) -> QuerySet[Item]:
    """The items that fit, in the order of their ids; where a text is searched for, a few more
    (searching.may_say)."""
    rows = Item.objects.filter(project=project).order_by("pk")
    rows = _in_state(rows, project, wanted.state)
    for place, (name, value) in enumerate(wanted.attributes):
        text = Cast(KeyTextTransform(name, F("attributes")), TextField())
        rows = rows.alias(**{f"attribute_{place}": text}).filter(**{f"attribute_{place}": value})
    if wanted.since is not None:
        rows = rows.filter(changed_at__gte=wanted.since)
    if (wanted.least or 0) > 0 or wanted.most is not None:
        rows = rows.alias(n_ratings=_number(wanted.question))
        if wanted.least is not None:
            rows = rows.filter(n_ratings__gte=wanted.least)
        if wanted.most is not None:
            rows = rows.filter(n_ratings__lte=wanted.most)
    if wanted.search:
        rows = rows.alias(text=Cast("body", TextField())).filter(item_search.may_say(wanted.search))
    return _answered(rows, wanted)


def n_ratings(item_ids: Iterable[int]) -> dict[int, int]:
    """item -> ratings that stand, of all questions; of a bounded number of items."""
    rows = Rating.objects.standing().filter(item__in=list(item_ids)).order_by()
    return dict(rows.values_list("item_id").annotate(Count("id")))


def _in_state(rows: QuerySet[Item], project: Project, state: str) -> QuerySet[Item]:
    if state in OF_ITSELF:
        return rows.filter(OF_ITSELF[state])
    if state == "flagged":
        # read off the partial index of what was set aside, which is small
        flagged = Assignment.objects.set_aside().filter(flagged=True)
        return rows.filter(pk__in=flagged.values("item_id"))
    if state == "skipped":
        skipped = Assignment.objects.set_aside().filter(state=Assignment.State.SKIPPED)
        return rows.filter(pk__in=skipped.values("item_id"))
    if state == "gold":
        gold = GoldAnswer.objects.in_force().filter(question__project=project)
        return rows.filter(pk__in=gold.values("item_id"))
    return rows


def _answered(rows: QuerySet[Item], wanted: Wanted) -> QuerySet[Item]:
    lowest, highest = (_of_codes(wanted.question, one("code")) for one in (Min, Max))
    if wanted.answers == "differ":
        rows = rows.alias(lowest=lowest, highest=highest).filter(highest__gt=F("lowest"))
    if wanted.answers == "same":
        number = _of_codes(wanted.question, Count("pk"))
        several = rows.alias(n_said=number).filter(n_said__gt=1)
        rows = several.alias(lowest=lowest, highest=highest).filter(highest=F("lowest"))
    said = Rating.objects.standing().filter(question=wanted.question, item=OuterRef("pk"))
    for code in wanted.said:
        rows = rows.filter(Exists(said.filter(code=code)))
    if wanted.rater is not None:
        rows = rows.filter(Exists(said.filter(rater=wanted.rater)))
    return rows


def _rated_by(wanted: Wanted) -> list[int] | None:
    """Ids of the items that the wanted rater rated, in their order; None where that is nobody, or
    there are more than LOOKED_AT."""
    if wanted.rater is None:
        return None
    said = Rating.objects.standing().filter(rater=wanted.rater, question=wanted.question)
    # read off the index of the rater's own ratings
    ids = list(said.order_by("-changed_at").values_list("item_id", flat=True)[: LOOKED_AT + 1])
    return sorted(ids) if len(ids) <= LOOKED_AT else None


def _behind(rows: QuerySet[Item], wanted: Wanted, after: int) -> QuerySet[Item]:
    """The rows behind an id. Of the few that wait or are withdrawn by a sum, so that SQLite takes
    their own small index and does not walk through all items."""
    if wanted.state in ("waiting", "withdrawn"):
        return rows.alias(place=F("pk") + 0).filter(place__gt=after)
    return rows.filter(pk__gt=after)


def _number(question_id: int | None) -> Any:
    return Coalesce(_of_codes(question_id, Count("pk")), 0)


def _of_codes(question_id: int | None, value: Any) -> Subquery:
    """A value over the ratings of each item that stand, of one question or of all."""
    ratings = Rating.objects.standing().filter(item=OuterRef("pk"))
    if question_id is not None:
        ratings = ratings.filter(question=question_id)
    return Subquery(ratings.order_by().values("item").annotate(of=value).values("of"))


def _bound(project: Project, after: int) -> int | None:
    behind = Item.objects.filter(project=project, pk__gt=after).order_by("pk")
    return behind.values_list("pk", flat=True)[LOOKED_AT - 1 : LOOKED_AT].first()


def _read(rows: QuerySet[Item], wanted: Wanted, after: int, size: int) -> Iterator[Item]:
    """The first ``size`` of the rows that fit: what only looked so to the database is passed by."""
    if not wanted.search:
        yield from rows[:size]
        return
    while True:
        part = list(rows.filter(pk__gt=after)[:READ_AT_ONCE])
        yield from (item for item in part if item_search.says(item, wanted.search))
        if len(part) < READ_AT_ONCE:
            return
        after = part[-1].pk
