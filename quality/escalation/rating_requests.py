"""Asking again for items whose planned ratings leave their label in doubt.

After each making of the labels every doubtful item is looked at, its place in the queue locked:
when all that was wanted of it was said, and the stored label knows it all, it is asked for once
more. So an item never gets more ratings through the queue than the rule allows, and a rating that
makes it sure spares the next one. What may not be asked for again goes to a decision.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Q, QuerySet
from django.utils import timezone

from core.db import bulk
from projects.models import Member, Question, Rater
from quality.consensus import storage
from quality.models import Consensus, Escalation, ItemLabel, LabelRules, Source
from ratings.models import Rating
from ratings.services import slots

logger = logging.getLogger(__name__)

ITEMS_AT_ONCE = 100  # a transaction: who rates one of them passes it by meanwhile
State = Escalation.State
Why = Escalation.Why

# Whether somebody is there who could rate an item: a rater who was never asked for it, or an
# annotator who has not begun.
_SOMEBODY = """
    SELECT 1 FROM projects_rater r
    JOIN projects_member m ON m.user_id = r.user_id AND m.project_id = r.project_id
    WHERE r.project_id = %s AND NOT r.paused AND m.role IN ('lead', 'annotator')
        AND NOT EXISTS (
            SELECT 1 FROM ratings_rating said
            WHERE said.item_id = {item} AND said.rater_id + 0 = r.id
        )
        AND NOT EXISTS (
            SELECT 1 FROM ratings_assignment mine
            WHERE mine.item_id = {item} AND mine.rater_id + 0 = r.id AND mine.state <> 'expired'
        )
    UNION ALL
    SELECT 1 FROM projects_member m
    WHERE m.project_id = %s AND m.role = 'annotator' AND NOT EXISTS (
        SELECT 1 FROM projects_rater r
        WHERE r.project_id = m.project_id AND r.user_id = m.user_id
    )
    """
_SOMEBODY_FOR = f"""
    SELECT 1 FROM projects_item i
    WHERE i.id = %s AND EXISTS ({_SOMEBODY.format(item="i.id")})
    """
_STRANDED = f"""
    SELECT item_id FROM quality_escalation e
    WHERE question_id = %s AND state = 'waiting'
        AND NOT EXISTS ({_SOMEBODY.format(item="e.item_id")})
    """


def sweep() -> int:
    """Look at the questions whose labels or rules changed; how many items moved. A failure of one
    question keeps no other waiting."""
    moved = 0
    for rules in LabelRules.objects.filter(_at_work()).select_related("question__project"):
        try:
            moved += look(rules.question)
        except Exception:
            logger.exception(
                "escalation of question %s failed; the next sweep tries again", rules.question_id
            )
    return moved


def _at_work() -> Q:
    """On, or switched off a moment ago."""
    waiting = Escalation.objects.filter(state=State.WAITING).values("question")
    return Q(escalate=True) | Q(question__in=waiting)


def look(question: Question) -> int:
    """Ask again for what is in doubt, and note what is not any more; how many items moved."""
    rules = LabelRules.objects.get(question=question)
    rests_on = _rests_on(question)
    if rests_on is None or rules.looked_at == rests_on:
        return 0
    # Other labels alone do not bring back what goes to a decision already.
    afresh = rules.looked_at | {"made_at": rests_on["made_at"]} != rests_on
    moved = 0
    # What is not needed any more gives back its part of the budget before others ask for it.
    for candidates in (_settled, partial(_in_doubt, afresh=afresh)):
        for items in _chunks(candidates(question)):
            moved += _look_at(question, items)
    LabelRules.objects.filter(question=question, looked_at=rules.looked_at).update(
        looked_at=rests_on
    )
    return moved


def _rests_on(question: Question) -> dict[str, object] | None:
    """What the outcome of a look hangs on; None before there are labels. The labels of the
    project's other questions too: an item is asked for with all of them."""
    of_project = Consensus.objects.filter(question__project=question.project_id)
    made_at = of_project.aggregate(at=Max("made_at"))["at"]
    if made_at is None or not of_project.filter(question=question, made_at__isnull=False).exists():
        return None
    raters = Rater.objects.filter(project=question.project_id)
    return {
        "made_at": made_at.isoformat(),
        "overlap": question.project.overlap,
        "raters": raters.filter(user__isnull=False, paused=False).count(),
        "members": Member.objects.filter(project=question.project_id).count(),
    }


def _settled(question: Question) -> list[int]:
    """Ids of the items that were escalated and are not in doubt any more, or that nobody is left
    for; of all that wait, where asking again was switched off."""
    rules = LabelRules.objects.get(question=question)
    rows = Escalation.objects.filter(question=question)
    if not rules.escalate:
        waiting = rows.filter(state=State.WAITING).order_by("item_id")
        return list(waiting.values_list("item_id", flat=True))
    still = _doubtful(question, rules).filter(item=OuterRef("item"))
    settled = rows.exclude(state=State.SURE).filter(~Exists(still)).order_by("item_id")
    found = list(settled.values_list("item_id", flat=True))
    values = [question.pk, *[question.project_id] * 2]
    found += [item for (item,) in bulk.several([(_STRANDED, values)])[0]]
    return list(dict.fromkeys(found))


