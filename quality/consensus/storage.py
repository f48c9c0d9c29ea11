"""Storage of a question's labels and of the method by which they are computed.

Only changed rows are written, in small transactions.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from core import security_log
from core.db import bulk
from core.jobs.lease import LeaseLost
from events.models import Event
from events.services import MAX_ITEMS, add_to_batch, record_event
from metrics.question_scale import QuestionScale
from projects.models import AVAILABLE, Item, Question
from quality.models import Consensus, ConsensusMethod, ItemLabel, LabelSource, RaterConfusion

from .fit import TIED, ConsensusLabels, FixedCodes, get_items_decided_since


def record_label_changes(question_id: int, items: Sequence[int]) -> None:
    """Add the items (ids) to the next event of changed labels, in the caller's transaction."""
    if not items:
        return
    question = Question.objects.get(pk=question_id)
    rows = Item.objects.filter(pk__in=items[:MAX_ITEMS])
    key_of_item = dict(rows.values_list("pk", "key"))
    add_to_batch(
        project_id=question.project_id,
        kind="label.changed",
        subject=f"question/{question.pk}",
        question=question.key,
        items=[key_of_item[item] for item in items[:MAX_ITEMS] if item in key_of_item],
        changes=len(items),
    )


def record_completion(consensus: Consensus, question: Question) -> None:
    """Record the event question.complete if every item has its ratings.

    It is not recorded again while the number of items is the same. An item has its ratings if its
    label is a decision, or is based on as many ratings as the project's overlap. Call it in the
    transaction that stores the labels.
    """
    project = question.project
    has_label = ItemLabel.objects.filter(question=question, item=OuterRef("pk")).filter(
        Q(n_ratings__gte=project.overlap) | Q(source=LabelSource.DECISION)
    )
    items = Item.objects.filter(AVAILABLE, project=project)
    if not items.exists() or items.exclude(Exists(has_label)).exists():
        return
    kind, subject = "question.complete", f"question/{question.pk}"
    previous = Event.objects.filter(project=project, kind=kind, subject=subject).last()
    n_items = items.count()
    if previous is not None and previous.data["items"] == n_items:
        return
    record_event(
        project_id=project.pk,
        kind=kind,
        subject=subject,
        data={
            "question": question.key,
            "items": n_items,
            "ratings": consensus.n_ratings,
            "overlap": project.overlap,
            "expected_errors": consensus.expected_errors,
        },
    )


BATCH_SIZE = 2_000  # rows per transaction, so that raters do not wait long for the database
# Smaller changes of a probability are not written: they are below the precision of the estimate.
MIN_CHANGE = 1e-6

COLUMNS = (
    "question_id",
    "item_id",
    "code",
    "source",
    "confidence",
    "doubt",
    "distribution",
    "mean",
    "n_ratings",
    "reason",
    "computed_at",
)
CONFUSION_COLUMNS = (
    "question_id", "rater_id", "confusion", "expected_counts", "impact", "accuracy", "bias",
)  # fmt: skip
COMPARED_COLUMNS = ("code", "source", "confidence", "distribution", "mean", "n_ratings", "reason")
LabelRow = tuple[Any, ...]  # of COLUMNS


def store_labels(
    consensus: Consensus,
    labels: ConsensusLabels,
    fixed: FixedCodes,
    scale: QuestionScale,
    *,
    last_decision_id: int,
) -> None:
    """Write the labels that changed, and delete those that the question should not have any more.

    ``last_decision_id``: id of the newest decision that the labels take into account. Items decided
    since are skipped: their labels are already stored. Raises LeaseLost if another worker has taken
    over the question.
    """
    question_id = consensus.question_id
    new_rows = {row[1]: row for row in iter_label_rows(question_id, labels, fixed, scale)}
    stored_rows = {row[0]: row[1:] for row in iter_stored_rows(question_id)}
    leased = _LeasedQuestion(
        consensus, last_decision_id, {item_id: row[0] for item_id, row in stored_rows.items()}
    )
    changed = [
        row for item_id, row in new_rows.items() if is_changed(stored_rows.get(item_id), row)
    ]
    for start in range(0, len(changed), BATCH_SIZE):
        leased.write(changed[start : start + BATCH_SIZE])
    deleted = sorted(set(stored_rows) - set(new_rows))
    for start in range(0, len(deleted), BATCH_SIZE):
        leased.remove(deleted[start : start + BATCH_SIZE])
    _store_confusions(question_id, labels)


