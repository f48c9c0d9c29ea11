"""Every reader of text, with a file that is damaged behind a good beginning: the reading ends with
one problem, which has its line, and raises nothing. What has a problem is never written."""

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
from ratings.imports.readers import SOURCES
from ratings.imports.records import ReaderProblem
from tests.ratings.imports.readers.test_unexpected_values import RECORDS

TABLE = [{"item": "a", "rater": "r", "label": "x"}, {"item": "b", "rater": "r", "label": "y"}]
CSV = "item,rater,label\na,r,x\nb,r,y\n"
ZOONIVERSE = (
    "classification_id,user_name,workflow_id,workflow_version,created_at,metadata,annotations,"
    'subject_data,subject_ids\n1,ann,2,1.1,2026-03-01 10:00:00 UTC,{},"[{""task"":""T0"",'
    '""value"":""Yes""}]","{""5"":{""f"":""x""}}",5\n'
)
CVAT = (
    '<?xml version="1.0"?>\n<annotations><version>1.1</version>\n'
    '<image id="0" name="a.png" width="1" height="1"><tag label="cat"></tag></image>\n'
    "</annotations>\n"
)
LINES = {
    name: "".join(json.dumps(one) + "\n" for one in records)
    for name, records in {**RECORDS, "json": TABLE}.items()
}
# source -> (a good file, a line more with MARK where its damage goes)
MARK = "@@"
FILES = {
    **{name: (good, '{"id": "' + MARK + '", "text": "t"}\n') for name, good in LINES.items()},
    "csv": (CSV, f"c,r,{MARK}\n"),
    "zooniverse": (ZOONIVERSE, f"2,ann,2,1.1,,{{}},[],{{}},{MARK}\n"),
    "cvat": (CVAT.replace("</annotations>\n", ""), f'<image id="1" name="{MARK}"/></annotations>'),
}
DAMAGES: dict[str, Callable[[str], bytes]] = {
    "cut off": lambda line: line.partition(MARK)[0].encode() + b'"' * (line[0] == "c"),
    "NUL": lambda line: line.replace(MARK, "\0").encode(),
    "wrong encoding": lambda line: line.encode().replace(MARK.encode(), b"\xff\xfe"),
    "one long line": lambda line: line.replace(MARK, "x" * (5 << 20)).encode(),
    "nested bomb": lambda line: b'{"id": ' + b"[" * 100_000,
}
JSON_ALONE = ("nested bomb",)


def problems(name: str, path: Path) -> list[ReaderProblem]:
    columns = {"item": 0, "rater": 1, "label": 2}
    chosen = ImportMapping(
        source=name, encoding="utf-8-sig", delimiter=",", columns=columns, one_rater="r"
    )
    found = list(SOURCES[name].open_reader(path, chosen).iter_records())
    return [one for one in found if isinstance(one, ReaderProblem)]


@pytest.mark.parametrize("name", FILES)
def test_damage_ends_the_reading_with_its_line(name: str, tmp_path: Path) -> None:
    good, line = FILES[name]
    path = tmp_path / "file"
    for damage, made in DAMAGES.items():
        if damage in JSON_ALONE and name not in LINES:
            continue
        path.write_bytes(good.encode() + made(line))
        wrong = problems(name, path)
        if name in ("csv", "zooniverse") and damage == "cut off" and not wrong:
            continue  # a line may end anywhere: fewer cells, or a shorter one
        assert wrong, (name, damage)
        at = wrong[-1].line
        assert at is not None and 0 < at <= good.count("\n") + 2, (name, damage, wrong[-1])


@pytest.mark.parametrize("name", LINES)
def test_a_doubled_field_is_named(name: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(LINES[name] + '{"id": 1, ' + '"id": 1, ' * 1_000 + '"text": "x"}\n')
    (wrong,) = problems(name, path)[-1:]
    assert (wrong.kind, wrong.line) == ("json", LINES[name].count("\n") + 1)
    assert "'id' stands twice" in wrong.values["why"]


def test_laughs_of_xml_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    laughs = '<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;&b;&b;">]>'
    path.write_text(CVAT.replace("\n", f"\n{laughs}\n", 1))
    assert [one.kind for one in problems("cvat", path)] == ["xml_entities"]


def workbook(parts: dict[str, bytes] | None = None, **cells: Any) -> bytes:
    """A workbook, with other parts in the place of its own."""
    book = openpyxl.Workbook()
    sheet: Any = book.active
    for row in (["item", "rater", "label"], ["a", "ann", "minor"]):
        sheet.append(row)
    for place, value in cells.items():
        sheet[place] = value
    made = io.BytesIO()
    book.save(made)
    if not parts:
        return made.getvalue()
    changed = io.BytesIO()
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            if name not in parts:
                new.writestr(name, old.read(name))
        for name, content in parts.items():
            new.writestr(name, content)
    return changed.getvalue()


LINK = (
    b'<?xml version="1.0"?><externalLink xmlns="http://schemas.openxmlformats.org/spreadsheetml/'
    b'2006/main"><externalBook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/'
    b'relationships" r:id="rId1"/></externalLink>'
)


def test_links_of_a_workbook_are_never_followed(tmp_path: Path) -> None:
    """A formula that asks another file has no value of its own here."""
    path = tmp_path / "file"
    parts = {"xl/externalLinks/externalLink1.xml": LINK, "xl/../../evil.xml": b"x"}
    path.write_bytes(workbook(parts, C2="='[1]Sheet1'!A1"))
    assert [(one.kind, one.line, one.column) for one in problems("xlsx", path)] == [
        ("xlsx_formula", 2, "C")
    ]


def test_entities_of_a_workbook_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    laughs = b'<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;&b;">]>'
    sheet = (
        b'<?xml version="1.0"?>' + laughs + b'<worksheet xmlns="http://schemas.openxmlformats.org/'
        b'spreadsheetml/2006/main"><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>&c;</t>'
        b"</is></c></row></sheetData></worksheet>"
    )
    path.write_bytes(workbook({"xl/worksheets/sheet1.xml": sheet}))
    found = problems("xlsx", path)
    assert found and found[-1].kind in ("xlsx", "empty", "only_names", "name_empty"), found
