"""Style sheets and scripts go packed and joined, and browsers keep them for good; pages go packed,
too."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from agreement_site.middleware import static_bundles

pytestmark = pytest.mark.django_db
STATIC = Path(settings.BASE_DIR) / "static"


def test_a_page_asks_for_one_sheet_of_every_page() -> None:
    page = Client().get("/sign-in/").content.decode()
    sheets = re.findall(r'<link rel="stylesheet" href="([^"]+)">', page)
    assert [sheet for sheet in sheets if "setup" not in sheet] == sheets[:1]
    text = Client().get(sheets[0]).content.decode()
    assert "/*" not in text
    parts = [
        said_of((STATIC / name).read_text()) for name in static_bundles.BUNDLES["css/page.css"]
    ]
    places = [said_of(text).index(part) for part in parts]
    assert places == sorted(places)


def said_of(sheet: str) -> str:
    """What a style sheet says to a browser: without its comments, between single spaces."""
    while "/*" in sheet:
        before, _, rest = sheet.partition("/*")
        sheet = before + rest.partition("*/")[2]
    return " ".join(sheet.split())


def test_style_comes_before_what_is_not_seen_first() -> None:
    """On a slow line a script that is asked for with the style would share the line with it."""
    page = Client().get("/sign-in/").content.decode()
    head, _, body = page.partition("<body")
    assert "css/page.css" in head
    for later in ("js/site.js", "htmx", "css/print.css"):
        assert f"{later}" in body
        assert not re.search(rf'(?:src|href)="[^"]*{later}', head), later


def test_every_page_names_what_there_is() -> None:
    """A sheet or a script that is asked for by ``fixed`` exists, and none goes past it."""
    for template in (Path(settings.BASE_DIR) / "templates").rglob("*.html"):
        text = template.read_text()
        for name in re.findall(r"\{% fixed '([^']+)'", text):
            assert static_bundles.get_bundle(name).body, template
        assert not re.search(r"\{% static '(css|js)/", text), template


def test_a_file_is_kept_for_good_under_the_address_of_its_content() -> None:
    address = static_bundles.fixed("js/site.js")
    answer = Client().get(address, headers={"Accept-Encoding": "gzip, br"})
    assert answer["Content-Encoding"] == "gzip"
    assert answer["Content-Type"] == "text/javascript; charset=utf-8"
    assert answer["Cache-Control"] == "public, max-age=31536000, immutable"
    assert answer["Vary"] == "Accept-Encoding"
    plain = Client().get(address)
    assert "Content-Encoding" not in plain
    assert gzip.decompress(answer.content) == plain.content == (STATIC / "js/site.js").read_bytes()


def test_the_address_of_another_release_is_not_kept_long() -> None:
    answer = Client().get("/fixed/0000000000000000/js/site.js")
    assert answer.status_code == 200
    assert answer["Cache-Control"] == "public, max-age=60"


@pytest.mark.parametrize(
    "name", ["img/mark.svg", "js/nothing.js", "../manage.py", "css/../../manage.css", "css/"]
)
def test_nothing_else_is_served(name: str) -> None:
    assert Client().get(f"/fixed/0/{name}").status_code in (400, 404)


def test_a_page_goes_packed(project: Any, lead: Any, client_for: Any) -> None:
    address = f"/projects/{project.pk}/setup/"
    plain = client_for(lead).get(address)
    packed = client_for(lead).get(address, headers={"Accept-Encoding": "gzip"})
    assert packed["Content-Encoding"] == "gzip"
    assert len(packed.content) < len(plain.content) / 3
    assert "</html>" in gzip.decompress(packed.content).decode()


def test_a_file_that_is_written_bit_by_bit_goes_as_it_is(
    project: Any, lead: Any, client_for: Any
) -> None:
    address = f"/projects/{project.pk}/items.csv"
    answer = client_for(lead).get(address, headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in answer
