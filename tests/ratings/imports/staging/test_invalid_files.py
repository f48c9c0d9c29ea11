"""Files that cannot be imported.

Each error names line and column, says what is allowed, and nothing changes.
"""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings as site

from projects.models import Project
from ratings.imports import uploads
from ratings.imports.decoding.encodings import build_encoding_error
from ratings.models import ImportRun
from tests.ratings.imports.wizard_client import (
    WizardClient,
    get_labels,
    get_page_text,
    list_stored_files,
    snapshot_import_tables,
)

HEADER = b"item,rater,label\n"


@pytest.fixture
def wizard(project: Project, lead: Any, client_for: Any) -> WizardClient:
    return WizardClient(client_for(lead), project)


@pytest.fixture(autouse=True)
def assert_unchanged(project: Project) -> Iterator[None]:
    """Assert that no test of this module changes projects, items or ratings."""
    before = snapshot_import_tables()
    yield
    assert snapshot_import_tables() == before


def build_zip(name: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, "<workbook/>")
    return file.getvalue()


INVALID_UPLOADS = {
    "empty": (b"", "The file is empty"),
    "blank lines only": (b"\n\n\r\n", "Only one column"),
    "only a header": (
        HEADER,
        "Line 1: No ratings below the header row.",
    ),
    "one column": (b"label\nmajor\n", "Only one column"),
    "column without a name": (b"item,,label\na,b,c\n", "Line 1: Column 2 has no name"),
    "header after blank lines": (b"\n\nitem,,label\na,b,c\n", "Line 3: Column 2 has no name"),
    "doubled header": (
        b"item,label,rater,label\na,b,c,d\n",
        "Columns 2 and 4 are named 'label'",
    ),
    "zip": (build_zip("a.txt"), "'a.txt' from the ZIP: not a supported image"),
    "broken Excel": (build_zip("xl/workbook.xml"), "file is damaged"),
    "old Excel": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), "file type isn't supported"),
    "picture": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "file type isn't supported"),
    "PDF": (b"%PDF-1.7\n", "file type isn't supported"),
    "HTML": (b"  <!DOCTYPE html><script>alert(1)</script>", "file type isn't supported"),
    "SVG": (b"<svg onload=alert(1)>", "file type isn't supported"),
    "JSON of no objects": (b'["a"]', "Line 1: Expected an object"),
    "NUL in the first rows": (HEADER + b"a,b,c\nd,\0,f\n", "Line 3: Text can't contain NUL"),
    "open quote": (
        HEADER + b'a,b,"major\nc,d,minor\n',
        "Line 2: Quotation marks must enclose the whole cell",
    ),
    "text after a quote": (
        HEADER + b'a,b,"major"x\n',
        "Line 2: Quotation marks must enclose the whole cell",
    ),
    "cell of 2 MB": (
        HEADER + b"a,b," + b"x" * (2 << 20) + b"\n",
        "Line 2: A cell, line or record exceeds 1048576 characters",
    ),
    "line of 10 MB": (
        HEADER + b"a,b," + b"x" * (10 << 20) + b"\n",
        "Line 2: A cell, line or record exceeds 4194304 characters",
    ),
    "a million columns": (
        b"a," * 1_000_000 + b"b\n1\n",
        "Line 1: 1000001 columns (limit: 10000)",
    ),
    "no such byte in UTF-16": (
        b"\xff\xfe" + "item,rater,label\na,b,".encode("utf-16-le") + b"\x00\xd8\n\x00",
        "UTF-16",
    ),
    "broken gzip": (
        gzip.compress(HEADER + b"a,b,c\n" * 100)[:-20],
        "file is damaged",
    ),
    "gzip of nothing": (gzip.compress(b""), "The file is empty"),
    "gzip of a zip": (gzip.compress(build_zip("a.txt")), "from the ZIP"),
}


@pytest.mark.parametrize("case", INVALID_UPLOADS)
def test_invalid_file_is_refused_at_upload(wizard: WizardClient, case: str) -> None:
    content, complaint = INVALID_UPLOADS[case]
    before = list_stored_files()
    response = wizard.upload(content)

    assert response.status_code == 400
    assert complaint in get_page_text(response)
    assert not ImportRun.objects.exists()
    assert list_stored_files() == before


