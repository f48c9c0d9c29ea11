"""Every text reader with a file that is damaged after a valid beginning.

Reading ends with one problem that has its line, and raises nothing. A file with a problem is never
written.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from ratings.imports.mapping.import_mapping import ImportMapping
from ratings.imports.problems import UnreadableFileError
from ratings.imports.readers import SOURCES
from ratings.imports.readers.tables.xlsx import XlsxLines
from ratings.imports.records import ReaderProblem
from tests.ratings.imports.readers.test_unexpected_values import RECORDS

TABLE_ROWS = [{"item": "a", "rater": "r", "label": "x"}, {"item": "b", "rater": "r", "label": "y"}]
CSV_TEXT = "item,rater,label\na,r,x\nb,r,y\n"
ZOONIVERSE_TEXT = (
    "classification_id,user_name,workflow_id,workflow_version,created_at,metadata,annotations,"
    'subject_data,subject_ids\n1,ann,2,1.1,2026-03-01 10:00:00 UTC,{},"[{""task"":""T0"",'
    '""value"":""Yes""}]","{""5"":{""f"":""x""}}",5\n'
)
CVAT_TEXT = (
    '<?xml version="1.0"?>\n<annotations><version>1.1</version>\n'
    '<image id="0" name="a.png" width="1" height="1"><tag label="cat"></tag></image>\n'
    "</annotations>\n"
)
JSON_LINES = {
    name: "".join(json.dumps(one) + "\n" for one in records)
    for name, records in {**RECORDS, "json": TABLE_ROWS}.items()
}
# source -> (a valid file, one more line with MARK where the damage is inserted)
MARK = "@@"
FILES = {
    **{name: (good, '{"id": "' + MARK + '", "text": "t"}\n') for name, good in JSON_LINES.items()},
    "csv": (CSV_TEXT, f"c,r,{MARK}\n"),
    "zooniverse": (ZOONIVERSE_TEXT, f"2,ann,2,1.1,,{{}},[],{{}},{MARK}\n"),
    "cvat": (
        CVAT_TEXT.replace("</annotations>\n", ""),
        f'<image id="1" name="{MARK}"/></annotations>',
    ),
}
DAMAGES: dict[str, Callable[[str], bytes]] = {
    "cut off": lambda line: line.partition(MARK)[0].encode() + b'"' * (line[0] == "c"),
    "NUL": lambda line: line.replace(MARK, "\0").encode(),
    "wrong encoding": lambda line: line.encode().replace(MARK.encode(), b"\xff\xfe"),
    "one long line": lambda line: line.replace(MARK, "x" * (5 << 20)).encode(),
    "nested bomb": lambda line: b'{"id": ' + b"[" * 100_000,
}
JSON_ONLY_DAMAGES = ("nested bomb",)


def list_problems(name: str, path: Path) -> list[ReaderProblem]:
    columns = {"item": 0, "rater": 1, "label": 2}
    mapping = ImportMapping(
        source=name, encoding="utf-8-sig", delimiter=",", columns=columns, default_rater="r"
    )
    records = list(SOURCES[name].open_reader(path, mapping).iter_records())
    return [record for record in records if isinstance(record, ReaderProblem)]


@pytest.mark.parametrize("name", FILES)
def test_damaged_line_ends_reading_and_is_reported(name: str, tmp_path: Path) -> None:
    valid_text, line = FILES[name]
    path = tmp_path / "file"
    for damage, build_damage in DAMAGES.items():
        if damage in JSON_ONLY_DAMAGES and name not in JSON_LINES:
            continue
        path.write_bytes(valid_text.encode() + build_damage(line))
        found_problems = list_problems(name, path)
        if name in ("csv", "zooniverse") and damage == "cut off" and not found_problems:
            continue  # a cut line is valid: it has fewer cells or a shorter one
        assert found_problems, (name, damage)
        line_number = found_problems[-1].line
        assert line_number is not None and 0 < line_number <= valid_text.count("\n") + 2, (
            name,
            damage,
            found_problems[-1],
        )


@pytest.mark.parametrize("name", JSON_LINES)
def test_repeated_field_is_reported(name: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(JSON_LINES[name] + '{"id": 1, ' + '"id": 1, ' * 1_000 + '"text": "x"}\n')
    (problem,) = list_problems(name, path)[-1:]
    assert (problem.kind, problem.line) == ("json", JSON_LINES[name].count("\n") + 1)
    assert "'id' stands twice" in problem.values["why"]


def test_xml_entities_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    entities = '<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;&b;&b;">]>'
    path.write_text(CVAT_TEXT.replace("\n", f"\n{entities}\n", 1))
    assert [problem.kind for problem in list_problems("cvat", path)] == ["xml_entities"]


def build_workbook(parts: dict[str, bytes] | None = None, **cells: Any) -> bytes:
    """Return a workbook in which the given parts replace its own."""
    excel_book = openpyxl.Workbook()
    sheet: Any = excel_book.active
    for row in (["item", "rater", "label"], ["a", "ann", "minor"]):
        sheet.append(row)
    for cell, value in cells.items():
        sheet[cell] = value
    original_file = io.BytesIO()
    excel_book.save(original_file)
    if not parts:
        return original_file.getvalue()
    changed_file = io.BytesIO()
    with (
        zipfile.ZipFile(original_file) as original_archive,
        zipfile.ZipFile(changed_file, "w") as changed_archive,
    ):
        for name in original_archive.namelist():
            if name not in parts:
                changed_archive.writestr(name, original_archive.read(name))
        for name, content in parts.items():
            changed_archive.writestr(name, content)
    return changed_file.getvalue()


EXTERNAL_LINK_XML = (
    b'<?xml version="1.0"?><externalLink xmlns="http://schemas.openxmlformats.org/spreadsheetml/'
    b'2006/main"><externalBook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/'
    b'relationships" r:id="rId1"/></externalLink>'
)


def test_links_of_a_workbook_are_never_followed(tmp_path: Path) -> None:
    """A formula that refers to another file has no stored value here."""
    path = tmp_path / "file"
    parts = {"xl/externalLinks/externalLink1.xml": EXTERNAL_LINK_XML, "xl/../../evil.xml": b"x"}
    path.write_bytes(build_workbook(parts, C2="='[1]Sheet1'!A1"))
    assert [
        (problem.kind, problem.line, problem.column) for problem in list_problems("xlsx", path)
    ] == [("xlsx_formula", 2, "label")]


def test_entities_of_a_workbook_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    entities = b'<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;&b;">]>'
    sheet = (
        b'<?xml version="1.0"?>'
        + entities
        + b'<worksheet xmlns="http://schemas.openxmlformats.org/'
        b'spreadsheetml/2006/main"><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>&c;</t>'
        b"</is></c></row></sheetData></worksheet>"
    )
    path.write_bytes(build_workbook({"xl/worksheets/sheet1.xml": sheet}))
    found_problems = list_problems("xlsx", path)
    assert found_problems and found_problems[-1].kind == "xml_entities"


def build_sheet(*rows: str) -> bytes:
    """Build a workbook whose sheet has these rows, as XML."""
    sheet = (
        '<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/'
        f'spreadsheetml/2006/main"><sheetData>{"".join(rows)}</sheetData></worksheet>'
    )
    return build_workbook({"xl/worksheets/sheet1.xml": sheet.encode()})


NAMES_ROW = '<row r="1"><c r="A1" t="inlineStr"><is><t>item</t></is></c></row>'


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ('<row r="20000000"><c r="A20000000"><v>1</v></c></row>', "xlsx_rows"),
        ('<row r="2&#48;00000000"><c r="A2"><v>1</v></c></row>', "xlsx_rows"),
        ('<row r="1e9"><c r="A2"><v>1</v></c></row>', "xlsx_rows"),
        ('<row r="1048577"/>', "xlsx_rows"),
        ('<row r="100003"><c r="A100003"><v>1</v></c></row>', "xlsx_gap"),
        ('<row r="2"><c r="ZZZ2"><v>1</v></c></row>', "columns_many"),
    ],
)
def test_rows_that_the_file_only_numbers_are_never_created(
    row: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(build_sheet(NAMES_ROW, row))
    monkeypatch.setattr("openpyxl.worksheet._read_only.ReadOnlyWorksheet.iter_rows", None)
    monkeypatch.setattr("ratings.imports.readers.tables.xlsx._rank_sheet", lambda sheet: 0)
    n_read = 0
    with pytest.raises(UnreadableFileError) as error_info:
        for _line in XlsxLines(path):
            n_read += 1
    assert error_info.value.problem.kind == kind
    assert n_read <= 1


def test_empty_rows_and_cells_keep_their_numbers(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(
        build_sheet(
            NAMES_ROW,
            '<row r="4"><c r="C4"><v>7</v></c><c r="XFD4"/></row>',
            '<row r="4"><c r="A4"><v>8</v></c></row>',
            '<row><c r="A5"><v>9</v></c></row>',
        )
    )
    assert list(XlsxLines(path)) == [(1, ["item"]), (4, [None, None, 7]), (5, [9, None, None])]


STYLES = (
    '<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
    "<cellXfs>{}</cellXfs></styleSheet>"
)
ONE_CELL = '<c r="A1" t="inlineStr"><is><t>item</t></is></c>'


@pytest.mark.parametrize(
    "parts",
    [
        {"xl/styles.xml": STYLES.format("<xf/>" * 2_000_000)},
        {"xl/styles.xml": STYLES.format("<!--" + "x" * (5 << 20) + "-->")},
        {"docProps/core.xml": "<a>" + "<b/>" * 200_000 + "</a>"},
        {"[Content_Types].xml": "<Types>" + "<Default/>" * 200_000 + "</Types>"},
        {"xl/workbook.xml": "<workbook>" + "<sheet/>" * 200_000 + "</workbook>"},
    ],
    ids=lambda parts: next(iter(parts)),
)
def test_parts_of_many_elements_are_never_parsed(
    parts: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(build_workbook({name: text.encode() for name, text in parts.items()}))
    monkeypatch.setattr("openpyxl.styles.stylesheet.Stylesheet.from_tree", None)
    with pytest.raises(UnreadableFileError) as error_info:
        list(XlsxLines(path))
    assert error_info.value.problem.kind == "xlsx_part"
    assert error_info.value.problem.values["name"] == next(iter(parts))


@pytest.mark.parametrize(
    "rows",
    [
        [f'<row r="1">{ONE_CELL}{"<c/>" * 1_000_000}</row>'],
        ["<c/>" * 1_000_000],
        # Neither a comment nor a row inside a row is the end of a row.
        [f'<row r="1">{ONE_CELL}{("<c/>" * 50_000 + "<!--<row/>-->") * 3}</row>'],
        [f'<row r="1">{ONE_CELL}{("<c/>" * 50_000 + "<row/>") * 3}</row>'],
        ['<row xmlns="other"/>' * 150_000],
    ],
    ids=["row", "no row", "comments", "rows in a row", "rows of others"],
)
def test_row_of_many_cells_is_never_parsed(
    rows: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(build_sheet(*rows))
    monkeypatch.setattr("openpyxl.worksheet._reader.WorkSheetParser.parse_row", None)
    monkeypatch.setattr("openpyxl.worksheet._reader.WorkSheetParser.parse_dimensions", None)
    with pytest.raises(UnreadableFileError) as error_info:
        list(XlsxLines(path))
    assert error_info.value.problem.kind == "xlsx_part"


def test_row_of_ten_thousand_cells_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(build_sheet(f'<row r="1">{"<c><v>1</v></c>" * 10_000}</row>'))
    assert [len(values) for _line, values in XlsxLines(path)] == [10_000]
