"""Tests that our own scripts avoid dangerous JavaScript, whatever the input."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).resolve().parents[2] / "static" / "js").glob("*.js"))
# Danger -> pattern of the code.
FORBIDDEN_PATTERNS = {
    # `object[name] = value` with a name from input may set __proto__.
    "a property named by input": re.compile(r"[\w\])]\[(?![\d\"'])[^\]]+\]\s*[-+*/|&?]*=(?![=>])"),
    "merging of input": re.compile(r"Object\.(assign|fromEntries)|__proto__|\.\.\.JSON"),
    "text as HTML": re.compile(r"(inner|outer)HTML|insertAdjacentHTML|document\.write"),
    "text as a program": re.compile(r"\beval\(|new Function|set(Timeout|Interval)\(\s*[\"'`]"),
}


def test_scripts_exist() -> None:
    assert {"rate.js", "setup.js"} <= {path.name for path in SCRIPTS}


@pytest.mark.parametrize("danger", FORBIDDEN_PATTERNS)
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_script_has_no_forbidden_pattern(path: Path, danger: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert [match[0] for match in FORBIDDEN_PATTERNS[danger].finditer(text)] == []


def test_forbidden_patterns_match() -> None:
    examples = {
        "a property named by input": "found[name] = 1; a.b[c.d] ||= 2",
        "merging of input": "Object.assign(a, JSON.parse(text))",
        "text as HTML": "node.innerHTML = text",
        "text as a program": 'setTimeout("go()", 1)',
    }
    for danger, text in examples.items():
        assert FORBIDDEN_PATTERNS[danger].search(text), danger
    for harmless in ('a["b"] = 1', "list[0] = 1", "a[b] === c", "const [a] = b", "x => a[b]"):
        assert not FORBIDDEN_PATTERNS["a property named by input"].search(harmless), harmless