def test_gzip_bomb_is_read_up_to_the_limit(wizard: WizardClient, settings: Any) -> None:
    settings.IMPORT_MAX_BYTES = 1_000_000
    bomb = gzip.compress(HEADER + b"a,b,major\n" * 2_000_000)
    assert len(bomb) < 100_000
    before = list_stored_files()
    response = wizard.upload(bomb, "bomb.csv.gz")

    assert response.status_code == 400
    assert "exceeds 1000000 bytes" in get_page_text(response)
    assert list_stored_files() == before


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]
)
def test_encodings_and_line_endings_are_recognised(
    wizard: WizardClient, encoding: str, newline: str
) -> None:
    text = newline.join(
        ["item,rater,label", *(f"Straße {number},Zoë,minor" for number in range(50)), ""]
    )
    run = wizard.upload_and_validate(text.encode(encoding))

    assert run.state == "checked", run.problems
    assert run.summary["preview"][-1] == [21, "Straße 19", "Zoë", "minor", "", "", "severity"]
    assert (run.summary["rows"], run.summary["items"]) == (50, 50)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_guessed(wizard: WizardClient, delimiter: str) -> None:
    rows = [["item", "rater", "label"], ["a, b; c", "ann", "minor"]]
    text = "\n".join(delimiter.join(f'"{cell}"' for cell in row) for row in rows)
    assert wizard.upload_and_validate(text.encode()).state == "checked"


@pytest.mark.parametrize("encoding", ["windows-1252", "iso-8859-1"])
def test_latin1_must_be_chosen(wizard: WizardClient, encoding: str) -> None:
    content = (HEADER.decode() + "a,ann,minor\nStraße,Zoë,minor\n").encode(encoding)
    assert wizard.upload(content).status_code == 302
    page_text = get_page_text(wizard.get_page())
    assert "Line 3: Byte 0xDF isn't valid in UTF-8. In Windows-1252, it reads" in page_text

    response = wizard.choose_columns()
    assert response.status_code == 400
    assert "This field is required" in get_page_text(response)
    assert wizard.run.state == "mapping"

    assert wizard.choose_columns(encoding=encoding).status_code == 302
    assert wizard.run_worker().summary["preview"][1][1:3] == ["Straße", "Zoë"]


@pytest.mark.parametrize(
    ("encoding", "text", "word"),
    [
        ("windows-1252", "N°,Prüfer\n1,¿Qué?\n2,l’été\n3,3 m²\n", "N°"),
        ("windows-1250", "id,sędzia\n1,źle\n2,średnio\n3,łatwy\n", "sędzia"),
        ("mac-roman", "numéro,avis\n1,très bien\n2,à revoir\n", "numéro"),
        ("windows-1251", "номер,эксперт\n1,плохо\n2,НЕТ\n3,Хорошо\n", "номер"),
        ("gb18030", "id,甲,乙\n1,很差,较差\n2,一般,很好\n", "甲"),
        ("big5", "編號,評審員\n1,很差\n2,較差\n", "編號"),
        ("shift_jis", "番号,評価者\n1,良い\n2,ふつう\n", "番号"),
        ("euc-kr", "번호,평가자\n1,좋음\n2,매우 좋음\n", "번호"),
    ],
)
def test_likely_encoding_is_proposed(encoding: str, text: str, word: str) -> None:
    with pytest.raises(UnicodeDecodeError) as error:
        text.encode(encoding).decode()
    values = build_encoding_error(error.value, "utf-8-sig", line=1).problem.values
    assert (values["option"], values["text"]) == (encoding, word)


def test_names_are_judged_once_the_encoding_is_chosen(wizard: WizardClient) -> None:
    wizard.upload("甲,乙\n很差,较差\n一般,很好\n".encode("gb18030"))
    page_text = get_page_text(wizard.get_page())
    assert "In GB 18030, it reads '甲'" in page_text
    assert "No known column name" not in page_text
    reading = {"action": "read", "encoding": "gb18030", "delimiter": ","}
    page = wizard.client.post(wizard.run_url, reading, follow=True)
    assert "No known column name: 甲, 乙" in get_page_text(page)


def test_wrong_encoding_is_reported(wizard: WizardClient) -> None:
    wizard.upload(HEADER + "Straße,Zoë,minor\n".encode("windows-1252"))
    response = wizard.choose_columns(encoding="utf-8-sig")
    assert response.status_code == 400
    assert "Line 2: Byte 0xDF isn't valid in UTF-8" in get_page_text(response)

    response = wizard.client.post(
        wizard.run_url, {"action": "read", "encoding": "utf-8-sig", "delimiter": ","}, follow=True
    )
    assert "Line 2: Byte 0xDF isn't valid in UTF-8" in get_page_text(response)
    assert wizard.run.mapping["encoding"] == ""


