"""What a lead chooses about the labels of a question."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from core import security_log
from projects.models import Question
from quality.models import Consensus, Method

from . import storage


@transaction.atomic
def choose(*, question: Question, method: str, with_models: bool, by: Any) -> Consensus:
    """Labels are made by this method from now on, with models counted as raters or not; the next
    sweep makes them anew. ValueError for an unknown method."""
    if method not in Method.values:
        raise ValueError(f"unknown method '{method}'; one of {', '.join(Method.values)}")
    row = storage.lock(question.pk)
    before = {"method": row.method, "with_models": row.with_models}
    row.method = method
    row.with_models = with_models
    row.save(update_fields=["method", "with_models"])
    security_log.event(
        "labels_changed",
        project_id=question.project_id,
        by=by.pk,
        question=question.key,
        before=before,
        after={"method": method, "with_models": with_models},
    )
    return row
