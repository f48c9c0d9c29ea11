"""What our own scripts never do, whatever they are given."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).resolve().parents[2] / "static" / "js").glob("*.js"))
# What it would be -> how it is written.
NEVER = {
    # `found[name] = value` with a name that came from somewhere may be __proto__
    "a property named by input": re.compile(r"[\w\])]\[(?![\d\"'])[^\]]+\]\s*[-+*/|&?]*=(?![=>])"),
    "merging of input": re.compile(r"Object\.(assign|fromEntries)|__proto__|\.\.\.JSON"),
    "text as HTML": re.compile(r"(inner|outer)HTML|insertAdjacentHTML|document\.write"),
    "text as a program": re.compile(r"\beval\(|new Function|set(Timeout|Interval)\(\s*[\"'`]"),
}


def test_there_are_scripts() -> None:
    assert {"rate.js", "setup.js"} <= {path.name for path in SCRIPTS}


@pytest.mark.parametrize("what", NEVER)
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_no_script_does_it(path: Path, what: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert [found[0] for found in NEVER[what].finditer(text)] == []


def test_the_signs_are_seen() -> None:
    written = {
        "a property named by input": "found[name] = 1; a.b[c.d] ||= 2",
        "merging of input": "Object.assign(a, JSON.parse(text))",
        "text as HTML": "node.innerHTML = text",
        "text as a program": 'setTimeout("go()", 1)',
    }
    for what, text in written.items():
        assert NEVER[what].search(text), what
    for harmless in ('a["b"] = 1', "list[0] = 1", "a[b] === c", "const [a] = b", "x => a[b]"):
        assert not NEVER["a property named by input"].search(harmless), harmless
