"""Integrity check: compare stored labels with labels recomputed in memory."""

from __future__ import annotations

from metrics.question_scale import QuestionScale
from projects.models import Item, Question
from quality.models import Consensus

from . import recomputation, storage, votes
from .fit import fit_labels


def list_differences(question_id: int) -> list[str]:
    """Return a line for each stored label that differs from the recomputed one.

    Empty while the labels are outdated.
    """
    consensus = Consensus.objects.filter(question=question_id).first()
    if consensus is None or consensus.computed_at is None or recomputation.is_outdated(consensus):
        return []
    question = Question.objects.prefetch_related("categories").get(pk=question_id)
    scale = QuestionScale.for_question(question)
    fixed = votes.get_fixed_codes(question)
    ratings = votes.load_votes(question, with_models=consensus.with_models)
    labels = fit_labels(ratings, scale, fixed, method=consensus.method)
    new_rows = {row[1]: row for row in storage.iter_label_rows(question_id, labels, fixed, scale)}
    stored_rows = {row[0]: row[1:] for row in storage.iter_stored_rows(question_id)}
    differing = {
        item_id
        for item_id, row in new_rows.items()
        if storage.is_changed(stored_rows.get(item_id), row)
    }
    differing |= stored_rows.keys() - new_rows.keys()
    items = Item.objects.in_bulk(differing)
    return [
        f"label of item {items[item_id].key}: differs from the recomputed one"
        for item_id in sorted(differing)
    ]


def repair_labels(question_id: int) -> bool:
    """Recompute the labels now."""
    return recomputation.recompute_question(question_id, at_once=True)
