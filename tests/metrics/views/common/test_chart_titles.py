"""Chart titles with special characters do not break a chart's expressions."""

from __future__ import annotations

import json

import pytest
import vl_convert

from metrics.views.common import heat_maps


def test_confusion_chart_shows_sums() -> None:
    labels = ["none", "minor", "together"]
    counts = [[70, 11, 0], [20, 31, 2], [0, 7, 9]]
    spec = heat_maps.build_confusion_table(labels, rows_title="ann", columns_title="ben")
    rows = [
        {"own": row_label, "other": column_label, "n": n, "share": 0.5, "disagreement_share": 0.1}
        for row_label, counts_row in zip(labels, counts, strict=True)
        for column_label, n in zip(labels, counts_row, strict=True)
    ]
    plain_spec = json.loads(
        json.dumps({**spec, "data": {"values": rows}, "width": 300}, default=str)
    )
    svg = vl_convert.vegalite_to_svg(plain_spec)
    sums = {str(sum(counts_row)) for counts_row in [*counts, *zip(*counts, strict=True)]} | {"150"}
    assert all(f">{number}<" in svg for number in sums)
    # The category "together" is distinct from the sums.
    assert svg.count(">together<") == 2 and svg.count(">together*<") == 2


@pytest.mark.parametrize("key", ["CORP\\ursula", 'x\\" + alert(1) + "', "a\\", 'say "yes"'])
def test_key_with_special_characters_is_drawn(key: str) -> None:
    spec = heat_maps.build_confusion_table(["a", "b"], rows_title=key, columns_title=key)
    rows = [{"own": "a", "other": "b", "n": 3, "share": 0.5, "disagreement_share": 0.5}]
    plain_spec = json.loads(
        json.dumps({**spec, "data": {"values": rows}, "width": 200}, default=str)
    )
    svg = vl_convert.vegalite_to_svg(plain_spec)
    escaped_key = key.replace('"', "&quot;")
    assert f">{escaped_key}<" in svg or f">{key}<" in svg
