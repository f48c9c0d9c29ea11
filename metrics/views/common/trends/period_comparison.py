"""What changed between two periods: which ones the address asks for, and what is stored of them."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import Any

from django.http import HttpRequest
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from metrics import periods
from metrics.models import Attribution, Reading, Span
from metrics.scale import weighted
from metrics.views.common import display_names
from metrics.views.common.selection import Selection, one_of
from projects.models import Question

SPANS = (Span.WEEK.value, Span.MONTH.value)
PERIODS = 260  # the newest so many weeks and months together can be chosen from
LOOKED_AT = 53  # so many newest periods with enough items are looked at for the latest real move
CHANCE = 0.05  # of calling one of those moves real where none is
MOVED, LAST = "moved", "last"  # what the page opens with: a real move, or the last two periods
CLEAR = 2.0  # standard errors of the difference from which on a move of agreement is told


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
    """The two periods that are compared; ``problem`` says why there are none. ``opened``: MOVED or
    LAST where the page chose them, of ``n_moves`` between periods with enough items."""

    span: str
    periods: list[Period]  # of this span, newest first
    before: Period | None = None
    after: Period | None = None
    problem: str | None = None
    opened: str = ""
    n_moves: int = 0

    @classmethod
    def of(cls, request: HttpRequest, chosen: Selection) -> Change:
        """What the address asks for; without, the latest move beyond chance between neighbouring
        periods with enough items, or the last two. Http404 for an unknown span."""
        known = _periods(chosen)
        span = one_of(request.GET, "span", SPANS) or _default_span(known)
        mine = [period for period in known if period.span == span]
        if request.GET.get("from") or request.GET.get("to"):
            return _asked_for(request, span, mine)
        firm = [period for period in mine if period.firm][:LOOKED_AT]
        if real := latest_move(firm):
            after, before = real
            return cls(span, mine, before, after, opened=MOVED, n_moves=len(firm) - 1)
        last_two = (firm if len(firm) > 1 else mine)[:2]
        if len(last_two) < 2:
            return cls(span, mine)
        after, before = last_two
        return cls(span, mine, before, after, opened=LAST, n_moves=max(len(firm) - 1, 0))

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


def latest_move(newest: Sequence[Period]) -> tuple[Period, Period] | None:
    """The latest two neighbours, the later one first, between which agreement moved by more than
    chance moves any of so many neighbours (Bonferroni)."""
    moves = list(pairwise(newest))
    errors = NormalDist().inv_cdf(1 - CHANCE / 2 / max(len(moves), 1))
    for after, before in moves:
        change = clear_change(before.reading, after.reading)
        se = math.hypot(before.reading.get("se") or 0.0, after.reading.get("se") or 0.0)
        if change is not None and abs(change) > errors * se:
            return after, before
    return None


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
            told = {"name": name, "span": display_names.PERIODS[span], "date": start.isoformat()}
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
