"""Extracting a table on a page for its file."""

from __future__ import annotations

import html

from hypothesis import given
from hypothesis import strategies as st

from core.web.tables import extract_rows


def build_page(rows: str, name: str = "t") -> str:
    other = '<div class="table-scroll" aria-labelledby="o"><table><tr><th>other</th></tr></table>'
    return (
        f'<h2 id="t">T</h2>{other}</div><div class="table-scroll table-scroll--tall" tabindex="0" '
        f'aria-labelledby="{name}">\n  <table class="table">{rows}</table></div>{other}'
    )


HEAD_ROW = '<tr><th scope="col">Rater <button class="help">?</button></th><th>Kappa</th></tr>'


def test_intervals_and_words_get_columns_of_their_own() -> None:
    rows = (
        f"{HEAD_ROW}"
        '<tr><th>ann</th><td><span>0.5 <span class="i">[0.25, 0.75]</span></span></td></tr>'
        "<tr><th>ben</th><td>-1e-05 [-0.5, 0.5] slight</td></tr>"
        '<tr><th>eve</th><td>–<span class="visually-hidden"> one rater</span></td></tr>'
        "<tr><th>bob</th><td>0.9</td></tr>"
    )
    assert extract_rows(build_page(rows), "t") == [
        ["Rater", "Kappa", "Kappa: lower bound", "Kappa: upper bound", "Kappa: text"],
        ["ann", "0.5", "0.25", "0.75", ""],
        ["ben", "-1e-05", "-0.5", "0.5", "slight"],
        ["eve", "", "", "", "one rater"],
        ["bob", "0.9", "", "", ""],
    ]


def test_controls_and_graphics_are_left_out() -> None:
    rows = (
        '<tr><th>Item</th><th class="pic"><span class="visually-hidden">Scale</span></th>'
        '<th>Role</th><th>When</th><th><span class="visually-hidden">Acts</span></th></tr>'
        '<tr><th><a href="/i/1"><img src="x" alt="A cat"> 1 &amp; 2</a></th><td><svg><text>9</text>'
        "</svg></td><td><form><select><option>lead</option><option selected>viewer</option>"
        "</select><button>Save</button></form></td>"
        '<td><time datetime="2026-01-02T03:04:05+00:00" title="x">yesterday</time></td>'
        '<td><form>Why? <button>Remove<span class="visually-hidden"> 1</span></button></form></td>'
        "</tr>"
    )
    assert extract_rows(build_page(rows), "t") == [
        ["Item", "Role", "When"],
        ["A cat 1 & 2", "viewer", "2026-01-02T03:04:05+00:00"],
    ]


def test_cells_keep_their_column_after_a_colspan() -> None:
    rows = (
        "<tr><th>Form</th><th>F</th><th>df</th></tr>"
        '<tr><th>ICC</th><td colspan="2">nothing</td></tr><tr><th>C</th><td>1.5</td><td>2</td></tr>'
    )
    assert extract_rows(build_page(rows), "t") == [
        ["Form", "F", "df"],
        ["ICC", "nothing", ""],
        ["C", "1.5", "2"],
    ]


def test_a_table_without_a_head() -> None:
    rows = "<tr><th>asked</th><td>3</td></tr><tr><th>settled</th><td>2</td></tr>"
    assert extract_rows(build_page(rows), "t") == [["asked", "3"], ["settled", "2"]]


def test_missing_table_gives_none() -> None:
    assert extract_rows(build_page(HEAD_ROW), "other") is None
    assert extract_rows(build_page(""), "t") == []
    assert extract_rows(build_page(HEAD_ROW), "t") == [["Rater", "Kappa"]]
    assert extract_rows('<h2 id="t">T</h2><p aria-labelledby="t"></p>', "t") is None


CELLS = st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"])), min_size=1)


@given(CELLS)
def test_any_text_is_kept(texts: list[str]) -> None:
    """Except for white space, as on a page, and the dash that means nothing."""
    rows = "".join(f"<tr><th>{n}</th><td>{html.escape(t)}</td></tr>" for n, t in enumerate(texts))
    extracted = extract_rows(build_page("<tr><th>n</th><th>Text</th></tr>" + rows), "t")
    assert extracted is not None
    normalized = [" ".join(text.split()) for text in texts]
    expected = ["" if text == "–" else text for text in normalized]
    if len(extracted[0]) == 2:
        assert [row[1] for row in extracted[1:]] == expected
    else:  # a text that looks like an estimate with its interval
        assert ["".join(row[1:]) for row in extracted[1:]]
