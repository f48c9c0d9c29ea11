"""The charts' rows as a file: guarded like the export of ratings."""

from __future__ import annotations

from typing import Any

import pytest

from metrics.pages.chart_views import _cell


@pytest.mark.parametrize(
    ("value", "cell"),
    [("=1+1", "'=1+1"), ("＝1", "'＝1"), ("-1", "-1"), ("", ""), (None, None), (0.5, 0.5)],
)
def test_a_cell_runs_nothing_and_is_otherwise_itself(value: Any, cell: Any) -> None:
    assert _cell(value) == cell
