"""Two adjudicators on one item: a share of the decided items is put before a second one, who does
not see that it was decided. Their agreement says how far decisions can be relied on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.db.models import Count, Exists, F, OuterRef
from django.utils import timezone

from metrics.agreement.coefficients import fleiss
from metrics.agreement.weights import NONE
from metrics.scale import QuestionScale
from projects.models import Item, Question
from quality.models import Appeal, Claim, Decision, ItemLabel, LabelRules, SecondOpinion, Source

LOOKED_AT = 2_000  # decided items, the newest
ONE_IN = 3  # of what an adjudicator gets, while there is something to decide too
SHOWN = 20


@dataclass(frozen=True)
class Agreement:
    """Of first decisions and second opinions: on how many of how many items they are the same,
    Fleiss' kappa under the question's weights, and keys of items on which they differ."""

    n: int
    same: int
    kappa: Mapping[str, Any] | None = None
    differ: list[str] = field(default_factory=list)


def is_second(*, question: Question, item: Item, by: Any) -> bool:
    """Whether what this user says of the item is a second opinion: the item was drawn, somebody
    else decided it, and nobody has given one. Who looks at a decision that a rater contests knows
    that there is one, and decides anew."""
    if Appeal.objects.filter(question=question, item=item, state=Appeal.State.OPEN).exists():
        return False
    rules = LabelRules.objects.filter(question=question).first()
    if rules is None or not _drawn(question, item.pk, rules.second_share):
        return False
    standing = _standing(question, item)
    if standing is None or standing.code is None or standing.by_id in (None, by.pk):
        return False
    decided_by_me = Decision.objects.filter(question=question, item=item, by=by)
    given = SecondOpinion.objects.filter(question=question, item=item)
    return not decided_by_me.exists() and not given.exists()


def next_of(*, question: Question, by: Any) -> ItemLabel | None:
    """The label of a drawn item for this user to say something of, what was decided last first;
    None where there is none. To be called with the question's lock in hand."""
    rules = LabelRules.objects.filter(question=question).first()
    if rules is None or not rules.second_share:
        return None
    mine = Decision.objects.filter(question=question, item=OuterRef("item"), by=by)
    given = SecondOpinion.objects.filter(question=question, item=OuterRef("item"))
    decided = ItemLabel.objects.filter(question=question, source=Source.DECISION)
    decided = decided.filter(~Exists(mine), ~Exists(given))
    held = Claim.objects.filter(question=question).exclude(by=by, passed=False)
    decided = decided.exclude(item__in=held.values("item")).select_related("item")
    for label in decided.order_by("-made_at", "item_id")[:LOOKED_AT]:
        if is_second(question=question, item=label.item, by=by):
            return label
    return None


def has_turn(*, question: Question, by: Any) -> bool:
    """Whether a second opinion comes before a decision now: by what the user has done so far, so
    that the page tells nothing."""
    done = Decision.objects.filter(question=question, by=by).count()
    done += SecondOpinion.objects.filter(question=question, by=by).count()
    return _number(f"{by.pk}:{question.pk}:{done}") % ONE_IN == 0


def give(*, question: Question, item: Item, code: int, reason: str, by: Any) -> SecondOpinion:
    """Keep what the user says of an item of which ``is_second`` is true, with the question's lock
    in hand. ValueError where nothing is decided."""
    standing = _standing(question, item)
    if standing is None:
        raise ValueError(f"{item.key}: no decision to compare with")
    return SecondOpinion.objects.create(
        question=question,
        item=item,
        decision=standing,
        code=code,
        reason=reason,
        by=by,
        made_at=timezone.now(),
    )


def agreement(question: Question) -> Agreement:
    """From the stored pairs of decision and second opinion."""
    rows = SecondOpinion.objects.filter(question=question)
    pairs = rows.values_list("decision__code", "code").annotate(n=Count("pk")).order_by()
    scale = QuestionScale.of(question)
    place = {int(code): index for index, code in enumerate(scale.codes)}
    known = [(first, other, n) for first, other, n in pairs if first in place and other in place]
    n = sum(number for _first, _other, number in known)
    same = sum(number for first, other, number in known if first == other)
    if not n or scale.k < 2:
        return Agreement(n, same)
    counts = np.zeros((len(known), scale.k))
    for index, (first, other, _number) in enumerate(known):
        counts[index, place[first]] += 1
        counts[index, place[other]] += 1
    weights = scale.weightings()[question.weights if scale.type.ordered else NONE]
    numbers = np.array([number for _first, _other, number in known])
    kappa = fleiss.fleiss_kappa(counts, numbers, weights=weights).reading()
    apart = rows.exclude(code=F("decision__code")).order_by("-pk")
    return Agreement(n, same, kappa, list(apart.values_list("item__key", flat=True)[:SHOWN]))


def _standing(question: Question, item: Item) -> Decision | None:
    return Decision.objects.filter(question=question, item=item).order_by("number").last()


def _drawn(question: Question, item_id: int, share: float) -> bool:
    return _number(f"{question.pk}:{item_id}") < share * 2**64


def _number(text: str) -> int:
    """0 to 2**64 - 1, the same for the same text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
