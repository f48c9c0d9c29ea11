"""Periodic housekeeping in workers: audits, expired data, sessions and partial uploads.

Each sweep records stale questions and audits those that are due. Once an hour, expired sessions,
abandoned uploads and data past its retention time are removed, and old deliveries of webhooks,
mails, and responses kept for repeated requests.
"""

from __future__ import annotations

import datetime
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from agreement_site.models import AuditLogEntry
from agreement_site.monitoring import health
from agreement_site.notifications import outbox as mail_outbox
from agreement_site.server import heap
from events.webhooks import outbox
from metrics.integrity import schedule
from projects import permissions
from projects.api import idempotency
from projects.models import ApiToken, Deletion, Project
from projects.services import joining, tokens
from ratings.exports import jobs as export_jobs
from ratings.files import export_files, shared_folders
from ratings.items import removal

logger = logging.getLogger(__name__)

Moment = datetime.datetime
MAX_PROJECTS_PER_RUN = 10


class RetentionRule(NamedTuple):
    """A setting in days, the function that removes older data, and a description of the data.

    ``remove`` takes a moment and returns how many objects it removed that are older.
    """

    setting: str
    remove: Callable[[Moment], int]  # removes data before the moment and returns how many
    description: str


def delete_old_audit_log_entries(before: Moment) -> int:
    entries = AuditLogEntry.objects.filter(created_at__lt=before)
    return _exclude_held(entries).delete()[0]


def clear_old_audit_log_addresses(before: Moment) -> int:
    """Clear the addresses of older entries, which stay; return how many."""
    entries = AuditLogEntry.objects.filter(created_at__lt=before).exclude(address="")
    return _exclude_held(entries).update(address="")


def delete_dead_tokens(before: Moment) -> int:
    """Delete tokens that were revoked or expired before ``before``; return how many.

    They grant no access, but show who had them and when they were used.
    """
    dead = Q(revoked_at__lt=before) | Q(expires_at__lt=before)
    return _exclude_held(ApiToken.objects.filter(dead)).delete()[0]


def start_project_deletions(before: Moment) -> int:
    """Start the deletion of projects archived before ``before``; return how many.

    At most MAX_PROJECTS_PER_RUN are started. Like a lead's deletion, each leaves a record, and
    workers carry it out.
    """
    running = Deletion.objects.filter(kind=Deletion.Kind.PROJECT, finished_at=None)
    projects = Project.objects.filter(archived_at__lt=before).exclude(
        pk__in=running.values("target")
    )
    due_projects = _exclude_held(projects, project_column="pk").order_by("archived_at")
    started = [
        removal.start_deletion(kind=Deletion.Kind.PROJECT, target=project, by=None)
        for project in due_projects[:MAX_PROJECTS_PER_RUN]
    ]
    return len(started)


def _exclude_held(rows: QuerySet[Any], *, project_column: str = "project_id") -> QuerySet[Any]:
    """Return the rows without those of projects under legal hold."""
    if permissions.is_site_under_legal_hold():
        return rows.none()
    is_held = Q(**{f"{project_column}__in": permissions.list_projects_under_legal_hold()})
    # Not by exclude(), which would leave out rows of no project, too.
    return rows.filter(Q(**{project_column: None}) | ~is_held)


RULES = [
    RetentionRule("KEEP_AUDIT_LOG_DAYS", delete_old_audit_log_entries, "audit log entries"),
    RetentionRule(
        "KEEP_ADDRESSES_DAYS", clear_old_audit_log_addresses, "addresses in the audit log"
    ),
    RetentionRule("KEEP_TOKENS_DAYS", delete_dead_tokens, "tokens that were revoked or ended"),
    RetentionRule("KEEP_ARCHIVED_PROJECTS_DAYS", start_project_deletions, "archived projects"),
    RetentionRule("KEEP_EXPORTS_DAYS", export_jobs.delete_old_exports, "exported files"),
]


def apply_retention_rules() -> None:
    now = timezone.now()
    for rule in RULES:
        days = getattr(settings, rule.setting)
        if days and (n_removed := rule.remove(now - datetime.timedelta(days=days))):
            logger.info("Removed %s %s after %s days", n_removed, rule.description, days)
    remove_ended_user_sessions()
    revoke_tokens_of_provider_accounts()
    if n_removed := joining.delete_expired_offers():
        logger.info("Removed %s role offers that nobody accepted", n_removed)


def revoke_tokens_of_provider_accounts() -> None:
    """Revoke tokens of provider accounts that have not signed in for PROVIDER_TOKEN_DAYS.

    The provider may have disabled such an account; requests with a token do not ask it.
    """
    if not settings.PROVIDER_TOKEN_DAYS:
        return
    before = timezone.now() - datetime.timedelta(days=settings.PROVIDER_TOKEN_DAYS)
    owners = SocialAccount.objects.filter(user__last_login__lt=before).values("user")
    owned_tokens = ApiToken.objects.filter(user__in=owners, created_at__lt=before)
    if n_revoked := tokens.revoke_tokens(owned_tokens):
        logger.info("Revoked %s tokens of people who no longer sign in", n_revoked)


def remove_ended_user_sessions() -> None:
    """Delete the records (address and browser) of sessions that have ended.

    They serve only the list in which users end their own sessions.
    """
    active_sessions = Session.objects.filter(session_key=OuterRef("session_key"))
    # At sign-in this row is created before the session is saved.
    cutoff = timezone.now() - datetime.timedelta(minutes=10)
    ended = UserSession.objects.filter(~Exists(active_sessions), last_seen_at__lt=cutoff)
    n_removed = ended.delete()[0]
    if n_removed:
        logger.info("Removed %s ended sessions from the users' lists", n_removed)


CLEANUP_INTERVAL_SECONDS = 60 * 60
ABANDONED_AFTER_SECONDS = 24 * 60 * 60  # an upload takes minutes

_cleaned_at = 0.0


def run_due_housekeeping() -> None:
    """Measure the lag, run due audits, and once per CLEANUP_INTERVAL_SECONDS the cleanup tasks.

    Called every few seconds.
    """
    global _cleaned_at  # noqa: PLW0603 - one clock per worker
    health.record_and_measure_lag(timezone.now())
    schedule.run_due_audits()
    heap.return_free_memory()
    if time.monotonic() - _cleaned_at >= CLEANUP_INTERVAL_SECONDS or not _cleaned_at:
        _cleaned_at = time.monotonic()
        shared_folders.record_folders()
        remove_expired_sessions()
        remove_abandoned_uploads(Path(settings.FILE_UPLOAD_TEMP_DIR))
        apply_retention_rules()
        export_files.delete_abandoned_exports()
        outbox.delete_old_deliveries()
        mail_outbox.delete_old_mails()
        idempotency.delete_old_responses()


def remove_expired_sessions() -> None:
    n_removed, _each = Session.objects.filter(expire_date__lt=timezone.now()).delete()
    if n_removed:
        logger.info("Removed %s expired sessions", n_removed)


def remove_abandoned_uploads(folder: Path) -> None:
    """Remove partial uploads that a killed web server or a full disk left in the folder."""
    for path in folder.iterdir():
        try:
            if path.is_file() and time.time() - path.stat().st_mtime > ABANDONED_AFTER_SECONDS:
                path.unlink()
                logger.warning("Removed the abandoned upload %s", path.name)
        except OSError as error:  # another machine has removed it
            logger.info("Could not remove %s: %s", path.name, error)
