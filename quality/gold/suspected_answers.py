"""Gold answers that raters put in doubt.

By what people say of gold of one category (metrics.agreement.rater_quality.gold.wrong_gold). A suspected answer
is in no score until a lead decides; one that a lead kept is not suspected again, until another
answer takes its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from metrics.agreement.rater_quality import gold as formulas
from metrics.scale import QuestionScale
from projects.models import GoldAnswer
from projects.services.items import gold as catalogue
from quality import validation
from quality.models import GoldItem, GoldReview

from .answers import Gold, Said

LONGEST_REASON = 4_000  # characters
# What a rater without other gold is taken for: right 4 times in 5 (as in wrong_gold).
PRIOR_RIGHT, PRIOR = 4, 5


class Refused(Exception):
    """A review that cannot be written; the message says why."""


def doubts(
    golds: Mapping[int, Gold],
    said: Sequence[Said],
    scale: QuestionScale,
    *,
    question_id: int,
    bar: float,
) -> list[GoldItem]:
    """A row for each gold answer in force, ordered by its item."""
    by_item: dict[int, list[Said]] = {}
    for one in said:
        by_item.setdefault(one.item, []).append(one)
    known = {item: gold.single for item, gold in golds.items() if gold.single is not None}
    people: dict[int, dict[int, int]] = {}
    for one in said:
        if one.human and one.item in known:
            people.setdefault(one.item, {})[one.rater] = one.code
    suspects = formulas.wrong_gold(people, known, scale.k) if scale.k > 1 else {}
    tally = _tally(people, known)
    rows = []
    for item, gold in sorted(golds.items()):
        answers = by_item.get(item, [])
        course = [one.code in gold.right for one in answers]
        row = GoldItem(
            gold_id=gold.id,
            question_id=question_id,
            item_id=item,
            exposures=len(answers),
            right=sum(course),
            leaked=bool(gold.right) and formulas.leaked(course),
        )
        if item in suspects:
            suspect, given = suspects[item], people.get(item, {})
            row.probability = suspect.probability
            row.people = suspect.n_raters
            row.better = int(scale.codes[suspect.better])
            row.suspected = suspect.listed and not gold.kept
            others = _on_others(gold.single, given, tally)
            _count_good(row, given, others, bar=bar, better=suspect.better)
        rows.append(row)
    return rows


def _count_good(
    row: GoldItem, said: Mapping[int, int], others: Mapping[int, float], *, bar: float, better: int
) -> None:
    """rater -> code, rater -> accuracy on all other gold."""
    for rater, code in said.items():
        if others[rater] >= bar:
            row.good += 1
            row.good_better += code == better


def _on_others(
    item_gold: int | None, said: Mapping[int, int], tally: Mapping[int, tuple[int, int]]
) -> dict[int, float]:
    """Rater -> how often right on all other gold, as wrong_gold takes it."""
    found = {}
    for rater, code in said.items():
        right, n = tally[rater]
        found[rater] = (right - (code == item_gold) + PRIOR_RIGHT) / (n - 1 + PRIOR)
    return found


def _tally(
    people: Mapping[int, Mapping[int, int]], known: Mapping[int, int | None]
) -> dict[int, tuple[int, int]]:
    """Rater -> (right answers, answers) on gold of one category."""
    found: dict[int, tuple[int, int]] = {}
    for item, given in people.items():
        for rater, code in given.items():
            right, n = found.get(rater, (0, 0))
            found[rater] = (right + (code == known[item]), n + 1)
    return found


@transaction.atomic
def review(*, gold: GoldAnswer, verdict: str, reason: str = "", by: Any) -> GoldReview:
    """A lead's decision of a gold answer in force: to keep it in spite of what raters say, or to
    retire it. Raises Refused, having changed nothing."""
    if verdict not in GoldReview.Verdict.values:
        raise Refused(_("Choose to keep or to retire it."))
    if wrong := validation.trouble_with(reason, longest=LONGEST_REASON):
        raise Refused(wrong)
    catalogue.hold(gold.question)
    if not GoldAnswer.objects.in_force().filter(pk=gold.pk).exists():
        raise Refused(_("This gold answer is not in force any more."))
    if verdict == GoldReview.Verdict.RETIRE:
        catalogue.retire_gold(item=gold.item, question=gold.question, by=by)
    else:
        GoldItem.objects.filter(gold=gold).update(suspected=False)
    return GoldReview.objects.create(
        gold=gold,
        verdict=verdict,
        reason=reason,
        evidence=_known(gold),
        by=by,
        made_at=timezone.now(),
    )


def _known(gold: GoldAnswer) -> dict[str, object]:
    columns = ("exposures", "right", "probability", "people", "better", "good", "good_better")
    return GoldItem.objects.filter(gold=gold).values(*columns).first() or {}
