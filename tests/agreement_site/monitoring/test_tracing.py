"""Tests of optional traces: spans of requests, tasks and statements, without user input."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from agreement_site.celery import app
from agreement_site.monitoring import tracing as monitoring_tracing
from core import telemetry

TRACE_PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def span_exporter(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """Return an exporter that collects the spans of the test."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(
        telemetry,
        "span_factory",
        monitoring_tracing.build_span_starter(provider.get_tracer("concord")),
    )
    with connection.execute_wrapper(monitoring_tracing.trace_statement):
        yield exporter
    provider.shutdown()


def get_attributes(span: Any) -> dict[str, Any]:
    return dict(span.attributes or {})


@pytest.mark.django_db
def test_request_span_contains_its_statements(
    span_exporter: InMemorySpanExporter, project: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    span_exporter.clear()
    response = client.get(
        f"/projects/{project.pk}/items/?q=secret", headers={"traceparent": TRACE_PARENT}
    )
    *statement_spans, request_span = span_exporter.get_finished_spans()
    assert request_span.name == "GET items"
    assert request_span.kind is SpanKind.SERVER
    assert f"{request_span.context.trace_id:032x}" == TRACE_PARENT.split("-")[1]
    assert get_attributes(request_span) == {
        "http.request.method": "GET",
        "http.route": "items",
        "http.response.status_code": 200,
        "concord.request_id": response["X-Request-ID"],
    }
    assert statement_spans
    assert {span.name for span in statement_spans} <= {
        "SELECT",
        "INSERT",
        "UPDATE",
        "SAVEPOINT",
        "RELEASE",
    }
    assert {span.parent.span_id for span in statement_spans if span.parent} == {
        request_span.context.span_id
    }
    assert "secret" not in "".join(
        str(get_attributes(span)) for span in (request_span, *statement_spans)
    )


@pytest.mark.django_db
def test_task_span_marks_a_failure(span_exporter: InMemorySpanExporter) -> None:
    @app.task(name="drill.fails")
    def fails() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fails()
    (span,) = span_exporter.get_finished_spans()
    assert (span.name, span.kind) == ("drill.fails", SpanKind.CONSUMER)
    assert not span.status.is_ok
    app.tasks.unregister("drill.fails")


@pytest.mark.django_db
def test_statements_outside_a_span_are_not_recorded(span_exporter: InMemorySpanExporter) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    assert span_exporter.get_finished_spans() == ()


def test_without_the_setting_no_spans_are_recorded() -> None:
    with telemetry.start_span("server", "GET") as span:
        assert isinstance(span, telemetry.NullSpan)


def test_missing_client_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(ImproperlyConfigured, match=r"requirements-extra\.txt"):
        monitoring_tracing.configure_opentelemetry("1.0")


def test_service_name_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    providers: list[Any] = []
    monkeypatch.setattr(monitoring_tracing, "install_provider", providers.append)
    monitoring_tracing.configure_opentelemetry("1.0")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "ours")
    monitoring_tracing.configure_opentelemetry("1.0")
    names = [provider.resource.attributes["service.name"] for provider in providers]
    for provider in providers:
        provider.shutdown()
    assert names == ["concord", "ours"]
