"""Items and their ratings as the pages show them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from metrics.scale import QuestionScale
from projects.models import Item, Question
from ratings.models import NOTHING, Rating, Revision

ITEMS_A_PAGE = 50
LOOKED_AT = 20_000  # items of which one page counts the ratings, in search of those with so many


@dataclass
class ItemRow:
    item: Item
    counts: list[tuple[str, int]] = field(default_factory=list)

    @property
    def n_ratings(self) -> int:
        return sum(count for _, count in self.counts)

    @property
    def agreed(self) -> bool:
        return len(self.counts) <= 1


@dataclass(frozen=True)
class Found:
    """A page of items; ``next_after`` is the id after which the next page begins, None at the
    end."""

    items: list[Item]
    next_after: int | None
    cut: bool  # whether the search stopped before it had a page full


def find(question: Question, *, search: str, n_ratings: int | None, after: int) -> Found:
    """The page of matching items after an id. A search by ratings looks at LOOKED_AT items and can
    be gone on with."""
    items = matching(question, search=search, n_ratings=n_ratings, after=after)
    bound = None
    if n_ratings is not None:
        behind = Item.objects.filter(project=question.project_id, pk__gt=after).order_by("pk")
        bound = behind.values_list("pk", flat=True)[LOOKED_AT - 1 : LOOKED_AT].first()
        items = items if bound is None else items.filter(pk__lte=bound)
    found = list(items[: ITEMS_A_PAGE + 1])
    if len(found) > ITEMS_A_PAGE:
        return Found(found[:ITEMS_A_PAGE], found[ITEMS_A_PAGE - 1].pk, cut=False)
    return Found(found, bound, cut=bound is not None)


def matching(
    question: Question, *, search: str, n_ratings: int | None, after: int
) -> QuerySet[Item]:
    """Items after an id whose key holds the literal text and that have so many ratings (10: ten or
    more)."""
    items = Item.objects.filter(project=question.project_id, pk__gt=after).order_by("pk")
    if search:
        items = items.filter(key__icontains=search)
    if n_ratings is not None:
        ratings = Rating.objects.filter(question=question, item=OuterRef("pk"), code__gte=0)
        number = ratings.order_by().values("item").annotate(n=Count("pk")).values("n")
        items = items.annotate(n_ratings=Coalesce(Subquery(number), 0))
        items = (
            items.filter(n_ratings__gte=10)
            if n_ratings == 10
            else items.filter(n_ratings=n_ratings)
        )
    return items


def rows(question: Question, items: list[Item], scale: QuestionScale) -> list[ItemRow]:
    """The items with their counts of categories, in declared order."""
    counts: dict[int, Counter[int]] = {item.pk: Counter() for item in items}
    ratings = Rating.objects.filter(question=question, item__in=list(counts), code__gte=0)
    for item, code in ratings.values_list("item_id", "code"):
        counts[item][code] += 1
    return [ItemRow(item, _named(counts[item.pk], scale)) for item in items]


def _named(counts: Counter[int], scale: QuestionScale) -> list[tuple[str, int]]:
    labels = zip(scale.codes.tolist(), scale.labels, strict=True)
    return [(label, counts[code]) for code, label in labels if counts[code]]


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


def item_ratings(item: Item, questions: list[Question]) -> list[QuestionRatings]:
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
    for revision in history:
        revisions[revision.rating_id].append(revision)
    return [_of_question(question, found, revisions) for question in questions]


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
            [other.rater.key for other in standing if rating.code not in (NOTHING, other.code)],
            [(labels.get(revision.code, ""), revision) for revision in revisions[rating.pk]],
        )
        for rating in mine
    ]
    counts = Counter(rating.code for rating in standing)
    scale = QuestionScale.of(question)
    return QuestionRatings(question, rows, _named(counts, scale))


def shown_attributes(item: Item) -> list[tuple[str, Any]]:
    """What raters never see of the item, as lines of name and text."""
    attributes = (
        item.attributes if isinstance(item.attributes, dict) else {"attributes": item.attributes}
    )
    return [
        (str(name), value) for name, value in attributes.items() if value not in ("", None, [], {})
    ]
