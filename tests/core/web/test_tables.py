"""Tables that a template declares once, as HTML and as rows of a file."""

from __future__ import annotations

import datetime
import re

import pytest
from django.http import HttpRequest
from django.template import Context, Template, TemplateSyntaxError
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from core.web.tables import Column, Interval, Table, collect_table

PAIRS = """{% load results %}{% table a,n,kappa in pairs name="t" sorted_by=sort row_id=a %}
{% columnblock _("Rater") text header %}{% link "/r/" question=a %}{{ a }}{% endlink %}
  {% if n > 1 %}{% span "badge" %}{{ n|count }} &amp; more{% endspan %}{% endif %}{% endcolumnblock %}
{% if wide %}{% column _("Kappa") kappa|estimate num sort="kappa" %}{% endif %}
{% column "Items" n|count num sort="items" first="-items" class="x" %}
{% columnblock "Acts" hidden %}<button>{{ a }}</button>{% endcolumnblock %}
{% column "Only a file" names|join:", " file_only %}
{% endtable %}"""
KAPPA_HEADERS = ("Kappa", "Kappa: lower bound", "Kappa: upper bound", "Kappa: text")
ROWS = [
    ("<a>", 12_345, {"value": 0.123456, "low": 0.1, "high": 0.2}),
    ("b", 1, {"value": None, "reason": "no_shared_items"}),
]


def render(source: str = PAIRS, **context: object) -> str:
    request: HttpRequest = RequestFactory().get("/pairs/?sort=kappa&page=3")
    values = {
        "request": request,
        "pairs": ROWS,
        "wide": True,
        "sort": "kappa",
        "names": "<&",
        **context,
    }
    return Template(source).render(Context(values))


def export(source: str = PAIRS, **context: object) -> list[list[str]]:
    with collect_table("t") as requested:
        assert not render(source, **context).strip(), "no HTML of the table"
    assert requested.table is not None
    return requested.table.build_rows()


def test_html_and_file_come_from_the_same_columns() -> None:
    page = render()
    assert re.findall(r"<th scope=.col.*?>", page) == [
        '<th scope="col">',
        '<th scope="col" class="num" aria-sort="ascending">',
        '<th scope="col" class="num x">',
        '<th scope="col">',
    ]
    assert '<a id="sort-kappa" href="?sort=-kappa">Kappa</a>' in page, "the page number is gone"
    assert '<a id="sort-items" href="?sort=-items">Items</a>' in page
    assert '<span class="visually-hidden">Acts</span>' in page
    assert '<tr id="&lt;a&gt;">' in page
    assert '<a href="/r/?question=%3Ca%3E">&lt;a&gt;</a>' in page
    assert '<span class="badge">12,345 &amp; more</span>' in page
    assert '<td class="num x">12,345</td>' in page
    assert "Only a file" not in page
    reason = export()[2][-3]
    assert export() == [
        ["Rater", *KAPPA_HEADERS, "Items", "Only a file"],
        ["<a> 12345 & more", "0.123456", "0.1", "0.2", "", "12345", "<, &"],
        ["b", "", "", "", reason, "1", "<, &"],
    ]
    assert reason


def test_conditions_apply_to_head_rows_and_file() -> None:
    assert render(wide=False).count("<t") == render().count("<t") - 3
    assert [row[1] for row in export(wide=False)] == ["Items", "12345", "1"]


def test_other_tables_are_left_out_of_a_file() -> None:
    with collect_table("other") as requested:
        assert not render().strip()
    assert requested.table is None


@pytest.mark.parametrize(
    "source",
    [
        "{% table a in pairs %}{% endtable %}",
        '{% table a in pairs name="t" %}{% column "A" %}{% endtable %}',
        '{% table a in pairs name="t" %}{% column "A" a text %}{% endtable %}',
        '{% table a in pairs name="t" %}{% column "A" a a %}{% endtable %}',
    ],
)
def test_wrong_declarations_are_rejected(source: str) -> None:
    with pytest.raises(TemplateSyntaxError):
        Template(source)


def test_cells_of_a_file() -> None:
    at = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
    values = [0.1, 6.9e-18, float("nan"), None, "–", 7, at, at.date(), ["a", 1], " a\n b "]
    assert [cell for (cell,) in Table([Column("", [*values])]).build_rows()] == [
        "0.1", "0.0", "", "", "", "7", "2026-01-02T00:00:00+00:00", "2026-01-02", "a, 1", "a b",
    ]  # fmt: skip


NUMBERS = st.none() | st.floats(allow_nan=True)


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS, st.sampled_from(["", "why"]))))
def test_every_interval_gives_as_many_cells(rows: list[tuple[float, float, float, str]]) -> None:
    columns = [Column("A", [Interval(*row) for row in rows]), Column("B", [1] * len(rows))]
    table = Table(columns).build_rows()
    assert len(table) == len(rows) + 1
    assert {len(row) for row in table} == {len(table[0])}
    assert not {"nan", "inf", "-inf"} & {cell for row in table for cell in row[:3]}
