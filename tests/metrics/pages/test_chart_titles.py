"""Titles that people chose do not end a chart's expressions."""

from __future__ import annotations

import json

import pytest
import vl_convert

from metrics.pages import heat_maps


@pytest.mark.parametrize("key", ["CORP\\ursula", 'x\\" + alert(1) + "', "a\\", 'say "yes"'])
def test_a_key_with_a_backslash_is_drawn(key: str) -> None:
    spec = heat_maps.confusion(["a", "b"], rows_title=key, columns_title=key)
    rows = [{"own": "a", "other": "b", "n": 3, "share": 0.5, "apart": 0.5}]
    plain = json.loads(json.dumps({**spec, "data": {"values": rows}, "width": 200}, default=str))
    drawn = vl_convert.vegalite_to_svg(plain)
    shown = key.replace('"', "&quot;")
    assert f">{shown}<" in drawn or f">{key}<" in drawn
