"""What reviews and drills found has a test that fails when it comes back: the tables name them, and
the tests are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

BASE_DIR = Path(__file__).resolve().parent.parent
TESTS = {
    name
    for path in (BASE_DIR / "tests").rglob("test_*.py")
    for name in re.findall(r"^\s*def (test_\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE)
}
FOUND = {
    "docs/security.md": [
        f"{weight}{number}"
        for weight, most in (("H", 4), ("M", 12), ("L", 16))
        for number in range(1, most + 1)
    ],
    "docs/operations.md": [f"D{number}" for number in range(1, 17)],
}


@pytest.mark.parametrize("page", FOUND)
def test_each_finding_names_tests_that_there_are(page: str) -> None:
    text = (BASE_DIR / page).read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([A-Z]\d+) \|(.*)\|$", text, re.MULTILINE)
    assert [name for name, _rest in rows] == FOUND[page]
    for name, rest in rows:
        named = re.findall(r"`(test_\w+)`", rest)
        assert named, name
        assert set(named) <= TESTS, name
