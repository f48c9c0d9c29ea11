"""Appeals of raters against decisions on items that they rated, and against gold answers.

Where the lead allows it, raters see such decisions, the gold answers of their exam, and hidden gold
some days after it was retired. They see no other rating, no name, and nothing about current gold.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from core.text import describe_length, has_nul
from events.services import record_event
from projects.models import GoldAnswer, Item, Question, Rater
from quality.models import Appeal, Decision, LabelRules
from ratings.models import Assignment, CheckAnswer, Exam, Rating

MAX_TEXT_LENGTH = 2_000  # characters of an appeal or its answer
About = Appeal.About
State = Appeal.State


class InvalidAppeal(Exception):
    """The appeal or its answer is invalid; the message says why."""


@dataclass(frozen=True)
class VisibleDecision:
    """A decision that a rater may see, with the code of their own rating and their appeal."""

    decision: Decision
    own_code: int
    appeal: Appeal | None


def get_visible_decisions(rater: Rater) -> QuerySet[Decision]:
    """Return the decisions that the rater may see, newest first.

    These are current decisions, older than the configured days, on items that the rater currently
    rates and that have no current gold answer.
    """
    now = timezone.now()
    rules = LabelRules.objects.filter(question__project=rater.project_id, show_to_raters=True)
    is_released = Q(pk__in=[])
    for row in rules:
        cutoff = now - datetime.timedelta(days=row.show_after_days)
        is_released |= Q(question=row.question_id, created_at__lte=cutoff)
    same: dict[str, object] = {"question": OuterRef("question"), "item": OuterRef("item")}
    own_ratings = Rating.objects.current().filter(rater=rater, **same)
    later_decisions = Decision.objects.filter(number__gt=OuterRef("number"), **same)
    gold = GoldAnswer.objects.in_force().filter(**same)
    visible = Decision.objects.filter(is_released, code__isnull=False)
    visible = visible.filter(Exists(own_ratings), ~Exists(later_decisions), ~Exists(gold))
    return visible.select_related("item", "question").order_by("-pk")


def build_visible_decisions(rater: Rater, decisions: list[Decision]) -> list[VisibleDecision]:
    """Return the decisions on items that the rater rates, with the rater's own code and appeal."""
    item_ids = [decision.item_id for decision in decisions]
    own_ratings = Rating.objects.current().filter(rater=rater, item__in=item_ids)
    own_codes = {(row.question_id, row.item_id): row.code for row in own_ratings}
    rows = Appeal.objects.filter(rater=rater, item__in=item_ids, about=About.DECISION)
    appeals = {(row.question_id, row.item_id): row for row in rows}
    keys = [(decision.question_id, decision.item_id) for decision in decisions]
    return [
        VisibleDecision(decision, own_codes[key], appeals.get(key))
        for decision, key in zip(decisions, keys, strict=True)
        if key in own_codes
    ]


def create_decision_appeal(*, rater: Rater, question: Question, item: Item, text: str) -> Appeal:
    """Create the rater's appeal against the decision on an item.

    Raises InvalidAppeal for a decision that the rater may not see, for a second appeal, and for a
    text that is empty or too long.
    """
    if not get_visible_decisions(rater).filter(question=question, item=item).exists():
        raise build_no_decision_error()
    return create_appeal(rater=rater, question=question, item=item, text=text, about=About.DECISION)


def build_no_decision_error() -> InvalidAppeal:
    """Return the error for items whose decision the rater may not see.

    It is the same whether there is a decision or not.
    """
    return InvalidAppeal(_("Nothing to appeal."))


def create_appeal(
    *, rater: Rater, question: Question, item: Item, text: str, about: Appeal.About
) -> Appeal:
    """Create an appeal and return it; the caller has checked that the rater may see its subject.

    Raises InvalidAppeal for a second appeal, and for a text that is empty or too long.
    """
    text = _validate_text(text)
    if not text:
        raise InvalidAppeal(_("Enter a reason."))
    try:
        with transaction.atomic():
            return Appeal.objects.create(
                question=question,
                item=item,
                rater=rater,
                about=about,
                text=text,
                created_at=timezone.now(),
            )
    except IntegrityError:
        raise InvalidAppeal(_("You already appealed this.")) from None


