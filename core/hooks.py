"""Hooks: what packages above add to a package below, at the start of the site.

A package declares a ``Hook`` as a constant. Packages above register functions, or other entries, in
their ``apps.py``. ``CommitListeners`` are hooks that are called after the commit of a change.
docs/architecture.md lists all hooks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterator
from typing import Any, ClassVar, Generic, ParamSpec, TypeVar

from django.db import connection, transaction

Entry = TypeVar("Entry")
Parameters = ParamSpec("Parameters")
Value = TypeVar("Value")


class Hook(Generic[Entry]):
    """An extension point: the entries that packages above have registered, in that order."""

    BY_NAME: ClassVar[dict[str, Hook[Any]]] = {}

    def __init__(self, name: str) -> None:
        self.name = name
        self.entries: dict[Hashable, Entry] = {}
        self.BY_NAME[name] = self

    def register(self, entry: Entry, key: Hashable = None) -> None:
        """Add an entry under ``key``, or under itself if ``key`` is None.

        Registering the same key again has no effect.
        """
        self.entries.setdefault(entry if key is None else key, entry)

    def call(
        self: Hook[Callable[Parameters, Value]], *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> list[Value]:
        """Call each function and return the results. An exception passes to the caller."""
        return [function(*args, **kwargs) for function in self]

    def __iter__(self) -> Iterator[Entry]:
        return iter(tuple(self.entries.values()))

    def __getitem__(self, key: Hashable) -> Entry:
        return self.entries[key]

    def __contains__(self, key: object) -> bool:
        return key in self.entries


logger = logging.getLogger(__name__)

Listener = Callable[[int], None]


class CommitListeners(Hook[Listener]):
    """Functions that are called with an object's id after a commit changed it.

    The change is committed when they are called. An exception of one is logged, and affects neither
    the caller that made the change nor the other listeners; so a sweep must find the same work.
    """

    def notify_on_commit(self, object_id: int) -> None:
        """Notify all listeners once the running transaction is committed.

        Without a transaction they are notified at once. Repeated calls with the same id in a
        transaction notify them once.
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
                        "%s failed on object %s; a sweep will repeat the work", name, object_id
                    )

        notify_listeners.announced = announcement  # type: ignore[attr-defined]  # looked up above
        transaction.on_commit(notify_listeners)
