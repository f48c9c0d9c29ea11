"""The final labels of a question, as they leave the house: page, API, command and files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from projects.models import Question
from quality.models import Consensus, Decision, ItemLabel, Source

ROWS_AT_ONCE = 2_000
# Parts of a split by an item's key: (name, up to this share of all keys).
SPLIT = (("train", 0.8), ("dev", 0.9), ("test", 1.0))


@dataclass(frozen=True)
class Words:
    """What the codes of a question's stored labels mean."""

    question: Question
    label_of: dict[int, str]  # every category that the question ever had
    shown: list[str]  # the labels in the order of every list of shares

    @classmethod
    def of(cls, question: Question, consensus: Consensus | None) -> Words:
        label_of = {category.code: category.label for category in question.categories.all()}
        codes = consensus.codes if consensus else []
        return cls(question, label_of, [label_of[code] for code in codes])


def chosen(
    question: Question, *, source: str | None = None, at_least: float | None = None
) -> QuerySet[ItemLabel]:
    """The question's labels in the order of its items; ``at_least``: those at least so sure."""
    rows = ItemLabel.objects.filter(question=question).order_by("item_id")
    if source is not None:
        rows = rows.filter(source=source)
    if at_least is not None:
        rows = rows.filter(confidence__gte=at_least)
    return rows


def bodies(labels: QuerySet[ItemLabel]) -> Iterator[Any]:
    """The contents of the items of these labels, in their order; some at a time."""
    return labels.values_list("item__body", flat=True).iterator(chunk_size=ROWS_AT_ONCE)


def rows(labels: QuerySet[ItemLabel], words: Words) -> Iterator[tuple[int, dict[str, Any]]]:
    """(item id, the label in the shape of docs/api.md) of each; some at a time."""
    columns = (
        "item_id",
        "item__key",
        "code",
        "source",
        "confidence",
        "shares",
        "mean",
        "n_ratings",
        "reason",
        "made_at",
    )
    decided = _deciders(words.question)
    for (
        item_id,
        key,
        code,
        source,
        confidence,
        shares,
        mean,
        n,
        reason,
        made_at,
    ) in labels.values_list(*columns).iterator(chunk_size=ROWS_AT_ONCE):
        yield (
            item_id,
            {
                "item": key,
                "question": words.question.key,
                "label": None if code is None else words.label_of[code],
                "source": source,
                "confidence": confidence,
                "distribution": dict(zip(words.shown, shares, strict=False)),
                "mean": mean,
                "ratings": n,
                "reason": reason or None,
                "decided_by": decided.get(item_id) if source == Source.DECISION else None,
                "as_of": made_at,
            },
        )


def _deciders(question: Question) -> dict[int, str | None]:
    """item id -> the user name of whoever decided it last."""
    found = Decision.objects.filter(question=question).order_by("number")
    return dict(found.values_list("item_id", "by__username"))


def part_of(key: str) -> str:
    """train, dev or test: by the SHA-256 of the item's key, so that an item stays where it is
    whatever else comes or goes."""
    place = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") / 2**64
    return next(name for name, up_to in SPLIT if place < up_to)
