"""Removal of items, raters and projects: withdrawal, pause, or permanent deletion in steps."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from core import security_log
from projects import permissions
from projects.models import Approval, Deletion, GoldAnswer, Item, Project, Question, Rater
from projects.services import approvals, rater_changes
from projects.services.projects import archive_project
from ratings import personal_data
from ratings.files import export_files, media
from ratings.models import NO_CODE, Assignment, CheckAnswer, ImportRun, Rating, Revision
from ratings.services import slots
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings

ANSWER_MANAGERS = (Rating.objects, CheckAnswer.objects)


@transaction.atomic
def delete_or_withdraw_item(*, item: Item, by: Any) -> bool:
    """Delete an item without ratings and open assignments, else withdraw it; True if deleted.

    Withdrawn ratings and check answers count as ratings. Raises PermissionDenied instead of a
    deletion under a legal hold.
    """
    # Lock against concurrent ratings, whose rows refer to this one.
    Item.objects.select_for_update().get(pk=item.pk)
    is_open = Assignment.objects.filter(item=item, state=Assignment.State.OPEN).exists()
    if is_open or any(rows.filter(item=item).exists() for rows in ANSWER_MANAGERS):
        withdraw_items(project=item.project, item_ids=[item.pk], withdrawn=True, by=by)
        return False
    permissions.raise_if_under_legal_hold(item.project_id)
    Item.objects.filter(pk=item.pk).delete()
    Project.objects.filter(pk=item.project_id).increment_items_and_raters_version()
    security_log.log_event(
        "item_deleted", project_id=item.project_id, by=by.pk, before={"key": item.key}
    )
    return True


@transaction.atomic
def withdraw_items(*, project: Project, item_ids: Sequence[int], withdrawn: bool, by: Any) -> int:
    """Withdraw items of the project or, unless ``withdrawn``, restore them; ratings are kept.

    Returns the number of items that changed.
    """
    now = timezone.now()
    items = Item.objects.filter(project=project, pk__in=item_ids, withdrawn_at__isnull=withdrawn)
    number = items.update(withdrawn_at=now if withdrawn else None, changed_at=now)
    if number:
        Project.objects.filter(pk=project.pk).increment_items_and_raters_version()
        action = "withdrawn" if withdrawn else "restored"
        security_log.log_event(f"items_{action}", project_id=project.pk, by=by.pk, items=number)
    return number


@transaction.atomic
def delete_or_pause_rater(*, rater: Rater, by: Any) -> bool:
    """Delete a rater without ratings and open assignments, else pause them; True if deleted.

    Withdrawn ratings and check answers count as ratings. Raises PermissionDenied instead of a
    deletion under a legal hold.
    """
    Rater.objects.select_for_update().get(pk=rater.pk)
    is_open = Assignment.objects.filter(rater=rater, state=Assignment.State.OPEN).exists()
    if is_open or any(rows.filter(rater=rater).exists() for rows in ANSWER_MANAGERS):
        rater_changes.set_rater_paused(rater=rater, paused=True, by=by)
        return False
    permissions.raise_if_under_legal_hold(rater.project_id)
    Rater.objects.filter(pk=rater.pk).delete()
    Project.objects.filter(pk=rater.project_id).increment_items_and_raters_version()
    security_log.log_event(
        "rater_deleted", project_id=rater.project_id, by=by.pk, before={"key": rater.key}
    )
    return True


logger = logging.getLogger(__name__)

RATINGS_PER_STEP = 1_000  # ratings per transaction
Kind = Deletion.Kind
MODELS: dict[str, Any] = {Kind.ITEM: Item, Kind.RATER: Rater, Kind.PROJECT: Project}


def count_affected_rows(kind: str, target: Any) -> dict[str, int]:
    """Return kind of row -> number that is deleted with the target, for the confirmation page.

    ``ratings`` and ``check_answers`` are the current ones; ``versions`` of an item's content
    include the current one.
    """
    ratings = _get_ratings(kind, target.pk)
    assignments = Assignment.objects.filter(**{_get_lookup_path(kind, "item__"): target.pk})
    counts = {"ratings": ratings.current().count()}
    revisions = Revision.objects.filter(**{f"rating__{_get_rating_path(kind)}": target.pk})
    counts["history"] = revisions.count()
    counts["check_answers"] = (
        CheckAnswer.objects.filter(**{_get_rating_path(kind): target.pk}).current().count()
    )
    counts["assignments"] = assignments.count()
    if kind == Kind.ITEM:
        counts["gold"] = GoldAnswer.objects.filter(item=target).count()
        counts["versions"] = target.version
    if kind == Kind.PROJECT:
        counts["gold"] = GoldAnswer.objects.filter(item__project=target).count()
        counts["items"] = target.items.count()
        counts["raters"] = target.raters.count()
        counts["questions"] = target.questions.count()
    return counts


def count_rows_of_items(items: Sequence[Item]) -> dict[str, int]:
    """Return kind of row -> number that is deleted with these items, for the confirmation page.

    ``ratings`` and ``check_answers`` are the current ones; ``versions`` of the contents include the
    current ones.
    """
    ids = [item.pk for item in items]
    return {
        "items": len(ids),
        "ratings": Rating.objects.current().filter(item__in=ids).count(),
        "history": Revision.objects.filter(rating__item__in=ids).count(),
        "check_answers": CheckAnswer.objects.filter(item__in=ids).current().count(),
        "assignments": Assignment.objects.filter(item__in=ids).count(),
        "gold": GoldAnswer.objects.filter(item__in=ids).count(),
        "versions": sum(item.version for item in items),
    }


@transaction.atomic
def start_item_deletions(*, items: Sequence[Item], by: Any) -> None:
    """Start the deletion of several items of a project; each has its own Deletion row."""
    for item in items:
        start_deletion(kind=Kind.ITEM, target=item, by=by)


@transaction.atomic
def start_deletion(*, kind: str, target: Any, by: Any) -> Deletion:
    """Start the deletion of the target, which can no longer be assigned or rated.

    If it has already started, return the existing Deletion.
    """
    project = target if kind == Kind.PROJECT else target.project
    permissions.raise_if_under_legal_hold(project.pk)
    if kind == Kind.PROJECT and not project.is_example:
        approvals.use_approval(project=project, action=Approval.Action.DELETE_PROJECT, by=by)
    if kind == Kind.ITEM:
        withdraw_items(project=project, item_ids=[target.pk], withdrawn=True, by=by)
    elif kind == Kind.RATER:
        Rater.objects.filter(pk=target.pk).update(paused=True)
    else:
        archive_project(project=project, archived=True, by=by)
    deletion, _created = Deletion.objects.get_or_create(
        kind=kind,
        target=target.pk,
        finished_at=None,
        defaults={
            "project": project,
            "by": by,
            "requested_at": timezone.now(),
            "counts": count_affected_rows(kind, target),
        },
    )
    security_log.log_event(
        "deletion_requested",
        project_id=project.pk,
        by=by.pk if by else None,
        kind=str(kind),
        target=target.pk,
        before=_get_audit_name(kind, target) | deletion.counts,
    )
    return deletion


def _get_audit_name(kind: str, target: Any) -> dict[str, str]:
    """Return the target's name for the audit log; none for a rater, who is to be forgotten."""
    if kind == Kind.PROJECT:
        return {"name": target.name}
    return {"key": target.key} if kind == Kind.ITEM else {}


