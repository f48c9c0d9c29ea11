"""Tests that the Chinese pages of docs/zh keep up with the English ones.

They have the same headings, lists, tables, code, numbers, names and links.
"""

from __future__ import annotations

import re
from pathlib import Path

import polib
import pytest

from metrics.agreement.glossary import TERMS
from metrics.agreement.registry import COEFFICIENT_TEXTS

BASE_DIR = Path(__file__).resolve().parents[2]
CHINESE = BASE_DIR / "docs" / "zh"
CODE_BLOCK = re.compile(r"^```[\s\S]*?^```$|^ {4}.*$", re.MULTILINE)
CHINESE_CHARACTER = re.compile(r"[\u3000-\u9fff\uff00-\uffef]")
# Code spans, names such as P_o and fleiss_kappa, numbers.
INVARIANTS = re.compile(r"`[^`]+`|[A-Za-z]\w*_\w+|\d[\d.,]*\d|\d", re.ASCII)
PAGES = {
    "README.md": BASE_DIR / "README.md",
    "rating.md": BASE_DIR / "docs" / "rating.md",
    "importing.md": BASE_DIR / "docs" / "importing.md",
    "statistics.md": BASE_DIR / "docs" / "statistics.md",
}


def split_sections(path: Path) -> list[tuple[str, str]]:
    """Return the level (`##`) and the text of each heading's section.

    Text before the first heading names the original and is left out.
    """
    parts = re.split(r"^(#+) (?=\S)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def find_links(text: str) -> list[str]:
    """Return the files that are linked to, without anchors."""
    return re.findall(r"\]\(([^)#]+)", text)


def list_code_lines(text: str) -> list[str]:
    """Return the lines of all code blocks."""
    return [line for block in re.findall(CODE_BLOCK, text) for line in block.splitlines()]


def describe_structure(text: str) -> dict[str, object]:
    """Return everything that a translation leaves unchanged."""
    lines = text.splitlines()
    return {
        "paragraphs": len(re.findall(r"\n\n+(?=\S)", text)),
        "list": [line[:1] for line in lines if re.match(r"(\*|\d+\.) ", line)],
        "cells of tables": [line.count("|") for line in lines if line.startswith("|")],
        "marks": sorted(
            re.sub(r"\s+", " ", mark) for mark in re.findall(INVARIANTS, text.replace("```", ""))
        ),
        "links": sorted(Path(target).name for target in find_links(text)),
    }


def strip_chinese(line: str) -> str:
    """Return the part of a code line before its first Chinese character."""
    return line[: match.start()].rstrip() if (match := CHINESE_CHARACTER.search(line)) else line


@pytest.mark.parametrize("page", PAGES)
def test_chinese_page_has_the_structure_of_the_english_one(page: str) -> None:
    english, chinese = split_sections(PAGES[page]), split_sections(CHINESE / page)
    assert [level for level, _ in chinese] == [level for level, _ in english]
    for (_, original_text), (_, translated) in zip(english, chinese, strict=True):
        assert describe_structure(translated) == describe_structure(original_text), (
            translated.splitlines()[0]
        )
        for original, line in zip(
            list_code_lines(original_text), list_code_lines(translated), strict=True
        ):
            untranslated = strip_chinese(line)
            assert original == untranslated or (
                untranslated != line and original.startswith(untranslated)
            ), line
        for target in find_links(translated):
            assert (CHINESE / target).exists(), target


def test_chinese_statistics_page_uses_the_translations_of_the_site() -> None:
    catalogue = polib.pofile(str(BASE_DIR / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"))
    translations = {entry.msgid: entry.msgstr for entry in catalogue}
    page = (CHINESE / "statistics.md").read_text(encoding="utf-8")
    english = " ".join(PAGES["statistics.md"].read_text(encoding="utf-8").split())
    texts = [text for _name, text in COEFFICIENT_TEXTS.values()]
    texts += [text for term in TERMS.values() for text in term]
    assert [text for text in texts if text in english and translations[text] not in page] == []