def _in_doubt(question: Question, *, afresh: bool) -> list[int]:
    """Ids of the items in doubt of which all that was wanted was said, the most doubtful first.
    What goes to a decision stays there, but for what the budget was too small for, once there is
    something of it again."""
    rules = LabelRules.objects.get(question=question)
    if not rules.escalate:
        return []
    full = _doubtful(question, rules)
    full = full.filter(item__places_taken__gte=question.project.overlap)
    if not afresh:
        gone = Escalation.objects.filter(question=question, state=State.DECIDE)
        if rules.used < rules.budget:
            gone = gone.exclude(why=Why.BUDGET)
        full = full.exclude(item__in=gone.values("item"))
    return list(full.order_by("-doubt", "item_id").values_list("item_id", flat=True))


def _doubtful(question: Question, rules: LabelRules) -> QuerySet[ItemLabel]:
    return ItemLabel.objects.filter(
        question=question, source=Source.CONSENSUS, doubt__gt=1 - rules.sure_from
    )


def _chunks(items: list[int]) -> Iterator[list[int]]:
    for start in range(0, len(items), ITEMS_AT_ONCE):
        yield items[start : start + ITEMS_AT_ONCE]


@transaction.atomic
def _look_at(question: Question, items: list[int]) -> int:
    """The most doubtful get what is left of the budget: they come first among the chunks."""
    consensus = storage.lock(question.pk)
    rules = LabelRules.objects.select_for_update().get(question=question)
    look = _Look(question, consensus, rules)
    labels = {
        row.item_id: row for row in ItemLabel.objects.filter(question=question, item__in=items)
    }
    stood = {
        row.item_id: row for row in Escalation.objects.filter(question=question, item__in=items)
    }
    moved = 0
    for item in sorted(items):  # locks are taken in one order
        row = stood.get(item) or Escalation(question=question, item_id=item, state="")
        before = (row.state, row.why, row.asked)
        look.at(row, labels.get(item))
        if row.state and (row.state, row.why, row.asked) != before:
            row.changed_at = timezone.now()
            row.save()
            moved += 1
    rules.save(update_fields=["used"])
    return moved


@dataclass
class _Look:
    """With the locks of the question's labels and rules in hand."""

    question: Question
    consensus: Consensus
    rules: LabelRules

    @property
    def _overlap(self) -> int:
        return self.question.project.overlap

    def _want(self, item: int, number: int) -> None:
        slots.want(item, number, overlap=self._overlap)

    def at(self, row: Escalation, label: ItemLabel | None) -> None:
        """Move one item on, where it is time."""
        asked = slots.lock_and_look(row.item_id, overlap=self._overlap)
        if asked is None:
            return
        if not self._doubtful(label):
            if row.state:
                self._spare(row, asked)
                row.state, row.why = State.SURE, ""
        elif not self.rules.escalate:
            self._spare(row, asked)
            row.state, row.why = State.DECIDE, Why.STOPPED
        elif row.state == State.WAITING and asked.free:
            if not asked.open and not self._somebody(row.item_id):
                self._spare(row, asked)
                row.state, row.why = State.DECIDE, Why.NOBODY
        elif asked.done and self._knows_all(row.item_id, label):
            self._ask_again(row, asked)

    def _doubtful(self, label: ItemLabel | None) -> bool:
        if label is None or label.source != Source.CONSENSUS:
            return False
        return label.doubt > 1 - self.rules.sure_from

    def _knows_all(self, item: int, label: ItemLabel | None) -> bool:
        """Whether the stored label rests on all that was said: else the next one decides."""
        said = Rating.objects.standing().filter(question=self.question, item=item)
        if not self.consensus.with_models:
            said = said.filter(rater__kind=Rater.Kind.HUMAN)
        return label is not None and said.count() == label.n_ratings

    def _ask_again(self, row: Escalation, asked: slots.Asked) -> None:
        row.state, row.why = State.DECIDE, ""
        if asked.taken >= self.rules.most:
            row.why = Why.MOST
        elif self.rules.used >= self.rules.budget:
            row.why = Why.BUDGET
        elif not self._somebody(row.item_id):
            row.why = Why.NOBODY
        else:
            self._want(row.item_id, asked.taken + 1)
            row.state = State.WAITING
            row.asked += 1
            self.rules.used += 1

    def _spare(self, row: Escalation, asked: slots.Asked) -> None:
        """What was asked for and is not needed any more is not asked for."""
        if row.state == State.WAITING and row.asked and asked.free:
            self._want(row.item_id, asked.taken)
            row.asked -= 1
            self.rules.used -= 1

    def _somebody(self, item: int) -> bool:
        project = self.question.project_id
        return bool(bulk.several([(_SOMEBODY_FOR, [item, project, project])])[0])
