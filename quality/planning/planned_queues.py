"""Order of the items in a planned queue.

PLANNED_LABELS: first the items whose next rating is expected to be most informative, by the mutual
information of the item's category and a rater's answer under the pooled confusion matrix, summed
over questions. Items with certain labels are left out.

PLANNED_INTERVAL: first the items closest to the number of ratings with which the interval of kappa
becomes narrow with the fewest ratings overall (two where that is unknown). Their order does not
depend on the answers.

A plan is recomputed after the labels. Items that somebody is rating now are left out: the answers
may change the plan.
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
from projects.models.item import AVAILABLE
from quality.models import Consensus, ItemLabel, LabelRules
from ratings.annotation.assignments.candidates import MAX_PLANNED_ITEMS, set_planned_order
from ratings.models import Assignment

from .sample_size import compute_overlap_plans

logger = logging.getLogger(__name__)

MAX_UNCERTAIN_LABELS = 5_000  # per question, the most uncertain ones
DEFAULT_RATINGS = 2

# project id -> input version of this worker's last plan; other workers compute the same plan.
_input_version_of: dict[int, dict[str, Any]] = {}


def sweep_planned_queues() -> int:
    """Plan the projects whose labels, items or order changed; return how many.

    A failure in one project does not keep the others from being planned.
    """
    n_planned = 0
    planned_orders = [order.value for order in QueueOrder if order.is_planned]
    for project in Project.objects.filter(queue_order__in=planned_orders, archived_at=None):
        try:
            n_planned += _plan_if_outdated(project)
        except Exception:
            logger.exception("planning of project %s failed; it is tried again", project.pk)
    return n_planned


def _plan_if_outdated(project: Project) -> bool:
    input_version = _get_input_version(project)
    if _input_version_of.get(project.pk) == input_version:
        return False
    plan_queue(project)
    _input_version_of[project.pk] = input_version
    return True


def _get_input_version(project: Project) -> dict[str, Any]:
    labels = Consensus.objects.filter(question__project=project)
    return {
        "computed_at": labels.aggregate(at=Max("computed_at"))["at"],
        "items_and_raters": project.items_and_raters_version,
        "order": project.queue_order,
        "certain_from": dict(
            LabelRules.objects.filter(question__project=project)
            .order_by("question")
            .values_list("question", "certain_from")
        ),
        "overlap": project.overlap,
    }


def plan_queue(project: Project) -> list[int]:
    """Compute, store and return the planned order of the project's first items, as ids."""
    if project.queue_order == QueueOrder.PLANNED_LABELS:
        item_ids = _list_most_informative(project)
    else:
        item_ids = _list_nearly_complete(project)
    set_planned_order(project.pk, item_ids)
    return item_ids


def _get_assignable_items(project: Project) -> QuerySet[Item]:
    """Return the items with a free slot that are not assigned to any rater now."""
    open_assignments = Assignment.objects.filter(item=OuterRef("pk"), state=Assignment.State.OPEN)
    queued = Item.objects.filter(AVAILABLE, project=project, slots_taken__lt=project.overlap)
    return queued.filter(~Exists(open_assignments))


def _list_most_informative(project: Project) -> list[int]:
    """Return ids of the items whose next rating is expected to be most informative, those first.

    At most MAX_PLANNED_ITEMS.
    """
    gains: defaultdict[int, float] = defaultdict(float)
    unrated_gain = 0.0
    for labels in Consensus.objects.filter(question__project=project, computed_at__isnull=False):
        if "pooled" not in labels.model:
            continue  # nothing was estimated
        pooled = np.array([labels.model["pooled"]])
        for item_id, gain in _iter_gains(project, labels, pooled):
            gains[item_id] += gain
        classes = np.array([labels.model["classes"]])
        unrated_gain += float(consensus.expected_information(classes, pooled)[0, 0])
    unrated_items = (
        _get_assignable_items(project).filter(slots_taken=0, extra_slots=0).order_by("pk")
    )
    for item_id in unrated_items.values_list("pk", flat=True)[:MAX_PLANNED_ITEMS]:
        gains[item_id] = max(gains[item_id], unrated_gain)
    item_ids = sorted(gains, key=lambda item_id: (-gains[item_id], item_id))
    return item_ids[:MAX_PLANNED_ITEMS]


def _iter_gains(
    project: Project, labels: Consensus, pooled: np.ndarray
) -> Iterator[tuple[int, float]]:
    """Yield (item id, expected information in nats of a rating) of assignable uncertain items.

    ``pooled``: confusion matrix (k, k) of all raters together.
    """
    candidates = ItemLabel.objects.uncertain().filter(
        question=labels.question_id, item__in=_get_assignable_items(project)
    )
    uncertain = candidates.order_by("-doubt", "item_id").values_list("item_id", "distribution")
    valid_rows = [row for row in uncertain[:MAX_UNCERTAIN_LABELS] if len(row[1]) == pooled.shape[1]]
    if valid_rows:
        item_ids, shares = zip(*valid_rows, strict=True)
        yield from zip(
            item_ids, consensus.expected_information(shares, pooled)[:, 0].tolist(), strict=True
        )


def _list_nearly_complete(project: Project) -> list[int]:
    """Return item ids, those that lack the fewest ratings first and unrated items last.

    At most MAX_PLANNED_ITEMS.
    """
    target = min(_get_best_overlap(project), project.overlap)
    item_ids: list[int] = []
    for n_ratings in [*range(target - 1, 0, -1), 0]:
        level = _get_assignable_items(project).filter(slots_taken=n_ratings)
        # Spread over the whole project: items with adjacent ids are often similar.
        shuffled = level.order_by(F("pk") * 2654435761 % 4294967296)
        item_ids += shuffled.values_list("pk", flat=True)[: MAX_PLANNED_ITEMS - len(item_ids)]
    return item_ids


def _get_best_overlap(project: Project) -> int:
    """Return the number of ratings per item with which a study needs the fewest ratings in total.

    DEFAULT_RATINGS if this cannot be estimated.
    """
    question = Question.objects.filter(project=project).order_by("position", "pk").first()
    best = compute_overlap_plans(question).cheapest if question is not None else None
    return best.m if best is not None else DEFAULT_RATINGS