FILLER_ROWS = b"".join(b"i%d,ann,minor\n" % number for number in range(9000))
# Errors after the first rows: content, (kind, line, column), part of the message.
INVALID_CONTENTS = {
    "unknown label": (
        HEADER + b"a,ann,mjor\nb,ann,minor\n",
        ("label_unknown", 2, "label"),
        "Allowed: none, minor, major, critical",
    ),
    "empty item": (
        HEADER + b" ,ann,minor\n",
        ("key_empty", 2, "item"),
        "The cell is empty.",
    ),
    "empty rater": (HEADER + b"a,,minor\n", ("key_empty", 2, "rater"), "The cell is empty."),
    # An empty label is a missing value, and a file without any other label has nothing to import.
    "empty label": (HEADER + b"a,ann,\n", ("nothing_usable", None, ""), "missing values"),
    "long item": (
        HEADER + b"a" * 256 + b",ann,minor\n",
        ("key_long", 2, "item"),
        "has 256 characters (limit: 255)",
    ),
    "long rater": (
        HEADER + b"a," + b"r" * 151 + b",minor\n",
        ("key_long", 2, "rater"),
        "has 151 characters (limit: 150)",
    ),
    "long comment": (
        b"item,rater,label,comment\na,ann,minor," + b"x" * 10_001 + b"\n",
        ("key_long", 2, "comment"),
        "has 10001 characters (limit: 10000)",
    ),
    "line end in an item": (
        HEADER + b'"a\nb",ann,minor\n',
        ("key_control", 2, "item"),
        "an invalid character",
    ),
    "too few cells": (
        HEADER + b"a,ann,minor\nb,ann\n",
        ("cells", 3, ""),
        "The header row has 3 cells, this row 2",
    ),
    "too many cells": (
        HEADER + b"a,ann,minor,x\n",
        ("cells", 2, ""),
        "The header row has 3 cells, this row 4",
    ),
    "line numbers after a cell of two lines": (
        b'item,rater,label,comment\na,ann,minor,"two\nlines"\n\nb,ann,wrong,\n',
        ("label_unknown", 5, "label"),
        "'wrong' isn't a label",
    ),
    # Without the order of day and month, this can be two days.
    "time of two days": (
        b"item,rater,label,time\na,ann,minor,03/04/2026 09:30\n",
        ("time", 2, "time"),
        "--dates dmy or --dates mdy",
    ),
    "time in the future": (
        b"item,rater,label,time\na,ann,minor,2999-03-01T09:30:00Z\n",
        ("time", 2, "time"),
        "is in the future",
    ),
    "no time at all": (
        b"item,rater,label,time\na,ann,minor,yesterday\n",
        ("time", 2, "time"),
        "Correct or ignore times",
    ),
    "missing header": (
        b"a,ann,minor\nb,ann,major\n",
        ("no_names", 1, ""),
        "Add the missing header row",
    ),
    "late NUL": (HEADER + FILLER_ROWS + b"z,\0,minor\n", ("nul", 9002, ""), "NUL"),
    "late open quote": (
        HEADER + FILLER_ROWS + b'z,"ann,minor\n' + FILLER_ROWS,
        ("quote_open", 9002, ""),
        "must enclose the whole cell",
    ),
    "late huge cell": (
        HEADER + FILLER_ROWS + b"z,ann," + b"x" * (8 << 20),
        ("line_long", 9002, ""),
        "4194304",
    ),
    "other questions alone": (
        b"item,rater,question,label\na,ann,tone,minor\n",
        ("question_missing", None, ""),
        "The file has no question 'severity', only tone",
    ),
    "wide without a rating": (
        b"item,ann,ben\na,,\n",
        ("nothing_usable", None, ""),
        "rows without a label (1)",
    ),
    "unknown label in a wide file": (
        b"item,ann,ben\na,minor,mjor\n",
        ("label_unknown", 2, "ben"),
        "'mjor' isn't a label",
    ),
    "one rater a thousand times": (
        HEADER + b"a,ann,minor\n" * 1002,
        ("repeats_many", 1002, ""),
        "more than 1000 times",
    ),
}


