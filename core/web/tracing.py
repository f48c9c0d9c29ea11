"""Trace spans, which do nothing until a site turns tracing on.

See agreement_site/monitoring/tracing.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol


class Span(Protocol):
    """The part of an OpenTelemetry span that Concord uses."""

    def set_attribute(self, name: str, value: Any, /) -> Any: ...

    def update_name(self, name: str, /) -> Any: ...


class NullSpan:
    """A span that records nothing, for sites without tracing."""

    def set_attribute(self, name: str, value: Any, /) -> None:
        """Do nothing."""

    def update_name(self, name: str, /) -> None:
        """Do nothing."""


@contextmanager
def _start_null_span(kind: str, name: str, headers: Mapping[str, str]) -> Iterator[Span]:
    yield NullSpan()


SpanFactory = Callable[[str, str, Mapping[str, str]], AbstractContextManager[Span]]
span_factory: SpanFactory = _start_null_span


def start_span(kind: str, name: str, headers: Mapping[str, str] | None = None) -> Any:
    """Return a context manager that traces the code inside as one span.

    ``kind`` is server, consumer or client. ``headers`` may carry the parent's trace context.
    """
    return span_factory(kind, name, headers or {})
