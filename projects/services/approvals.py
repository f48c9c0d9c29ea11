"""Actions that need the approval of a second person (setting SECOND_PERSON).

A lead requests it with a reason, another lead or an administrator decides, as the setting says, and
whoever requested it carries out the action, once, within APPROVAL_LIFETIME. The services of the
actions call ``use_approval``, so that pages and API obey the same rule.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from core import security_log
from projects.models import Approval, Project
from projects.models.project import APPROVAL_LIFETIME

State = Approval.State


class InvalidApproval(Exception):
    """The approval cannot be requested or decided. The message says why."""


def is_approval_needed() -> bool:
    """Return whether the site requires a second person's approval (setting SECOND_PERSON)."""
    return settings.SECOND_PERSON != "nobody"


def may_decide(user: Any) -> bool:
    """Return whether this user, a lead of the project, may decide on other people's requests."""
    return bool(user.is_superuser) or settings.SECOND_PERSON != "administrator"


@transaction.atomic
def request_approval(*, project: Project, action: str, reason: str, by: Any) -> Approval:
    """Store a request, unless the same person has an open one for the action; return it.

    Raises InvalidApproval for an unknown action or without a reason.
    """
    if action not in Approval.Action.values:
        raise InvalidApproval(_("Choose an action."))
    if not reason.strip():
        raise InvalidApproval(_("Enter a reason."))
    approval, created = Approval.objects.get_or_create(
        project=project,
        action=action,
        requested_by=by,
        state=State.OPEN,
        defaults={"reason": reason.strip()[:500], "requested_at": timezone.now()},
    )
    if created:
        _log_approval("approval_requested", approval, by)
    return approval


@transaction.atomic
def decide_approval(*, approval: Approval, approved: bool, by: Any) -> Approval:
    """Approve or reject an open request.

    Raises InvalidApproval for one's own request, for one that somebody has decided, and for a lead
    where the site asks for an administrator.
    """
    if not may_decide(by):
        raise InvalidApproval(_("Only administrators can do this."))
    locked = Approval.objects.select_for_update().get(pk=approval.pk)
    if locked.requested_by_id == by.pk:
        raise InvalidApproval(_("You requested this. Someone else must decide."))
    if locked.state != State.OPEN:
        raise InvalidApproval(_("Already decided."))
    locked.state = State.APPROVED if approved else State.REJECTED
    locked.decided_by, locked.decided_at = by, timezone.now()
    locked.save(update_fields=["state", "decided_by", "decided_at"])
    _log_approval("approval_given" if approved else "approval_refused", locked, by)
    return locked


def use_approval(*, project: Project, action: Approval.Action, by: Any) -> None:
    """Mark the requester's approval for the action as used, in the action's transaction.

    Raises PermissionDenied if there is none. None is needed if the site does not require approvals,
    and by commands of the operator (``by`` is None).
    """
    if not is_approval_needed() or by is None:
        return
    approval = list_usable_approvals(project, action, by).select_for_update().first()
    if approval is None:
        raise PermissionDenied(
            _(
                "“%(action)s” needs a second person's approval: request it under Settings, "
                "Approvals."
            )
            % {"action": action.label}
        )
    approval.used_at = timezone.now()
    approval.save(update_fields=["used_at"])
    _log_approval("approval_used", approval, by)


def list_usable_approvals(project: Project, action: str, by: Any) -> QuerySet[Approval]:
    """Return the approvals of the action that ``by`` requested and can still use, newest first."""
    return Approval.objects.filter(
        project=project,
        action=action,
        requested_by=by,
        state=State.APPROVED,
        used_at=None,
        decided_at__gt=timezone.now() - APPROVAL_LIFETIME,
    )


def _log_approval(event_type: str, approval: Approval, by: Any) -> None:
    security_log.log_event(
        event_type,
        project_id=approval.project_id,
        by=by.pk,
        target=approval.pk,
        after={"name": approval.action, "reason": approval.reason},
    )
