"""Decisions of adjudicators: the review queue, claims on items, decisions and their outcome."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from events.services import record_event
from metrics.question_scale import QuestionScale
from projects.models import Item, Project, Question
from quality.consensus import storage
from quality.models import (
    Appeal,
    Decision,
    Escalation,
    ItemLabel,
    LabelSource,
    NameReveal,
    ReviewAssignment,
    ReviewClaim,
    SecondOpinion,
)
from quality.review.label_rules import get_label_rules
from quality.settings_changes import find_reason_error
from ratings.models import Rating

from . import second_opinions
from .queue_filter import NO_FILTER, ReviewFilter

CLAIM_DURATION = datetime.timedelta(minutes=15)
MAX_REASON_LENGTH = 4_000  # characters


class InvalidDecision(Exception):
    """The decision is invalid: ``field`` names the value, ``message`` says what is wrong."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


class ItemClaimed(InvalidDecision):
    """Another adjudicator has claimed the item."""


@transaction.atomic
def create_decision(
    *, question: Question, item: Item, code: int | None, reason: str = "", by: Any
) -> Decision:
    """Set the item's label to the category with this code; None withdraws the current decision.

    Ratings are not changed. Raises InvalidDecision, without changes, for an undeclared category, a
    reason that is too long, nothing to withdraw or an archived project, and ItemClaimed where
    another user has claimed the item.
    """
    _validate_not_archived(question)
    storage.lock_consensus(question.pk)
    scale = QuestionScale.for_question(question)
    index_of_code = _validate_answer(scale, code, reason)
    _reject_claimed_item(question, item, by)
    previous = Decision.objects.filter(question=question, item=item).order_by("number").last()
    if code is None and (previous is None or previous.code is None):
        raise InvalidDecision("label", _("no decision to undo"))
    decision = Decision.objects.create(
        question=question,
        item=item,
        number=previous.number + 1 if previous else 1,
        code=code,
        reason=reason,
        by=by,
        created_at=timezone.now(),
    )
    _store_label(question, item, None if code is None else index_of_code[code], scale)
    ReviewAssignment.objects.filter(question=question, item=item).delete()
    ReviewClaim.objects.filter(question=question, item=item).delete()
    _record_review(decision, item, by)
    return decision


def _record_review(decision: Decision, item: Item, by: Any) -> None:
    """Record the decision as an event, without its label, so that second opinions stay blind."""
    question = decision.question
    record_event(
        project_id=question.project_id,
        kind="item.reviewed",
        subject=f"item/{item.pk}",
        data={
            "question": question.key,
            "items": [item.key],
            "decision": decision.number,
            "is_withdrawn": decision.code is None,
        },
        by=by,
    )


def _validate_not_archived(question: Question) -> None:
    if Project.objects.filter(pk=question.project_id, archived_at__isnull=False).exists():
        raise InvalidDecision("item", _("archived project: restore it first"))


@transaction.atomic
def submit_answer(
    *, question: Question, item: Item, code: int | None, reason: str = "", by: Any
) -> Decision | SecondOpinion:
    """Store an adjudicator's answer as a decision or as a second opinion, and return it.

    It is a second opinion if ``is_second_opinion`` is true of the item and ``code`` is not None.
    Raises the same errors as ``create_decision``.
    """
    _validate_not_archived(question)
    storage.lock_consensus(question.pk)
    if code is None or not second_opinions.is_second_opinion(question=question, item=item, by=by):
        return create_decision(question=question, item=item, code=code, reason=reason, by=by)
    _validate_answer(QuestionScale.for_question(question), code, reason)
    _reject_claimed_item(question, item, by)
    ReviewClaim.objects.filter(question=question, item=item).delete()
    return second_opinions.create_second_opinion(
        question=question, item=item, code=code, reason=reason, by=by
    )


