"""Decisions: who holds an item, and what was decided of it."""

from __future__ import annotations

import datetime
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from metrics.scale import QuestionScale
from projects.models import Item, Question
from quality import validation
from quality.consensus import storage
from quality.models import (
    Claim,
    Decision,
    Escalation,
    ItemLabel,
    NamesSeen,
    SecondOpinion,
    Sent,
    Source,
)
from ratings.models import Rating

from . import second_opinions
from .queue_filter import EVERYTHING, Narrowing

HELD = datetime.timedelta(minutes=15)
LONGEST_REASON = 4_000  # characters


class Refused(Exception):
    """A decision that cannot be made. ``field``: what is wrong; ``said``: why, in words."""

    def __init__(self, field: str, said: str) -> None:
        super().__init__(said)
        self.field = field
        self.said = said


class Held(Refused):
    """Somebody else is deciding the item just now."""


@transaction.atomic
def decide(
    *, question: Question, item: Item, code: int | None, reason: str = "", by: Any
) -> Decision:
    """The item's label is the category of this code from now on; None takes a decision back.

    First ratings stay as they are. Raises Refused, having changed nothing, for a category that is
    not declared, a reason that is too long, and an item that somebody else holds.
    """
    storage.lock(question.pk)
    scale = QuestionScale.of(question)
    places = _checked(scale, code, reason)
    _refuse_if_held(question, item, by)
    earlier = Decision.objects.filter(question=question, item=item).order_by("number").last()
    if code is None and (earlier is None or earlier.code is None):
        raise Refused("label", _("there is no decision to take back"))
    made = Decision.objects.create(
        question=question,
        item=item,
        number=earlier.number + 1 if earlier else 1,
        code=code,
        reason=reason,
        by=by,
        made_at=timezone.now(),
    )
    _store(question, item, None if code is None else places[code], scale)
    Sent.objects.filter(question=question, item=item).delete()
    Claim.objects.filter(question=question, item=item).delete()
    return made


@transaction.atomic
def say(
    *, question: Question, item: Item, code: int | None, reason: str = "", by: Any
) -> Decision | SecondOpinion:
    """What an adjudicator says of the item before them: a decision or, of one that was drawn for it
    and that somebody else decided, a second opinion. Raises Refused as ``decide`` does."""
    storage.lock(question.pk)
    if code is None or not second_opinions.is_second(question=question, item=item, by=by):
        return decide(question=question, item=item, code=code, reason=reason, by=by)
    _checked(QuestionScale.of(question), code, reason)
    _refuse_if_held(question, item, by)
    Claim.objects.filter(question=question, item=item).delete()
    return second_opinions.give(question=question, item=item, code=code, reason=reason, by=by)


def _checked(scale: QuestionScale, code: int | None, reason: str) -> dict[int, int]:
    """code -> place of the declared categories; raises Refused for what cannot be said."""
    places = {int(known): place for place, known in enumerate(scale.codes)}
    if code is not None and code not in places:
        allowed = ", ".join(scale.labels)
        raise Refused("label", _("unknown label; one of %(allowed)s") % {"allowed": allowed})
    if wrong := validation.trouble_with(reason, longest=LONGEST_REASON):
        raise Refused("reason", wrong)
    return places


def _refuse_if_held(question: Question, item: Item, by: Any) -> None:
    held = Claim.objects.filter(question=question, item=item, until__gt=timezone.now())
    other = held.exclude(by=by).select_related("by").first()
    if other is not None:
        said = _("%(name)s is deciding this item just now") % {"name": other.by}
        raise Held("item", said)


def _store(question: Question, item: Item, place: int | None, scale: QuestionScale) -> None:
    if place is None:  # the next sweep says what the ratings come to
        ItemLabel.objects.filter(question=question, item=item).delete()
        return
    n_ratings = Rating.objects.standing().filter(question=question, item=item).count()
    source = Source.DECISION.value
    row = storage.known_row(question.pk, item.pk, place, scale, source=source, n_ratings=n_ratings)
    storage.write_rows([row])


def claim_next(
    *, question: Question, by: Any, doubt: float, narrowing: Narrowing = EVERYTHING
) -> ItemLabel | None:
    """The item most worth a decision of those with more doubt than this, now held by ``by`` for a
    quarter of an hour; None where nothing is left. One that is held already comes first; and now
    and then one for a second opinion, where nothing is narrowed.

    Two adjudicators who ask at the same moment get two items.
    """
    with transaction.atomic():
        storage.lock(question.pk)
        claims = Claim.objects.filter(question=question)
        claims.filter(until__lte=timezone.now()).delete()
        drawn = None
        if narrowing == EVERYTHING:
            drawn = second_opinions.next_of(question=question, by=by)
        label = drawn if second_opinions.has_turn(question=question, by=by) else None
        open_ones = worth_deciding(question, doubt=doubt, narrowing=narrowing)
        mine = claims.filter(by=by, passed=False).values("item")
        if label is None:
            label = open_ones.filter(item__in=mine).first()
        if label is None:
            label = open_ones.exclude(item__in=claims.values("item")).first()
        if label is None:
            label = drawn
        if label is not None:
            hold(question=question, item=label.item, by=by)
        return label


def hold(*, question: Question, item: Item, by: Any, passed: bool = False) -> None:
    """Keep others from the item for a quarter of an hour; ``passed``: and ``by`` too, who wants
    another one first. Raises Held where somebody else has it."""
    with transaction.atomic():
        storage.lock(question.pk)
        _refuse_if_held(question, item, by)
        Claim.objects.update_or_create(
            question=question,
            item=item,
            defaults={"by": by, "until": timezone.now() + HELD, "passed": passed},
        )


def worth_deciding(
    question: Question, *, doubt: float, narrowing: Narrowing = EVERYTHING
) -> QuerySet[ItemLabel]:
    """The labels that rest on two ratings or more and are in more doubt than this, the most
    doubtful first; before them what a lead sent, whatever its doubt. Those that wait for one rating
    more are left out. Where what raters contest is wanted: the decisions that they contest,
    whatever the doubt, the oldest first."""
    if narrowing.contested:
        decided = ItemLabel.objects.filter(question=question, source=Source.DECISION)
        found = narrowing.of_labels(decided).select_related("item")
        return found.order_by("made_at", "item_id")
    rows = ItemLabel.objects.filter(question=question, source=Source.CONSENSUS)
    rows = narrowing.of_labels(rows).select_related("item")
    asked = Escalation.objects.filter(question=question, state=Escalation.State.WAITING)
    doubtful = Q(n_ratings__gte=2, doubt__gt=doubt) & ~Q(item__in=asked.values("item"))
    sent = Sent.objects.filter(question=question)
    if not sent.exists():  # as nearly always: one index answers
        return rows.filter(doubtful).order_by("-doubt", "item_id")
    rows = rows.annotate(sent=Exists(sent.filter(item=OuterRef("item"))))
    return rows.filter(doubtful | Q(sent=True)).order_by("-sent", "-doubt", "item_id")


def show_names(*, question: Question, item: Item, by: Any) -> None:
    """Write down that ``by`` looked who gave which rating."""
    NamesSeen.objects.get_or_create(question=question, item=item, by=by)


def names_seen(*, question: Question, item: Item, by: Any) -> bool:
    return NamesSeen.objects.filter(question=question, item=item, by=by).exists()