def withdraw_next_ratings(deletion: Deletion) -> int:
    """Withdraw the next batch of the target's ratings; return their number."""
    ratings = _get_ratings(deletion.kind, deletion.target).current()
    rows = ratings.order_by("question_id", "item_id", "rater_id")
    keys = list(rows.values_list("question_id", "item_id", "rater_id")[:RATINGS_PER_STEP])
    questions = Question.objects.select_related("project").in_bulk({row[0] for row in keys})
    judgements: dict[Question, list[Judgement]] = {}
    for question_id, item_id, rater_id in keys:
        judgement = Judgement(item_id, rater_id, NO_CODE)
        judgements.setdefault(questions[question_id], []).append(judgement)
    if judgements:
        record_ratings(judgements, by=deletion.by, source=Revision.Source.API, purging=True)
    return len(keys)


def list_questions_to_count(deletion: Deletion) -> list[int]:
    """Return the ids of the questions whose stored counts still contain ratings of the target."""
    counted_ratings = _get_ratings(deletion.kind, deletion.target).exclude(counted=NO_CODE)
    return sorted(set(counted_ratings.order_by().values_list("question_id", flat=True).distinct()))


@transaction.atomic
def delete_next_batch(deletion: Deletion) -> int:
    """Delete a batch of withdrawn ratings that no count contains, with their history.

    Returns the number of deleted ratings. When a project has no ratings left, a batch of its items
    is deleted instead, and counted.
    """
    removable = _get_ratings(deletion.kind, deletion.target).filter(code=NO_CODE, counted=NO_CODE)
    ids = list(
        removable.select_for_update().order_by("pk").values_list("pk", flat=True)[:RATINGS_PER_STEP]
    )
    revisions = Revision.objects.filter(rating__in=ids)
    revisions._raw_delete(revisions.db)  # bypasses Revision.delete, which refuses
    ratings = Rating.objects.filter(pk__in=ids)
    ratings._raw_delete(ratings.db)  # nothing else refers to them
    if (
        ids
        or deletion.kind != Kind.PROJECT
        or _get_ratings(deletion.kind, deletion.target).exists()
    ):
        return len(ids)
    items = Item.objects.filter(project=deletion.target).order_by("pk")
    item_ids = list(items.values_list("pk", flat=True)[:RATINGS_PER_STEP])
    Item.objects.filter(pk__in=item_ids).delete()
    return len(item_ids)


