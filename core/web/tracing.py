"""What is being worked on, for traces: nothing at all until a site asks for them
(agreement_site/monitoring/tracing.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol


class Span(Protocol):
    def set_attribute(self, name: str, value: Any, /) -> Any: ...

    def update_name(self, name: str, /) -> Any: ...


class Nothing:
    def set_attribute(self, name: str, value: Any, /) -> None:
        """Nobody looks."""

    def update_name(self, name: str, /) -> None:
        """Nobody looks."""


@contextmanager
def _nothing(kind: str, name: str, headers: Mapping[str, str]) -> Iterator[Span]:
    yield Nothing()


Starts = Callable[[str, str, Mapping[str, str]], AbstractContextManager[Span]]
starts: Starts = _nothing


def span(kind: str, name: str, headers: Mapping[str, str] | None = None) -> Any:
    """A span of what is done inside, of ``kind`` server, consumer or client. ``headers`` may say
    whose part it is."""
    return starts(kind, name, headers or {})
