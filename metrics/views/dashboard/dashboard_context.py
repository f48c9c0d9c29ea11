"""What a project's dashboard shows, read from one source."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from metrics.agreement import registry
from metrics.agreement.headline import CHOSEN
from metrics.filters import EVERY, RANDOM
from metrics.models import Reading
from metrics.results.headline import headline_trend
from metrics.results.pairs import pair_results
from metrics.scale import headlines, weighted
from metrics.views.common import confused_categories, display_names, getting_started
from metrics.views.common.charts import heat_maps
from metrics.views.common.live_updates import Live
from metrics.views.common.selection import Selection
from metrics.views.common.sources.base import ProjectNumbers
from metrics.views.common.trends import trend_points
from metrics.views.common.trends.recent_changes import Move
from metrics.views.reports.texts import ENOUGH

from .rater_table import rater_table
from .tables import beside, matrix_rows, missing, sensitivity
from .verdict import verdict

SENTENCES = 3  # said at once; the others are one click away

LIVE = Live(
    seconds=1,
    summary=True,
    fragments=(
        "verdict",
        "getting-started",
        "headline",
        "beside",
        "findings",
        "missing",
        "trend-table",
        "pairs-table",
        "raters",
        "categories",
        "disputes",
        "sensitivity",
    ),
)


def context(request: HttpRequest, chosen: Selection, numbers: ProjectNumbers) -> dict[str, Any]:
    """Everything that the dashboard shows below its head."""
    reading = numbers.reading
    course = numbers.newest_course(chosen.coefficient)
    busiest = numbers.heat_map_raters()
    raters = numbers.heat_map_raters(chosen.who) if chosen.who else busiest
    matrix = numbers.pairs_among(raters)
    raters = pair_results.by_agreement(raters, matrix)
    table = rater_table(request, chosen, numbers)
    (points,) = course.lines
    has_pairs = bool(matrix)
    # Of all ratings, so a fall may be but the doubt of what was asked for.
    moves = [] if drawn(chosen, reading) else numbers.moves()
    findings = numbers.findings(busiest)
    sentences = [Move(text, "") for text in findings]
    # The move first, then what qualifies the number, and the rest.
    said = [*moves, *sentences]
    others = beside(chosen, reading)
    name, headline = chosen.asked or chosen.first["name"], first_number(chosen, reading)
    steps = [] if chosen.filter else getting_started.steps(chosen.project, reading)
    begun = bool(reading) or not steps
    weighed, weightings = sensitivity(reading, numbers, busiest)
    is_drawn = trend_points.is_drawn(points)
    places = f"{'trend' if is_drawn else ''}-{len(raters) if has_pairs else ''}"
    places += "" if begun else "-first"
    return {
        "reading": reading,
        "headline": headline,
        "headline_name": name,
        "verdict": verdict(chosen, numbers, name, headline),
        "steps": steps,
        "begun": begun,
        "why": why(chosen, reading),
        "drawn": drawn(chosen, reading),
        "groups": groups(chosen, reading, numbers),
        "trends": trends_offered(chosen),
        "trend_note": trend_note(chosen, reading),
        "pooled": chosen.question.headline_pooled,
        "moves": moves,
        "findings": findings,
        "said": said[:SENTENCES],
        "more_said": said[SENTENCES:],
        "beside": others,
        "mean_shown": any(name.startswith(registry.MEAN_BY_ITEMS) for name, _value in others),
        "missing": missing(chosen, reading, numbers.n_items()),
        "period": course.period,
        "points": points,
        "is_drawn": is_drawn,
        "older": course.older,
        "matrix_raters": raters,
        "matrix_size": heat_maps.matrix_height(len(raters))[0],
        "pairwise_name": weighted(registry.MEAN_PAIRWISE, chosen.weights),
        "matrix": matrix_rows(raters, matrix),
        "has_pairs": has_pairs,
        # The charts that the page has a place for; when others are there, the page is loaded anew.
        "places": "starting" if steps and reading is None else places,
        "n_raters": table.n_raters,
        "rater_page": table,
        "confusions": confused_categories.told(chosen.question, numbers.confusions()),
        "disputes": numbers.disputes(),
        "sensitivity_name": weighed,
        "sensitivity": weightings,
    }


def trends_offered(chosen: Selection) -> list[tuple[str, str]]:
    """What a trend can show: the value of the address, and the coefficient. What is read first and
    is none of all raters together is what the address without a coefficient shows."""
    offered = [(name, name) for name in headlines(chosen.scale)]
    if chosen.filter or not headline_trend.is_of_two(chosen.first["shown"]):
        return offered
    return [("", chosen.first["shown"]), *offered]


def trend_note(chosen: Selection, reading: Reading | None) -> str:
    """Where the trend is of the headline in a way that needs a word, or of another coefficient or
    of other ratings."""
    if reading is not None and "drawn" in reading.headline:
        return _("The trend is of all ratings, also those that were asked for because of doubt.")
    if chosen.asked:
        return ""
    shown, name = chosen.coefficient, chosen.first["name"]
    if headline_trend.is_of_two(shown):
        return _("Each period: the days on which the first of the two rated.")
    if shown == name:
        return ""
    return _(
        "%(headline)s of a period needs who rated what in it, which the stored counts hold only "
        "for two raters and all of their ratings: %(shown)s stands for it here. It is lower where "
        "the raters differ in level."
    ) % {"headline": display_names.coefficient(name), "shown": display_names.coefficient(shown)}


def first_number(chosen: Selection, reading: Reading | None) -> dict[str, Any] | None:
    """The reading of the coefficient that the address names, or of the one to read first."""
    if reading is None:
        return None
    if chosen.asked:
        return reading.told.get(chosen.asked)
    return reading.headline.get("value")


def why(chosen: Selection, reading: Reading | None) -> str | Promise:
    """Why this coefficient stands first; empty where the address names it."""
    if reading is None or chosen.asked or not reading.headline:
        return ""
    if reading.headline["why"] == CHOSEN:
        return _("Chosen for this question: %(note)s") % {"note": chosen.question.headline_note}
    return display_names.why(reading.headline["why"], reading.headline["name"])


def has_ratings(reading: Reading | None) -> bool:
    categories = reading.details.get("categories", ()) if reading else ()
    return any(category["ratings"] for category in categories)


@dataclass(frozen=True)
class Drawn:
    """Where what is read first rests on some ratings alone (metrics.results.headline.random_sample): how many were
    left out, the same of all ratings, and queries of dashboards of all, and of these alone."""

    left_out: int
    pooled_name: str
    pooled: dict[str, Any] | None
    few: bool
    all_query: str
    own_query: str


def drawn(chosen: Selection, reading: Reading | None) -> Drawn | None:
    """None where it rests on all."""
    found = reading.headline.get("drawn") if reading else None
    if reading is None or found is None:
        return None
    whole, shown = reading.headline["pooled"], first_number(chosen, reading)
    return Drawn(
        found["left_out"],
        chosen.asked or whole["name"],
        reading.of_all.get(chosen.asked) if chosen.asked else whole["value"],
        not shown or shown["value"] is None or shown["n_items"] < ENOUGH,
        replace(chosen, filter=replace(chosen.filter, drawn=EVERY)).query,
        replace(chosen, filter=replace(chosen.filter, drawn=RANDOM)).query,
    )


@dataclass(frozen=True)
class Line:
    """One line of the panel of people and models: what is compared, its reading, its course."""

    words: str | Promise
    reading: dict[str, Any]
    spark: list[float | None]


def groups(chosen: Selection, reading: Reading | None, numbers: ProjectNumbers) -> list[Line]:
    """People with people, people with models, models with models; empty where all raters are of one
    kind."""
    if reading is None or "between" not in reading.headline:
        return []
    sparks = numbers.group_values()
    return [
        Line(display_names.GROUPS[name], reading.headline[name], sparks.get(name, []))
        for name in ("people", "between", "models")
    ]
