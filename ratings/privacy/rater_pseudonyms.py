"""Pseudonyms that hide the raters' identities from a project's leads, and their disclosure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import Q

from core import security_log
from events.models import Event
from projects import hooks
from projects.models import Approval, Project
from projects.services import approvals
from projects.services.raters import pseudonyms

RATER_KEY_FIELDS = ("rater", "other_rater")  # fields of an event's data that contain a rater's key
EVENTS_PER_BATCH = 500


@transaction.atomic
def hide_raters(*, project: Project, by: Any) -> None:
    """Give pseudonyms to all human raters of the project, present and future."""
    # Waits for transactions that create a rater; later ones see that raters are hidden.
    locked_project = Project.objects.select_for_update().get(pk=project.pk)
    if locked_project.hides_raters:
        return
    _set_hidden(locked_project, hidden=True)
    renamed = pseudonyms.assign_pseudonyms(project.pk)
    _rename_in_events(locked_project, renamed)
    security_log.log_event("raters_hidden", project_id=project.pk, by=by.pk, raters=len(renamed))


@transaction.atomic
def restore_raters(*, project: Project, by: Any) -> None:
    """Restore the original keys and names of all raters."""
    locked_project = Project.objects.select_for_update().get(pk=project.pk)
    if not locked_project.hides_raters:
        return
    approvals.use_approval(project=project, action=Approval.Action.RESTORE_RATERS, by=by)
    renamed = pseudonyms.restore_identities(project.pk)
    _set_hidden(locked_project, hidden=False)
    _rename_in_events(locked_project, renamed)
    security_log.log_event("raters_unhidden", project_id=project.pk, by=by.pk, raters=len(renamed))


@transaction.atomic
def disclose_raters(*, project: Project, reason: str, by: Any) -> list[dict[str, object]]:
    """Return the raters' identities, and record in the audit log who asked and why."""
    approvals.use_approval(project=project, action=Approval.Action.DISCLOSE_RATERS, by=by)
    identity_rows = pseudonyms.list_identities(project)
    security_log.log_event(
        "rater_identities_viewed",
        project_id=project.pk,
        by=by.pk,
        reason=reason,
        raters=len(identity_rows),
    )
    return identity_rows


def _set_hidden(project: Project, *, hidden: bool) -> None:
    project.hides_raters = hidden
    project.save(update_fields=["hides_raters"])
    Project.objects.filter(pk=project.pk).increment_items_and_raters_version()


def _rename_in_events(project: Project, renamed: Mapping[str, str]) -> None:
    """Replace the raters' old keys in stored events, and notify listeners of the new ones."""
    names_rater = Q(data__has_key=RATER_KEY_FIELDS[0]) | Q(data__has_key=RATER_KEY_FIELDS[1])
    changed_events = []
    for event in Event.objects.filter(names_rater, project=project).iterator(
        chunk_size=EVENTS_PER_BATCH
    ):
        new_keys = {
            name: renamed[key]
            for name in RATER_KEY_FIELDS
            if (key := event.data.get(name)) in renamed
        }
        if new_keys:
            event.data |= new_keys
            changed_events.append(event)
    Event.objects.bulk_update(changed_events, ["data"], batch_size=EVENTS_PER_BATCH)
    hooks.RATERS_RENAMED.call(project.pk, renamed)
