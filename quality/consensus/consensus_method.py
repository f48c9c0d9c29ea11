"""Settings of a question's labels."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from core import security_log
from projects.models import Question
from quality.models import Consensus, ConsensusMethod

from . import storage


@transaction.atomic
def set_method(*, question: Question, method: str, with_models: bool, by: Any) -> Consensus:
    """Set the method of a question's labels, and whether ratings of models count.

    The next sweep recomputes the labels. Records a security event. Raises ValueError for an unknown
    method.
    """
    if method not in ConsensusMethod.values:
        raise ValueError(f"unknown method '{method}'; one of {', '.join(ConsensusMethod.values)}")
    row = storage.lock_consensus(question.pk)
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
