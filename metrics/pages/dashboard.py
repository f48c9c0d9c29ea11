"""The parts of a project's dashboard, each read from stored rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import F, QuerySet
from django.http import Http404, HttpRequest
from django.utils.translation import gettext as _

from metrics.counting import backlog
from metrics.models import CountState, Diagnosis, RaterReading, Reading, Span, number_at
from metrics.readings import bootstrap, disputes, pairs
from metrics.scale import headlines, weighted
from metrics.work import sweep
from projects.catalogue.sizes import n_items
from projects.models import Question, Rater

from . import charts, trends, words
from .findings import apart_sentences, raters_apart, sentences
from .moves import Move, moves
from .selection import Selection, one_of, page_number

RATERS_A_PAGE = 50
TABLE_RATERS = 20  # a wider table cannot be read; the list of pairs stands in for it
RATER_SORTS = ("rater", "ratings", "vs_peers", "pairwise", "bias", "seconds")


@dataclass(frozen=True)
class Freshness:
    """How far counting is: what a page shows as "as of", and what it compares to know whether it is
    still right."""

    state: CountState | None
    uncounted: int

    @classmethod
    def of(cls, question: Question) -> Freshness:
        state = CountState.objects.filter(question=question).first()
        return cls(state, sweep.waiting_ratings(question, state))

    @property
    def filtered(self) -> bool:
        return False

    @property
    def version(self) -> str:
        return f"{self.state.version if self.state else 0}.{self.uncounted}"

    @property
    def backlog(self) -> dict[str, int] | None:
        """How far a backlog is counted, while there is one."""
        return backlog.progress(self.state) if self.state else None


def whole_reading(question: Question) -> Reading | None:
    rows = Reading.objects.select_related("question__count_state")
    found = rows.filter(question=question, span=Span.ALL).first()
    if found is not None:
        found.coefficients = bootstrap.filled(
            found.coefficients, found.question.count_state.bootstrap
        )
    return found


@dataclass(frozen=True)
class Parts:
    """What a dashboard shows, of all ratings or of some: the same shapes from whichever rows they
    are read."""

    reading: Reading | None
    n_items: int
    period: str
    points: list[trends.Point]  # the newest, as many as the table shows
    older: int  # periods before these
    raters: list[Rater]  # of the heat map
    n_raters: int
    pairs: list[pairs.Pair]  # empty when the table of them would be too wide
    has_pairs: bool
    moves: list[Move]
    findings: list[str]
    disputes: disputes.Disputes
    rater_page: RaterPage


def whole(request: HttpRequest, chosen: Selection) -> Parts:
    """Of all ratings: from the stored counts and readings."""
    period = chosen.period or trends.project_period(chosen.question)
    raters = pairs.busiest_raters(chosen.question.pk)
    said = Diagnosis.objects.filter(question=chosen.question).first() or Diagnosis()
    matrix = pairs.among(chosen.question, raters, chosen.weights)
    table = rater_page(request, chosen)
    narrow = len(raters) <= TABLE_RATERS
    points, older = trends.project_table(chosen.question, period, chosen.coefficient)
    reading = whole_reading(chosen.question)
    apart = (
        raters_apart({chosen.question.pk: reading}).get(chosen.question.pk, []) if reading else []
    )
    return Parts(
        reading=reading,
        n_items=n_items(chosen.project),
        period=period,
        points=points,
        older=older,
        raters=raters,
        n_raters=table.page.paginator.count,
        pairs=matrix if narrow else [],
        has_pairs=bool(matrix),
        moves=moves(chosen, raters),
        findings=[
            *apart_sentences(apart),
            *sentences(said.findings, raters, chosen.scale),
        ],
        disputes=disputes.read(said.disputes, chosen.scale, chosen.weights),
        rater_page=table,
    )


def context(
    request: HttpRequest, chosen: Selection, fresh: Freshness, parts: Parts
) -> dict[str, Any]:
    """Everything that the dashboard and its live fragments show."""
    reading, raters, points = parts.reading, parts.raters, parts.points
    return {
        "project": chosen.project,
        "chosen": chosen,
        "fresh": fresh,
        "reading": reading,
        "headline": reading and reading.coefficients.get(chosen.coefficient),
        "headlines": headlines(chosen.scale),
        "moves": parts.moves,
        "findings": parts.findings,
        "beside": beside(chosen, reading),
        "missing": missing(chosen, reading, parts.n_items),
        "period": parts.period,
        "points": points,
        "older": parts.older,
        "matrix_raters": raters,
        "matrix_size": charts.matrix_height(len(raters))[0],
        "pairwise_name": weighted("mean_pairwise_kappa", chosen.weights),
        "matrix": matrix_rows(raters, parts.pairs),
        "has_pairs": parts.has_pairs,
        # The charts that the page has a place for; when others are there, the page is loaded anew.
        "places": f"{'trend' if points else ''}-{len(raters) if parts.has_pairs else ''}",
        "n_raters": parts.n_raters,
        "rater_page": parts.rater_page,
        "rater_sort": rater_sort(request),
        "disputes": parts.disputes,
        "sensitivity": sensitivity(chosen, reading),
    }


def beside(chosen: Selection, reading: Reading | None) -> list[tuple[str, dict[str, Any]]]:
    """The coefficients that stand beside the headline, with their readings."""
    if reading is None:
        return []
    alpha = {"interval": "interval", "ratio": "ratio", "ordinal": "ordinal"}.get(
        chosen.scale.kind, "nominal"
    )
    names = [
        "fleiss_kappa",
        "krippendorff_alpha_nominal",
        f"krippendorff_alpha_{alpha}",
        "gwet_ac1",
    ]
    names += ["percent_agreement", weighted("mean_pairwise_kappa", chosen.weights)]
    wanted = [name for name in dict.fromkeys(names) if name != chosen.coefficient]
    return [(name, reading.coefficients[name]) for name in wanted if name in reading.coefficients]


def sensitivity(chosen: Selection, reading: Reading | None) -> list[tuple[str, dict[str, Any]]]:
    """Fleiss' kappa under each weighting that the scale gives sense to."""
    if reading is None:
        return []
    names = [(weights, weighted("fleiss_kappa", weights)) for weights in words.WEIGHTS]
    return [
        (weights, reading.coefficients[name])
        for weights, name in names
        if name in reading.coefficients
    ]


