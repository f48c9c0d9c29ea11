"""Template tags of quality: decisions, labels, check answers, alerts and the status of raters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django import template

from core.text import get_initials
from metrics.agreement.estimate import Value
from metrics.agreement.weights import get_weighted_name
from metrics.question_scale import QuestionScale
from metrics.views.common import number_formats
from projects.models import Item, Project, Question, Rater, Scale
from quality.alerts.kinds import describe_alert
from quality.models import (
    Alert,
    AlertState,
    GoldScore,
    GoldState,
    ItemLabel,
    LabelRules,
    LabelSource,
    RaterCheck,
    RepeatScore,
    RepeatState,
)
from quality.rater_status import comparison, status_texts
from quality.rater_status.reasons import ReasonCode
from quality.rater_status.status import RaterSummary, is_outlier, list_rater_summaries
from quality.review.decisions import get_item_review
from ratings.models import Assignment, CheckAnswer, RaterMessage
from ratings.services.rating_timestamps import date_from_day

register = template.Library()
register.simple_tag(get_item_review)


@register.simple_tag
def shows_decisions(project: Project) -> bool:
    """Return whether raters may see decisions in at least one question of the project."""
    return LabelRules.objects.filter(question__project=project, show_to_raters=True).exists()


MIN_SHOWN_SHARE = 0.01  # several smaller shares, rounded up, would add up to more than 100%


@register.filter
def probabilities(distribution: Mapping[str, float]) -> str:
    """Format label probabilities as in "minor: 71% · major: 28%", without negligible ones."""
    parts = []
    for label, share in distribution.items():
        if share >= MIN_SHOWN_SHARE:
            parts.append(f"{label}: {number_formats.format_percent(share)}")
    return " · ".join(parts)


@register.simple_tag
def get_decided_items(question: Question, items: Iterable[Item]) -> set[int]:
    """Return the ids of the items whose label comes from a decision."""
    labels = ItemLabel.objects.filter(question=question, source=LabelSource.DECISION)
    decided_labels = labels.filter(item__in=[item.pk for item in items], code__isnull=False)
    return set(decided_labels.values_list("item_id", flat=True))


@register.filter
def day_to_month(day: int) -> str:
    """Return the month ("2026-03") of a day number (days since 1970-01-01)."""
    return date_from_day(day).strftime("%Y-%m")


@register.simple_tag
def count_hidden_gold_answers(question: Question) -> int:
    """Return the number of answers to hidden gold, which no agreement coefficient includes."""
    counts = GoldState.objects.filter(question=question).values_list("n_check_answers", flat=True)
    return counts.first() or 0


@register.simple_tag
def count_check_answers(question: Question, rater: Rater) -> int:
    """Return how many answers the rater gave to hidden gold and repeats, without exams."""
    rows = CheckAnswer.objects.filter(question=question, rater=rater).current()
    return rows.exclude(kind=Assignment.Kind.EXAM).count()


@register.simple_tag
def get_repeat_score(
    question: Question, rater: Rater | None = None
) -> RepeatState | RepeatScore | None:
    """Return how far a rater, or all people of the question (None), agree with their own answers.

    None if no answer was repeated.
    """
    if rater is not None:
        return RepeatScore.objects.filter(question=question, rater=rater).first()
    return RepeatState.objects.filter(question=question).first()


@register.simple_tag
def get_matching_peer_kappa(question: Question, coefficients: Mapping[str, Value]) -> Value | None:
    """Return the rater's kappa with the others, weighted like that of repeats; None if missing.

    ``coefficients``: {name: value} of the rater.
    """
    scale = QuestionScale.for_question(question)
    return coefficients.get(get_weighted_name("vs_peers", scale.weighting))


MAX_ALERTS = 3  # alerts shown on the dashboard


@register.simple_tag
def list_alerts(
    question: Question, rater: Rater | None = None, *, is_reversed: bool = False
) -> list[tuple[Alert, str]]:
    """Return (alert, sentence) of the newest unresolved alerts on a question, at most MAX_ALERTS.

    ``rater``: only alerts on this rater, None for all. ``is_reversed``: whether the rater answers
    the scale upside down.
    """
    states = (AlertState.OPEN, AlertState.ACKNOWLEDGED)
    alerts = Alert.objects.filter(question=question, state__in=states)
    if rater is not None:
        alerts = alerts.filter(rater=rater) | alerts.filter(other_rater=rater)
    alerts = alerts.select_related("rater", "other_rater", "question").defer("chart")
    return [
        (alert, describe_alert(alert, is_reversed=is_reversed))
        for alert in alerts.order_by_newest()[:MAX_ALERTS]
    ]


MAX_MESSAGES = 20  # the latest


@dataclass(frozen=True)
class RaterDescription:
    """The head of a person's page: status, its first reason ("" for none), and sentences.

    ``gold``: the score if gold answers are a reason for the status, else None; ``is_reversed``:
    whether the rater answers the scale upside down; ``checked``: the check of a lead because of
    which the rater is out of the inbox, if any.
    """

    status: str
    status_label: str
    is_fine: bool
    reason: str
    sentences: str
    gold: GoldScore | None
    is_reversed: bool
    checked: RaterCheck | None


@register.simple_tag
def describe_rater(question: Question, rater: Rater) -> RaterDescription | None:
    """Return the status of a person with its sentences, by the latest results; None for a model."""
    if rater.kind != Rater.Kind.HUMAN:
        return None
    rater_comparison = comparison.get_comparison(question)
    [summary] = list_rater_summaries(
        question,
        scale_is_ordered=Scale(question.scale).ordered,
        rater_ids=[rater.pk],
        comparison=rater_comparison,
    )
    reasons = [status_texts.get_reason_text(reason, rater.pk) for reason in summary.reasons[:1]]
    return RaterDescription(
        summary.status.value,
        status_texts.get_status_label(summary.status, summary.note),
        summary.is_fine,
        "".join(reasons),
        _describe_agreement(question, summary, rater_comparison),
        summary.gold if ReasonCode.GOLD in {reason.code for reason in summary.reasons} else None,
        summary.is_reversed,
        RaterCheck.objects.recent().filter(question=question, rater=rater).first(),
    )


def _describe_agreement(
    question: Question, summary: RaterSummary, rater_comparison: comparison.RaterComparison
) -> str:
    """Return sentences on a rater's note, bias and agreement with the others, the reason first.

    Only the note for a rater who answers the scale upside down: this explains bias and agreement.
    """
    rater, note = summary.rater, status_texts.describe_note(summary.note, summary.rater.pk)
    if summary.is_reversed:
        return note
    has_outlier_alert = rater_comparison.computed_at is not None and is_outlier(question, rater)
    result = rater_comparison.raters.get(rater.pk)
    codes = {reason.code for reason in summary.reasons}
    is_biased = not codes.isdisjoint(status_texts.BIAS_REASONS)
    agrees_less = ReasonCode.LOW_AGREEMENT in codes
    agreement = status_texts.describe_agreement(
        rater_comparison,
        rater.pk,
        is_outlier=has_outlier_alert,
        agrees_less=agrees_less,
    )
    bias = ""
    if result is not None and is_biased:
        labels = QuestionScale.for_question(question).labels
        bias = status_texts.describe_bias(result, labels)
    sentences = [note, agreement, bias] if agrees_less else [note, bias, agreement]
    return " ".join(filter(None, sentences))


@register.simple_tag
def list_messages(rater: Rater) -> list[RaterMessage]:
    """Return the latest messages of leads to the rater, newest first."""
    rows = RaterMessage.objects.filter(rater=rater).select_related("sender")
    return list(rows.order_by("-pk")[:MAX_MESSAGES])


register.filter("initials", get_initials)
