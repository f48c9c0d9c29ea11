"""Input version of gold scores: values that change whenever the scores may change."""

from __future__ import annotations

from django.db.models import Count, Max

from quality import recomputation
from quality.models import GoldIntervention, GoldReview, GoldState
from ratings.models import Assignment


def get_input_versions(only: int | None = None) -> recomputation.InputVersions:
    """Return {question id: input version of its scores}.

    Of all counted questions that ever had gold, or of one.
    """
    gold_versions = recomputation.get_gold_versions(only)
    reviews = GoldReview.objects.filter(gold__question__in=list(gold_versions))
    last_reviews = dict(reviews.values_list("gold__question_id").order_by().annotate(Max("pk")))
    count_versions = recomputation.get_count_versions(
        only,
        pass_mark="gold_state__pass_mark",  # noqa: S106
        rule="gold_state__rule",
        tolerance="gold_tolerance",
    )
    overrides = GoldIntervention.objects.filter(
        question__in=list(gold_versions), state=GoldIntervention.State.OVERRIDDEN
    )
    override_counts = dict(overrides.values_list("question").order_by().annotate(Count("pk")))
    versions = {}
    for question_id in gold_versions.keys() & count_versions.keys():
        review = last_reviews.get(question_id, 0)
        extra = {"gold": gold_versions[question_id], "review": review}
        extra["overridden"] = override_counts.get(question_id, 0)
        versions[question_id] = {**count_versions[question_id], **extra}
    for name, kind in (("apart", Assignment.Kind.GOLD), ("exam", Assignment.Kind.EXAM)):
        for question_id, newest in recomputation.get_check_answer_versions(versions, kind).items():
            versions[question_id][name] = newest
    return versions


def is_outdated(question_id: int) -> bool:
    """Return whether the input of the question's scores has changed since they were computed."""
    row = GoldState.objects.filter(question_id=question_id).first()
    version = get_input_versions(question_id).get(question_id)
    return version is not None and (row is None or row.input_version != version)


def list_outdated_questions() -> list[int]:
    """Return ids of the questions whose scores are outdated or missing, oldest first."""
    return recomputation.list_outdated(GoldState, get_input_versions())