def _validate_answer(scale: QuestionScale, code: int | None, reason: str) -> dict[int, int]:
    """Return {code: category index} of the scale's categories, after checking an answer.

    Raises InvalidDecision for an unknown code (None is allowed) or an invalid reason.
    """
    index_of_code = {int(declared_code): index for index, declared_code in enumerate(scale.codes)}
    if code is not None and code not in index_of_code:
        raise InvalidDecision("label", f"unknown label; use one of {', '.join(scale.labels)}")
    if problem := find_reason_error(reason, max_length=MAX_REASON_LENGTH):
        raise InvalidDecision("reason", problem)
    return index_of_code


def _reject_claimed_item(question: Question, item: Item, by: Any) -> None:
    """Raise ItemClaimed where another user has claimed the item."""
    claims = ReviewClaim.objects.filter(question=question, item=item, expires_at__gt=timezone.now())
    other_claim = claims.exclude(by=by).select_related("by").first()
    if other_claim is not None:
        message = _("%(name)s is reviewing this item") % {"name": other_claim.by}
        raise ItemClaimed("item", message)


def _store_label(question: Question, item: Item, index: int | None, scale: QuestionScale) -> None:
    """Store the decided category as the item's label; without one, delete the item's label.

    ``index``: index of the category, None for a withdrawn decision.
    """
    stored = ItemLabel.objects.filter(question=question, item=item)
    code = None if index is None else int(scale.codes[index])
    if stored.values_list("code", flat=True).first() != code:
        storage.record_label_changes(question.pk, [item.pk])
    if index is None:  # the next sweep computes it from the ratings
        stored.delete()
        return
    n_ratings = Rating.objects.current().filter(question=question, item=item).count()
    source = LabelSource.DECISION.value
    row = storage.build_fixed_row(
        question.pk, item.pk, index, scale, source=source, n_ratings=n_ratings
    )
    storage.upsert_label_rows([row])


def claim_next_label(
    *, question: Question, by: Any, review_filter: ReviewFilter = NO_FILTER
) -> ItemLabel | None:
    """Claim the next item to review for ``by``; return its label, or None if nothing is left.

    An item that ``by`` has claimed already comes first, then the most uncertain item; now and then,
    without a filter, an item for a second opinion. Takes the question's lock: two adjudicators who
    ask at the same moment get two items.
    """
    with transaction.atomic():
        storage.lock_consensus(question.pk)
        claims = ReviewClaim.objects.filter(question=question)
        claims.filter(expires_at__lte=timezone.now()).delete()
        second_opinion_label = None
        if review_filter == NO_FILTER:
            second_opinion_label = second_opinions.find_label_for_second_opinion(
                question=question, by=by
            )
        label = (
            second_opinion_label
            if second_opinions.should_ask_second_opinion(question=question, by=by)
            else None
        )
        queue = get_review_queue(question, review_filter=review_filter)
        own_claims = claims.filter(by=by, postponed=False).values("item")
        if label is None:
            label = queue.filter(item__in=own_claims).first()
        if label is None:
            label = queue.exclude(item__in=claims.values("item")).first()
        if label is None:
            label = second_opinion_label
        if label is not None:
            claim_item(question=question, item=label.item, by=by)
        return label


def claim_item(*, question: Question, item: Item, by: Any, postponed: bool = False) -> None:
    """Claim an item for CLAIM_DURATION, so that no other adjudicator gets it.

    ``postponed``: ``by`` postponed the item and does not get it either. Raises ItemClaimed.
    """
    with transaction.atomic():
        storage.lock_consensus(question.pk)
        _reject_claimed_item(question, item, by)
        ReviewClaim.objects.update_or_create(
            question=question,
            item=item,
            defaults={
                "by": by,
                "expires_at": timezone.now() + CLAIM_DURATION,
                "postponed": postponed,
            },
        )


