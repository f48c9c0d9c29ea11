"""Stored explanation of a change, with raters' names, for the page and its bar chart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from metrics.models import Attribution
from metrics.results.stored_values import build_undefined_value
from metrics.views.common import vega_lite
from projects.models import Rater

MAX_BARS = 20
MIN_SHOWN_CONTRIBUTION = 0.005  # a smaller contribution has no bar
MIN_FOLDED_RATERS = 3  # so many raters with smaller contributions are folded


@dataclass(frozen=True)
class Contribution:
    """The contribution of a rater, a category, or items with one attribute value to a change."""

    kind: str  # "rater", "category", or the name of an item attribute
    name: str
    values: Mapping[str, Any]  # an entry of the stored attribution
    rater: Rater | None = None
    of_items: bool = False

    @property
    def is_distinct(self) -> bool:
        """Return whether the contribution clearly differs from the others; False if not tested."""
        return self.values["contribution"] is not None and bool(self.values.get("is_distinct"))

    @property
    def biases(self) -> list[Mapping[str, Any]]:
        """Return a rater's bias in both periods, with the reason where it has no value."""
        return [
            bias or build_undefined_value("no_peers" if n_ratings else "no_ratings")
            for bias, n_ratings in zip(
                self.values.get("bias") or (None, None), self.values["n_ratings"], strict=True
            )
        ]

    @property
    def label(self) -> str:
        return (
            self.name
            if self.rater
            else _("%(what)s: %(value)s") % {"what": self.kind, "value": self.name}
        )


@dataclass(frozen=True)
class ChangeExplanation:
    """Explanation of a change: contributions of raters, categories and items."""

    result: Mapping[str, Any]
    raters: list[Contribution]
    categories: list[Contribution]
    attributes: list[tuple[str, list[Contribution]]]
    shifts: list[dict[str, object]]

    @property
    def parts(self) -> list[Contribution]:
        """Return the contributions of raters, then of categories, then of attribute values."""
        return [
            *self.raters,
            *self.categories,
            *(part for _name, parts in self.attributes for part in parts),
        ]

    @property
    def bars(self) -> list[Contribution]:
        """Return the contributions that are visible with two decimals, the largest first."""
        visible = [
            part
            for part in self.parts
            if abs(part.values["contribution"] or 0.0) >= MIN_SHOWN_CONTRIBUTION
        ]
        return sorted(visible, key=lambda part: -abs(part.values["contribution"]))

    @property
    def negligible_raters(self) -> list[Contribution]:
        """Return the raters with a negligible contribution; empty for only a few of them.

        Few are less than MIN_FOLDED_RATERS.
        """
        negligible = [part for part in self.raters if _is_negligible(part)]
        return negligible if len(negligible) >= MIN_FOLDED_RATERS else []

    @property
    def contributing_raters(self) -> list[Contribution]:
        """Return the raters that are not in ``negligible_raters``."""
        negligible_raters = {part.rater for part in self.negligible_raters}
        return [part for part in self.raters if part.rater not in negligible_raters]

    @property
    def is_clear(self) -> bool:
        """Return whether the change is more than chance (results.headline.trends).

        False if that was not tested when the explanation was stored.
        """
        return bool(self.result.get("is_clear"))


def _is_negligible(part: Contribution) -> bool:
    contribution = part.values["contribution"]
    return contribution is not None and abs(contribution) < MIN_SHOWN_CONTRIBUTION