def missing(chosen: Selection, reading: Reading | None, total: int) -> dict[str, Any]:
    """How many of ``total`` items have 0, 1, 2, ... ratings, and what each statistic leaves out."""
    details = reading.details if reading else {}
    by_ratings = {
        int(number): items
        for number, items in details.get("by_ratings", {}).items()
        if int(number) > 0
    }
    rated = sum(by_ratings.values())
    rows = [(number, by_ratings[number]) for number in sorted(by_ratings)]
    tail = rows[11:]
    if tail:
        rows = rows[:11]
    unrated = max(total - rated, 0)
    return {
        "total": total,
        "rated": rated,
        "unrated": unrated,
        "single": by_ratings.get(1, 0),
        "pairable": details.get("with_two_or_more", 0),
        "enough": sum(
            items for number, items in by_ratings.items() if number >= chosen.project.overlap
        ),
        "rows": [(0, unrated), *rows] if unrated else rows,
        "more_from": tail[0][0] if tail else None,
        "more": sum(items for _number, items in tail),
        "uneven": len([number for number in by_ratings if number >= 2]) > 1,
    }


def matrix_rows(
    raters: list[Rater], matrix: list[pairs.Pair]
) -> list[tuple[Rater, list[pairs.Pair | None]]]:
    """The pairs as a square table: a row a rater, None where two share no item. Empty when it would
    be too wide."""
    if len(raters) > TABLE_RATERS:
        return []
    found = {(pair.rater_a.pk, pair.rater_b.pk): pair for pair in matrix}
    return [
        (
            row,
            [found.get((row.pk, column.pk)) or found.get((column.pk, row.pk)) for column in raters],
        )
        for row in raters
    ]


# --- the raters


@dataclass(frozen=True)
class RaterRow:
    reading: RaterReading
    spark: list[float | None]


@dataclass(frozen=True)
class RaterPage:
    page: Page
    rows: list[RaterRow]

    @property
    def timed(self) -> bool:
        """Whether the seconds of any rater on the page are known."""
        return any(row.reading.seconds is not None for row in self.rows)


def rater_sort(request: HttpRequest) -> str:
    """The column asked for; a minus before it turns the order round."""
    allowed = [*RATER_SORTS, *(f"-{name}" for name in RATER_SORTS)]
    return one_of(request.GET, "sort", allowed) or "-ratings"


def rater_page(request: HttpRequest, chosen: Selection) -> RaterPage:
    """One page of the raters with their readings and sparklines."""
    rows = RaterReading.objects.filter(question=chosen.question, span=Span.ALL)
    rows = rows.select_related("rater").defer("details")
    paginator = Paginator(_sorted(rows, rater_sort(request), chosen), RATERS_A_PAGE)
    number = page_number(request)
    if number > paginator.num_pages:
        raise Http404(_("No such page."))
    page = paginator.page(number)
    found = list(page.object_list)
    lines = trends.sparklines(chosen.question, [row.rater_id for row in found], chosen.vs_peers)
    return RaterPage(page, [RaterRow(row, lines.get(row.rater_id, [])) for row in found])


def _sorted(rows: QuerySet[RaterReading], sort: str, chosen: Selection) -> QuerySet[RaterReading]:
    name = sort.removeprefix("-")
    if name in ("rater", "ratings", "seconds"):
        column = F({"rater": "rater__key", "ratings": "n_ratings", "seconds": "seconds"}[name])
    else:
        path = {
            "vs_peers": chosen.vs_peers,
            "pairwise": weighted("mean_pairwise_kappa", chosen.weights),
            "bias": "vs_peers_bias",
        }[name]
        rows = rows.annotate(sorted_by=number_at(f"coefficients__{path}__value"))
        column = F("sorted_by")
    order = column.desc(nulls_last=True) if sort.startswith("-") else column.asc(nulls_last=True)
    return rows.order_by(order, "rater__key")
