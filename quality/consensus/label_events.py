"""Events of labels: changed ones, and a question whose items have all their ratings."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Exists, OuterRef, Q

from events.models import Event
from events.services import MAX_ITEMS, add_to_batch, record_event
from projects.models import AVAILABLE, Item, Question
from quality.models import Consensus, ItemLabel, LabelSource


def record_label_changes(question_id: int, items: Sequence[int]) -> None:
    """Add the items (ids) to the next event of changed labels, in the caller's transaction."""
    if not items:
        return
    question = Question.objects.get(pk=question_id)
    rows = Item.objects.filter(pk__in=items[:MAX_ITEMS])
    key_of_item = dict(rows.values_list("pk", "key"))
    add_to_batch(
        project_id=question.project_id,
        kind="label.changed",
        subject=f"question/{question.pk}",
        question=question.key,
        items=[key_of_item[item] for item in items[:MAX_ITEMS] if item in key_of_item],
        changes=len(items),
    )


def record_completion(consensus: Consensus, question: Question) -> None:
    """Record an event when every item has its ratings, once for each number of items.

    Call it in the transaction that stores the question's labels. An item has its ratings when its
    label is a decision or is made of as many ratings as the project wants for an item.
    """
    project = question.project
    has_label = ItemLabel.objects.filter(question=question, item=OuterRef("pk")).filter(
        Q(n_ratings__gte=project.overlap) | Q(source=LabelSource.DECISION)
    )
    items = Item.objects.filter(AVAILABLE, project=project)
    if not items.exists() or items.exclude(Exists(has_label)).exists():
        return
    kind, subject = "question.complete", f"question/{question.pk}"
    previous = Event.objects.filter(project=project, kind=kind, subject=subject).last()
    n_items = items.count()
    if previous is not None and previous.data["items"] == n_items:
        return
    record_event(
        project_id=project.pk,
        kind=kind,
        subject=subject,
        data={
            "question": question.key,
            "items": n_items,
            "ratings": consensus.n_ratings,
            "overlap": project.overlap,
            "expected_errors": consensus.expected_errors,
        },
    )
