"""Every sentence about the data names a test where it is true, and one where it only seems so.

The list is statements.csv: the source and the beginning of each text, the test on data where the
sentence is true, and the test on data where it is false but tempting (often the same, with both
cases). Texts that claim nothing about the data have the reason instead of tests.
"""

from __future__ import annotations

import ast
import csv
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools import translation_catalogue

STATEMENTS = Path(__file__).parent / "statements.csv"
# Files and folders whose texts are statements about the data.
SOURCES = (
    "agreement_site/notifications/digest.py",
    "agreement_site/notifications/mail_contents.py",
    "metrics/views/changes/views.py",
    "metrics/views/common/headline_texts.py",
    "metrics/views/common/coefficient_advice.py",
    "metrics/views/common/insights.py",
    "metrics/views/common/trends/period_comparison.py",
    "metrics/views/dashboard/dashboard_context.py",
    "metrics/views/dashboard/recommendation.py",
    "metrics/views/reports/document.py",
    "metrics/views/reports/cautions_and_methods.py",
    "quality/alerts/kind_texts.py",
    "quality/alerts/text_parts.py",
    "quality/gates/verdict_texts.py",
    "quality/inbox/inbox_entries.py",
    "quality/inbox/entry_counts.py",
    "quality/rater_status/overview_raters.py",
    "quality/rater_status/status_texts.py",
    "templates/metrics/changes/guideline_effect.html",
    "templates/metrics/dashboard/_headline.html",
    "templates/metrics/dashboard/_insights.html",
    "templates/metrics/dashboard/_people_and_models.html",
    "templates/quality/inbox",
    "templates/quality/labels/overview.html",
    "templates/quality/planning",
)
DATA_CARD = "quality/labels/data_card.py"  # in English alone, so that nothing marks its texts
# Reasons why a text needs no test: it names something; it is one of several possible explanations;
# it says how a number is defined; or it describes the page.
NO_CLAIMS = {"name", "possible explanation", "definition", "page"}
TESTS = {
    name
    for path in (translation_catalogue.ROOT / "tests").rglob("test_*.py")
    for name in re.findall(r"^def (test_\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE)
}


def iter_statements() -> Iterator[tuple[str, str]]:
    """Yield (source, text) of sentences and their parts: all texts but headings and labels."""
    for source in SOURCES:
        folder = translation_catalogue.ROOT / source
        paths = [path for path in folder.rglob("*") if path.suffix in {".py", ".html"}]
        for path in sorted(paths) if folder.is_dir() else [folder]:
            for _context, text, _plural in translation_catalogue.iter_texts(path):
                is_part = path.suffix == ".py" and text[0].islower()
                if is_part or text.endswith(".") or re.search(r"%\(|\{", text):
                    yield path.relative_to(translation_catalogue.ROOT).as_posix(), text


def iter_lines_of_data_card() -> Iterator[tuple[str, str]]:
    """Yield (source, beginning) of the sentences and list items of the data card."""
    tree = ast.parse((translation_catalogue.ROOT / DATA_CARD).read_text(encoding="utf-8"))
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.FunctionDef) and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            is_line = re.match(r"\* [A-Z]|[A-Z].*\.", node.value) and " " in node.value
            if is_line and id(node) not in docstrings:
                yield DATA_CARD, node.value


def read_rows() -> list[dict[str, str]]:
    with STATEMENTS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_statement_has_tests() -> None:
    """A new sentence needs a row, and a row whose sentence is gone must go, too."""
    rows = read_rows()
    used_rows: Counter[int] = Counter()
    missing = []
    for source, text in dict.fromkeys([*iter_statements(), *iter_lines_of_data_card()]):
        matches = [
            index
            for index, row in enumerate(rows)
            if row["source"] == source and text.startswith(row["text"])
        ]
        # Of two texts one may be the beginning of the other.
        match = max(matches, key=lambda index: len(rows[index]["text"]), default=None)
        if match is None:
            missing.append((source, text))
        else:
            used_rows[match] += 1
    assert missing == []
    assert [row for index, row in enumerate(rows) if used_rows[index] != 1] == []


@pytest.mark.parametrize("column", ["true", "tempting"])
def test_tests_of_statements_exist(column: str) -> None:
    for row in read_rows():
        name = row[column]
        is_claim = row["true"] not in NO_CLAIMS
        assert (name in TESTS) if is_claim else (name in {*NO_CLAIMS, ""}), row
