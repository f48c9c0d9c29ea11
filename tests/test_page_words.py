"""Words of the pages: texts avoid the old words of docs/glossary.md.

`tests/pending_page_words.txt` lists the texts that are still to be rewritten, one JSON string a line.
The list may only get shorter; `python tests/test_page_words.py` removes the texts that are mended.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import polib

BASE_DIR = Path(__file__).resolve().parent.parent
CATALOGUE = BASE_DIR / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"
PENDING_FILE = BASE_DIR / "tests" / "pending_page_words.txt"

# Words of all English texts (singular forms, split at spaces). The aim is 12,000: lower the limit
# when texts go, by removing what another text says.
MAX_WORDS = 11_997

# Pattern of an old word -> words to write instead.
OLD_WORDS = {
    re.compile(pattern, re.IGNORECASE): replacement
    for pattern, replacement in {
        r"\balarms?\b": "alert",
        r"\brings?\b": "an alert is raised",
        r"\bopen cases?\b|\b(?:the|this|each) case\b": "alert",
        r"\bdesk\b": "annotation page",
        r"\bset-up\b": "Settings",
        r"\bbeside it\b": "Other statistics",
        r"\bwhat stands out\b": "Insights",
        r"\bwho agrees with whom\b": "Rater pairs",
        r"\bdoes it depend on the weights\b": "Weighting",
        r"\bwhat the words mean\b": "Glossary",
        r"^operations$": "System status",
        r"\braters of all projects\b": "Raters",
        r"\bwhom to look at\b": "Raters to check",
        r"\bwhat there is to see\b": "Status",
        r"\bnothing found\b|\bask them\b|\btoo little known\b": "OK, Check, Not enough data",
        r"\bthis minute\b": "just now",
        r"\d\s+%+(?![(\w])": "95%, without a space",
        r"\bstands?\b": "is",
        r"\brests? on\b": "is based on",
        r"\bwhoever\b": "a noun: the rater, anyone",
        r"\b(?:take|takes|taken|taking|took)\b(?: \w+){0,2} (?:back|away)\b": "undo, retire, remove",
        r"\bgive[sn]?\b(?: \w+){0,2} back\b": "release",
        r"\b(?:is|are|was|were|be|being) made\b": "create, compute",
        r"\banew\b": "again",
        r"\bin doubt\b": "uncertain, suspected",
        r"\bhow sure\b|\bso sure\b": "confidence",
        r"^harm$": "impact",
        r"\bthe bar\b": "pass mark, target",
        r"\b(?:picture|film|sound)s?\b": "image, video, audio",
        r"\blook(?:ed|s)? (?:for|through)\b": "scan, search",
        r"\bask(?:ed)? (?:again|for)\b": "request",
        r"\b(?:ratings?|seconds|minutes|hours|s) an item\b": "per item",
        r"\bat (?:most|least)(?=[.,;:)]|$)": "before the number: at most 3 items",
        r"\b(?:told|said)\b": "shown, answered, notified",
    }.items()
}
# Placeholders and tags are no words of the text.
MARKUP = re.compile(r"%\(\w+\)s|\{\w*\}|<[^>]+>")


def test_texts_avoid_the_old_words() -> None:
    pending = set(read_pending_texts())
    faults = [
        f"{text!r}: {matched!r}, write {replacement}"
        for text, matched, replacement in iter_old_words()
        if text not in pending
    ]
    assert not faults, "\n".join(faults)


def test_list_of_pending_texts_only_shrinks() -> None:
    """A listed text that was mended or removed has to leave the list."""
    mended = sorted(set(read_pending_texts()) - {text for text, *_match in iter_old_words()})
    assert not mended, "Run `python tests/test_page_words.py`:\n" + "\n".join(mended)


def test_number_of_words_only_falls() -> None:
    entries = [entry for entry in polib.pofile(str(CATALOGUE)) if not entry.obsolete]
    assert sum(len(entry.msgid.split()) for entry in entries) <= MAX_WORDS


def test_patterns_find_old_words() -> None:
    for text in ("Sensitivity of alarms", "In brackets: the 95 %% interval", "%(n)s s an item"):
        assert find_old_word(text) is not None, text
    for text in (
        "Alert sensitivity",
        "The 95%% interval",
        "%(said)s",
        "3 items at least one rated",
    ):
        assert find_old_word(text) is None, text


def find_old_word(text: str) -> tuple[str, str] | None:
    """Return (matched text, replacement) of the first old word, or None."""
    words = MARKUP.sub("@", text)
    for pattern, replacement in OLD_WORDS.items():
        if match := pattern.search(words):
            return match[0], replacement
    return None


def iter_old_words() -> Iterator[tuple[str, str, str]]:
    """Yield (text, matched text, replacement) of each text of the catalogue with an old word."""
    for entry in polib.pofile(str(CATALOGUE)):
        for text in filter(None, (entry.msgid, entry.msgid_plural)):
            if not entry.obsolete and (match := find_old_word(text)):
                yield text, *match


def read_pending_texts() -> list[str]:
    """Return the listed texts."""
    return [json.loads(line) for line in PENDING_FILE.read_text(encoding="utf-8").splitlines()]


def remove_mended_texts() -> None:
    """Rewrite the list without the texts that have no old word any more."""
    old = {text for text, *_match in iter_old_words()}
    lines = [json.dumps(text, ensure_ascii=False) for text in read_pending_texts() if text in old]
    PENDING_FILE.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    remove_mended_texts()
