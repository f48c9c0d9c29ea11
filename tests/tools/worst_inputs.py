"""Inputs that take a parser, a pattern or a validator the longest, and a limit on their work."""

from __future__ import annotations

import functools
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager

# Generous: a request of these tests takes some hundredths of a second, an unbounded one minutes.
MAX_SECONDS = 4.0  # of processor time
MAX_GROWTH_KIB = 200 << 10  # of the memory of the process

_UNITS = {
    "formatting": "<p><b title={}>x</p>",
    "nested": "<div><i>",
    "unfinished tags": "<br ",
    "table": "|a" * 60 + "|\n" + "|-" * 60 + "|\n" + "x\n" * 1_080 + "\n",
    "brackets": "[![",
    "emphasis": "*a_ **",
    "quotes": "> * a\n",
    "digits": "9",
    "blanks": " ",
    "lines": "\n",
    "words": "aA1! ",
    "marks": "a,;:=.-@/%",
    "lists": "[{{",
    "right to left": "\u202e\u0645\u200d",
    "accents": "\u0301",
    "control": "a\x00",
    "numbers": "1e400,",
    "backslashes": '\\"',
}


@functools.cache
def list_worst_texts(length: int) -> dict[str, str]:
    """Return {name: text of this length}, each with a last character that ends a match."""
    texts = {}
    for name, unit in _UNITS.items():
        n_units = length // len(unit) + 1
        text = "".join(unit.format(number) for number in range(n_units)) if "{" in unit else ""
        texts[name] = (text or unit * n_units)[: max(0, length - 1)] + "!"
    return texts


@contextmanager
def limit_time(place: str) -> Iterator[None]:
    """Assert that the block takes at most MAX_SECONDS of processor time."""
    start = time.process_time()
    yield
    seconds = time.process_time() - start
    assert seconds < MAX_SECONDS, f"{place} took {seconds:.1f} s"


@contextmanager
def limit_memory() -> Iterator[None]:
    """Assert that the process's largest memory grows by at most MAX_GROWTH_KIB in the block."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    growth = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert growth < MAX_GROWTH_KIB, f"{growth >> 10} MiB"
