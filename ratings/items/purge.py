"""Deleting an item, a rater, or a project for good, in steps that can be taken up by anybody.

First everything that it says is withdrawn by the ordinary way, so that the counts follow; what no
count holds any more is removed; at last the thing itself goes. A worker takes the steps
(metrics.jobs.deletions). What stays is a Deletion: who, when, and how much.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from core import security_log
from projects.models import Deletion, GoldAnswer, Item, Project, Question, Rater
from projects.services.projects import archive_project
from ratings.files import media
from ratings.models import NOTHING, Apart, Assignment, ImportRun, Rating, Revision
from ratings.services import slots
from ratings.services.judgement import Judgement
from ratings.services.record import record

from . import personal_data, withdrawal

logger = logging.getLogger(__name__)

AT_ONCE = 1_000  # ratings of a transaction
Kind = Deletion.Kind
MODELS: dict[str, Any] = {Kind.ITEM: Item, Kind.RATER: Rater, Kind.PROJECT: Project}


def what_goes(kind: str, target: Any) -> dict[str, int]:
    """How many rows of each sort go with it."""
    ratings = _ratings(kind, target.pk)
    assignments = Assignment.objects.filter(**{_path(kind, "item__"): target.pk})
    found = {"ratings": ratings.standing().count()}
    revisions = Revision.objects.filter(**{f"rating__{_rating_path(kind)}": target.pk})
    found["history"] = revisions.count()
    found["apart"] = Apart.objects.filter(**{_rating_path(kind): target.pk}).standing().count()
    found["assignments"] = assignments.count()
    if kind == Kind.ITEM:
        found["gold"] = GoldAnswer.objects.filter(item=target).count()
        found["versions"] = target.version
    if kind == Kind.PROJECT:
        found["gold"] = GoldAnswer.objects.filter(item__project=target).count()
        found["items"] = target.items.count()
        found["raters"] = target.raters.count()
        found["questions"] = target.questions.count()
    return found


def what_goes_with_items(items: Sequence[Item]) -> dict[str, int]:
    """How many rows of each sort go with these items."""
    ids = [item.pk for item in items]
    return {
        "items": len(ids),
        "ratings": Rating.objects.standing().filter(item__in=ids).count(),
        "history": Revision.objects.filter(rating__item__in=ids).count(),
        "assignments": Assignment.objects.filter(item__in=ids).count(),
        "gold": GoldAnswer.objects.filter(item__in=ids).count(),
        "versions": sum(item.version for item in items),
    }


@transaction.atomic
def ask_items(*, items: Sequence[Item], by: Any) -> None:
    """Begin to delete several items of a project; each has its own trace."""
    for item in items:
        ask(kind=Kind.ITEM, target=item, by=by)


@transaction.atomic
def ask(*, kind: str, target: Any, by: Any) -> Deletion:
    """Begin to delete it: from now on nobody is asked for it. Asked for twice, it is one
    deletion."""
    project = target if kind == Kind.PROJECT else target.project
    if kind == Kind.ITEM:
        withdrawal.withdraw_items(project=project, item_ids=[target.pk], withdrawn=True, by=by)
    elif kind == Kind.RATER:
        Rater.objects.filter(pk=target.pk).update(paused=True)
    else:
        archive_project(project=project, archived=True, by=by)
    asked, _made = Deletion.objects.get_or_create(
        kind=kind,
        target=target.pk,
        finished_at=None,
        defaults={
            "project": project,
            "by": by,
            "asked_at": timezone.now(),
            "counts": what_goes(kind, target),
        },
    )
    security_log.event(
        "deletion_asked",
        project_id=project.pk,
        by=by.pk if by else None,
        kind=str(kind),
        target=target.pk,
        before=_name_of(kind, target) | asked.counts,
    )
    return asked


def _name_of(kind: str, target: Any) -> dict[str, str]:
    """What the trail may keep: not the key of a rater, who may be somebody to be forgotten."""
    if kind == Kind.PROJECT:
        return {"name": target.name}
    return {"key": target.key} if kind == Kind.ITEM else {}


def withdraw_some(deletion: Deletion) -> int:
    """Withdraw the next ratings; how many."""
    said = _ratings(deletion.kind, deletion.target).standing()
    rows = said.order_by("question_id", "item_id", "rater_id")
    chosen = list(rows.values_list("question_id", "item_id", "rater_id")[:AT_ONCE])
    questions = Question.objects.select_related("project").in_bulk({row[0] for row in chosen})
    judgements: dict[Question, list[Judgement]] = {}
    for question_id, item_id, rater_id in chosen:
        judgement = Judgement(item_id, rater_id, NOTHING)
        judgements.setdefault(questions[question_id], []).append(judgement)
    if judgements:
        record(judgements, by=deletion.by, source=Revision.Source.API, erasing=True)
    return len(chosen)


def questions_to_count(deletion: Deletion) -> list[int]:
    """The questions whose counts hold some of it."""
    held = _ratings(deletion.kind, deletion.target).exclude(counted=NOTHING)
    return sorted(set(held.order_by().values_list("question_id", flat=True).distinct()))


@transaction.atomic
def remove_some(deletion: Deletion) -> int:
    """Remove the next ratings that say nothing and that no count holds, with their history, and
    then a project's items; how many."""
    gone = _ratings(deletion.kind, deletion.target).filter(code=NOTHING, counted=NOTHING)
    ids = list(gone.select_for_update().order_by("pk").values_list("pk", flat=True)[:AT_ONCE])
    revisions = Revision.objects.filter(rating__in=ids)
    revisions._raw_delete(revisions.db)  # past "never deleted"
    ratings = Rating.objects.filter(pk__in=ids)
    ratings._raw_delete(ratings.db)  # nothing else hangs on them
    if ids or deletion.kind != Kind.PROJECT or _ratings(deletion.kind, deletion.target).exists():
        return len(ids)
    items = Item.objects.filter(project=deletion.target).order_by("pk")
    part = list(items.values_list("pk", flat=True)[:AT_ONCE])
    Item.objects.filter(pk__in=part).delete()
    return len(part)


