"""Items and their ratings as the pages show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.utils.translation import gettext as _

from metrics.results.disagreement.disputed_items import disagreement, named
from metrics.scale import QuestionScale
from projects.models import Category, GoldAnswer, Item, ItemVersion, Question
from projects.services.items import gold
from ratings.models import NOTHING, Rating, Revision

ITEMS_A_PAGE = 50


@dataclass
class ItemRow:
    item: Item
    counts: list[tuple[str, int]] = field(default_factory=list)
    disagreement: float | None = None  # mean distance of two of its ratings; None: not two

    @property
    def n_ratings(self) -> int:
        return sum(count for _, count in self.counts)

    @property
    def agreed(self) -> bool:
        return len(self.counts) <= 1


def rows(
    question: Question, items: Sequence[Item], scale: QuestionScale, weights: str
) -> list[ItemRow]:
    """The items with their counts of categories, in declared order."""
    place = {item.pk: number for number, item in enumerate(items)}
    counts = np.zeros((len(items), scale.width), np.int64)
    ratings = Rating.objects.filter(question=question, item__in=list(place), code__gte=0)
    for item, code in ratings.values_list("item_id", "code"):
        counts[place[item], code] += 1
    counts = scale.ordered(counts)
    apart = disagreement(counts, scale.weightings()[weights])
    found = []
    for one, row, distance in zip(items, counts, apart.tolist(), strict=True):
        several = row.sum() > 1
        found.append(ItemRow(one, named(row, scale), distance if several else None))
    return found


def orders() -> list[tuple[str, str]]:
    return [
        ("", _("in the order they were added")),
        ("disagreement", _("most disagreement first")),
        ("ratings", _("most ratings first")),
        ("rated", _("rated last first")),
    ]


def states(*, with_gold: bool) -> list[tuple[str, str]]:
    """Which items may be asked for; leads alone learn which have a gold answer."""
    found = [
        ("", _("All items")),
        ("asked", _("asked for")),
        ("waiting", _("without content")),
        ("withdrawn", _("withdrawn")),
        ("flagged", _("flagged by a rater")),
        ("skipped", _("skipped by a rater")),
    ]
    return found + ([("gold", _("with a gold answer"))] if with_gold else [])


def answers() -> list[tuple[str, str]]:
    return [
        ("", _("Any answers")),
        ("differ", _("answers differ")),
        ("same", _("all say the same")),
    ]


# --- one item


@dataclass
class RatingRow:
    rating: Rating
    label: str
    differs_from: list[str]
    history: list[tuple[str, Revision]]


@dataclass
class QuestionRatings:
    question: Question
    ratings: list[RatingRow]
    counts: list[tuple[str, int]]
    gold: Gold | None = None


@dataclass
class Gold:
    """The gold answer of an item to a question, and what may be said instead. ``answer`` is None
    where there is none; ``shown`` are (label, share; None: right)."""

    answer: GoldAnswer | None
    shown: list[tuple[str, float | None]]
    options: list[tuple[Category, bool]]


def item_ratings(
    item: Item, questions: list[Question], *, with_gold: bool, with_history: bool = True
) -> list[QuestionRatings]:
    """Every rating of an item by question, with its history and with whom it differs. Withdrawn
    ones come last."""
    found = list(
        Rating.objects.filter(item=item, question__in=questions)
        .select_related("rater")
        .order_by("rater__key")
    )
    revisions: dict[int, list[Revision]] = {rating.pk: [] for rating in found}
    history = (
        Revision.objects.filter(rating__in=list(revisions)).select_related("by").order_by("id")
    )
    for revision in history if with_history else ():
        revisions[revision.rating_id].append(revision)
    answers = []
    for question in questions:
        answer = _of_question(question, found, revisions)
        if with_gold:
            answer.gold = _gold_of(item, question)
        answers.append(answer)
    return answers


def versions(item: Item) -> list[ItemVersion]:
    """What the item said before, newest first."""
    return list(item.versions.select_related("by").order_by("-number"))


def _gold_of(item: Item, question: Question) -> Gold:
    answer = gold.in_force(question, [item.pk]).select_related("by").first()
    labels = {category.code: category.label for category in question.categories.all()}
    said = answer.answer if answer else []
    shown: list[tuple[str, float | None]] = []
    for code in said:
        share = said[code] if isinstance(said, dict) else None
        shown.append((labels.get(int(code), str(code)), share))
    right = {int(code) for code in said}
    options = [(one, one.code in right) for one in question.active_categories()]
    return Gold(answer, shown, options)


def _of_question(
    question: Question, found: list[Rating], revisions: dict[int, list[Revision]]
) -> QuestionRatings:
    labels = {category.code: category.label for category in question.categories.all()}
    labels[NOTHING] = ""
    mine = sorted(
        (r for r in found if r.question_id == question.pk),
        key=lambda rating: rating.code == NOTHING,
    )
    standing = [rating for rating in mine if rating.code != NOTHING]
    rows = [
        RatingRow(
            rating,
            labels.get(rating.code, ""),
            [str(other.rater) for other in standing if rating.code not in (NOTHING, other.code)],
            [(labels.get(revision.code, ""), revision) for revision in revisions[rating.pk]],
        )
        for rating in mine
    ]
    counts = Counter(rating.code for rating in standing)
    scale = QuestionScale.of(question)
    ordered = [counts[code] for code in scale.codes.tolist()]
    return QuestionRatings(question, rows, named(ordered, scale))


def shown_attributes(item: Item) -> list[tuple[str, Any]]:
    """What raters never see of the item, as lines of name and text."""
    attributes = (
        item.attributes if isinstance(item.attributes, dict) else {"attributes": item.attributes}
    )
    return [
        (str(name), value) for name, value in attributes.items() if value not in ("", None, [], {})
    ]