@transaction.atomic
def answer_appeal(*, appeal: Appeal, state: str, text: str, by: Any) -> Appeal:
    """Answer an open appeal and return it.

    ``state``: upheld or refused. The answer changes no decision: where the rater is right, a new
    decision is made. Locks the row. Raises InvalidAppeal for another state, a text that is too
    long, and an appeal that was answered before.
    """
    text = _validate_text(text)
    if state not in (State.UPHELD, State.REFUSED):
        raise InvalidAppeal(_("Choose an answer."))
    row = Appeal.objects.select_for_update().get(pk=appeal.pk)
    if row.state != State.OPEN:
        raise InvalidAppeal(_("Already decided."))
    row.state, row.answer, row.answered_by, row.answered_at = state, text, by, timezone.now()
    row.save()
    record_event(
        project_id=row.rater.project_id,
        kind="appeal.answered",
        subject=f"appeal/{row.pk}",
        data={"state": state, "about": row.about},
        by=by,
    )
    return row


def _validate_text(text: str) -> str:
    """Return the stripped text of an appeal or of its answer, which may be empty.

    Raises InvalidAppeal if it is too long or contains a NUL character.
    """
    if len(text) > MAX_TEXT_LENGTH or has_nul(text):
        raise InvalidAppeal(describe_length(MAX_TEXT_LENGTH))
    return text.strip()


MAX_RETIRED = 50  # retired gold answers shown, the newest


@dataclass(frozen=True)
class RetiredGold:
    """A retired gold answer, with the code of the rater's answer and their appeal."""

    gold: GoldAnswer
    own_code: int
    appeal: Appeal | None


def list_retired_gold(rater: Rater) -> list[RetiredGold]:
    """Return the retired gold answers that the rater may see, newest first."""
    retired_gold: list[RetiredGold] = []
    appeals_by_item = get_gold_appeals(rater)
    for rules in _get_visible_rules(rater):
        cutoff = timezone.now() - datetime.timedelta(days=rules.show_after_days)
        own_answers = CheckAnswer.objects.current().filter(
            rater=rater, question=rules.question_id, kind=Assignment.Kind.GOLD
        )
        own_codes = dict(own_answers.values_list("item", "code"))
        versions = GoldAnswer.objects.filter(question=OuterRef("question"), item=OuterRef("item"))
        later_versions = versions.filter(version__gt=OuterRef("version"))
        rows = GoldAnswer.objects.filter(
            ~Exists(later_versions),
            question=rules.question_id,
            item__in=own_codes,
            retired_at__lte=cutoff,
        ).select_related("question", "item")
        for gold in rows.order_by("-retired_at")[:MAX_RETIRED]:
            appeal = appeals_by_item.get((gold.question_id, gold.item_id))
            retired_gold.append(RetiredGold(gold, own_codes[gold.item_id], appeal))
    return retired_gold


def get_gold_appeals(rater: Rater) -> dict[tuple[int, int], Appeal]:
    """Return {(question id, item id): the rater's appeal against the item's gold answer}."""
    rows = Appeal.objects.filter(rater=rater, about=Appeal.About.GOLD)
    return {(row.question_id, row.item_id): row for row in rows}


def filter_questions_open_to_gold_appeals(rater: Rater, question_ids: Iterable[int]) -> set[int]:
    """Return ids of the questions in which the rater may appeal against gold answers."""
    return {rules.question_id for rules in _get_visible_rules(rater)} & set(question_ids)


def create_gold_appeal(*, rater: Rater, question: Question, item: Item, text: str) -> Appeal:
    """Create the rater's appeal against a gold answer.

    Raises InvalidAppeal for a gold answer that the rater may not see, for a second appeal, and
    for a text that is empty or too long.
    """
    if not filter_questions_open_to_gold_appeals(rater, [question.pk]) or not _has_seen_gold(
        rater, question, item
    ):
        raise InvalidAppeal(_("Nothing to appeal."))
    return create_appeal(
        rater=rater, question=question, item=item, text=text, about=Appeal.About.GOLD
    )


def _has_seen_gold(rater: Rater, question: Question, item: Item) -> bool:
    """Return whether the rater has seen the item's gold: after an exam, or once it was retired."""
    finished_exams = Exam.objects.filter(rater=rater, question=question).exclude(
        state=Exam.State.OPEN
    )
    if any(item.pk == step[0] for exam in finished_exams for step in exam.answers):
        return True
    return any(
        shown_gold.gold.question_id == question.pk and shown_gold.gold.item_id == item.pk
        for shown_gold in list_retired_gold(rater)
    )


def _get_visible_rules(rater: Rater) -> list[LabelRules]:
    """Return the rules of the project's questions whose decisions raters may see."""
    rules = LabelRules.objects.filter(question__project=rater.project_id, show_to_raters=True)
    return list(rules)
