"""Input version of consensus labels: values that change whenever the labels may change."""

from __future__ import annotations

from django.db.models import Max

from quality import recomputation
from quality.models import Consensus, Decision


def get_input_versions(only: int | None = None) -> recomputation.InputVersions:
    """Return {question id: input version of its labels}, of all counted questions or of one."""
    decisions = (
        Decision.objects.filter(**recomputation.build_question_filter(only))
        .values_list("question_id")
        .order_by()
    )
    last_decisions = dict(decisions.annotate(Max("pk")))
    gold_versions = recomputation.get_gold_versions(only)
    versions = recomputation.get_count_versions(
        only, method="consensus__method", models="consensus__with_models"
    )
    for question_id, version in versions.items():
        version["decision"] = last_decisions.get(question_id, 0)
        version["gold"] = gold_versions.get(question_id, [0, 0])
    return versions


def is_outdated(row: Consensus) -> bool:
    """Return whether the input of the question's labels has changed since they were computed."""
    return get_input_versions(row.question_id).get(row.question_id) != row.input_version


def list_outdated_questions() -> list[int]:
    """Return ids of the questions whose labels are outdated or missing, oldest first."""
    return recomputation.list_outdated(Consensus, get_input_versions())
