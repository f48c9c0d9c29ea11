"""Telemetry that each process records: Prometheus metrics, and trace spans.

/metrics adds the metrics up over a machine's processes (agreement_site/monitoring/prometheus.py).
Spans do nothing until a site turns tracing on (agreement_site/monitoring/tracing.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from prometheus_client import Counter, Histogram

REQUESTS = Counter(
    "concord_requests", "Requests answered, by name of the route", ["route", "method", "status"]
)
REQUEST_SECONDS = Histogram(
    "concord_request_seconds",
    "Time from a request's connection slot to its response",
    ["route"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
TASK_SECONDS = Histogram(
    "concord_task_seconds",
    "Time of a worker's task or sweep: counting, results, imports, audits",
    ["task"],
    buckets=(0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300),
)
TASKS_FAILED = Counter(
    "concord_tasks_failed", "Tasks and sweeps that ended with an error", ["task"]
)
TASK_MESSAGES_FAILED = Counter(
    "concord_task_messages_failed", "Task messages that the broker did not accept"
)


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
    """Return a context manager that traces the code inside as one span, and yields the span.

    ``kind`` is server, consumer or client. ``headers`` may carry the parent's trace context.
    """
    return span_factory(kind, name, headers or {})
