"""Appeals of raters against gold answers.

Where the lead allows it, raters see the gold answers of their exam, and hidden gold some days
after it was retired. Nothing is shown about current hidden gold, not even that it is gold.
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
from ratings.models import Assignment, CheckAnswer, Exam

from . import appeals

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
    """Return {(question id, item id): the rater's appeal against its gold answer}."""
    rows = Appeal.objects.filter(rater=rater, about=Appeal.About.GOLD)
    return {(row.question_id, row.item_id): row for row in rows}


def get_contestable_questions(rater: Rater, question_ids: Iterable[int]) -> set[int]:
    """Return ids of the questions in which the rater may appeal against gold answers."""
    return {rules.question_id for rules in _get_visible_rules(rater)} & set(question_ids)


def create_gold_appeal(*, rater: Rater, question: Question, item: Item, text: str) -> Appeal:
    """Create the rater's appeal against a gold answer.

    Raises InvalidAppeal for a gold answer that the rater may not see, for a second appeal, and
    for a text that is empty or too long.
    """
    if not get_contestable_questions(rater, [question.pk]) or not _has_seen_gold(
        rater, question, item
    ):
        raise appeals.InvalidAppeal(_("There is nothing to appeal."))
    return appeals.create_appeal(
        rater=rater, question=question, item=item, text=text, about=Appeal.About.GOLD
    )


def _has_seen_gold(rater: Rater, question: Question, item: Item) -> bool:
    """Return whether the rater saw the gold answer: after an exam, or after it was retired."""
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
