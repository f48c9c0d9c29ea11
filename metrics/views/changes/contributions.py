"""What explains a change: the stored result, with names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from metrics.models import Attribution
from projects.models import Rater

BARS = 20
SHOWN = 0.005  # a smaller contribution is no bar
FOLDED = 3  # so many raters of smaller ones are folded away


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
    def small(self) -> list[Part]:
        """The raters whose contribution does not show; none where they are few."""
        found = [part for part in self.raters if _is_small(part)]
        return found if len(found) >= FOLDED else []

    @property
    def telling(self) -> list[Part]:
        """All other raters."""
        small = {part.name for part in self.small}
        return [part for part in self.raters if part.name not in small]

    @property
    def clear(self) -> bool:
        """Whether the move is more than two of its standard errors."""
        move, se = self.result["move"], self.result["se"]
        return move is not None and se is not None and abs(move) > 2 * se


def _is_small(part: Part) -> bool:
    contribution = part.found["contribution"]
    return contribution is not None and abs(contribution) < SHOWN


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
