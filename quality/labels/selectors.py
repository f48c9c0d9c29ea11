"""Selectors of final labels, for pages, API, command and files."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import QuerySet

from metrics.agreement.scales import get_scale_type
from projects.models import Question
from projects.permissions import MAX_ID
from quality.models import Consensus, Decision, ItemLabel, LabelSource

CHUNK_SIZE = 2_000
# Splits by item key: (name, upper limit of its share of all keys).
SPLIT = (("train", 0.8), ("dev", 0.9), ("test", 1.0))


@dataclass(frozen=True)
class LabelNames:
    """The texts of a question's category codes.

    ``share_labels``: the categories of the stored distributions, in their order.
    """

    question: Question
    label_of: dict[int, str]  # of all categories, retired ones too
    share_labels: list[str]  # labels in the order of the lists of shares

    @classmethod
    def for_question(cls, question: Question, consensus: Consensus | None) -> LabelNames:
        label_of = {category.code: category.label for category in question.categories.all()}
        codes = consensus.codes if consensus else []
        return cls(question, label_of, [label_of[code] for code in codes])


NO_DECISION: tuple[str | None, str] = (None, "")


class LabelRow(NamedTuple):
    """An item's label, with the fields of docs/api.md in their order."""

    item: str
    question: str
    label: str | None
    source: str
    confidence: float | None
    distribution: dict[str, float]
    mean: float | None
    ratings: int
    reason: str | None
    decided_by: str | None
    as_of: datetime.datetime

    @property
    def is_median(self) -> bool:
        """Return whether another category is more probable than the label.

        This happens on ordered scales, where the label is the median of the distribution.
        """
        likeliest = max(self.distribution.values(), default=0)
        return self.confidence is not None and self.confidence < likeliest


def get_labels(
    question: Question,
    *,
    source: str | None = None,
    at_least: float | None = None,
    since: datetime.datetime | None = None,
    code: int | None = None,
) -> QuerySet[ItemLabel]:
    """Return the question's labels, ordered by item id.

    Each filter is off if None. ``source``: a LabelSource; ``at_least``: minimum confidence;
    ``since``: only labels that changed at this time or later; ``code``: only labels with this
    category code.
    """
    rows = ItemLabel.objects.filter(question=question).order_by("item_id")
    if source is not None:
        rows = rows.filter(source=source)
    if at_least is not None:
        rows = rows.filter(confidence__gte=at_least)
    if since is not None:
        rows = rows.filter(computed_at__gte=since)
    if code is not None:
        rows = rows.filter(code=code)
    return rows


def iter_item_bodies(labels: QuerySet[ItemLabel]) -> Iterator[Any]:
    """Yield the body of each label's item, in the order of the labels."""
    return labels.values_list("item__body", flat=True).iterator(chunk_size=CHUNK_SIZE)


def iter_label_rows(
    labels: QuerySet[ItemLabel],
    label_names: LabelNames,
    *,
    item_range: tuple[int, int] = (0, MAX_ID),
) -> Iterator[tuple[int, LabelRow]]:
    """Yield (item id, LabelRow) of each label, in the order of ``labels``.

    ``item_range``: the ids of their items are above the first number, and at most the second.
    """
    columns = (
        *("item_id", "item__key", "code", "source", "confidence", "distribution"),
        *("mean", "n_ratings", "reason", "computed_at"),
    )
    decisions = _get_latest_decisions(label_names.question, item_range)
    is_numeric = get_scale_type(label_names.question.scale).numeric
    for item_id, key, code, source, *figures in labels.values_list(*columns).iterator(
        chunk_size=CHUNK_SIZE
    ):
        confidence, shares, mean, n, reason, computed_at = figures
        decider, decision_reason = decisions.get(item_id, NO_DECISION)
        if source != LabelSource.DECISION:
            decider, decision_reason = NO_DECISION
        row = LabelRow(
            item=key,
            question=label_names.question.key,
            label=None if code is None else label_names.label_of[code],
            source=source,
            confidence=confidence,
            distribution=dict(zip(label_names.share_labels, shares, strict=False)),
            mean=mean if is_numeric else None,
            ratings=n,
            reason=reason or decision_reason or None,
            decided_by=decider,
            as_of=computed_at,
        )
        yield item_id, row


def _get_latest_decisions(
    question: Question, item_range: tuple[int, int]
) -> dict[int, tuple[str | None, str]]:
    """Return {item id: (username, reason) of its latest decision}, for items in the range.

    ``item_range``: as in ``iter_label_rows``. The username is None if the account was deleted.
    """
    after, end = item_range
    in_range = Decision.objects.filter(question=question, item_id__gt=after, item_id__lte=end)
    decisions = in_range.order_by("number")
    rows = decisions.values_list("item_id", "by__username", "reason")
    return {item_id: (username, reason) for item_id, username, reason in rows}


def get_data_split(key: str) -> str:
    """Return the data split of an item (train, dev or test), by the SHA-256 of its key.

    The split does not depend on the other items of the project.
    """
    position = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") / 2**64
    return next(name for name, limit in SPLIT if position < limit)


def parse_share(text: str | None) -> float | None:
    """Return the number from 0 to 1 in a query parameter; None if the parameter is missing.

    Raises ValueError for another text.
    """
    if text is None:
        return None
    value = float(text)
    if not 0 <= value <= 1:
        raise ValueError(f"{text} is not from 0 to 1")
    return value