def lock_consensus(question_id: int) -> Consensus:
    """Lock and return the question's Consensus row, which is created if it is missing.

    Code that writes labels or decisions holds this lock, so that they are written one after
    another.
    """
    Consensus.objects.get_or_create(question_id=question_id)
    return Consensus.objects.select_for_update().get(question_id=question_id)


def build_fixed_row(
    question_id: int, item_id: int, index: int, scale: QuestionScale, *, source: str, n_ratings: int
) -> LabelRow:
    """Return the row of an item whose category a decision or a gold answer fixes.

    ``index``: position of the category in declared order; ``source``: decision or gold
    (LabelSource).
    """
    shares = np.zeros(scale.k)
    shares[index] = 1.0
    mean = None if scale.values is None else float(scale.values[index])
    code = int(scale.codes[index])
    numbers = (1.0, 0.0, json.dumps(shares.tolist()), mean, n_ratings)
    return (question_id, item_id, code, source, *numbers, "", get_db_now())


def upsert_label_rows(rows: list[LabelRow]) -> None:
    """Upsert the rows; the caller holds the question's lock in a transaction."""
    bulk.upsert("quality_itemlabel", COLUMNS, rows, key=("question_id", "item_id"))


def get_db_now() -> Any:
    """Return the current time in the form that plain SQL needs on this database."""
    return connection.ops.adapt_datetimefield_value(timezone.now())


def iter_label_rows(
    question_id: int, labels: ConsensusLabels, fixed: FixedCodes, scale: QuestionScale
) -> Iterator[LabelRow]:
    """Yield the row of each label that the question should have.

    An item's label is that of its decision, else of its gold answer, else of its ratings. Items
    with none of these have no row.
    """
    index_of_code = {int(code): category_index for category_index, code in enumerate(scale.codes)}
    fixed_indexes = {
        item_id: index_of_code[code]
        for item_id, code in fixed.codes.items()
        if code in index_of_code
    }
    n_ratings_of = dict(zip(labels.item.tolist(), labels.ratings.tolist(), strict=True))
    for item_id, category_index in fixed_indexes.items():
        source = LabelSource.DECISION if item_id in fixed.decided else LabelSource.GOLD
        n_ratings = n_ratings_of.get(item_id, 0)
        yield build_fixed_row(
            question_id, item_id, category_index, scale, source=source.value, n_ratings=n_ratings
        )
    yield from _iter_consensus_rows(question_id, labels, fixed_indexes, scale)


def _iter_consensus_rows(
    question_id: int, labels: ConsensusLabels, fixed: Container[int], scale: QuestionScale
) -> Iterator[LabelRow]:
    """Yield the rows of rated items that are not ``fixed``."""
    codes = [*scale.codes.tolist(), None]  # the last one for a label of -1
    computed_at = get_db_now()
    shares = labels.shares.tolist()
    for index, item_id in enumerate(labels.item.tolist()):
        if item_id in fixed:
            continue
        code = codes[labels.label[index]]
        confidence = None if labels.confidence is None else float(labels.confidence[index])
        highest = max(shares[index]) if confidence is None else confidence
        yield (
            question_id,
            item_id,
            code,
            LabelSource.CONSENSUS.value,
            confidence,
            1 - highest if code is not None else 1.0,
            json.dumps(shares[index]),
            None if labels.mean is None else float(labels.mean[index]),
            int(labels.ratings[index]),
            "" if code is not None else TIED,
            computed_at,
        )


def iter_stored_rows(question_id: int) -> Iterator[tuple[Any, ...]]:
    """Yield (item id, values of COMPARED_COLUMNS...) of the stored labels, by item id."""
    rows = ItemLabel.objects.filter(question_id=question_id).order_by("item_id")
    return rows.values_list("item_id", *COMPARED_COLUMNS).iterator(chunk_size=BATCH_SIZE)


