"""What changes a project itself: it is made, and its settings and guidelines are changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from core import security_log
from projects import hooks, locks
from projects.models import GuidelineVersion, Item, Member, Project

from . import project_validation, question_validation
from .question_validation import NewQuestion
from .questions import create_question


@transaction.atomic
def create_project(
    *, by: Any, name: str, questions: Sequence[NewQuestion], **fields: Any
) -> Project:
    """A new project with its questions; ``by`` becomes its lead.

    ``fields``: description, guidelines, overlap, time_zone. Raises question_rules.InvalidQuestions
    or project_rules.Refused, and then has changed nothing.
    """
    project_validation.check(name=name, **fields)
    question_validation.check(questions)
    project = Project.objects.create(name=name, created_by=by, **fields)
    if project.guidelines:
        _make_guideline_version(project, by=by)
    Member.objects.create(project=project, user=by, role=Member.Role.LEAD)
    for position, new in enumerate(questions):
        create_question(project, new, position=position)
    security_log.event("project_made", project_id=project.pk, by=by.pk, after={"name": name})
    return project


@transaction.atomic
def change_project(*, project: Project, by: Any, **fields: Any) -> Project:
    """Set name, description, guidelines, overlap, band_scheme, bar, time_zone, queue_order or the
    numbers of project_rules.BOUNDS; a new time zone moves the days of all ratings, and other
    guidelines become a new version of them.

    Raises project_rules.Refused, and then has changed nothing.
    """
    names = (
        "name",
        "description",
        "guidelines",
        "overlap",
        "time_zone",
        "band_scheme",
        "bar",
        "queue_order",
        *project_validation.BOUNDS,
    )
    project_validation.check(**{name: fields.get(name, getattr(project, name)) for name in names})
    # Nobody may write a rating with a day of the old zone, or under the old guidelines, while
    # either changes.
    for question_id in project.questions.order_by("pk").values_list("pk", flat=True):
        locks.change_categories(question_id)
    stood = Project.objects.select_for_update().only(*names, *fields).get(pk=project.pk)
    Project.objects.filter(pk=project.pk).update(**fields)
    if fields.get("time_zone", stood.time_zone) != stood.time_zone:
        hooks.zone_changed(project.pk)
    project.refresh_from_db(fields=[*names, "guidelines_version"])
    _keep_what_is_wanted(project, stood.overlap)
    if project.guidelines != stood.guidelines:
        _make_guideline_version(project, by=by)
    moved = [name for name, value in fields.items() if getattr(stood, name) != value]
    if moved:
        security_log.event(
            "project_changed",
            project_id=project.pk,
            by=by.pk,
            before={name: getattr(stood, name) for name in moved},
            after={name: fields[name] for name in moved},
        )
    return project


@transaction.atomic
def archive_project(*, project: Project, archived: bool, by: Any) -> None:
    """Let a project rest, or take it up again. Nobody rates in one that rests, and lists show it
    apart; nothing of it changes."""
    found = Project.objects.filter(pk=project.pk, archived_at__isnull=archived)
    if found.update(archived_at=timezone.now() if archived else None):
        done = "project_archived" if archived else "project_reopened"
        security_log.event(done, project_id=project.pk, by=by.pk)


def _keep_what_is_wanted(project: Project, overlap: int) -> None:
    """Items that were asked for beyond the earlier overlap are not asked for beyond the higher one
    as well. Their ``places_taken`` may now say too little, which the queue puts right."""
    if project.overlap > overlap:
        more = project.overlap - overlap
        asked = Item.objects.filter(project=project, extra_places__gt=0)
        asked.filter(extra_places__lte=more).update(extra_places=0)
        asked.filter(extra_places__gt=more).update(extra_places=F("extra_places") - more)


@transaction.atomic
def go_on_from_guidelines(*, project: Project, number: int, by: Any) -> None:
    """A project without guidelines takes ratings that were made under versions up to ``number`` of
    another one's, of which it knows no text: its own first version comes after them."""
    stood = Project.objects.select_for_update().get(pk=project.pk)
    if stood.guidelines_version or not number:
        return
    Project.objects.filter(pk=project.pk).update(guidelines_version=number)
    project.guidelines_version = number
    security_log.event(
        "guidelines_numbered", project_id=project.pk, by=by.pk, after={"guidelines_version": number}
    )


def _make_guideline_version(project: Project, *, by: Any) -> None:
    """The project's guidelines, just changed under its lock, as the next version."""
    project.guidelines_version += 1
    project.save(update_fields=["guidelines_version"])
    GuidelineVersion.objects.create(
        project=project,
        number=project.guidelines_version,
        text=project.guidelines,
        by=by,
        made_at=timezone.now(),
    )
