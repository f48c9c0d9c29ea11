"""Which items come first where a project's queue is planned.

    labels  those that the next rating probably tells most of: the mutual information of the item's
            category and what a rater says, with the team's pooled habits; of several questions the
            sum. Sure labels are done.
    narrow  those that lack least of the number of ratings which makes the interval of kappa narrow
            with the fewest ratings in all (two where that is not known), in an order that has
            nothing to do with what was said.

Made anew whenever labels were. What is being rated just now is left out: what it says may change
the plan.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
from django.db.models import Exists, F, Max, OuterRef, QuerySet

from metrics.agreement import consensus
from projects.models import Item, Project, Question, QueueOrder
from projects.models.item import ASKED
from quality.models import Consensus, ItemLabel, Source
from ratings.annotation.assignments import planned_order
from ratings.models import Assignment

from .overlaps import overlaps

logger = logging.getLogger(__name__)

SURE = 0.95  # a label that is surer needs no further rating
WEIGHED = 5_000  # labels of a question, the most doubtful ones
PAIR = 2

# project id -> what this worker's last plan rested on. Another worker makes the same plan.
_made: dict[int, dict[str, Any]] = {}


def sweep() -> int:
    """Plan the projects whose labels, items or order changed; how many. A failure of one keeps no
    other waiting."""
    made = 0
    planned = [order.value for order in QueueOrder if order.planned]
    for project in Project.objects.filter(queue_order__in=planned, archived_at=None):
        try:
            made += _plan_if_old(project)
        except Exception:
            logger.exception("planning of project %s failed; it is tried again", project.pk)
    return made


def _plan_if_old(project: Project) -> bool:
    rests_on = _rests_on(project)
    if _made.get(project.pk) == rests_on:
        return False
    plan(project)
    _made[project.pk] = rests_on
    return True


def _rests_on(project: Project) -> dict[str, Any]:
    labels = Consensus.objects.filter(question__project=project)
    return {
        "made_at": labels.aggregate(at=Max("made_at"))["at"],
        "catalogue": project.catalogue_version,
        "order": project.queue_order,
        "overlap": project.overlap,
    }


def plan(project: Project) -> list[int]:
    """The items that come first from now on, by id, in their order."""
    if project.queue_order == QueueOrder.LABELS:
        found = _most_telling(project)
    else:
        found = _nearly_narrow(project)
    planned_order.arrange(project.pk, found)
    return found


def _open_items(project: Project) -> QuerySet[Item]:
    """Those that have a free place and that nobody has before them just now."""
    busy = Assignment.objects.filter(item=OuterRef("pk"), state=Assignment.State.OPEN)
    asked = Item.objects.filter(ASKED, project=project, places_taken__lt=project.overlap)
    return asked.filter(~Exists(busy))


def _most_telling(project: Project) -> list[int]:
    gains: defaultdict[int, float] = defaultdict(float)
    unrated = 0.0
    for labels in Consensus.objects.filter(question__project=project, made_at__isnull=False):
        if "pooled" not in labels.model:
            continue  # nothing was estimated
        pooled = np.array([labels.model["pooled"]])
        for item, gain in _gains(project, labels, pooled):
            gains[item] += gain
        classes = np.array([labels.model["classes"]])
        unrated += float(consensus.information(classes, pooled)[0, 0])
    new = _open_items(project).filter(places_taken=0, extra_places=0).order_by("pk")
    for item in new.values_list("pk", flat=True)[: planned_order.MOST]:
        gains[item] = max(gains[item], unrated)
    ordered = sorted(gains, key=lambda item: (-gains[item], item))
    return ordered[: planned_order.MOST]


def _gains(project: Project, labels: Consensus, pooled: np.ndarray) -> Iterator[tuple[int, float]]:
    """(item id, nats) of the open items that are not sure yet."""
    rows = ItemLabel.objects.filter(
        question=labels.question_id,
        source=Source.CONSENSUS,
        doubt__gt=1 - SURE,
        item__in=_open_items(project),
    )
    doubtful = rows.order_by("-doubt", "item_id").values_list("item_id", "shares")
    found = [row for row in doubtful[:WEIGHED] if len(row[1]) == pooled.shape[1]]
    if found:
        items, shares = zip(*found, strict=True)
        yield from zip(items, consensus.information(shares, pooled)[:, 0].tolist(), strict=True)


def _nearly_narrow(project: Project) -> list[int]:
    """Items with some of the wanted ratings, those with the most first, then those with none."""
    wanted = min(_wanted(project), project.overlap)
    found: list[int] = []
    for taken in [*range(wanted - 1, 0, -1), 0]:
        level = _open_items(project).filter(places_taken=taken)
        # Spread over the whole project: neighbours are often alike.
        spread = level.order_by(F("pk") * 2654435761 % 4294967296)
        found += spread.values_list("pk", flat=True)[: planned_order.MOST - len(found)]
    return found


def _wanted(project: Project) -> int:
    question = Question.objects.filter(project=project).order_by("position", "pk").first()
    best = overlaps(question).cheapest if question is not None else None
    return best.m if best is not None else PAIR
