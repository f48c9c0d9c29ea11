"""Traces by OpenTelemetry, on wish: a span for each request, each task, and each statement of the
ORM inside of them. Standard OTEL_... variables say where to, as what, and how many.

Nothing else is patched: what the site measures is told by itself. Statements are told with
placeholders, never with values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db.backends.signals import connection_created

from core.web import tracing

LONGEST_STATEMENT = 2000


def tell_opentelemetry(release: str) -> None:
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise ImproperlyConfigured(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, but its client is not installed: "
            "pip install -r requirements-extra.txt"
        ) from None
    ours = Resource({"service.name": "concord", "service.version": release})
    # What OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say goes before.
    provider = TracerProvider(resource=ours.merge(OTELResourceDetector().detect()))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    tell(provider)


def tell(provider: Any) -> None:
    """From now on, in this process."""
    tracing.starts = starter(provider.get_tracer("concord"))
    connection_created.connect(watch, dispatch_uid="traces")


def starter(tracer: Any) -> tracing.Starts:
    from opentelemetry.trace import SpanKind
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    kinds = {"server": SpanKind.SERVER, "consumer": SpanKind.CONSUMER, "client": SpanKind.CLIENT}
    reader = TraceContextTextMapPropagator()

    def start(
        kind: str, name: str, headers: Mapping[str, str]
    ) -> AbstractContextManager[tracing.Span]:
        before = reader.extract({key.lower(): value for key, value in headers.items()})
        found: AbstractContextManager[tracing.Span] = tracer.start_as_current_span(
            name, context=before if headers else None, kind=kinds[kind]
        )
        return found

    return start


def watch(connection: Any, **_signal: Any) -> None:
    """Each statement of this connection is a span, where something asked for it."""
    if statement not in connection.execute_wrappers:
        connection.execute_wrappers.append(statement)


def statement(execute: Callable[..., Any], sql: Any, *rest: Any) -> Any:
    """What Django calls in place of a statement; the last of ``rest`` says on which connection."""
    from opentelemetry.trace import get_current_span

    if not get_current_span().is_recording():
        return execute(sql, *rest)
    text = str(sql)
    with tracing.span("client", text.lstrip("( ").split(maxsplit=1)[0].upper()) as span:
        span.set_attribute("db.system.name", rest[-1]["connection"].vendor)
        span.set_attribute("db.query.text", text[:LONGEST_STATEMENT])
        return execute(sql, *rest)
