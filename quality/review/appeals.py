"""Raters learn what was decided of their items, where the lead lets them, and may contest it.

Nothing else becomes known: no other rating, no name, and nothing of an item that has a gold answer.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from core.text import has_nul
from events.services import record
from projects.models import GoldAnswer, Item, Question, Rater
from quality.models import Appeal, Decision, LabelRules
from ratings.models import Rating

LONGEST = 2_000  # characters of an appeal or its answer
About = Appeal.About
State = Appeal.State


class Refused(Exception):
    """An appeal that cannot be, in words."""


@dataclass(frozen=True)
class Told:
    """One decision on an item that the rater rated, with what they said themselves."""

    decision: Decision
    own: int
    appeal: Appeal | None


def told(rater: Rater) -> QuerySet[Decision]:
    """The decisions that the rater may know of, the newest first: those that stand, some days old,
    on items of which a rating of theirs stands."""
    now = timezone.now()
    rules = LabelRules.objects.filter(question__project=rater.project_id, tell_raters=True)
    known = Q(pk__in=[])
    for row in rules:
        moment = now - datetime.timedelta(days=row.tell_after)
        known |= Q(question=row.question_id, made_at__lte=moment)
    same: dict[str, Any] = {"question": OuterRef("question"), "item": OuterRef("item")}
    mine = Rating.objects.standing().filter(rater=rater, **same)
    later = Decision.objects.filter(number__gt=OuterRef("number"), **same)
    gold = GoldAnswer.objects.in_force().filter(**same)
    found = Decision.objects.filter(known, code__isnull=False)
    found = found.filter(Exists(mine), ~Exists(later), ~Exists(gold))
    return found.select_related("item", "question").order_by("-pk")


def with_own(rater: Rater, decisions: list[Decision]) -> list[Told]:
    """With what the rater said, and their appeal where there is one."""
    items = [one.item_id for one in decisions]
    said = Rating.objects.standing().filter(rater=rater, item__in=items)
    codes = {(row.question_id, row.item_id): row.code for row in said}
    rows = Appeal.objects.filter(rater=rater, item__in=items, about=About.DECISION)
    appeals = {(row.question_id, row.item_id): row for row in rows}
    keys = [(one.question_id, one.item_id) for one in decisions]
    return [
        Told(one, codes[key], appeals.get(key))
        for one, key in zip(decisions, keys, strict=True)
        if key in codes
    ]


def contest(*, rater: Rater, question: Question, item: Item, text: str) -> Appeal:
    """The rater contests the decision on the item. Raises Refused for one that they may not know
    of, a second appeal, and a text that is empty or too long."""
    if not told(rater).filter(question=question, item=item).exists():
        raise nothing()
    return open_one(rater=rater, question=question, item=item, text=text, about=About.DECISION)


def nothing() -> Refused:
    """What is said of every item of whose decision a rater may not know, whether there is one or
    not."""
    return Refused(_("There is no decision to contest."))


def open_one(
    *, rater: Rater, question: Question, item: Item, text: str, about: Appeal.About
) -> Appeal:
    """An appeal about what the rater knows of the item; the caller has made sure of that. Raises
    Refused."""
    text = _checked(text)
    if not text:
        raise Refused(_("Say why."))
    try:
        with transaction.atomic():
            return Appeal.objects.create(
                question=question,
                item=item,
                rater=rater,
                about=about,
                text=text,
                made_at=timezone.now(),
            )
    except IntegrityError:
        raise Refused(_("You have contested this already.")) from None


@transaction.atomic
def answer(*, appeal: Appeal, state: str, text: str, by: Any) -> Appeal:
    """Answer an appeal, once. What was decided is not changed by it: another decision is made where
    the rater is right. Raises Refused."""
    text = _checked(text)
    if state not in (State.UPHELD, State.REFUSED):
        raise Refused(_("Choose an answer first."))
    row = Appeal.objects.select_for_update().get(pk=appeal.pk)
    if row.state != State.OPEN:
        raise Refused(_("This appeal was answered already."))
    row.state, row.answer, row.answered_by, row.answered_at = state, text, by, timezone.now()
    row.save()
    record(
        project_id=row.rater.project_id,
        kind="appeal_answered",
        subject=f"appeal/{row.pk}",
        data={"state": state, "about": row.about},
        by=by,
    )
    return row


def _checked(text: str) -> str:
    if len(text) > LONGEST or has_nul(text):
        raise Refused(_("%(n)s characters at most, and no NUL") % {"n": LONGEST})
    return text.strip()
