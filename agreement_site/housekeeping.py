"""Periodic housekeeping in workers: expired data, sessions and partial uploads.

Each sweep records stale questions. Once an hour, expired sessions, abandoned uploads and data
past its retention time are removed, and old deliveries of webhooks, mails, and responses kept for
repeated requests.
"""

from __future__ import annotations

import logging
import time
from pathlib import Path

from django.conf import settings
from django.contrib.sessions.models import Session
from django.utils import timezone

from agreement_site import retention
from agreement_site.monitoring import stale_results
from agreement_site.notifications import outbox as mail_outbox
from events.webhooks import outbox
from projects.api import idempotency
from ratings.files import data_folders

logger = logging.getLogger(__name__)

CLEANUP_INTERVAL_SECONDS = 60 * 60
ABANDONED_AFTER_SECONDS = 24 * 60 * 60  # an upload takes minutes

_cleaned_at = 0.0


def run_due_housekeeping() -> None:
    """Run the housekeeping tasks whose interval is over; called every few seconds."""
    global _cleaned_at  # noqa: PLW0603 - one clock per worker
    stale_results.record_and_measure_lag(timezone.now())
    if time.monotonic() - _cleaned_at >= CLEANUP_INTERVAL_SECONDS or not _cleaned_at:
        _cleaned_at = time.monotonic()
        data_folders.record_folders()
        remove_expired_sessions()
        remove_abandoned_uploads(Path(settings.FILE_UPLOAD_TEMP_DIR))
        retention.apply_retention_rules()
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
