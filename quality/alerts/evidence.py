"""Evidence for an alert: the rater's most deviating ratings, and use of categories."""

from __future__ import annotations

import datetime
from collections import defaultdict
from dataclasses import dataclass

from metrics.scale import QuestionScale
from projects.models import Rater
from quality.models import Alert
from ratings.models import Rating
from ratings.services.rating_times import EPOCH

MAX_RATINGS_READ = 1_000  # newest ratings of the rater since the onset
MAX_RATINGS_SHOWN = 20


@dataclass(frozen=True)
class DeviatingRating:
    """A rating that deviates from other people's ratings of the same item.

    ``distance``: on ordered scales the number of categories to the mean of the others, else
    the share of the others who chose another category.
    """

    item_key: str
    day: datetime.date
    label: str
    other_labels: list[str]
    distance: float


@dataclass(frozen=True)
class CategoryUse:
    """Share of a category in the rater's ratings before and since the onset."""

    label: str
    before: float
    since: float

    @property
    def difference(self) -> float:
        """Change of the share since the onset."""
        return self.since - self.before


def list_deviating_ratings(alert: Alert, scale: QuestionScale) -> list[DeviatingRating]:
    """Return the rater's ratings since the onset that deviate from others', largest distance first.

    Reads the newest MAX_RATINGS_READ ratings and returns at most MAX_RATINGS_SHOWN.
    """
    since = (alert.since - EPOCH).days
    own_ratings = (
        Rating.objects.current()
        .filter(question=alert.question_id, rater=alert.rater_id, day__gte=since)
        .order_by("-day", "-pk")
        .values_list("item_id", "item__key", "code", "day")[:MAX_RATINGS_READ]
    )
    rows = list(own_ratings)
    codes_of_others = _get_codes_of_others(alert, [row[0] for row in rows])
    index_of_code = {int(code): index for index, code in enumerate(scale.codes)}
    deviating = []
    for item, key, code, day in rows:
        other_indexes = [
            index_of_code[other_code]
            for other_code in codes_of_others.get(item, [])
            if other_code in index_of_code
        ]
        if code not in index_of_code or not other_indexes:
            continue
        deviating.append(
            DeviatingRating(
                item_key=key,
                day=EPOCH + datetime.timedelta(days=day),
                label=scale.labels[index_of_code[code]],
                other_labels=[scale.labels[other_code] for other_code in sorted(other_indexes)],
                distance=_compute_distance(
                    index_of_code[code], other_indexes, ordered=scale.type.ordered
                ),
            )
        )
    deviating.sort(key=lambda rating: -rating.distance)
    return [rating for rating in deviating if rating.distance > 0][:MAX_RATINGS_SHOWN]


def _get_codes_of_others(alert: Alert, item_ids: list[int]) -> dict[int, list[int]]:
    """Return {item id: codes that other people gave it}."""
    rows = (
        Rating.objects.current()
        .filter(question=alert.question_id, item__in=item_ids, rater__kind=Rater.Kind.HUMAN)
        .exclude(rater=alert.rater_id)
    )
    codes_by_item: dict[int, list[int]] = defaultdict(list)
    for item_id, code in rows.values_list("item_id", "code"):
        codes_by_item[item_id].append(code)
    return codes_by_item


def _compute_distance(own_index: int, other_indexes: list[int], *, ordered: bool) -> float:
    """Return the distance of a category index from those of others (see DeviatingRating)."""
    if ordered:
        return abs(own_index - sum(other_indexes) / len(other_indexes))
    return sum(other_index != own_index for other_index in other_indexes) / len(other_indexes)


def compute_category_use(alert: Alert, scale: QuestionScale) -> list[CategoryUse]:
    """Return the rater's use of each category before and since the onset.

    Covers the days of the alert's chart. Empty where either part has no rating.
    """
    days = alert.chart.get("days", [])
    if not days:
        return []
    since = (alert.since - EPOCH).days
    rows = Rating.objects.current().filter(
        question=alert.question_id, rater=alert.rater_id, day__gte=days[0], day__lte=days[-1]
    )
    counts_before: dict[int, int] = defaultdict(int)
    counts_since: dict[int, int] = defaultdict(int)
    for code, day in rows.values_list("code", "day"):
        if day < since:
            counts_before[code] += 1
        else:
            counts_since[code] += 1
    n_before, n_after = sum(counts_before.values()), sum(counts_since.values())
    if not n_before or not n_after:
        return []
    return [
        CategoryUse(label, counts_before[int(code)] / n_before, counts_since[int(code)] / n_after)
        for code, label in zip(scale.codes, scale.labels, strict=True)
    ]
