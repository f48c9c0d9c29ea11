"""What is looked after beside the numbers: each sweep notes what waits to be read, and once in an
hour sessions that have ended, uploads that nobody finished, and what is too old are removed."""

from __future__ import annotations

import logging
import time
from pathlib import Path

from django.conf import settings
from django.contrib.sessions.models import Session
from django.utils import timezone

from agreement_site import retention
from agreement_site.monitoring import stale_results

logger = logging.getLogger(__name__)

CLEAN_EVERY = 60 * 60  # seconds
ABANDONED = 24 * 60 * 60  # seconds; an upload takes minutes

_cleaned_at = 0.0


def sweep() -> None:
    """To be called every few seconds."""
    global _cleaned_at  # noqa: PLW0603 - one worker, one clock
    stale_results.look(timezone.now())
    if time.monotonic() - _cleaned_at >= CLEAN_EVERY or not _cleaned_at:
        _cleaned_at = time.monotonic()
        remove_sessions()
        remove_uploads(Path(settings.FILE_UPLOAD_TEMP_DIR))
        retention.apply()


def remove_sessions() -> None:
    gone, _each = Session.objects.filter(expire_date__lt=timezone.now()).delete()
    if gone:
        logger.info("%s sessions that had ended were removed", gone)


def remove_uploads(folder: Path) -> None:
    """Remove what a web server that was killed, or a disk that was full, left in the folder."""
    for path in folder.iterdir():
        try:
            if path.is_file() and time.time() - path.stat().st_mtime > ABANDONED:
                path.unlink()
                logger.warning("removed %s, which was never finished", path.name)
        except OSError as error:  # another machine was faster
            logger.info("%s was not removed: %s", path.name, error)
