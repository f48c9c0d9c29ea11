"""The items behind a case: what the rater said since then, the most differing first."""

from __future__ import annotations

import datetime
from collections import defaultdict
from dataclasses import dataclass

from metrics.scale import QuestionScale
from projects.models import Rater
from quality.models import Alarm
from ratings.models import Rating
from ratings.services.days import EPOCH

NEWEST = 1_000  # of the rater's ratings since then
SHOWN = 20


@dataclass(frozen=True)
class Differing:
    """One rating of the rater beside those of the other people. ``apart``: steps from their mean on
    ordered scales, else the share of them who say something else."""

    item_key: str
    day: datetime.date
    label: str
    others: list[str]
    apart: float


@dataclass(frozen=True)
class Use:
    """How often a category was chosen before and since, as shares of the segment."""

    label: str
    before: float
    since: float

    @property
    def difference(self) -> float:
        return self.since - self.before


def differing(alarm: Alarm, scale: QuestionScale) -> list[Differing]:
    """Of the rater's newest ratings from the onset on, those furthest from the others'."""
    since = (alarm.since - EPOCH).days
    own = (
        Rating.objects.standing()
        .filter(question=alarm.question_id, rater=alarm.rater_id, day__gte=since)
        .order_by("-day", "-pk")
        .values_list("item_id", "item__key", "code", "day")[:NEWEST]
    )
    rows = list(own)
    said = _others(alarm, [row[0] for row in rows])
    place = {int(code): number for number, code in enumerate(scale.codes)}
    found = []
    for item, key, code, day in rows:
        others = [place[other] for other in said.get(item, []) if other in place]
        if code not in place or not others:
            continue
        found.append(
            Differing(
                item_key=key,
                day=EPOCH + datetime.timedelta(days=day),
                label=scale.labels[place[code]],
                others=[scale.labels[other] for other in sorted(others)],
                apart=_apart(place[code], others, ordered=scale.type.ordered),
            )
        )
    found.sort(key=lambda one: -one.apart)
    return [one for one in found if one.apart > 0][:SHOWN]


def _others(alarm: Alarm, items: list[int]) -> dict[int, list[int]]:
    """Item -> what other people say of it."""
    rows = (
        Rating.objects.standing()
        .filter(question=alarm.question_id, item__in=items, rater__kind=Rater.Kind.HUMAN)
        .exclude(rater=alarm.rater_id)
    )
    found: dict[int, list[int]] = defaultdict(list)
    for item, code in rows.values_list("item_id", "code"):
        found[item].append(code)
    return found


def _apart(own: int, others: list[int], *, ordered: bool) -> float:
    if ordered:
        return abs(own - sum(others) / len(others))
    return sum(other != own for other in others) / len(others)


def use(alarm: Alarm, scale: QuestionScale) -> list[Use]:
    """How the rater used the categories in the days of the case's chart, before and since; empty
    where either has no rating."""
    days = alarm.chart.get("days", [])
    if not days:
        return []
    since = (alarm.since - EPOCH).days
    rows = Rating.objects.standing().filter(
        question=alarm.question_id, rater=alarm.rater_id, day__gte=days[0], day__lte=days[-1]
    )
    before: dict[int, int] = defaultdict(int)
    after: dict[int, int] = defaultdict(int)
    for code, day in rows.values_list("code", "day"):
        if day < since:
            before[code] += 1
        else:
            after[code] += 1
    n_before, n_after = sum(before.values()), sum(after.values())
    if not n_before or not n_after:
        return []
    return [
        Use(label, before[int(code)] / n_before, after[int(code)] / n_after)
        for code, label in zip(scale.codes, scale.labels, strict=True)
    ]
