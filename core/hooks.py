"""Hooks: what packages above add to a package below, at the start of the site.

A package declares a ``Hook`` as a constant. Packages above register functions, or other entries, in
their ``apps.py``. docs/architecture.md lists all hooks.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any, ClassVar, Generic, ParamSpec, TypeVar

Entry = TypeVar("Entry")
Parameters = ParamSpec("Parameters")
Value = TypeVar("Value")


class Hook(Generic[Entry]):
    """The registered entries, in the order of their registration."""

    BY_NAME: ClassVar[dict[str, Hook[Any]]] = {}

    def __init__(self, name: str) -> None:
        self.name = name
        self.entries: dict[Hashable, Entry] = {}
        self.BY_NAME[name] = self

    def register(self, entry: Entry, key: Hashable = None) -> None:
        """Add an entry, under a key if entries are found by one. A second time has no effect."""
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
