"""What raters learn of gold answers, where the lead lets them, and how they contest one.

After an exam those of its items; some days after it was retired one that was hidden among their
items. Of hidden gold that is in force nothing is told, not even that it is gold.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Exists, OuterRef
from django.utils import timezone
from django.utils.translation import gettext as _

from projects.models import GoldAnswer, Item, Question, Rater
from quality.models import Appeal, LabelRules
from ratings.models import Apart, Assignment, Exam

from . import appeals

MOST = 50  # retired gold answers that are told, the newest


@dataclass(frozen=True)
class Retired:
    """A gold answer that is in force no more, with what the rater said of its item."""

    gold: GoldAnswer
    own: int
    appeal: Appeal | None


def retired(rater: Rater) -> list[Retired]:
    """Those that the rater may know of, the newest first."""
    found: list[Retired] = []
    contested = appeals_of(rater)
    for rules in _letting(rater):
        moment = timezone.now() - datetime.timedelta(days=rules.tell_after)
        said = Apart.objects.standing().filter(
            rater=rater, question=rules.question_id, why=Assignment.Why.GOLD
        )
        codes = dict(said.values_list("item", "code"))
        others = GoldAnswer.objects.filter(question=OuterRef("question"), item=OuterRef("item"))
        later = others.filter(version__gt=OuterRef("version"))
        rows = GoldAnswer.objects.filter(
            ~Exists(later), question=rules.question_id, item__in=codes, retired_at__lte=moment
        ).select_related("question", "item")
        for gold in rows.order_by("-retired_at")[:MOST]:
            appeal = contested.get((gold.question_id, gold.item_id))
            found.append(Retired(gold, codes[gold.item_id], appeal))
    return found


def appeals_of(rater: Rater) -> dict[tuple[int, int], Appeal]:
    """(question, item) -> the rater's appeal about its gold answer."""
    rows = Appeal.objects.filter(rater=rater, about=Appeal.About.GOLD)
    return {(row.question_id, row.item_id): row for row in rows}


def may_contest(rater: Rater, question_ids: Iterable[int]) -> set[int]:
    """The questions whose lead lets the rater contest what they know of."""
    return {rules.question_id for rules in _letting(rater)} & set(question_ids)


def contest(*, rater: Rater, question: Question, item: Item, text: str) -> Appeal:
    """The rater contests a gold answer. Raises Refused for one that they may not know of, a second
    appeal, and a text that is empty or too long."""
    if not may_contest(rater, [question.pk]) or not _knows(rater, question, item):
        raise appeals.Refused(_("There is no known answer to contest."))
    return appeals.open_one(
        rater=rater, question=question, item=item, text=text, about=Appeal.About.GOLD
    )


def _knows(rater: Rater, question: Question, item: Item) -> bool:
    ended = Exam.objects.filter(rater=rater, question=question).exclude(state=Exam.State.OPEN)
    if any(item.pk == step[0] for exam in ended for step in exam.course):
        return True
    return any(
        one.gold.question_id == question.pk and one.gold.item_id == item.pk
        for one in retired(rater)
    )


def _letting(rater: Rater) -> list[LabelRules]:
    rules = LabelRules.objects.filter(question__project=rater.project_id, tell_raters=True)
    return list(rules)
