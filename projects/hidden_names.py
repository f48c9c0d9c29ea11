"""Names of raters that a page hides from its reader, in whatever way it loads the raters.

While a page is built under ``hide_names``, people loaded from the database (Rater.from_db) have a
number instead of their key and name. Nothing must be saved meanwhile.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class HiddenNames:
    """Names shown instead of those of hidden raters, by rater id and by rater key."""

    by_id: Mapping[int, str]
    by_key: Mapping[str, str]


_NOTHING_HIDDEN = HiddenNames({}, {})
_current: ContextVar[HiddenNames] = ContextVar("hidden_names", default=_NOTHING_HIDDEN)


def get_shown_key(key: str) -> str:
    """Return the rater key as the current page shows it: replaced if the rater is hidden."""
    return _current.get().by_key.get(key, key)


def hide_name(rater: Any) -> None:
    """Replace key and name of a loaded rater where the current page hides them."""
    shown_key = _current.get().by_id.get(rater.pk)
    if shown_key is not None:
        for field, value in (("key", shown_key), ("name", "")):
            if field in rater.__dict__:  # not deferred
                rater.__dict__[field] = value


@contextmanager
def hide_names(rows: Mapping[int, str], *, seed: str) -> Iterator[None]:
    """Show person-NUMBER in place of these raters, {id: key}, in the block.

    The numbers are in a random order that depends only on ``seed`` and the raters' ids.
    """

    def compute_order(rater_id: int) -> bytes:
        return hashlib.sha256(f"{seed}:{rater_id}".encode()).digest()

    width = len(str(len(rows)))
    by_id = {
        rater_id: f"person-{number:0{width}}"
        for number, rater_id in enumerate(sorted(rows, key=compute_order), start=1)
    }
    by_key = {key: by_id[rater_id] for rater_id, key in rows.items()}
    token = _current.set(HiddenNames(by_id, by_key))
    try:
        yield
    finally:
        _current.reset(token)