def is_changed(stored: tuple[Any, ...] | None, row: LabelRow) -> bool:
    """Return whether a row differs from the stored label; True if none is stored (None).

    ``stored``: the values of COMPARED_COLUMNS. Rounding errors are no difference.
    """
    if stored is None:
        return True
    old = dict(zip(COMPARED_COLUMNS, stored, strict=True))
    new = dict(zip(COLUMNS, row, strict=True))
    if any(old[name] != new[name] for name in ("code", "source", "n_ratings", "reason")):
        return True
    before = [old["confidence"], old["mean"], *old["distribution"]]
    after = [new["confidence"], new["mean"], *json.loads(new["distribution"])]
    return len(before) != len(after) or any(map(_is_changed_value, before, after))


def _is_changed_value(old: float | None, new: float | None) -> bool:
    if old is None or new is None:
        return old is not new
    return abs(old - new) >= MIN_CHANGE


@dataclass(frozen=True)
class _LeasedQuestion:
    """Writer of the labels of a question whose lease this worker holds.

    ``last_decision_id``: as in ``store_labels``. ``stored_codes``: {item id: stored code}.
    """

    consensus: Consensus
    last_decision_id: int
    stored_codes: Mapping[int, int | None]

    @transaction.atomic
    def write(self, rows: list[LabelRow]) -> None:
        decided_items = self._lock_and_find_new_decisions()
        new_rows = [row for row in rows if row[1] not in decided_items]
        upsert_label_rows(new_rows)
        record_label_changes(
            self.consensus.question_id,
            [row[1] for row in new_rows if self.stored_codes.get(row[1]) != row[2]],
        )

    @transaction.atomic
    def remove(self, items: list[int]) -> None:
        decided_items = self._lock_and_find_new_decisions()
        item_ids = [item for item in items if item not in decided_items]
        question_id = self.consensus.question_id
        ItemLabel.objects.filter(question_id=question_id, item__in=item_ids).delete()
        record_label_changes(question_id, item_ids)

    def _lock_and_find_new_decisions(self) -> set[int]:
        """Lock the question and return the ids of items decided since the labels were read.

        Raises LeaseLost if another worker has taken over the question.
        """
        question_id = self.consensus.question_id
        if lock_consensus(question_id).lease != self.consensus.lease:
            raise LeaseLost
        return get_items_decided_since(question_id, self.last_decision_id)


def _store_confusions(question_id: int, labels: ConsensusLabels) -> None:
    """Write the estimated errors of all raters in batches; delete those of other raters."""
    rows = [
        (
            question_id,
            estimate.rater,
            json.dumps(estimate.confusion),
            json.dumps(estimate.expected_counts),
            estimate.impact,
            estimate.accuracy,
            estimate.bias,
        )
        for estimate in labels.confusions
    ]
    for start in range(0, len(rows), BATCH_SIZE):
        with transaction.atomic():
            bulk.upsert(
                "quality_raterconfusion",
                CONFUSION_COLUMNS,
                rows[start : start + BATCH_SIZE],
                key=("question_id", "rater_id"),
            )
    stored = RaterConfusion.objects.filter(question_id=question_id)
    rater_ids = {confusion.rater for confusion in labels.confusions}
    deleted = sorted(set(stored.values_list("rater_id", flat=True)) - rater_ids)
    for start in range(0, len(deleted), BATCH_SIZE):
        stored.filter(rater__in=deleted[start : start + BATCH_SIZE]).delete()


@transaction.atomic
def set_method(*, question: Question, method: str, with_models: bool, by: Any) -> Consensus:
    """Set the method of a question's labels, and whether ratings of models count.

    The next sweep recomputes the labels. Records a security event. Raises ValueError for an unknown
    method.
    """
    if method not in ConsensusMethod.values:
        raise ValueError(f"unknown method '{method}'; one of {', '.join(ConsensusMethod.values)}")
    row = lock_consensus(question.pk)
    before = {"method": row.method, "with_models": row.with_models}
    row.method = method
    row.with_models = with_models
    row.save(update_fields=["method", "with_models"])
    security_log.log_event(
        "label_method_changed",
        project_id=question.project_id,
        by=by.pk,
        question=question.key,
        before=before,
        after={"method": method, "with_models": with_models},
    )
    return row
