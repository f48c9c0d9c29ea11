"""What changed between two periods: which ones the address asks for, and what is stored of them."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from django.http import HttpRequest
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from metrics import periods
from metrics.models import Attribution, Reading, Span
from metrics.scale import weighted
from projects.models import Question, Rater

from . import words
from .selection import Selection, one_of

SPANS = (Span.WEEK.value, Span.MONTH.value)
PERIODS = 260  # the newest so many weeks and months together can be chosen from
LOOKED_AT = 12  # so many newest periods with enough items are looked at for a clear move
CLEAR = 2.0  # standard errors of the difference from which on a move of agreement is told
BARS = 20
SHOWN = 0.005  # a smaller contribution is no bar


@dataclass(frozen=True)
class Period:
    """A week or month with ratings, and its stored reading."""

    span: str
    start: datetime.date
    reading: dict[str, Any]

    @property
    def firm(self) -> bool:
        return (self.reading.get("n_items") or 0) >= periods.FIRM

    @property
    def named(self) -> str:
        return period_name(self.span, self.start)


def period_name(span: str, start: datetime.date) -> str:
    if span == Span.MONTH:
        return date_format(start, "YEAR_MONTH_FORMAT")
    return _("the week of %(date)s") % {"date": date_format(start)}


@dataclass(frozen=True)
class Change:
    """The two periods that are compared; ``problem`` says why there are none."""

    span: str
    periods: list[Period]  # of this span, newest first
    before: Period | None = None
    after: Period | None = None
    problem: str | None = None

    @classmethod
    def of(cls, request: HttpRequest, chosen: Selection) -> Change:
        """What the address asks for; without, the last clear move between two periods with enough
        items, or the last two. Http404 for an unknown span."""
        known = _periods(chosen)
        span = one_of(request.GET, "span", SPANS) or _default_span(known)
        mine = [period for period in known if period.span == span]
        if request.GET.get("from") or request.GET.get("to"):
            return _asked_for(request, span, mine)
        firm = [period for period in mine if period.firm][:LOOKED_AT]
        moved = (two for two in pairwise(firm) if clear_change(two[1].reading, two[0].reading))
        newest = (next(moved, ()), tuple(firm[:2]), tuple(mine[:2]))
        after, before = next((two for two in newest if len(two) == 2), (None, None))
        return cls(span, mine, before, after)

    @property
    def which(self) -> dict[str, Any]:
        """The fields of an Attribution that name the move."""
        if self.before is None or self.after is None:
            return {}
        return {"span": self.span, "start_from": self.before.start, "start_to": self.after.start}


def _periods(chosen: Selection) -> list[Period]:
    return newest_periods(chosen.question, weighted("fleiss_kappa", chosen.weights), PERIODS)


def newest_periods(question: Question, name: str, number: int) -> list[Period]:
    """The newest weeks and months with a coefficient: the people's where models are kept apart,
    unless the lead wants them pooled."""
    rows = Reading.objects.filter(question=question, span__in=SPANS).order_by("-start")
    columns = f"coefficients__{name}", f"headline__people__{name}"
    found = []
    for span, start, of_all, people in rows.values_list("span", "start", *columns)[:number]:
        told = of_all if people is None or question.headline_pooled else people
        found.append(Period(span, start, told or {}))
    return found


def clear_change(before: dict[str, Any], after: dict[str, Any]) -> float | None:
    """The difference of two readings, when their intervals are apart or it is more than CLEAR
    standard errors."""
    if any(
        reading.get(name) is None
        for reading in (before, after)
        for name in ("value", "se", "low", "high")
    ):
        return None
    change: float = after["value"] - before["value"]
    apart = before["high"] < after["low"] or after["high"] < before["low"]
    return (
        change
        if change and (apart or abs(change) > CLEAR * math.hypot(before["se"], after["se"]))
        else None
    )


def _default_span(known: list[Period]) -> str:
    firm_weeks, firm_months = (sum(p.firm for p in known if p.span == span) for span in SPANS)
    return Span.MONTH.value if firm_weeks < 2 <= firm_months else Span.WEEK.value


def _asked_for(request: HttpRequest, span: str, known: list[Period]) -> Change:
    found = []
    for name in ("from", "to"):
        text = request.GET.get(name, "")
        try:
            start = datetime.date.fromisoformat(text)
        except ValueError:
            problem = _(
                "“%(name)s” must be the first day of a period, written like 2026-03-02; not "
                "“%(text)s”."
            )
            return Change(span, known, problem=problem % {"name": name, "text": text[:40]})
        period = next((period for period in known if period.start == start), None)
        if period is None:
            problem = _(
                "“%(name)s”: no %(span)s with ratings begins on %(date)s. Choose one of the list."
            )
            told = {"name": name, "span": words.PERIODS[span], "date": start.isoformat()}
            return Change(span, known, problem=problem % told)
        found.append(period)
    before, after = found
    if before.start >= after.start:
        return Change(
            span, known, problem=_("The first period must be earlier than the second one.")
        )
    return Change(span, known, before, after)


def stored(change: Change, chosen: Selection) -> Attribution | None:
    if not change.which:
        return None
    return Attribution.objects.filter(
        question=chosen.question, weights=chosen.weights, **change.which
    ).first()


# --- the stored result, with names


@dataclass(frozen=True)
class Part:
    """What one rater, category or kind of item explains."""

    kind: str  # what the name is one of: for kinds of items that of the attribute
    name: str
    found: Mapping[str, Any]  # explained._entries
    rater: Rater | None = None
    of_items: bool = False

    @property
    def label(self) -> str:
        return (
            self.name
            if self.rater
            else _("%(kind)s: %(name)s") % {"kind": self.kind, "name": self.name}
        )


@dataclass(frozen=True)
class Told:
    """An attribution as the page shows it."""

    result: Mapping[str, Any]
    raters: list[Part]
    categories: list[Part]
    attributes: list[tuple[str, list[Part]]]
    shifts: list[dict[str, Any]]

    @property
    def parts(self) -> list[Part]:
        return [
            *self.raters,
            *self.categories,
            *(part for _name, parts in self.attributes for part in parts),
        ]

    @property
    def bars(self) -> list[Part]:
        """The parts whose contribution shows with two decimals, the largest first."""
        defined = [part for part in self.parts if abs(part.found["contribution"] or 0.0) >= SHOWN]
        return sorted(defined, key=lambda part: -abs(part.found["contribution"]))

    @property
    def clear(self) -> bool:
        """Whether the move is more than two of its standard errors."""
        move, se = self.result["move"], self.result["se"]
        return move is not None and se is not None and abs(move) > 2 * se


def told(row: Attribution) -> Told | None:
    """The stored result with the raters' names; None while there is none."""
    result = row.result
    if result is None:
        return None
    ids = {entry["name"] for entry in result["raters"]} | {
        s[side] for s in result["shifts"] for side in "ab"
    }
    raters = Rater.objects.in_bulk(ids)
    return Told(
        result,
        [
            Part("rater", raters[pk].key, entry, raters[pk])
            for entry in result["raters"]
            if (pk := entry["name"]) in raters
        ],
        [Part(_("category"), entry["name"], entry) for entry in result["categories"]],
        [
            (
                attribute["name"],
                [
                    Part(attribute["name"], entry["name"] or _("none given"), entry, of_items=True)
                    for entry in attribute["values"]
                ],
            )
            for attribute in result["attributes"]
        ],
        [
            {**shift, "a": raters[shift["a"]], "b": raters[shift["b"]]}
            for shift in result["shifts"]
            if shift["a"] in raters and shift["b"] in raters
        ],
    )


def chart_rows(found: Told | None) -> list[dict[str, Any]]:
    """Rows of the bar chart: label, contribution, kappa without it before and after, the ratings
    taken out."""
    return [
        {
            "label": part.label,
            "contribution": part.found["contribution"],
            "before": part.found["before"],
            "after": part.found["after"],
            "ratings_before": part.found["n_ratings"][0],
            "ratings_after": part.found["n_ratings"][1],
            "rank": rank,
        }
        for rank, part in enumerate(found.bars if found else [], start=1)
    ]
