"""Every coefficient of a question on one page: what it is, what it is called, and what rules about
missing ratings make of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import QueryDict
from django.utils.functional import Promise

from metrics.agreement.coefficients.intraclass.icc import NAMES as ICCS
from metrics.filters import ITEM, can_be_chosen, refused
from metrics.results.pairs import pair_results
from metrics.results.pairs.pair_details import PairDetails, stored
from metrics.results.scores import VALUES
from metrics.views.common import display_names
from metrics.views.common.live_updates import Live
from metrics.views.common.selection import Selection
from metrics.views.common.sources.filtered import SlicedCoefficients
from projects.models import Rater

LIVE = Live(
    seconds=2,
    fragments=(
        "coefficients",
        "iccs",
        "policies",
        "categories",
        "kappas",
        "tests",
        "others",
        "scored",
    ),
)


@dataclass(frozen=True)
class Told:
    """A coefficient with its reading, and what its size is called; `loose`: in words that were made
    for another one."""

    name: str
    reading: dict[str, Any]
    band: str | Promise
    loose: bool

    @classmethod
    def of(cls, name: str, reading: dict[str, Any], scheme: str) -> Told:
        word, loose = display_names.judged(name, reading["value"], scheme)
        return cls(name, reading, word, loose)


def context(chosen: Selection, numbers: SlicedCoefficients) -> dict[str, Any]:
    """What the page shows, once a worker has made it."""
    body = numbers.body
    found = body["coefficients"]
    scheme = chosen.project.band_scheme
    listed = [Told.of(name, found[name], scheme) for name in found if name not in ICCS]
    details = pair = None
    if len(body["raters"]) == 2 and not chosen.filter:
        pair = pair_of(body["raters"])
        details = PairDetails.from_table(stored(chosen.question, *pair, chosen.scale), chosen.scale)
    return {
        "body": body,
        "listed": listed,
        "loose": any(told.loose for told in listed),
        "iccs": _iccs(found),
        "policies": body["policies"],
        "scored": scored(chosen, body),
        "pair": pair,
        "details": details,
        "some_raters": some_raters(chosen),
        "places": f"{bool(details)}-{chosen.scale.kind}",
    }


def scored(chosen: Selection, body: dict[str, Any]) -> dict[str, Any] | None:
    """Agreement on scores, with the categories' labels; None where nobody asked for it."""
    found = body.get("scored")
    if found is None:
        return None
    labelled = list(zip(chosen.scale.labels, found["scores"], strict=False))
    return found | {"labelled": labelled}


@dataclass(frozen=True)
class Scores:
    """Where scores come from: "values", or "item.NAME"; empty for none."""

    asked: str = ""

    @classmethod
    def of(cls, given: QueryDict) -> Scores:
        """Of an address; BadRequest for what no attribute can be called."""
        asked = given.get("scores") or ""
        attribute = (given.get("attribute") or "").strip()
        if asked == "item" and attribute:
            asked = f"{ITEM}{attribute}"
        named = asked.removeprefix(ITEM)
        if asked in ("", "item"):
            return cls()
        if asked != VALUES and not (asked.startswith(ITEM) and can_be_chosen(named)):
            raise refused("scores", asked.replace("\0", ""), [VALUES, f"{ITEM}…"])
        return cls(asked)

    @property
    def attribute(self) -> str:
        return self.asked.removeprefix(ITEM) if self.asked.startswith(ITEM) else ""


def _iccs(found: dict[str, Any]) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """The forms with the reading of one rater and of the mean of all."""
    return [(name, found[name], found[f"{name}k"]) for name in ICCS[:3] if name in found]


def pair_of(raters: list[int]) -> tuple[Rater, Rater]:
    known = Rater.objects.in_bulk(raters)
    a, b = sorted(known.values(), key=lambda rater: pair_results.natural(rater.key))
    return a, b


def some_raters(chosen: Selection) -> list[str]:
    """Keys to choose a pair from: those with the most ratings."""
    rows: Any = pair_results.busiest(chosen.question.pk)
    keys = rows.values_list("rater__key", flat=True)
    return sorted(keys, key=pair_results.natural)