def delete_target_row(deletion: Deletion) -> bool:
    """Delete the row of the target, set the deletion's ``finished_at``, and return True.

    Returns False if the target was rated meanwhile, or any other row still refers to it: then the
    steps have to be repeated.
    """
    try:
        with transaction.atomic():
            _delete_target(deletion)
            deletion.finished_at = timezone.now()
            deletion.save(update_fields=["finished_at"])
    except (IntegrityError, Rating.DoesNotExist) as error:
        logger.warning("%s %s cannot be deleted yet: %s", deletion.kind, deletion.target, error)
        return False
    logger.info("%s %s was deleted", deletion.kind, deletion.target)
    return True


def _delete_target(deletion: Deletion) -> None:
    """Delete the target itself, when the earlier steps have deleted its ratings.

    Raises Rating.DoesNotExist if it was rated meanwhile.
    """
    if _get_ratings(deletion.kind, deletion.target).exists():
        raise Rating.DoesNotExist("it was rated meanwhile")
    open_item_ids = []
    if deletion.project_id is not None:
        export_files.discard_project_exports(deletion.project_id)
    if deletion.kind == Kind.RATER:
        for rater in Rater.objects.filter(pk=deletion.target):
            personal_data.replace_names(rater, "")
        open_assignments = Assignment.objects.filter(
            rater=deletion.target, state=Assignment.State.OPEN
        )
        open_item_ids = list(open_assignments.values_list("item_id", flat=True))
    if deletion.kind == Kind.PROJECT:
        _delete_files(deletion.target)
        ImportRun.objects.filter(project=deletion.target).delete()
        # The project's Deletion rows remain; this one is recognized by its kind.
        Deletion.objects.filter(project=deletion.target).update(project=None)
        deletion.project = None
    project_id = deletion.project_id
    MODELS[deletion.kind].objects.filter(pk=deletion.target).delete()
    slots.recount_slots(open_item_ids)
    if project_id is not None:
        Project.objects.filter(pk=project_id).increment_items_and_raters_version()


def _delete_files(project_id: int) -> None:
    """Delete a project's uploaded media and the remaining files of its imports."""
    data = Path(settings.DATA_DIR)
    shutil.rmtree(data / media.FOLDER / str(project_id), ignore_errors=True)
    for path in ImportRun.objects.filter(project=project_id).values_list("path", flat=True):
        if path:
            (data / path).unlink(missing_ok=True)


def _get_ratings(kind: str, target: int) -> Any:
    return Rating.objects.filter(**{_get_rating_path(kind): target})


def _get_rating_path(kind: str) -> str:
    return {Kind.ITEM: "item", Kind.RATER: "rater", Kind.PROJECT: "question__project"}[Kind(kind)]


def _get_lookup_path(kind: str, to_item: str) -> str:
    if kind == Kind.PROJECT:
        return f"{to_item}project"
    return "item" if kind == Kind.ITEM else "rater"


def list_open_deletions() -> QuerySet[Deletion]:
    return Deletion.objects.filter(finished_at__isnull=True).order_by("pk")
