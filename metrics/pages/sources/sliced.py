"""A stored slice as the pages' parts: the same shapes as those that the stored counts and readings
give."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.http import Http404, HttpRequest
from django.utils.translation import gettext as _

from metrics import periods
from metrics.filters import Filter
from metrics.models import RaterReading, Reading, Slice, Span
from metrics.on_request import slices
from metrics.readings import disputes, pairs
from metrics.scale import weighted
from projects.catalogue.sizes import n_items
from projects.models import Rater

from . import dashboard, findings, trends
from .selection import Selection, page_number

READING = ("value", "low", "high", "reason", "n_items", "n_ratings", "se")  # slice_numbers.point


@dataclass(frozen=True)
class SliceFreshness(dashboard.Freshness):
    """How fresh a page with a slice is: its numbers are those of ``row``, or on a page of all
    ratings some are."""

    row: Slice

    @property
    def filtered(self) -> bool:
        return bool(Filter.from_spec(self.row.spec))

    @property
    def version(self) -> str:
        """What is shown, then whether it is behind."""
        at = int(self.row.computed_at.timestamp() * 1_000_000) if self.row.computed_at else 0
        counts = self.state.version if self.state and not self.filtered else 0
        return f"{self.row.pk}-{at}-{counts}.{self.uncounted}-{self.behind}"

    @property
    def behind(self) -> int:
        """1 when numbers or items moved since the slice was computed."""
        state = self.state.version if self.state else 0
        return int(
            (self.row.version, self.row.catalogue)
            != (state, self.row.question.project.catalogue_version)
        )


def choices(chosen: Selection) -> dict[str, Any] | None:
    """What there is to filter by; None while that is not known."""
    row = slices.ask(chosen.question, slices.Wanted(Slice.Kind.CHOICES, Filter()), version=0)
    return None if row.body is None else _in_order(row.body)


def _in_order(body: dict[str, Any]) -> dict[str, Any]:
    """Choices by name and value: PostgreSQL keeps no order in JSON."""
    attributes = {
        name: dict(sorted(values.items())) for name, values in sorted(body["attributes"].items())
    }
    return body | {"attributes": attributes, "groups": dict(sorted(body["groups"].items()))}


def asked(
    chosen: Selection, fresh: dashboard.Freshness, kind: str, *raters: Rater
) -> SliceFreshness:
    """The slice of a page. Raises BadRequest for a filter by what there is not, as far as that is
    known."""
    if chosen.filter.group or chosen.filter.attributes:
        known = slices.ask(chosen.question, slices.Wanted(Slice.Kind.CHOICES, Filter()), version=0)
        if known.body is not None and known.catalogue == chosen.project.catalogue_version:
            chosen.filter.check(_in_order(known.body))
    wanted = slices.Wanted(kind, chosen.filter, tuple(rater.pk for rater in raters))
    row = slices.ask(chosen.question, wanted, version=fresh.state.version if fresh.state else 0)
    row.question = chosen.question
    return SliceFreshness(fresh.state, fresh.uncounted, row)


def parts(request: HttpRequest, chosen: Selection, body: dict[str, Any]) -> dashboard.Parts:
    """A dashboard of some ratings."""
    reading = Reading(
        question=chosen.question, coefficients=body["coefficients"], details=body["details"]
    )
    period = chosen.period or default_period(body["trend"])
    trend, older = trends.newest(points(chosen, body["trend"], period, chosen.coefficient))
    raters, shown = matrix(chosen, body)
    return dashboard.Parts(
        reading=reading,
        n_items=body["n_items"] if "n_items" in body else n_items(chosen.project),
        period=period,
        points=trend,
        older=older,
        raters=raters,
        n_raters=body["n_raters"],
        pairs=shown,
        has_pairs=bool(body["pairs"]),
        moves=[],
        findings=[*_apart(body), *findings.sentences(body["findings"], raters, chosen.scale)],
        disputes=disputes.read(body["disputes"], chosen.scale, chosen.weights),
        rater_page=_rater_page(request, chosen, body["raters"]),
    )


def _apart(body: dict[str, Any]) -> list[str]:
    """The sentence about raters who agree less with the others than all do."""
    floor = body["coefficients"]["fleiss_kappa"]["low"]
    highs = ((row["id"], row["coefficients"]["vs_peers"]["high"]) for row in body["raters"])
    below = [
        rater for rater, high in highs if floor is not None and high is not None and high < floor
    ]
    keys = (
        Rater.objects.filter(pk__in=below).order_by("key").values_list("key", flat=True)
        if below
        else []
    )
    return findings.apart_sentences(list(keys))


def default_period(trend: dict[str, Any]) -> str:
    """The finest period whose middle point rests on enough items, as on pages of all ratings."""
    sizes = []
    for span, lines in trend.items():
        first: list[Any] = next((lines[name] for name in lines if name != "starts"), [])
        sizes += [(span, point[0][READING.index("n_items")]) for point in first]
    return trends.finest(sizes)


def points(chosen: Selection, trend: dict[str, Any], span: str, name: str) -> list[trends.Point]:
    """The points of a slice's trend, oldest first."""
    lines = trend.get(span, {})
    found: list[trends.Point] = []
    for text, (own, *total) in zip(lines.get("starts", []), lines.get(name, []), strict=False):
        start, reading = datetime.date.fromisoformat(text), dict(zip(READING, own, strict=True))
        cumulative = dict(zip(READING, total[0], strict=False)) if total else None
        found.append(trends.Point(start, periods.end_date(start, span), reading, cumulative))
    return trends.marked(found, chosen.project)


