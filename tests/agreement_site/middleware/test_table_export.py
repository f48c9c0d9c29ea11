"""Tests of every page's tables as CSV: linked, complete, and with the page's permissions."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.test import Client, override_settings
from django.utils.translation import gettext, override

from metrics.jobs.question_updates import update_question
from tests import cast
from tests.browser import page_catalogue

# The labels of the columns of each file. Programs that read the files rely on them.
HEADERS = Path(__file__).with_name("table_headers.json")
# Pages whose tables need no link, with the reason.
PAGES_WITHOUT_LINKS = {
    "style_guide": "shows what tables look like",
    "statistics": "is a document without figures of a project",
    "audit_log": "its head leads to the file",
    "project_audit_log": "its head leads to the file",
    "trail of the project": "its head leads to the file",
    "items": "its head leads to the file",
    "items that differ": "its head leads to the file",
    "shared": "is read only: it has no links",
    "access_review": "its head leads to the file",
}
VOID_TAGS = {"br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


class TableParser(HTMLParser):
    """Tables and CSV links of a page.

    Tables that are part of a form are left out. Tables and links are identified by the IDs of the
    headings around them: ``files`` has those of links named CSV, ``links`` those of ``csv_link``.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[tuple[str, dict[str, str]]] = []
        self.tables: list[list[str]] = []
        self.rows: dict[str, int] = {}
        self.files: set[str] = set()
        self.links: dict[str, str] = {}
        self.downloads: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag not in VOID_TAGS:
            self.open.append((tag, attributes))
        is_in_form = any(outer == "form" for outer, _attributes in self.open)
        if tag == "table" and "table" in attributes.get("class", "").split() and not is_in_form:
            self.tables.append(self._list_headings())
        # Rows of a project's questions do not count: each question has its own page and file.
        if tag == "tr" and "of-question" not in attributes.get("class", ""):
            *_outer, heading = ["", *self._list_headings()]
            self.rows[heading] = self.rows.get(heading, 0) + 1
        if tag == "a" and attributes.get("id", "").endswith("-csv"):
            self.links[attributes["id"].removesuffix("-csv")] = attributes["href"]
        elif tag == "a" and re.search(r"\.(csv|jsonl)\b", attributes.get("href", "")):
            self.downloads.add(attributes["href"])

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1][0] == "a" and data.strip() == "CSV":
            self.files |= set(self._list_headings())

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop()[0] != tag:
            pass

    def _list_headings(self) -> list[str]:
        return [
            attributes["aria-labelledby"]
            for _tag, attributes in self.open
            if "aria-labelledby" in attributes
        ]


@pytest.mark.timeout(600)  # four hundred pages; a machine may be busy
@pytest.mark.django_db(transaction=True)
def test_every_table_has_a_complete_csv_file() -> None:
    """Each table has a file in reach, and each link leads to a file with the rows of its table."""
    tables_without_file, headers, residues = [], {}, {}
    downloads: set[str] = set()
    with override_settings(**page_catalogue.SITE_SETTINGS):
        world = page_catalogue.create_sample_world()
        for visit in page_catalogue.iter_visits(world):
            client = world.clients[visit.user]
            parser = TableParser(client.get(visit.address).content.decode())
            if visit.name not in PAGES_WITHOUT_LINKS:
                available = parser.files | set(parser.links)
                tables_without_file += [
                    (visit, headings) for headings in parser.tables if not available & set(headings)
                ]
            for heading, address in parser.links.items():
                response = client.get(address)
                assert response["Content-Type"] == "text/csv; charset=utf-8", (
                    visit,
                    response.content,
                )
                rows = read_csv_rows(response)
                residues[f"{visit} {heading}"] = list_rounding_errors(response.text)
                headers[re.sub(r"\d+", "N", f"{visit.name} {heading}")] = rows[0]
                assert len(rows) >= parser.rows[heading], (visit, heading, "all pages of it")
                assert len({len(row) for row in rows}) == 1
                assert not re.search(r"</?[a-z]+[ >]|&[a-z]+;", response.text), "HTML in a file"
                assert not re.search(r"\d,\d\d\d\b|^[–—]$", "\n".join(map("\n".join, rows)), re.M)
            for address in parser.downloads - downloads:
                response = client.get(address)
                assert response.status_code in (200, 202, 404), address
                residues[address] = list_rounding_errors(response.getvalue().decode())
            downloads |= parser.downloads
        residues |= list_errors_of_exports(world)
    assert {address: errors for address, errors in residues.items() if errors} == {}
    assert len(downloads) > 5
    assert tables_without_file == []
    expected_headers = json.loads(HEADERS.read_text())
    assert {name: headers.get(name) for name in expected_headers} == expected_headers
    assert len(headers) > 45


def list_errors_of_exports(world: Any) -> dict[str, list[str]]:
    """Return the rounding errors in the files that a form or a program downloads."""
    base, errors = f"/api/v1/projects/{world.project.pk}", {}
    for form, name in itertools.product(("csv", "jsonl"), ("labels", "export")):
        address = f"{base}/{name}/?format={form}&question=severity"
        response = world.clients["lead"].get(address)
        assert response.status_code == 200, (address, response.content)
        errors[address] = list_rounding_errors(response.getvalue().decode())
    return errors


