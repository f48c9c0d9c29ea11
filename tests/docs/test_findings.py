"""Tests that every finding of reviews and drills names an existing regression test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

BASE_DIR = Path(__file__).resolve().parents[2]
TESTS = {
    name
    for path in (BASE_DIR / "tests").rglob("test_*.py")
    for name in re.findall(r"^\s*def (test_\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE)
}
FINDINGS = {
    "docs/security.md": [
        f"{weight}{number}"
        for weight, most in (("H", 4), ("M", 12), ("L", 16), ("S", 18))
        for number in range(1, most + 1)
    ],
    "docs/operations.md": [f"D{number}" for number in range(1, 17)],
}


@pytest.mark.parametrize("page", FINDINGS)
def test_each_finding_names_existing_tests(page: str) -> None:
    text = (BASE_DIR / page).read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([A-Z]\d+) \|(.*)\|$", text, re.MULTILINE)
    assert [name for name, _row in rows] == FINDINGS[page]
    for name, row in rows:
        test_names = re.findall(r"`(test_\w+)`", row)
        assert test_names or "| open: " in row, name
        assert set(test_names) <= TESTS, name
