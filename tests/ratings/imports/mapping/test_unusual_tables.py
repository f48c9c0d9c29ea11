"""Tables that are like others but for one thing, and must be read as well or cause a doubt."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ratings.imports.mapping.column_options import apply_column_options
from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.mapping.layout_guess import TableHead, guess_columns

pytestmark = pytest.mark.sqlite_only("what a file says does not depend on the database")


def build_head(*rows: Sequence[str]) -> TableHead:
    return TableHead(",", list(rows[0]), list(enumerate(rows[1:], start=2)))


def test_counts_beside_content_need_no_raters() -> None:
    """Rows of a text, a label and its number of raters are complete without an ID of the items."""
    head = build_head(
        ("text", "label", "count"),
        ("the first text", "yes", "2"),
        ("the first text", "no", "1"),
        ("the second text", "yes", "3"),
    )
    guess = guess_columns(head)
    mapping = ImportMapping(columns=guess.columns, doubt=guess.doubt)

    options = [("label", "label"), ("count", "count")]
    apply_column_options(mapping, head, columns=options, layout="")

    assert mapping.doubt == ""
    assert mapping.columns == {"text": 0, "label": 1, "count": 2}


def test_columns_that_differ_only_in_capitals_are_no_cross_table() -> None:
    head = build_head(("x", "Yes", "yes", "no"), ("yes", "1", "2", "3"), ("no", "4", "5", "6"))

    assert guess_columns(head).layout == "wide"
