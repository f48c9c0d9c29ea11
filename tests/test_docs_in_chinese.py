"""What is translated by hand cannot rot unseen: the Chinese pages of docs/zh have the headings,
lists, tables, code, numbers, names and links of the English ones."""

from __future__ import annotations

import re
from pathlib import Path

import polib
import pytest

from metrics.agreement.glossary import TERMS
from metrics.agreement.registry import COEFFICIENT_TEXTS

BASE_DIR = Path(__file__).resolve().parent.parent
CHINESE = BASE_DIR / "docs" / "zh"
CODE = re.compile(r"^```[\s\S]*?^```$|^ {4}.*$", re.MULTILINE)
CHINESE_SIGN = re.compile(r"[\u3000-\u9fff\uff00-\uffef]")
# Spans of code, names such as P_o and fleiss_kappa, numbers.
MARKS = re.compile(r"`[^`]+`|[A-Za-z]\w*_\w+|\d[\d.,]*\d|\d", re.ASCII)
PAGES = {
    "README.md": BASE_DIR / "README.md",
    "rating.md": BASE_DIR / "docs" / "rating.md",
    "importing.md": BASE_DIR / "docs" / "importing.md",
    "statistics.md": BASE_DIR / "docs" / "statistics.md",
}


def sections(path: Path) -> list[tuple[str, str]]:
    """The level (`##`) and the text of each heading's part; what stands before the first one
    names the original."""
    parts = re.split(r"^(#+) (?=\S)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def links(text: str) -> list[str]:
    """The files that are linked to, whatever place in them."""
    return re.findall(r"\]\(([^)#]+)", text)


def code(text: str) -> list[str]:
    return [line for block in re.findall(CODE, text) for line in block.splitlines()]


def shape(text: str) -> dict[str, object]:
    """What a translation leaves as it is."""
    lines = text.splitlines()
    return {
        "paragraphs": len(re.findall(r"\n\n+(?=\S)", text)),
        "list": [line[:1] for line in lines if re.match(r"(\*|\d+\.) ", line)],
        "cells of tables": [line.count("|") for line in lines if line.startswith("|")],
        "marks": sorted(
            re.sub(r"\s+", " ", mark) for mark in re.findall(MARKS, text.replace("```", ""))
        ),
        "links": sorted(Path(to).name for to in links(text)),
    }


def before_chinese(line: str) -> str:
    """What stands in a line of code before its words are Chinese."""
    return line[: found.start()].rstrip() if (found := CHINESE_SIGN.search(line)) else line


@pytest.mark.parametrize("page", PAGES)
def test_the_chinese_page_says_what_the_english_one_says(page: str) -> None:
    english, chinese = sections(PAGES[page]), sections(CHINESE / page)
    assert [level for level, _ in chinese] == [level for level, _ in english]
    for (_, said), (_, translated) in zip(english, chinese, strict=True):
        assert shape(translated) == shape(said), translated.splitlines()[0]
        for original, line in zip(code(said), code(translated), strict=True):
            kept = before_chinese(line)
            assert original == kept or (kept != line and original.startswith(kept)), line
        for to in links(translated):
            assert (CHINESE / to).exists(), to


def test_the_chinese_statistics_explain_in_the_words_of_the_pages() -> None:
    catalogue = polib.pofile(str(BASE_DIR / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"))
    shown = {entry.msgid: entry.msgstr for entry in catalogue}
    page = (CHINESE / "statistics.md").read_text(encoding="utf-8")
    english = " ".join(PAGES["statistics.md"].read_text(encoding="utf-8").split())
    said = [text for _called, text in COEFFICIENT_TEXTS.values()]
    said += [text for term in TERMS.values() for text in term]
    assert [text for text in said if text in english and shown[text] not in page] == []
