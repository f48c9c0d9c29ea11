"""Integrity checks of scores on gold, of repeats, of drift states and of consensus labels.

They are recomputed in memory and compared with the stored rows by rater and field, or by item.
Outdated rows are not compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models import Model
from django.utils import timezone

from metrics.integrity.audit import RegisteredAudit
from metrics.question_scale import QuestionScale
from projects.models import Item, Question
from quality import repeats
from quality.alerts import scan, storage, sweep
from quality.consensus import fit, recomputation
from quality.consensus.storage import is_changed, iter_label_rows, iter_stored_rows
from quality.gold import recomputation as gold
from quality.models import (
    AlertScan,
    Consensus,
    DriftState,
    GoldItem,
    GoldScore,
    GoldState,
    RecomputedResult,
    RepeatScore,
    RepeatState,
)
from quality.recomputation import InputVersions

TOLERANCE = 1e-9  # relative and absolute: the order of sums is not defined


def list_gold_differences(question_id: int) -> list[str]:
    """Return a line of text for each field of a stored gold score that differs from the new one.

    The rows of gold answers and the totals of the question are compared too. Empty if the stored
    ones are outdated: they will be recomputed anyway.
    """
    row = _get_current_row(GoldState, question_id, gold.get_input_versions(question_id))
    if row is None:
        return []
    gold_scores, items, totals = gold.compute_gold_results(
        _get_question(question_id), row.pass_mark
    )
    return [
        *_compare_fields("GoldState", row, GoldState(**totals), totals),
        *_compare_rows(GoldScore, question_id, gold_scores, key="rater_id"),
        *_compare_rows(GoldItem, question_id, items, key="item_id"),
    ]


def list_repeat_differences(question_id: int) -> list[str]:
    """Return a line of text for each field of a stored repeat score that differs from the new one.

    The totals of the question are compared too. Empty if the stored ones are outdated: they will be
    recomputed anyway.
    """
    row = _get_current_row(RepeatState, question_id, repeats.get_input_versions(question_id))
    if row is None:
        return []
    repeat_scores, totals = repeats.compute_repeat_scores(_get_question(question_id))
    new_totals: Any = totals
    return [
        *_compare_fields("RepeatState", row, RepeatState(**new_totals), totals),
        *_compare_rows(RepeatScore, question_id, repeat_scores, key="rater_id"),
    ]


def list_drift_differences(question_id: int) -> list[str]:
    """Return a line of text for each field of a stored drift state that differs from the new one.

    Empty if the question must be scanned again anyway.
    """
    if _get_current_row(AlertScan, question_id, storage.get_input_versions(question_id)) is None:
        return []
    question = _get_question(question_id)
    result = scan.scan_question(question, today=timezone.now().date())
    new_rows = storage.build_drift_states(question, result.drift) if result.drift else []
    return _compare_rows(DriftState, question_id, new_rows, key="rater_id")


def list_label_differences(question_id: int) -> list[str]:
    """Return a line of text for each stored label that differs from the recomputed one.

    Empty if the labels are outdated: they will be recomputed anyway.
    """
    versions = recomputation.get_input_versions(question_id)
    consensus = _get_current_row(Consensus, question_id, versions)
    if consensus is None:
        return []
    question = _get_question(question_id)
    scale = QuestionScale.for_question(question)
    fixed = fit.get_fixed_codes(question)
    ratings = fit.load_votes(question, with_models=consensus.with_models)
    labels = fit.fit_labels(ratings, scale, fixed, method=consensus.method)
    new_rows = {row[1]: row for row in iter_label_rows(question_id, labels, fixed, scale)}
    stored_rows = {row[0]: row[1:] for row in iter_stored_rows(question_id)}
    differing = {
        item_id for item_id, row in new_rows.items() if is_changed(stored_rows.get(item_id), row)
    }
    differing |= stored_rows.keys() - new_rows.keys()
    items = Item.objects.in_bulk(differing)
    return [
        f"label of item {items[item_id].key}: differs from the recomputed one"
        for item_id in sorted(differing)
    ]


CHECKS = [
    RegisteredAudit(
        list_label_differences,
        lambda question: recomputation.recompute_question(question, at_once=True),
    ),
    RegisteredAudit(
        list_gold_differences, lambda question: gold.recompute_question(question, at_once=True)
    ),
    RegisteredAudit(
        list_repeat_differences, lambda question: repeats.recompute_question(question, at_once=True)
    ),
    RegisteredAudit(
        list_drift_differences, lambda question: sweep.recompute_question(question, at_once=True)
    ),
]


def _get_question(question_id: int) -> Question:
    questions = Question.objects.select_related("project").prefetch_related("categories")
    return questions.get(pk=question_id)


def _get_current_row(
    rows: type[RecomputedResult], question_id: int, versions: InputVersions
) -> Any:
    """Return the question's row of ``rows`` (a model) if it is up to date, else None."""
    row = rows._default_manager.filter(pk=question_id).first()
    if row is None or row.computed_at is None or row.input_version != versions.get(question_id):
        return None
    return row


def _compare_rows(
    model: type[Model], question_id: int, new_rows: Sequence[Model], *, key: str
) -> list[str]:
    """Return a line for each row that is stored but not in ``new_rows``, or new but not stored.

    For a row that is both, there is a line for each field that differs. ``model`` is the model of
    the rows, which are matched by the field ``key``.
    """
    name_prefix = f"{model.__name__} of {key.removesuffix('_id')}"
    stored = {getattr(row, key): row for row in model._default_manager.filter(question=question_id)}
    expected = {getattr(row, key): row for row in new_rows}
    attnames = (field.attname for field in model._meta.concrete_fields if not field.primary_key)
    fields = [name for name in attnames if name != "question_id"]
    lines = [
        f"{name_prefix} {key_value}: too many"
        for key_value in sorted(stored.keys() - expected.keys())
    ]
    lines += [
        f"{name_prefix} {key_value}: missing"
        for key_value in sorted(expected.keys() - stored.keys())
    ]
    for key_value in sorted(stored.keys() & expected.keys()):
        lines += _compare_fields(
            f"{name_prefix} {key_value}", stored[key_value], expected[key_value], fields
        )
    return lines


def _compare_fields(prefix: str, stored: Model, new: Model, fields: Iterable[str]) -> list[str]:
    return [
        f"{prefix}: {name} differs from the recomputed one"
        for name in fields
        if not _is_equal(getattr(stored, name), getattr(new, name))
    ]


def _is_equal(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float | int):
        return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_is_equal(a[name], b[name]) for name in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(_is_equal, a, b))
    return bool(a == b)
