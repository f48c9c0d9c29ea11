"""Tests of static bundles and compressed pages.

Style sheets and scripts are bundled, compressed and cached permanently; pages are compressed.
"""

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
MAX_FONT_BYTES = 50_000
STATIC = Path(settings.BASE_DIR) / "static"


def test_page_loads_one_shared_style_sheet() -> None:
    page = Client().get("/sign-in/").content.decode()
    sheets = re.findall(r'<link rel="stylesheet" href="([^"]+)">', page)
    assert [sheet for sheet in sheets if "setup" not in sheet] == sheets[:1]
    text = Client().get(sheets[0]).content.decode()
    assert "/*" not in text
    text = text.replace(static_bundles.get_typeface_url(), "../vendor/inter.woff2")
    parts = [
        normalize_css((STATIC / name).read_text())
        for name in static_bundles.BUNDLES["css/page.css"]
    ]
    positions = [normalize_css(text).index(part) for part in parts]
    assert positions == sorted(positions)


def test_font_is_cached_permanently_and_loaded_once() -> None:
    """The page asks for the font before it has read the style sheet, which names the same URL."""
    address = static_bundles.get_typeface_url()
    response = Client().get(address)
    assert response["Content-Type"] == "font/woff2"
    assert response["Cache-Control"] == "public, max-age=31536000, immutable"
    assert response.content.startswith(b"wOF2")
    assert len(response.content) < MAX_FONT_BYTES
    assert f'<link rel="preload" href="{address}"' in Client().get("/sign-in/").content.decode()
    sheet = Client().get(static_bundles.static_bundle("css/page.css")).content.decode()
    assert f'url("{address}")' in sheet


def test_pages_work_without_the_font(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout whose setup did not run yet uses fonts of the system."""
    monkeypatch.setattr(static_bundles, "TYPEFACE", "vendor/missing.woff2")
    response = Client().get("/sign-in/")
    assert response.status_code == 200
    assert "preload" not in response.content.decode()


def normalize_css(sheet: str) -> str:
    """Return a style sheet without comments, with single spaces."""
    while "/*" in sheet:
        before, _, tail = sheet.partition("/*")
        sheet = before + tail.partition("*/")[2]
    return " ".join(sheet.split())


def test_scripts_are_loaded_after_the_style_sheet() -> None:
    """On a slow connection, a script in the head would compete with the style sheet."""
    page = Client().get("/sign-in/").content.decode()
    head, _, body = page.partition("<body")
    assert "css/page.css" in head
    for name in ("js/site.js", "htmx", "css/print.css"):
        assert f"{name}" in body
        assert not re.search(rf'(?:src|href)="[^"]*{name}', head), name


def test_templates_name_existing_bundles() -> None:
    """Each style sheet or script of a template is loaded by ``fixed``, and exists."""
    for template in (Path(settings.BASE_DIR) / "templates").rglob("*.html"):
        text = template.read_text()
        for name in re.findall(r"\{% static_bundle '([^']+)'", text):
            assert static_bundles.get_bundle(name).body, template
        assert not re.search(r"\{% static '(css|js)/", text), template


def test_file_with_current_digest_is_cached_permanently() -> None:
    address = static_bundles.static_bundle("js/site.js")
    response = Client().get(address, headers={"Accept-Encoding": "gzip, br"})
    assert response["Content-Encoding"] == "gzip"
    assert response["Content-Type"] == "text/javascript; charset=utf-8"
    assert response["Cache-Control"] == "public, max-age=31536000, immutable"
    assert response["Vary"] == "Accept-Encoding"
    plain = Client().get(address)
    assert "Content-Encoding" not in plain
    assert (
        gzip.decompress(response.content) == plain.content == (STATIC / "js/site.js").read_bytes()
    )


def test_file_with_old_digest_is_cached_briefly() -> None:
    response = Client().get("/bundles/0000000000000000/js/site.js")
    assert response.status_code == 200
    assert response["Cache-Control"] == "public, max-age=60"


@pytest.mark.parametrize(
    "name", ["img/mark.svg", "js/nothing.js", "../manage.py", "css/../../manage.css", "css/"]
)
def test_other_files_are_not_served(name: str) -> None:
    assert Client().get(f"/bundles/0/{name}").status_code in (400, 404)


def test_page_is_compressed(project: Any, lead: Any, client_for: Any) -> None:
    address = f"/projects/{project.pk}/settings/"
    plain = client_for(lead).get(address)
    compressed = client_for(lead).get(address, headers={"Accept-Encoding": "gzip"})
    assert compressed["Content-Encoding"] == "gzip"
    assert len(compressed.content) < len(plain.content) / 3
    assert "</html>" in gzip.decompress(compressed.content).decode()


def test_streamed_file_is_not_compressed(project: Any, lead: Any, client_for: Any) -> None:
    address = f"/projects/{project.pk}/items.csv"
    response = client_for(lead).get(address, headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in response


@pytest.mark.parametrize(
    "name",
    [
        "js/./site.js",
        "js//site.js",
        "./js/site.js",
        "css/../js/site.js",
        "js/site.js/",
        "/js/site.js",
        "../static/js/site.js",
        "js\\site.js",
        "x/../../js/site.js",
    ],
)
def test_other_spelling_of_a_name_is_neither_searched_nor_kept(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each would be built, compressed and kept by each process: a stranger could fill its memory."""
    Client().get("/bundles/0/js/site.js")
    n_kept = static_bundles._build_bundle.cache_info().currsize
    monkeypatch.setattr(static_bundles, "finders", None)
    assert Client().get(f"/bundles/0/{name}").status_code in (400, 404)
    assert static_bundles._build_bundle.cache_info().currsize == n_kept
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_number_of_kept_bundles_is_bounded() -> None:
    files = [path for path in STATIC.rglob("*") if path.suffix in static_bundles.CONTENT_TYPES]
    assert len(files) < static_bundles.MAX_BUNDLES
    assert static_bundles._build_bundle.cache_info().maxsize == static_bundles.MAX_BUNDLES