@pytest.mark.parametrize("case", INVALID_CONTENTS)
def test_invalid_content_is_found_by_validation(wizard: WizardClient, case: str) -> None:
    content, kind_line_column, complaint = INVALID_CONTENTS[case]
    choices = {"missing header": {"item": "0", "rater": "1", "label": "2", "layout": "long"}}.get(
        case, {}
    )
    run = wizard.upload_and_validate(content, **choices)

    assert run.state == "invalid"
    problem = run.problems[0]
    assert (problem["kind"], problem["line"], problem["column"]) == kind_line_column
    page = wizard.get_page()
    assert page.status_code == 200
    assert complaint in get_page_text(page)
    # The import cannot be started anyway.
    wizard.client.post(wizard.run_url, {"action": "start"})
    assert wizard.run_worker().state == "invalid"


def test_each_kind_of_error_is_one_sentence_and_all_are_counted(wizard: WizardClient) -> None:
    run = wizard.upload_and_validate(
        HEADER + b"a,ann,x\n" * 1500 + b"b,ann\n" * 20 + b"c,ann,minor\n"
    )

    lines = [p["line"] for p in run.problems if p["kind"] == "label_unknown"]
    assert lines == list(range(2, 22))
    assert run.summary["problem_counts"] == {"label_unknown": 1500, "cells": 20}
    page = get_page_text(wizard.get_page())
    assert "1,520 problems" in page
    assert page.count("isn't a label") == page.count("this row 2") == 1
    assert "lines 2, 3, 4, 5, 6, … (1500 times)" in page
    assert "lines 1502, 1503, 1504, 1505, 1506, … (20 times)" in page


def test_invalid_last_row_rejects_the_complete_file(wizard: WizardClient) -> None:
    rows = b"".join(b"i%d,ann,minor\n" % number for number in range(50_000))
    run = wizard.upload_and_validate(HEADER + rows + b"z,ann,mjor\n")

    assert run.state == "invalid"
    assert run.problems[0]["line"] == 50_002


def test_too_many_labels_for_a_new_question_are_refused(wizard: WizardClient) -> None:
    rows = b"".join(b"a%d,ann,l%d\n" % (number, number) for number in range(60))
    run = wizard.upload_and_validate(
        HEADER + rows, target="new", question_key="q", question_text="Q?"
    )

    assert run.state == "invalid"
    # One problem for the question, not one for each further label.
    assert run.summary["problem_counts"] == {"labels_many": 1}
    page = get_page_text(wizard.get_page())
    assert "60 different labels (limit: 50)" in page and "manage.py agreement" in page


def test_missing_upload_is_reported(wizard: WizardClient) -> None:
    wizard.upload(HEADER + b"a,ann,minor\n")
    wizard.choose_columns()
    uploads.get_absolute_path(wizard.run.path).unlink()
    run = wizard.run_worker()

    assert run.state == "invalid"
    assert "The uploaded file is gone" in get_page_text(wizard.get_page())


def test_markup_in_cells_is_shown_as_text(wizard: WizardClient) -> None:
    row_with_markup = b"<img src=x onerror=alert(1)>,<script>alert(1)</script>,minor,{{7*7}}\n"
    run = wizard.upload_and_validate(b"item,rater,label,comment\n" + row_with_markup)
    page = wizard.get_page().content

    assert run.state == "checked"
    assert b"<img" not in page and b"<script>" not in page and b"{{7*7}}" in page


def test_uploads_are_readable_only_by_the_server(wizard: WizardClient) -> None:
    wizard.upload(HEADER + b"a,ann,minor\n")
    path = uploads.get_absolute_path(wizard.run.path)
    assert path.is_relative_to(site.DATA_DIR)
    assert path.stat().st_mode & 0o077 == 0


def test_labels_of_wide_files_are_not_taken_for_missing_names(wizard: WizardClient) -> None:
    run = wizard.upload_and_validate(
        b"item,1,2,3\na,1,2,3\nb,2,2,1\n", target="new", question_key="q", question_text="Q?"
    )
    assert run.state == "checked"
    assert wizard.project
    assert get_labels(wizard.project.questions.get()) == {}


def test_full_disk_is_reported(wizard: WizardClient, monkeypatch: Any) -> None:
    def raise_disk_full(*arguments: Any, **named: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(uploads, "_copy_chunks", raise_disk_full)
    before = list_stored_files()
    response = wizard.upload(HEADER + b"a,ann,minor\n")
    assert response.status_code == 400
    assert "disk may be full" in get_page_text(response)
    assert list_stored_files() == before
