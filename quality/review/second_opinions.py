"""Second opinions: a sample of decided items is shown to another adjudicator, blind.

Their agreement shows how reliable decisions are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.db.models import Count, Exists, F, OuterRef
from django.utils import timezone

from metrics.agreement.coefficients import fleiss
from metrics.question_scale import QuestionScale
from projects.models import Item, Question
from quality.models import (
    Appeal,
    Decision,
    ItemLabel,
    LabelRules,
    LabelSource,
    ReviewClaim,
    SecondOpinion,
)

MAX_CANDIDATES = 2_000  # newest decided items searched
SECOND_OPINION_INTERVAL = (
    3  # one of so many items is for a second opinion, while others need a decision
)
MAX_DIFFERING_ITEMS = 20


@dataclass(frozen=True)
class AdjudicatorAgreement:
    """Agreement of decisions with second opinions on the same items.

    ``n``: number of items; ``same``: number of items with equal answers; ``kappa``: Fleiss' kappa
    with the question's weights, None without data; ``differing_items``: keys of items with
    different answers.
    """

    n: int
    same: int
    kappa: Mapping[str, Any] | None = None
    differing_items: list[str] = field(default_factory=list)


def is_second_opinion(*, question: Question, item: Item, by: Any) -> bool:
    """Return whether an answer of this user on the item is a second opinion.

    It is if the item is sampled, somebody else has decided it, and it has no second opinion
    yet. With an open appeal it is not: the user then knows the decision and makes a new one.
    """
    if Appeal.objects.filter(question=question, item=item, state=Appeal.State.OPEN).exists():
        return False
    rules = LabelRules.objects.filter(question=question).first()
    if rules is None or not _is_sampled(question, item.pk, rules.second_opinion_share):
        return False
    decision = _get_current_decision(question, item)
    if decision is None or decision.code is None or decision.by_id in (None, by.pk):
        return False
    own_decisions = Decision.objects.filter(question=question, item=item, by=by)
    second_opinions = SecondOpinion.objects.filter(question=question, item=item)
    return not own_decisions.exists() and not second_opinions.exists()


def find_label_for_second_opinion(*, question: Question, by: Any) -> ItemLabel | None:
    """Return the newest decided label on which this user can give a second opinion, or None.

    Only the MAX_CANDIDATES newest labels are searched, without items that others have claimed or
    that were postponed. The caller holds the question's lock.
    """
    rules = LabelRules.objects.filter(question=question).first()
    if rules is None or not rules.second_opinion_share:
        return None
    own_decisions = Decision.objects.filter(question=question, item=OuterRef("item"), by=by)
    second_opinions = SecondOpinion.objects.filter(question=question, item=OuterRef("item"))
    decided = ItemLabel.objects.filter(question=question, source=LabelSource.DECISION)
    decided = decided.filter(~Exists(own_decisions), ~Exists(second_opinions))
    claims = ReviewClaim.objects.filter(question=question).exclude(by=by, postponed=False)
    decided = decided.exclude(item__in=claims.values("item")).select_related("item")
    for label in decided.order_by("-computed_at", "item_id")[:MAX_CANDIDATES]:
        if is_second_opinion(question=question, item=label.item, by=by):
            return label
    return None


def should_ask_second_opinion(*, question: Question, by: Any) -> bool:
    """Return whether the user's next item should be for a second opinion.

    This depends only on how many answers the user has given, so that the page does not reveal
    whether an item has been decided.
    """
    n_answers = Decision.objects.filter(question=question, by=by).count()
    n_answers += SecondOpinion.objects.filter(question=question, by=by).count()
    return _hash_to_int(f"{by.pk}:{question.pk}:{n_answers}") % SECOND_OPINION_INTERVAL == 0


def create_second_opinion(
    *, question: Question, item: Item, code: int, reason: str, by: Any
) -> SecondOpinion:
    """Store a second opinion on an item for which ``is_second_opinion`` is true, and return it.

    The caller holds the question's lock. Raises ValueError for an item without a decision.
    """
    decision = _get_current_decision(question, item)
    if decision is None:
        raise ValueError(f"{item.key}: no decision to compare with")
    return SecondOpinion.objects.create(
        question=question,
        item=item,
        decision=decision,
        code=code,
        reason=reason,
        by=by,
        created_at=timezone.now(),
    )


def compute_adjudicator_agreement(question: Question) -> AdjudicatorAgreement:
    """Return the agreement of the stored second opinions with the decisions.

    Pairs with a retired category are left out.
    """
    rows = SecondOpinion.objects.filter(question=question)
    pairs = rows.values_list("decision__code", "code").annotate(n=Count("pk")).order_by()
    scale = QuestionScale.for_question(question)
    index_of_code = {int(code): index for index, code in enumerate(scale.codes)}
    valid_pairs = [
        (first, second, n)
        for first, second, n in pairs
        if first in index_of_code and second in index_of_code
    ]
    n = sum(count for _first, _second, count in valid_pairs)
    n_same = sum(count for first, second, count in valid_pairs if first == second)
    if not n or scale.k < 2:
        return AdjudicatorAgreement(n, n_same)
    counts = np.zeros((len(valid_pairs), scale.k))
    for index, (first, second, _count) in enumerate(valid_pairs):
        counts[index, index_of_code[first]] += 1
        counts[index, index_of_code[second]] += 1
    weights = scale.build_weight_matrices()[scale.weighting]
    pair_counts = np.array([count for _first, _second, count in valid_pairs])
    kappa = fleiss.fleiss_kappa(counts, pair_counts, weights=weights).to_value()
    differing = rows.exclude(code=F("decision__code")).order_by("-pk")
    return AdjudicatorAgreement(
        n, n_same, kappa, list(differing.values_list("item__key", flat=True)[:MAX_DIFFERING_ITEMS])
    )


def _get_current_decision(question: Question, item: Item) -> Decision | None:
    return Decision.objects.filter(question=question, item=item).order_by("number").last()


def _is_sampled(question: Question, item_id: int, share: float) -> bool:
    """Return whether the item is in a random sample of this share of the items.

    The sample is always the same.
    """
    return _hash_to_int(f"{question.pk}:{item_id}") < share * 2**64


def _hash_to_int(text: str) -> int:
    """Return an integer from 0 to 2**64 - 1 that depends only on the text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