def finish(deletion: Deletion) -> bool:
    """Remove the thing itself. False where somebody rated it meanwhile: it is begun anew."""
    try:
        with transaction.atomic():
            _remove(deletion)
            deletion.finished_at = timezone.now()
            deletion.save(update_fields=["finished_at"])
    except (IntegrityError, Rating.DoesNotExist) as error:
        logger.warning("%s %s is not gone yet: %s", deletion.kind, deletion.target, error)
        return False
    logger.info("%s %s is deleted", deletion.kind, deletion.target)
    return True


def _remove(deletion: Deletion) -> None:
    if _ratings(deletion.kind, deletion.target).exists():
        raise Rating.DoesNotExist("it was rated meanwhile")
    opened = []
    if deletion.kind == Kind.RATER:
        for rater in Rater.objects.filter(pk=deletion.target):
            personal_data.forget_names(rater, "")
        taken = Assignment.objects.filter(rater=deletion.target, state=Assignment.State.OPEN)
        opened = list(taken.values_list("item_id", flat=True))
    if deletion.kind == Kind.PROJECT:
        _remove_files(deletion.target)
        ImportRun.objects.filter(project=deletion.target).delete()
        # Its deletions stay; this one is told apart by its kind.
        Deletion.objects.filter(project=deletion.target).update(project=None)
        deletion.project = None
    project_id = deletion.project_id
    MODELS[deletion.kind].objects.filter(pk=deletion.target).delete()
    slots.recount(opened)
    if project_id is not None:
        Project.objects.filter(pk=project_id).catalogue_changed()


def _remove_files(project_id: int) -> None:
    """Uploaded pictures, sound and film, and what is left of imported files."""
    data = Path(settings.DATA_DIR)
    shutil.rmtree(data / media.FOLDER / str(project_id), ignore_errors=True)
    for path in ImportRun.objects.filter(project=project_id).values_list("path", flat=True):
        if path:
            (data / path).unlink(missing_ok=True)


def _ratings(kind: str, target: int) -> Any:
    return Rating.objects.filter(**{_rating_path(kind): target})


def _rating_path(kind: str) -> str:
    return {Kind.ITEM: "item", Kind.RATER: "rater", Kind.PROJECT: "question__project"}[Kind(kind)]


def _path(kind: str, to_item: str) -> str:
    if kind == Kind.PROJECT:
        return f"{to_item}project"
    return "item" if kind == Kind.ITEM else "rater"


def under_way() -> QuerySet[Deletion]:
    return Deletion.objects.filter(finished_at__isnull=True).order_by("pk")


def of_project(project: Project) -> QuerySet[Deletion]:
    """What was deleted in a project, newest first."""
    mine = Q(project=project) & ~Q(kind=Kind.PROJECT, target=F("project_id"))
    return Deletion.objects.filter(mine).select_related("by").order_by("-pk")