def list_rounding_errors(text: str) -> list[str]:
    """Return numbers such as 0.30000000000000004 and 6.9e-18; a p value may be small."""
    numbers = re.findall(r"(?<![\w.])-?\d+\.\d+(?:e-?\d+)?(?![\w.])", text)
    return [
        number
        for number in numbers
        if len(re.sub(r"e.*|\D", "", number).lstrip("0")) > 15 or -1e-30 < float(number) < 0
    ]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("a,0.30000000000000004,1", ["0.30000000000000004"]),
        ('{"x":-6.938893903907228e-18}', ["-6.938893903907228e-18"]),
        ("0.3,0.333333333333333,1e-09,2026-03-02T12:00:00.123456Z,0.0", []),
    ],
)
def test_rounding_errors_are_recognized(text: str, numbers: list[str]) -> None:
    assert list_rounding_errors(text) == numbers


def read_csv_rows(response: Any) -> list[list[str]]:
    return list(csv.reader(io.StringIO(response.content.decode())))


@pytest.fixture
def pairs_path(project: Any, question: Any) -> str:
    """Return the address of a table of 105 pairs, more than a page shows.

    One rater has a name like a spreadsheet formula.
    """
    raters = ["=1+1", *(f"r{number:02d}" for number in range(14))]
    cast.rate_many(
        question,
        (
            (f"i{position}", rater, cast.LABELS[(position + (number * position) % 5 // 3) % 4])
            for position in range(12)
            for number, rater in enumerate(raters)
        ),
    )
    update_question(question.pk)
    return f"/projects/{project.pk}/pairs/"


def test_file_contains_all_pages_with_unrounded_values(
    pairs_path: str, project: Any, lead: Any, client_for: Any, api_for: Any
) -> None:
    client = client_for(lead)
    page = client.get(f"{pairs_path}?sort=kappa&page=2")
    address = TableParser(page.text).links["pairs-title"]
    assert "sort=kappa" in address, "in the order of the page"
    response = client.get(address)
    assert re.search(r'filename="concord-\d+-pair-pairs.csv"', response["Content-Disposition"])
    head, *rows = read_csv_rows(response)
    assert head[:5] == ["Rater", "and", "Kappa", "Kappa: lower bound", "Kappa: upper bound"]
    assert len(rows) == 105
    api_response = api_for(lead).get(
        f"/api/v1/projects/{project.pk}/agreement/pairs/?question=severity&page_size=200"
        f"&weights={page.context['selection'].weights}"
    )
    stored = {
        frozenset((row_value["rater_a"], row_value["rater_b"])): row_value
        for row_value in api_response.json()["results"]
    }
    for a, b, value, low, high, *_more in rows:
        result = stored[frozenset((a.removeprefix("'"), b.removeprefix("'")))]
        unrounded = [result["value"], result["low"], result["high"]]
        assert [
            float(row_value) if row_value else None for row_value in (value, low, high)
        ] == pytest.approx(unrounded, rel=1e-14)
    values = [float(row[2]) for row in rows if row[2]]
    assert values == sorted(values)
    assert sum("'=1+1" in row for row in rows) == 14, "a spreadsheet would run it"


def test_downloading_a_file_does_not_change_the_page(
    pairs_path: str, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    before = TableParser(client.get(pairs_path).text)
    assert len(read_csv_rows(client.get(before.links["pairs-title"]))) == 106
    after = client.get(pairs_path).text
    assert TableParser(after).rows == before.rows
    assert re.search(r'class="reading">-?[01]\.\d\d <', after)


def test_file_has_the_permissions_of_its_page(
    pairs_path: str, annotator: Any, stranger: Any, client_for: Any
) -> None:
    address = f"{pairs_path}?csv=pairs-title"
    assert client_for(annotator).get(address).status_code == 403
    assert client_for(stranger).get(address).status_code == 404
    anonymous_response = Client().get(address)
    assert anonymous_response.status_code == 302
    assert anonymous_response["Location"].startswith("/sign-in/")


def test_unknown_table_is_not_found(pairs_path: str, lead: Any, client_for: Any) -> None:
    client = client_for(lead)
    for name in ("nothing", '"><script>', "a" * 3_000):
        response = client.get(pairs_path, {"csv": name})
        assert response.status_code == 404
        assert response["Content-Type"].startswith("text/plain")
        assert "is empty or doesn't exist" in response.text
    assert client.get(pairs_path, {"csv": ""}).status_code == 200
    assert client.get("/api/v1/projects/", {"csv": "pairs-title"}).headers["Content-Type"] == (
        "application/problem+json"
    )


def test_file_is_in_the_language_of_its_reader(pairs_path: str, lead: Any, client_for: Any) -> None:
    response = client_for(lead).get(
        f"{pairs_path}?csv=pairs-title", headers={"Accept-Language": "zh"}
    )
    with override("zh-hans"):
        assert (
            read_csv_rows(response)[0][3]
            == f"Kappa: {gettext('lower bound')}"
            != "Kappa: lower bound"
        )


def test_name_of_a_truncated_file_says_so(
    pairs_path: str, lead: Any, client_for: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.web.tables.MAX_EXPORT_ROWS", 50)
    response = client_for(lead).get(f"{pairs_path}?csv=pairs-title")
    assert len(read_csv_rows(response)) == 51
    assert "-first-50.csv" in response["Content-Disposition"]


def test_response_to_a_form_has_no_csv_link(project: Any, lead: Any, client_for: Any) -> None:
    """Its table cannot be requested again."""
    address = f"/projects/{project.pk}/people/"
    assert TableParser(client_for(lead).get(address).text).links
    rejected = client_for(lead).post(f"{address}add/", {"username": ""})
    assert rejected.status_code in (200, 400, 422)
    assert "people-title" in rejected.text
    assert not TableParser(rejected.text).links