def matrix(chosen: Selection, body: dict[str, Any]) -> tuple[list[Rater], list[pairs.Pair]]:
    """The raters of the heat map by key, and their pairs."""
    raters = Rater.objects.in_bulk(body.get("shown", []))
    shown = pair_list(body.get("pairs", []), raters, chosen.weights)
    return sorted(raters.values(), key=lambda rater: pairs.natural(rater.key)), shown


def pair_list(
    rows: list[dict[str, Any]], raters: dict[int, Rater], weights: str
) -> list[pairs.Pair]:
    return [
        pairs.Pair(
            raters[row["a"]], raters[row["b"]], short_reading(row[weights], row["n"]), row["n"]
        )
        for row in rows
        if row["a"] in raters and row["b"] in raters and weights in row
    ]


def sorted_pairs(chosen: Selection, body: dict[str, Any], sort: str) -> list[pairs.Pair]:
    """The pairs of the heat map by items in common or by kappa; undefined ones last, equals by
    key."""
    raters, found = matrix(chosen, body)
    place = {rater.pk: index for index, rater in enumerate(raters)}
    found.sort(key=lambda pair: (place[pair.rater_a.pk], place[pair.rater_b.pk]))
    down = sort.startswith("-")
    if sort.endswith("items"):
        return sorted(found, key=lambda pair: pair.n_items, reverse=down)
    known = [pair for pair in found if pair.reading["value"] is not None]
    known.sort(key=lambda pair: pair.reading["value"], reverse=down)
    return known + [pair for pair in found if pair.reading["value"] is None]


def short_reading(values: list[Any], n_items: int) -> dict[str, Any]:
    return {
        **dict(zip(READING, values, strict=False)),
        "n_items": n_items,
        "n_ratings": 2 * n_items,
    }


# --- one rater


def rater_reading(
    chosen: Selection, rater: Rater, body: dict[str, Any] | None
) -> RaterReading | None:
    """The rater's reading of the whole time; None without a rating, or while there is no body."""
    if not body or not body["n_ratings"]:
        return None
    row = {"n": body["n_ratings"], "coefficients": body["coefficients"], "seconds": body["seconds"]}
    reading = _reading(chosen, rater, row)
    reading.details = {"table": body["table"]}
    return reading


def pairs_of(rater: Rater, body: dict[str, Any] | None, weights: str) -> list[pairs.Pair]:
    rows = body["pairs"] if body else []
    raters = Rater.objects.in_bulk({row["b"] for row in rows} | {rater.pk})
    return pair_list(rows, raters, weights)


# --- the raters' table


def _rater_page(
    request: HttpRequest, chosen: Selection, rows: list[dict[str, Any]]
) -> dashboard.RaterPage:
    sort = dashboard.rater_sort(request)
    keys = dict(Rater.objects.filter(pk__in=[row["id"] for row in rows]).values_list("pk", "key"))
    rows = [row for row in rows if row["id"] in keys]
    paginator = Paginator(_sorted(rows, sort, chosen, keys), dashboard.RATERS_A_PAGE)
    number = page_number(request)
    if number > paginator.num_pages:
        raise Http404(_("No such page."))
    page: Page = paginator.page(number)
    raters = Rater.objects.in_bulk([row["id"] for row in page.object_list])
    shown = [
        dashboard.RaterRow(
            _reading(chosen, raters[row["id"]], row), row["spark"].get(chosen.vs_peers, [])
        )
        for row in page.object_list
        if row["id"] in raters
    ]
    return dashboard.RaterPage(page, shown)


def _reading(chosen: Selection, rater: Rater, row: dict[str, Any]) -> RaterReading:
    return RaterReading(
        question=chosen.question, rater=rater, span=Span.ALL, n_ratings=row["n"], coefficients=row["coefficients"],
        seconds=row["seconds"],
    )  # fmt: skip


def _sorted(
    rows: list[dict[str, Any]], sort: str, chosen: Selection, keys: dict[int, str]
) -> list[dict[str, Any]]:
    """In the order asked for; what has no value comes last, equals by key."""
    name = sort.removeprefix("-")
    pairwise = weighted("mean_pairwise_kappa", chosen.weights)
    paths = {"vs_peers": chosen.vs_peers, "pairwise": pairwise, "bias": "vs_peers_bias"}
    given: dict[str, Callable[[dict[str, Any]], Any]] = {
        "rater": lambda row: keys[row["id"]],
        "ratings": lambda row: row["n"],
        "seconds": lambda row: row["seconds"],
    }
    value = given.get(name) or (lambda row: row["coefficients"].get(paths[name], {}).get("value"))
    rows = sorted(rows, key=lambda row: keys[row["id"]])
    known = sorted(
        (row for row in rows if value(row) is not None), key=value, reverse=sort.startswith("-")
    )
    return known + [row for row in rows if value(row) is None]