def build_explanation(attribution: Attribution) -> ChangeExplanation | None:
    """Return the stored explanation of a change, with the raters' names.

    None while a worker has not computed it.
    """
    result = attribution.result
    if result is None:
        return None
    ids = {entry["name"] for entry in result["raters"]} | {
        pair_shift[side] for pair_shift in result["shifts"] for side in "ab"
    }
    raters = Rater.objects.in_bulk(ids)
    return ChangeExplanation(
        result,
        [
            Contribution("rater", str(raters[pk]), entry, raters[pk])
            for entry in result["raters"]
            if (pk := entry["name"]) in raters
        ],
        [Contribution(_("category"), entry["name"], entry) for entry in result["categories"]],
        [
            (
                attribute["name"],
                [
                    Contribution(
                        attribute["name"], entry["name"] or _("none given"), entry, of_items=True
                    )
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


def build_chart_rows(explanation: ChangeExplanation | None) -> list[vega_lite.Row]:
    """Return the rows of the bar chart, one for each visible contribution.

    Each has label, contribution, rank, kappa without the part before and after, and the number of
    ratings that are left out before and after. Without an explanation there are none.
    """
    return [
        {
            "label": part.label,
            "contribution": part.values["contribution"],
            "before": part.values["before"],
            "after": part.values["after"],
            "ratings_before": part.values["n_ratings"][0],
            "ratings_after": part.values["n_ratings"][1],
            "rank": rank,
        }
        for rank, part in enumerate(explanation.bars if explanation else [], start=1)
    ]


PALE_OPACITY = 0.35  # of bars that may be chance


def get_chart_height(n_bars: int) -> tuple[str, int]:
    """Return the CSS class that reserves the height of the chart, and the height in pixels.

    The classes are defined in css/results.css.
    """
    return next(
        ((f"bars{max_bars}", 28 * max_bars + 48) for max_bars in (5, 10, 15) if n_bars <= max_bars),
        ("bars20", 608),
    )


def build_bar_chart(
    rows: list[vega_lite.Row], *, title: str, max_bars: int, is_clear: bool
) -> vega_lite.Spec:
    """Return a bar chart of the first ``max_bars`` contributions.

    Bars are pale unless the change is clear (``is_clear``); negative and positive ones have the two
    end colors of a diverging scale. Fields of rows: label, contribution, before, after,
    ratings_before, ratings_after, rank.
    """
    visible_rows = [row for row in rows if row["rank"] <= max_bars]
    # leave room for the numbers beyond the bars
    reach = max([0.01, *(abs(row["contribution"]) for row in visible_rows)]) * 1.7
    labels = [row["label"] for row in visible_rows]
    names = {**vega_lite.QUIET_AXIS, "labelLimit": 130}
    y = vega_lite.build_field("label", "nominal", sort=labels, scale={"domain": labels}, axis=names)
    axis = {"format": "+.2f", "tickCount": 4, "orient": "top", "labelOverlap": True}
    scale = {"domain": [-reach, reach]}
    x = vega_lite.build_field("contribution", "quantitative", title, scale=scale, axis=axis)
    tooltip = [
        vega_lite.build_field("label", "nominal", _("Without")),
        vega_lite.build_field("contribution", "quantitative", title, format="+.3f"),
        vega_lite.build_decimal_field("before", _("Without: before")),
        vega_lite.build_decimal_field("after", _("Without: after")),
        vega_lite.build_count_field("ratings_before", _("Ratings before")),
        vega_lite.build_count_field("ratings_after", _("Ratings after")),
    ]
    encoding = {"x": x, "y": y, "tooltip": tooltip}
    rank_filter = [{"filter": f"datum.rank <= {max_bars}"}]
    return vega_lite.build_chart(
        get_chart_height(len(visible_rows))[1],
        transform=rank_filter,
        encoding=encoding,
        layer=[_build_bar_layer(is_clear=is_clear), *_build_number_layers()],
    )


IS_NEGATIVE = "datum.contribution < 0"


def _build_bar_layer(*, is_clear: bool) -> vega_lite.Spec:
    color = {"condition": {"test": IS_NEGATIVE, "value": "#c2703d"}, "value": "#4a7fb5"}
    opacity = 1 if is_clear else PALE_OPACITY
    return {
        "mark": {"type": "bar", "cornerRadiusEnd": 2, "height": 14, "opacity": opacity},
        "encoding": {"color": color},
    }


def _build_number_layers() -> list[vega_lite.Spec]:
    """Return two layers of numbers beside the bars: of negative contributions, then of others."""
    text = vega_lite.build_field("contribution", "quantitative", format="+.2f")
    return [
        {
            "transform": [{"filter": test}],
            "mark": {"type": "text", "style": "text", "align": align, "dx": dx, "fontSize": 11},
            "encoding": {"text": text},
        }
        for test, align, dx in ((IS_NEGATIVE, "right", -5), ("datum.contribution >= 0", "left", 5))
    ]
