"""Optional OpenTelemetry traces: a span for each request, each task and each ORM statement in them.

The standard OTEL_... variables say where they go, under which name and how many. Nothing else is
patched: the site creates its own spans. Statements have placeholders, never values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db.backends.signals import connection_created

from core import telemetry

MAX_STATEMENT_LENGTH = 2000


def configure_opentelemetry(release: str) -> None:
    """Send this process's traces to the collector in OTEL_EXPORTER_OTLP_ENDPOINT.

    Raises ImproperlyConfigured if OpenTelemetry's client is not installed.
    """
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
    resource = Resource({"service.name": "concord", "service.version": release})
    # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence.
    provider = TracerProvider(resource=resource.merge(OTELResourceDetector().detect()))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    install_provider(provider)


def install_provider(provider: Any) -> None:
    """Record this process's spans with the OpenTelemetry provider from now on."""
    telemetry.span_factory = build_span_starter(provider.get_tracer("concord"))
    connection_created.connect(trace_connection, dispatch_uid="traces")


def build_span_starter(tracer: Any) -> telemetry.SpanFactory:
    """Return a function (kind, name, headers) that starts a span, as a context manager.

    ``headers`` of a request or message may contain the parent's trace context.
    """
    from opentelemetry.trace import SpanKind
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    kinds = {"server": SpanKind.SERVER, "consumer": SpanKind.CONSUMER, "client": SpanKind.CLIENT}
    reader = TraceContextTextMapPropagator()

    def start_span(
        kind: str, name: str, headers: Mapping[str, str]
    ) -> AbstractContextManager[telemetry.Span]:
        parent_context = reader.extract({key.lower(): value for key, value in headers.items()})
        span: AbstractContextManager[telemetry.Span] = tracer.start_as_current_span(
            name, context=parent_context if headers else None, kind=kinds[kind]
        )
        return span

    return start_span


def trace_connection(connection: Any, **_signal: Any) -> None:
    """Make each statement of a new connection a span, inside a request or task (signal handler)."""
    if trace_statement not in connection.execute_wrappers:
        connection.execute_wrappers.append(trace_statement)


def trace_statement(execute: Callable[..., Any], sql: Any, *call_arguments: Any) -> Any:
    """Execute a statement in a span, if one is being recorded (a Django execute wrapper).

    The last of ``call_arguments`` is the wrapper's context, which holds the connection.
    """
    from opentelemetry.trace import get_current_span

    if not get_current_span().is_recording():
        return execute(sql, *call_arguments)
    statement_text = str(sql)
    with telemetry.start_span(
        "client", statement_text.lstrip("( ").split(maxsplit=1)[0].upper()
    ) as span:
        span.set_attribute("db.system.name", call_arguments[-1]["connection"].vendor)
        span.set_attribute("db.query.text", statement_text[:MAX_STATEMENT_LENGTH])
        return execute(sql, *call_arguments)
