"""CommitListeners: functions that are called after the commit of a change."""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.db import connection, transaction

from core.hooks import Hook

logger = logging.getLogger(__name__)

Listener = Callable[[int], None]


class CommitListeners(Hook[Listener]):
    """Functions that are called with an object's id after a commit changed it.

    The change is committed when they are called. An exception of one is logged, and affects neither
    the caller that made the change nor the other listeners; so a sweep must find the same work.
    """

    def notify_on_commit(self, object_id: int) -> None:
        """Notify all listeners once the running transaction is committed.

        Without a transaction they are notified at once.

        They are called once for each id, however often this is called in one transaction.
        """
        # A callback that was registered in a savepoint is dropped when that is rolled back.
        savepoints = set(connection.savepoint_ids)
        announcement = (self, object_id)
        for callback in connection.run_on_commit:
            if (
                callback[0] == savepoints
                and getattr(callback[1], "announced", None) == announcement
            ):
                return

        def notify_listeners() -> None:
            for listener in self:
                try:
                    listener(object_id)
                except Exception:
                    name = getattr(listener, "__name__", listener)
                    logger.exception(
                        "%s failed on question %s; the sweep will find it", name, object_id
                    )

        notify_listeners.announced = announcement  # type: ignore[attr-defined]  # looked up above
        transaction.on_commit(notify_listeners)
