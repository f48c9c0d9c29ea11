"""Titles that people chose do not end a chart's expressions."""

from __future__ import annotations

import json

import pytest
import vl_convert

from metrics.views.common.charts import heat_maps


def test_a_confusion_has_its_sums() -> None:
    labels = ["none", "minor", "together"]
    counts = [[70, 11, 0], [20, 31, 2], [0, 7, 9]]
    spec = heat_maps.build_confusion_table(labels, rows_title="ann", columns_title="ben")
    rows = [
        {"own": own, "other": other, "n": n, "share": 0.5, "apart": 0.1}
        for own, line in zip(labels, counts, strict=True)
        for other, n in zip(labels, line, strict=True)
    ]
    plain = json.loads(json.dumps({**spec, "data": {"values": rows}, "width": 300}, default=str))
    drawn = vl_convert.vegalite_to_svg(plain)
    sums = {str(sum(line)) for line in [*counts, *zip(*counts, strict=True)]} | {"150"}
    assert all(f">{figure}<" in drawn for figure in sums)
    # A category of this name is another place.
    assert drawn.count(">together<") == 2 and drawn.count(">together*<") == 2


@pytest.mark.parametrize("key", ["CORP\\ursula", 'x\\" + alert(1) + "', "a\\", 'say "yes"'])
def test_a_key_with_a_backslash_is_drawn(key: str) -> None:
    spec = heat_maps.build_confusion_table(["a", "b"], rows_title=key, columns_title=key)
    rows = [{"own": "a", "other": "b", "n": 3, "share": 0.5, "apart": 0.5}]
    plain = json.loads(json.dumps({**spec, "data": {"values": rows}, "width": 200}, default=str))
    drawn = vl_convert.vegalite_to_svg(plain)
    shown = key.replace('"', "&quot;")
    assert f">{shown}<" in drawn or f">{key}<" in drawn
