"""Every table of every page as CSV: found by its link, whole, and for whom the page is."""

from __future__ import annotations

import csv
import io
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from django.test import Client, override_settings
from django.utils.translation import gettext, override

from metrics.jobs.question_updates import update_question
from tests import cast
from tests.browser import page_catalogue

# Pages whose tables need no link of their own, and why.
NEEDS_NONE = {
    "style": "shows what tables look like",
    "statistics": "is a document, and no figure of a project",
    "trail": "its head leads to the file",
    "project_trail": "its head leads to the file",
    "trail of the project": "its head leads to the file",
    "items": "its head leads to the file",
    "items that differ": "its head leads to the file",
    "shared": "is looked at: no link leads on from it",
}
VOID = {"br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


class Tables(HTMLParser):
    """The tables of a page that are not typed into, by the ids of the headings around them; the
    headings around links that are named CSV; and the links of ``as_csv`` by their headings."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[tuple[str, dict[str, str]]] = []
        self.tables: list[list[str]] = []
        self.rows: dict[str, int] = {}
        self.files: set[str] = set()
        self.links: dict[str, str] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        if tag not in VOID:
            self.open.append((tag, known))
        is_typed_into = any(outer == "form" for outer, _known in self.open)
        if tag == "table" and "table" in known.get("class", "").split() and not is_typed_into:
            self.tables.append(self._headings())
        # The lines of a project's questions are told beneath it; each has its own page and file.
        if tag == "tr" and "of-question" not in known.get("class", ""):
            *_outer, heading = ["", *self._headings()]
            self.rows[heading] = self.rows.get(heading, 0) + 1
        if tag == "a" and known.get("id", "").endswith("-csv"):
            self.links[known["id"].removesuffix("-csv")] = known["href"]

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1][0] == "a" and data.strip() == "CSV":
            self.files |= set(self._headings())

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop()[0] != tag:
            pass

    def _headings(self) -> list[str]:
        return [known["aria-labelledby"] for _tag, known in self.open if "aria-labelledby" in known]


@pytest.mark.sqlite_only("the tables are read off pages, which other tests ask on PostgreSQL")
@pytest.mark.django_db(transaction=True)
def test_every_table_of_every_page() -> None:
    """Each table has a file in reach, each link leads to a file with the rows of its table."""
    without, seen = [], 0
    with override_settings(**page_catalogue.WITH):
        world = page_catalogue.make_world()
        for visit in page_catalogue.visits(world):
            client = world.clients[visit.who]
            found = Tables(client.get(visit.address).content.decode())
            if visit.name not in NEEDS_NONE:
                near = found.files | set(found.links)
                without += [
                    (visit, headings) for headings in found.tables if not near & set(headings)
                ]
            for heading, address in found.links.items():
                seen += 1
                answer = client.get(address)
                assert answer["Content-Type"] == "text/csv; charset=utf-8", (visit, answer.content)
                rows = rows_of(answer)
                assert len(rows) >= found.rows[heading], (visit, heading, "all pages of it")
                assert len({len(row) for row in rows}) == 1
                assert not re.search(r"\d,\d\d\d\b|^[–—]$", "\n".join(map("\n".join, rows)), re.M)
    assert without == []
    assert seen > 45


def rows_of(answer: Any) -> list[list[str]]:
    return list(csv.reader(io.StringIO(answer.content.decode())))


@pytest.fixture
def pairs(project: Any, question: Any) -> str:
    """The address of a table of 105 pairs, more than a page shows; one rater is named as a formula
    is."""
    raters = ["=1+1", *(f"r{number:02d}" for number in range(14))]
    for place in range(12):
        for number, rater in enumerate(raters):
            label = cast.LABELS[(place + (number * place) % 5 // 3) % 4]
            cast.rate(question, f"i{place}", rater, label)
    update_question(question.pk)
    return f"/projects/{project.pk}/pairs/"


def test_all_pages_of_a_table_with_whole_figures(
    pairs: str, project: Any, lead: Any, client_for: Any, api_for: Any
) -> None:
    client = client_for(lead)
    page = client.get(f"{pairs}?sort=kappa&page=2")
    address = Tables(page.text).links["pairs-title"]
    assert "sort=kappa" in address, "in the order of the page"
    answer = client.get(address)
    assert re.search(r'filename="concord-\d+-pair-pairs.csv"', answer["Content-Disposition"])
    head, *rows = rows_of(answer)
    assert head[:5] == ["Rater", "and", "Kappa", "Kappa: lower end", "Kappa: upper end"]
    assert len(rows) == 105
    told = api_for(lead).get(
        f"/api/v1/projects/{project.pk}/agreement/pairs/?question=severity&page_size=200"
        f"&weights={page.context['chosen'].weights}"
    )
    stored = {frozenset((one["rater_a"], one["rater_b"])): one for one in told.json()["results"]}
    for a, b, value, low, high, *_more in rows:
        reading = stored[frozenset((a.removeprefix("'"), b.removeprefix("'")))]
        whole = [reading["value"], reading["low"], reading["high"]]
        assert [float(one) if one else None for one in (value, low, high)] == whole
    values = [float(row[2]) for row in rows if row[2]]
    assert values == sorted(values)
    assert sum("'=1+1" in row for row in rows) == 14, "a spreadsheet would run it"


def test_a_page_says_after_a_file_what_it_said_before(
    pairs: str, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    before = Tables(client.get(pairs).text)
    assert len(rows_of(client.get(before.links["pairs-title"]))) == 106
    after = client.get(pairs).text
    assert Tables(after).rows == before.rows
    assert re.search(r'class="reading">-?[01]\.\d\d <', after)


def test_a_file_is_for_whom_the_page_is(
    pairs: str, annotator: Any, stranger: Any, client_for: Any
) -> None:
    address = f"{pairs}?csv=pairs-title"
    assert client_for(annotator).get(address).status_code == 403
    assert client_for(stranger).get(address).status_code == 404
    asked = Client().get(address)
    assert asked.status_code == 302
    assert asked["Location"].startswith("/sign-in/")


def test_what_is_no_table_is_said(pairs: str, lead: Any, client_for: Any) -> None:
    client = client_for(lead)
    for name in ("nothing", '"><script>', "a" * 3_000):
        answer = client.get(pairs, {"csv": name})
        assert answer.status_code == 404
        assert answer["Content-Type"].startswith("text/plain")
        assert "no such table" in answer.text
    assert client.get(pairs, {"csv": ""}).status_code == 200
    assert client.get("/api/v1/projects/", {"csv": "pairs-title"}).headers["Content-Type"] == (
        "application/json"
    )


def test_in_the_language_of_its_reader(pairs: str, lead: Any, client_for: Any) -> None:
    answer = client_for(lead).get(f"{pairs}?csv=pairs-title", headers={"Accept-Language": "zh"})
    with override("zh-hans"):
        assert rows_of(answer)[0][3] == f"Kappa: {gettext('lower end')}" != "Kappa: lower end"


def test_more_than_a_file_holds_is_said_in_its_name(
    pairs: str, lead: Any, client_for: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.web.tables.MAX_EXPORT_ROWS", 50)
    answer = client_for(lead).get(f"{pairs}?csv=pairs-title")
    assert len(rows_of(answer)) == 51
    assert "-first-50.csv" in answer["Content-Disposition"]


def test_an_answer_to_a_form_has_no_link(project: Any, lead: Any, client_for: Any) -> None:
    """Its table cannot be asked for again."""
    address = f"/projects/{project.pk}/people/"
    assert Tables(client_for(lead).get(address).text).links
    refused = client_for(lead).post(f"{address}add/", {"username": ""})
    assert refused.status_code in (200, 400, 422)
    assert "people-title" in refused.text
    assert not Tables(refused.text).links
