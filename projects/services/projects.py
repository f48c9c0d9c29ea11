"""Create projects, and change their settings and guidelines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from core import security_log
from core.text import get_list_separator
from projects import hooks, locks
from projects.models import GuidelineVersion, Item, Member, Project

from . import project_validation, question_validation
from .project_validation import InvalidProjectChange
from .question_validation import NewQuestion
from .questions import build_new_question, create_question

MAX_NAME_LENGTH = Project._meta.get_field("name").max_length or 0
MAX_ITEMS_READ = 1_000  # whose attributes are listed
MAX_LISTED_ATTRIBUTES = 20  # in an error message


@transaction.atomic
def create_project(
    *, by: Any, name: str, questions: Sequence[NewQuestion], **fields: Any
) -> Project:
    """Create a project with its questions; ``by`` becomes its lead.

    ``fields``: further columns (see project_validation.validate_project). Raises InvalidQuestions
    or InvalidProjectChange; then nothing has changed.
    """
    project_validation.validate_project(name=name, **fields)
    question_validation.validate_questions(questions)
    project = Project.objects.create(name=name, created_by=by, **fields)
    if project.guidelines:
        _create_guideline_version(project, by=by)
    Member.objects.create(project=project, user=by, role=Member.Role.LEAD)
    for position, new_question in enumerate(questions):
        create_question(project, new_question, position=position)
    security_log.log_event("project_created", project_id=project.pk, by=by.pk, after={"name": name})
    return project


VALIDATED_FIELDS = (
    "name",
    "description",
    "guidelines",
    "overlap",
    "time_zone",
    "band_scheme",
    "target_agreement",
    "queue_order",
    "cluster_attribute",
    "tags",
    *project_validation.QUALITY_CHECK_BOUNDS,
)


@transaction.atomic
def change_project(*, project: Project, by: Any, **fields: Any) -> Project:
    """Set fields of the project, and do what follows from them.

    ``fields``: some of VALIDATED_FIELDS, or columns that need no validation. A new time zone
    changes the days of all ratings, new guidelines create a version, and another cluster_attribute
    makes intervals be computed again. Raises InvalidProjectChange, without changes.
    """
    names = VALIDATED_FIELDS
    project_validation.validate_project(
        **{name: fields.get(name, getattr(project, name)) for name in names}
    )
    if fields.get("cluster_attribute", "") not in ("", project.cluster_attribute):
        _require_attribute(project, fields["cluster_attribute"])
    # Block writers of ratings, which would use the old time zone or the old guidelines.
    for question_id in project.questions.order_by("pk").values_list("pk", flat=True):
        locks.lock_categories(question_id)
    previous = Project.objects.select_for_update().only(*names, *fields).get(pk=project.pk)
    Project.objects.filter(pk=project.pk).update(**fields)
    if fields.get("time_zone", previous.time_zone) != previous.time_zone:
        hooks.ZONE_CHANGED.call(project.pk)
    if fields.get("cluster_attribute", previous.cluster_attribute) != previous.cluster_attribute:
        Project.objects.filter(pk=project.pk).increment_items_and_raters_version()
    project.refresh_from_db(fields=[*names, "guidelines_version"])
    _reduce_extra_slots(project, previous.overlap)
    if project.guidelines != previous.guidelines:
        _create_guideline_version(project, by=by)
    changed = [name for name, value in fields.items() if getattr(previous, name) != value]
    if changed:
        security_log.log_event(
            "project_changed",
            project_id=project.pk,
            by=by.pk,
            before={name: getattr(previous, name) for name in changed},
            after={name: fields[name] for name in changed},
        )
    return project


def _require_attribute(project: Project, name: str) -> None:
    """Raise InvalidProjectChange if the project has items, none of which has this attribute."""
    items = Item.objects.filter(project=project)
    if items.filter(attributes__has_key=name).exists() or not items.exists():
        return
    names = get_list_separator().join(list_attribute_names(project)[:MAX_LISTED_ATTRIBUTES])
    raise InvalidProjectChange(
        {
            "cluster_attribute": _("No item has “%(name)s”. Available attributes: %(names)s.")
            % {"name": name, "names": names or _("none")}
        }
    )


def list_attribute_names(project: Project) -> list[str]:
    """Return the names of the attributes of the project's newest items, sorted."""
    items = Item.objects.filter(project=project).order_by("-pk")
    newest = items.values_list("attributes", flat=True)[:MAX_ITEMS_READ]
    return sorted({name for attributes in newest for name in attributes or ()})


