"""Axes and colors of charts fit the data."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.templatetags.inline_charts import MARK_RADIUS, agreement_mark
from metrics.views.common import heat_maps, vega_lite

kappas = st.floats(-1, 1, allow_nan=False)


def build_rows(values: list[float]) -> list[dict[str, Any]]:
    return [
        {"start": f"2026-03-{day:02}", "value": value, "low": value, "high": value}
        | {"enough_items": True, "n_items": 40}
        for day, value in enumerate(values, 1)
    ]


@given(st.lists(kappas, min_size=2, max_size=9), st.none() | kappas)
def test_axis_contains_values_and_target(values: list[float], target: float | None) -> None:
    spec = vega_lite.build_trend_chart(
        build_rows(values), title="kappa", period="day", target=target
    )
    scales = [
        layer["encoding"]["y"]["scale"] for layer in spec["layer"] if "y" in layer["encoding"]
    ]
    low, high = scales[0]["domain"]
    assert all(scale["domain"] == [low, high] for scale in scales)
    assert -1 <= low <= min(values) and max(values) <= high <= 1
    assert target is None or low <= target <= high
    assert high - low >= vega_lite.MIN_SPAN - 1e-9 or low == -1
    tinted = [layer for layer in spec["layer"] if layer["mark"]["type"] == "rect"]
    assert [layer["encoding"]["y"]["datum"] for layer in tinted] == (
        [] if target is None else [target]
    )


@pytest.mark.parametrize(
    ("values", "domain"),
    [([0.76, 0.9], [0.6, 0.9]), ([-0.2, 0.8], [-0.2, 0.8]), ([0.5], [0.2, 0.5]), ([], [0.7, 1.0])],
)
def test_colors_of_pairs_span_the_values(values: list[float], domain: list[float]) -> None:
    spec = heat_maps.build_pair_matrix(["ann", "bob"], values)
    cells = spec["layer"][0]
    assert cells["encoding"]["color"]["scale"]["domain"] == pytest.approx(domain)
    conditions = spec["layer"][-1]["encoding"]["color"]["condition"]
    flip = next(text for condition in conditions if "inkFlip" in (text := condition["test"]))
    start, span = map(float, re.findall(r"-?\d+\.\d+", flip))
    assert [start, start + span] == pytest.approx(domain)


@pytest.mark.parametrize("value", [-0.3, 0.0, 0.43, 1.0])
def test_circles_of_the_mark_overlap_by_the_value(value: float) -> None:
    mark = {name: float(number) for name, number in agreement_mark(value).items()}
    overlap = 2 * MARK_RADIUS - (mark["right"] - mark["left"])
    assert overlap / (2 * MARK_RADIUS) == pytest.approx(max(value, 0), abs=0.01)
    for center in (mark["left"], mark["right"]):
        for y in (mark["top"], mark["bottom"]):
            assert (12 - center) ** 2 + (y - 12) ** 2 == pytest.approx(MARK_RADIUS**2, abs=0.1)
