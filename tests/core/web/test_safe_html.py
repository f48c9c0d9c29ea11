"""HTML of users is parsed only where that takes a bounded time; the work is never timed here."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.web import safe_html

COSTLY = {
    "nested": "<div>" * 20_000 + "x",
    "nested by name": "<ul><li>" * 1_000_000,
    "formatting": "<b><div>" * 2_000_000,
    "long": "x" * (safe_html.MAX_LENGTH + 1),
    "many tags": "<br>" * (safe_html.MAX_TAGS + 1),
    "many attributes": "<p " + " ".join(f"a{number}" for number in range(30_000)) + ">",
    "attributes after a sign": '<p x=">" ' + " ".join(f"a{n}=1" for n in range(1_000)) + ">",
    "attributes without blanks": "<p" + "".join(f'/a{n}=""' for n in range(1_000)) + ">",
    "end tags of others": "<div></i>" * 1_000,
    "formatting left open in each paragraph": "".join(
        f"<p><b title={number}>x</p>" for number in range(3_300)
    ),
    "formatting left open in one element": "<div>"
    + "".join(f"<b title={number}>" for number in range(190))
    + "</div>"
    + "<p>x</p>" * 4_900,
    "one long attribute left open": f'<p><b title="{"y" * 20_000}">x</p>' + "<p>x</p>" * 4_900,
    "paragraphs without end": "".join(f"<p><i title={number}>x" for number in range(99))
    + "<p>x</p>" * 4_500,
    "end tags in comments": "".join(
        f"<p><b title={number}><!--</b>-->x</p>" for number in range(2_000)
    ),
    "end tags in attributes": "".join(
        f'<p><b title="{number}</b>">x</p>' for number in range(2_000)
    ),
    "end tags in table cells": "".join(
        f"<b title={number}><table><td></b></table>" for number in range(1_900)
    ),
    "end tags in CDATA": "<svg><![CDATA[" + "</b>]]>" * 10,
    "end tags of a lighter element": "".join(
        f'<p><b title="{number}{"y" * 500}"><i><b></i></b></p>' for number in range(300)
    ),
    "many attributes in all": ("<p " + "a " * 199 + ">") * 150,
    "one level too deep": "<div>" * (safe_html.MAX_DEPTH + 1),
}
SIMPLE = {
    "table": "<table>" + "<tr><td class='a'>1</td><td>2</td></tr>" * 1_500 + "</table>",
    "deepest": "<div>" * safe_html.MAX_DEPTH + "x" + "</div>" * safe_html.MAX_DEPTH,
    "many paragraphs": "<p>words and words</p>" * 4_000,
    "line ends": "a<br>" * 5_000,
    "bold": "<p><b>word</b> and <i class='c'>word</i></p>" * 1_200,
    "equal tags left open": "<p><b>word</p>" * 1_000 + "<p><b>word</b></p>" * 1_000,
    "everything in a font": "<font face='Times New Roman' size=3>" + "<p>x</p>" * 4_000 + "</font>",
    "comment": "<p>a<!-- <b> --></p>" * 100,
    "signs": "1 < 2 & 3 > 2 " * 5_000,
}


@pytest.mark.parametrize("name", COSTLY)
def test_costly_html_is_shown_as_text_and_never_parsed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.web.safe_html.nh3", None)
    cleaned = safe_html.clean_html(COSTLY[name])
    assert cleaned.startswith("<pre>") and cleaned.count("<") == 2
    assert safe_html.extract_text(COSTLY[name]) == COSTLY[name]


@pytest.mark.parametrize("name", SIMPLE)
def test_usual_html_is_parsed(name: str) -> None:
    assert safe_html.is_cheap_to_parse(SIMPLE[name])
    assert not safe_html.clean_html(SIMPLE[name]).startswith("<pre>")


def test_html_that_grows_is_shown_as_text() -> None:
    source = "&" * 2_000  # each becomes five characters
    assert safe_html.clean_html(source).startswith("<pre>")
    assert safe_html.clean_html("a & b " * 300).startswith("a &amp; b")


@pytest.mark.parametrize("source", [*SIMPLE.values(), "<p><b title=1>x</p>" + "<p>x</p>" * 2_000])
def test_parsed_html_has_a_bounded_size(source: str) -> None:
    bound = safe_html.MAX_REPEATED_LENGTH + 10 * len(source)
    assert len(safe_html.clean_generated_html(source)) < bound


def test_unfinished_tags_are_scanned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    source = ("<br " * 199 + ">") * 50
    positions: list[int] = []
    pattern = safe_html._ATTRIBUTE

    class _Counter:
        @staticmethod
        def match(text: str, position: int) -> Any:
            positions.append(position)
            return pattern.match(text, position)

    monkeypatch.setattr(safe_html, "_ATTRIBUTE", _Counter)
    assert safe_html.is_cheap_to_parse(source)
    assert len(positions) < 2 * source.count(" ")


def test_line_of_a_list_parses_the_beginning_only(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []
    original = safe_html.extract_text

    def extract(text: str) -> str:
        lengths.append(len(text))
        return original(text)

    monkeypatch.setattr(safe_html, "extract_text", extract)
    assert safe_html.extract_excerpt("<p>word</p>" * 15_000).split()[0] == "word"
    assert lengths == [10_000]


class _AttributeCounter(HTMLParser):
    """Count the attributes of the start tags, as a slow oracle."""

    def __init__(self) -> None:
        super().__init__()
        self.most = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.most = max(self.most, len(attrs))


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.lists(
        st.sampled_from(["a", "b=1", 'c="x > y"', "d='<p>'", 'e = "f"', "g='\"'"]),
        min_size=1,
        max_size=12,
    ),
    st.integers(min_value=1, max_value=12),
)
def test_attributes_are_counted_as_a_parser_does(attributes: list[str], limit: int) -> None:
    html = f"<p {' '.join(attributes)}>text with many words</p>"
    counter = _AttributeCounter()
    counter.feed(html)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(safe_html, "MAX_ATTRIBUTES", limit)
        # The end of the tag may count as one more.
        if counter.most > limit:
            assert not safe_html.is_cheap_to_parse(html)
        if counter.most < limit:
            assert safe_html.is_cheap_to_parse(html)


@pytest.mark.parametrize(
    ("address", "is_allowed"),
    [
        ("data:image/png;base64,AA==", True),
        ("DATA:image/JPEG;base64,AA==", True),
        ("data:image/svg+xml,<svg/>", False),
        ("data:image/svg+xml;base64,AA==", False),
        ("data: image/svg+xml,x", False),
        ("data:text/html,x", False),
    ],
)
def test_svg_is_no_image_of_a_data_address(address: str, is_allowed: bool) -> None:
    assert safe_html.is_media_allowed("image", address) == is_allowed
    cleaned = safe_html.clean_html(f'<img src="{address.replace("<", "&lt;")}">')
    assert ("src=" in cleaned) == is_allowed