def suggest_copy_name(project: Project) -> str:
    """Return a name for a copy of the project, within the limit of names."""
    max_length = MAX_NAME_LENGTH - len(_("%(name)s (copy)") % {"name": ""})
    return _("%(name)s (copy)") % {"name": project.name[:max_length]}


@transaction.atomic
def copy_project(*, project: Project, name: str, by: Any) -> Project:
    """Create a project ``name`` with the questions and settings of another; ``by`` leads it.

    Items, ratings, raters and members are not copied, nor are categories that were removed. Higher
    apps add their settings (hooks.PROJECT_COPIED). Raises InvalidProjectChange for an invalid name.
    """
    fields = {field: getattr(project, field) for field in VALIDATED_FIELDS}
    originals = list(project.questions.prefetch_related("categories"))
    copy = create_project(
        by=by,
        questions=[build_new_question(question) for question in originals],
        **fields | {"name": name},
    )
    copy.allows_corrections = project.allows_corrections
    copy.save(update_fields=["allows_corrections"])
    copies = dict(zip(originals, copy.questions.all(), strict=True))
    for original, question in copies.items():
        for field in ("headline", "headline_note", "headline_pooled", "gold_tolerance"):
            setattr(question, field, getattr(original, field))
        question.save()
    hooks.PROJECT_COPIED.call(project, copy, copies, by)
    return copy


@transaction.atomic
def archive_project(*, project: Project, archived: bool, by: Any) -> None:
    """Archive a project, or restore it from the archive.

    Nobody rates in an archived project, and it is listed separately; nothing else changes.
    """
    projects_to_change = Project.objects.filter(pk=project.pk, archived_at__isnull=archived)
    if projects_to_change.update(archived_at=timezone.now() if archived else None):
        event_type = "project_archived" if archived else "project_reopened"
        security_log.log_event(event_type, project_id=project.pk, by=by.pk)


def _reduce_extra_slots(project: Project, overlap: int) -> None:
    """Reduce the items' extra ratings by as many as the project's overlap has grown.

    ``overlap``: the one before. The ``slots_taken`` of the items may then be too low; the queue
    corrects it.
    """
    if project.overlap > overlap:
        increase = project.overlap - overlap
        items_with_extra = Item.objects.filter(project=project, extra_slots__gt=0)
        items_with_extra.filter(extra_slots__lte=increase).update(extra_slots=0)
        items_with_extra.filter(extra_slots__gt=increase).update(
            extra_slots=F("extra_slots") - increase
        )


@transaction.atomic
def continue_guideline_numbering(*, project: Project, number: int, by: Any) -> None:
    """Number the first version of the project's own guidelines ``number`` + 1.

    For a project without guidelines into which ratings are imported that were made under versions
    up to ``number`` of another project's guidelines. Their texts are unknown here.
    """
    locked = Project.objects.select_for_update().get(pk=project.pk)
    if locked.guidelines_version or not number:
        return
    Project.objects.filter(pk=project.pk).update(guidelines_version=number)
    project.guidelines_version = number
    security_log.log_event(
        "guidelines_version_adopted",
        project_id=project.pk,
        by=by.pk,
        after={"guidelines_version": number},
    )


def _create_guideline_version(project: Project, *, by: Any) -> None:
    """Store the project's current guidelines as the next version, and notify the hooks."""
    project.guidelines_version += 1
    project.save(update_fields=["guidelines_version"])
    GuidelineVersion.objects.create(
        project=project,
        number=project.guidelines_version,
        text=project.guidelines,
        by=by,
        created_at=timezone.now(),
    )
    hooks.GUIDELINES_CHANGED.call(project, by)