def get_review_queue(
    question: Question, *, review_filter: ReviewFilter = NO_FILTER
) -> QuerySet[ItemLabel]:
    """Return the labels to review: items sent by a lead first, then the most uncertain ones.

    A label needs review if it is based on at least two ratings and has less confidence than the
    filter's limit (by default the question's threshold), unless the item waits for a requested
    rating. A filter for contested decisions returns only these, oldest first, whatever their
    confidence.
    """
    if review_filter.contested:
        decided = ItemLabel.objects.filter(question=question, source=LabelSource.DECISION)
        contested_labels = review_filter.filter_labels(decided).select_related("item")
        return contested_labels.order_by("computed_at", "item_id")
    labels = ItemLabel.objects.filter(question=question, source=LabelSource.CONSENSUS)
    rows = review_filter.filter_labels(labels).select_related("item")
    pending_requests = Escalation.objects.filter(
        question=question, state=Escalation.State.REQUESTED
    )
    is_uncertain = Q(n_ratings__gte=2, doubt__gt=_get_min_doubt(question, review_filter)) & ~Q(
        item__in=pending_requests.values("item")
    )
    assignments = ReviewAssignment.objects.filter(question=question)
    if not assignments.exists():  # the usual case: one index serves the query
        return rows.filter(is_uncertain).order_by("-doubt", "item_id")
    rows = rows.annotate(sent=Exists(assignments.filter(item=OuterRef("item"))))
    return rows.filter(is_uncertain | Q(sent=True)).order_by("-sent", "-doubt", "item_id")


def count_uncertain_items_with_one_rating(
    question: Question, *, review_filter: ReviewFilter = NO_FILTER
) -> int:
    """Return how many uncertain items have a single rating.

    They are not in the review queue, unless a lead sent them, because a second rating comes first.
    Uncertain means less confidence than the filter's limit; 0 for a filter of contested decisions.
    """
    if review_filter.contested:
        return 0
    labels = ItemLabel.objects.filter(
        question=question,
        source=LabelSource.CONSENSUS,
        n_ratings=1,
        doubt__gt=_get_min_doubt(question, review_filter),
    )
    assignments = ReviewAssignment.objects.filter(question=question, item=OuterRef("item"))
    return review_filter.filter_labels(labels).filter(~Exists(assignments)).count()


def _get_min_doubt(question: Question, review_filter: ReviewFilter) -> float:
    """Return the doubt (1 - confidence) above which labels are listed for review.

    It follows from the limit of the filter, or else from the question's threshold.
    """
    return 1 - (review_filter.confidence_limit or get_label_rules(question).certain_from)


def record_names_seen(*, question: Question, item: Item, by: Any) -> None:
    """Record that the user displayed the names of the raters of the item."""
    NameReveal.objects.get_or_create(question=question, item=item, by=by)


def has_seen_names(*, question: Question, item: Item, by: Any) -> bool:
    return NameReveal.objects.filter(question=question, item=item, by=by).exists()


@dataclass(frozen=True)
class ItemReview:
    """Outcome of an item's review; empty for a user who gives a blind second opinion.

    ``decisions``: (decision, label), the label None where it was undone; ``label_name``: the
    category of ``label``, None where the label is tied.
    """

    label: ItemLabel | None = None
    label_name: str | None = None
    decisions: list[tuple[Decision, str | None]] = field(default_factory=list)
    appeals: list[Appeal] = field(default_factory=list)


def get_item_review(*, question: Question, item: Item, user: Any) -> ItemReview:
    """Return the outcome of an item's review; empty if the user gives a second opinion on it."""
    if second_opinions.is_second_opinion(question=question, item=item, by=user):
        return ItemReview()
    names: dict[int | None, str] = {row.code: row.label for row in question.categories.all()}
    label = ItemLabel.objects.filter(question=question, item=item).first()
    decisions = Decision.objects.filter(question=question, item=item).select_related("by")
    return ItemReview(
        label,
        names.get(label.code) if label else None,
        [(decision, names.get(decision.code)) for decision in decisions],
        list(Appeal.objects.filter(question=question, item=item).select_related("rater")),
    )
