"""Request further ratings for items whose label stays uncertain after the planned ratings.

After each computation of the labels every uncertain item is checked while its slot in the queue
is locked. When all requested ratings were given and the stored label contains them, one more
rating is requested. So an item never gets more ratings through the queue than the rules allow,
and a rating that makes the label certain saves the next one. Items for which no more may be
requested go to review.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Q
from django.utils import timezone

from core.db import bulk
from projects.models import Member, Question, Rater
from quality.consensus import storage
from quality.models import Consensus, Escalation, ItemLabel, LabelRules, LabelSource
from ratings.models import Rating
from ratings.services import slots

logger = logging.getLogger(__name__)

BATCH_SIZE = 100  # per transaction; until it ends the queue skips these items
State = Escalation.State
Reason = Escalation.Reason

# Returns a row if somebody could still rate an item: a rater who has not rated it and to whom it is
# not assigned, or an annotator without any rating.
_AVAILABLE_RATER_SQL = """
    SELECT 1 FROM projects_rater r
    JOIN projects_member m ON m.user_id = r.user_id AND m.project_id = r.project_id
    WHERE r.project_id = %s AND NOT r.paused AND m.role IN ('lead', 'annotator')
        AND NOT EXISTS (
            SELECT 1 FROM ratings_rating rating
            WHERE rating.item_id = {item} AND rating.rater_id + 0 = r.id
        )
        AND NOT EXISTS (
            SELECT 1 FROM ratings_assignment a
            WHERE a.item_id = {item} AND a.rater_id + 0 = r.id AND a.state <> 'expired'
        )
    UNION ALL
    SELECT 1 FROM projects_member m
    WHERE m.project_id = %s AND m.role = 'annotator' AND NOT EXISTS (
        SELECT 1 FROM projects_rater r
        WHERE r.project_id = m.project_id AND r.user_id = m.user_id
    )
    """
_ITEM_HAS_RATER_SQL = f"""
    SELECT 1 FROM projects_item i
    WHERE i.id = %s AND EXISTS ({_AVAILABLE_RATER_SQL.format(item="i.id")})
    """
_ITEMS_WITHOUT_AVAILABLE_RATER_SQL = f"""
    SELECT item_id FROM quality_escalation e
    WHERE question_id = %s AND state = 'requested'
        AND NOT EXISTS ({_AVAILABLE_RATER_SQL.format(item="e.item_id")})
    """


def sweep_rating_requests() -> int:
    """Update the rating requests of all questions; return the number of changed items.

    A failure in one question does not keep the others from being updated.
    """
    n_changed = 0
    for rules in LabelRules.objects.filter(_build_active_rules_condition()).select_related(
        "question__project"
    ):
        try:
            n_changed += update_rating_requests(rules.question)
        except Exception:
            logger.exception(
                "escalation of question %s failed; the next sweep tries again", rules.question_id
            )
    return n_changed


def _build_active_rules_condition() -> Q:
    """Build the condition for label rules that request ratings, or have pending requests left."""
    questions_with_requests = Escalation.objects.filter(state=State.REQUESTED).values("question")
    return Q(request_ratings=True) | Q(question__in=questions_with_requests)


def update_rating_requests(question: Question) -> int:
    """Request ratings for uncertain items, and close the requests that are settled.

    Returns the number of changed items; 0 while the input is unchanged.
    """
    rules = LabelRules.objects.get(question=question)
    input_version = _get_input_version(question)
    if input_version is None or rules.input_version == input_version:
        return 0
    # New labels alone do not reopen items that already go to review.
    reconsider_all = (
        rules.input_version | {"computed_at": input_version["computed_at"]} != input_version
    )
    n_changed = 0
    # Settled items return their part of the budget before others use it.
    for list_candidates in (
        _list_settled_items,
        partial(_list_uncertain_items, reconsider_all=reconsider_all),
    ):
        for items in _iter_chunks(list_candidates(question)):
            n_changed += _update_escalations(question, items)
    LabelRules.objects.filter(question=question, input_version=rules.input_version).update(
        input_version=input_version
    )
    return n_changed


def _get_input_version(question: Question) -> dict[str, object] | None:
    """Return the version of everything that the requests depend on; None before the first labels.

    It includes the labels of the project's other questions: a request for an item asks all
    questions.
    """
    project_consensus = Consensus.objects.filter(question__project=question.project_id)
    computed_at = project_consensus.aggregate(at=Max("computed_at"))["at"]
    if (
        computed_at is None
        or not project_consensus.filter(question=question, computed_at__isnull=False).exists()
    ):
        return None
    raters = Rater.objects.filter(project=question.project_id)
    return {
        "computed_at": computed_at.isoformat(),
        "overlap": question.project.overlap,
        "raters": raters.filter(user__isnull=False, paused=False).count(),
        "members": Member.objects.filter(project=question.project_id).count(),
    }


def _list_settled_items(question: Question) -> list[int]:
    """Return ids of escalated items that became certain, or for which no rater is left.

    If requests were switched off: ids of all items with a pending request.
    """
    rules = LabelRules.objects.get(question=question)
    rows = Escalation.objects.filter(question=question)
    if not rules.request_ratings:
        pending = rows.filter(state=State.REQUESTED).order_by("item_id")
        return list(pending.values_list("item_id", flat=True))
    uncertain = ItemLabel.objects.uncertain().filter(question=question, item=OuterRef("item"))
    settled = rows.exclude(state=State.CERTAIN).filter(~Exists(uncertain)).order_by("item_id")
    item_ids = list(settled.values_list("item_id", flat=True))
    values = [question.pk, *[question.project_id] * 2]
    item_ids += [
        item_id
        for (item_id,) in bulk.execute_statements([(_ITEMS_WITHOUT_AVAILABLE_RATER_SQL, values)])[0]
    ]
    return list(dict.fromkeys(item_ids))


def _list_uncertain_items(question: Question, *, reconsider_all: bool) -> list[int]:
    """Return ids of the uncertain items that have all their planned ratings, most uncertain first.

    Empty unless the rules request ratings. Items in review are left out, unless ``reconsider_all``
    is set; those that are in review for lack of budget are included once there is budget again.
    """
    rules = LabelRules.objects.get(question=question)
    if not rules.request_ratings:
        return []
    fully_rated = ItemLabel.objects.uncertain().filter(
        question=question, item__slots_taken__gte=question.project.overlap
    )
    if not reconsider_all:
        in_review = Escalation.objects.filter(question=question, state=State.REVIEW)
        if rules.n_requested < rules.budget:
            in_review = in_review.exclude(reason=Reason.BUDGET)
        fully_rated = fully_rated.exclude(item__in=in_review.values("item"))
    return list(fully_rated.order_by("-doubt", "item_id").values_list("item_id", flat=True))


def _iter_chunks(items: list[int]) -> Iterator[list[int]]:
    for start in range(0, len(items), BATCH_SIZE):
        yield items[start : start + BATCH_SIZE]


@transaction.atomic
def _update_escalations(question: Question, items: list[int]) -> int:
    """Update a batch of items under the locks of labels and rules; return how many changed.

    Within a batch, items are in the order of their ids; the most uncertain ones are in the first
    batches and so get the rest of the budget.
    """
    consensus = storage.lock_consensus(question.pk)
    rules = LabelRules.objects.select_for_update().get(question=question)
    update = _BatchUpdate(question, consensus, rules)
    labels = {
        row.item_id: row for row in ItemLabel.objects.filter(question=question, item__in=items)
    }
    escalations = {
        row.item_id: row for row in Escalation.objects.filter(question=question, item__in=items)
    }
    n_changed = 0
    for item_id in sorted(items):  # a fixed order of locks avoids deadlocks
        row = escalations.get(item_id) or Escalation(question=question, item_id=item_id, state="")
        before = (row.state, row.reason, row.n_requested)
        update.update_item(row, labels.get(item_id))
        if row.state and (row.state, row.reason, row.n_requested) != before:
            row.changed_at = timezone.now()
            row.save()
            n_changed += 1
    rules.save(update_fields=["n_requested"])
    return n_changed


@dataclass
class _BatchUpdate:
    """Update the rating requests of a batch of items.

    The caller holds the locks of the question's labels and rules.
    """

    question: Question
    consensus: Consensus
    rules: LabelRules

    @property
    def _overlap(self) -> int:
        return self.question.project.overlap

    def _set_target(self, item_id: int, number: int) -> None:
        slots.set_requested_slots(item_id, number, overlap=self._overlap)

    def update_item(self, row: Escalation, label: ItemLabel | None) -> None:
        """Move one escalated item to its next state if that is due.

        ``label``: the item's stored label, None if it has none.
        """
        demand = slots.lock_and_get_demand(row.item_id, overlap=self._overlap)
        if demand is None:
            return
        if not self._is_uncertain(label):
            if row.state:
                self._cancel_request(row, demand)
                row.state, row.reason = State.CERTAIN, ""
        elif not self.rules.request_ratings:
            self._cancel_request(row, demand)
            row.state, row.reason = State.REVIEW, Reason.DISABLED
        elif row.state == State.REQUESTED and demand.has_free_slot:
            if not demand.open and not self._has_available_rater(row.item_id):
                self._cancel_request(row, demand)
                row.state, row.reason = State.REVIEW, Reason.NO_RATER
        elif demand.is_complete and self._is_label_complete(row.item_id, label):
            self._request_rating_or_review(row, demand)

    def _is_uncertain(self, label: ItemLabel | None) -> bool:
        if label is None or label.source != LabelSource.CONSENSUS:
            return False
        return label.doubt > 1 - self.rules.certain_from

    def _is_label_complete(self, item_id: int, label: ItemLabel | None) -> bool:
        """Return whether the stored label is based on all current ratings of the item.

        If not, the item is decided after the next computation of the labels; so it is without a
        label.
        """
        ratings = Rating.objects.current().filter(question=self.question, item=item_id)
        if not self.consensus.with_models:
            ratings = ratings.filter(rater__kind=Rater.Kind.HUMAN)
        return label is not None and ratings.count() == label.n_ratings

    def _request_rating_or_review(self, row: Escalation, demand: slots.SlotDemand) -> None:
        """Request one more rating, or send the item to review with the reason why not."""
        row.state, row.reason = State.REVIEW, ""
        if demand.taken >= self.rules.max_ratings:
            row.reason = Reason.MAX_RATINGS
        elif self.rules.n_requested >= self.rules.budget:
            row.reason = Reason.BUDGET
        elif not self._has_available_rater(row.item_id):
            row.reason = Reason.NO_RATER
        else:
            self._set_target(row.item_id, demand.taken + 1)
            row.state = State.REQUESTED
            row.n_requested += 1
            self.rules.n_requested += 1

    def _cancel_request(self, row: Escalation, demand: slots.SlotDemand) -> None:
        """Withdraw a pending request that is no longer needed."""
        if row.state == State.REQUESTED and row.n_requested and demand.has_free_slot:
            self._set_target(row.item_id, demand.taken)
            row.n_requested -= 1
            self.rules.n_requested -= 1

    def _has_available_rater(self, item_id: int) -> bool:
        project_id = self.question.project_id
        return bool(
            bulk.execute_statements([(_ITEM_HAS_RATER_SQL, [item_id, project_id, project_id])])[0]
        )
