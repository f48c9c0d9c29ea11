"""Traces on wish: spans of requests, tasks and statements, and nothing that people said."""

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
from core.web import tracing

CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(
        tracing,
        "span_factory",
        monitoring_tracing.build_span_starter(provider.get_tracer("concord")),
    )
    with connection.execute_wrapper(monitoring_tracing.trace_statement):
        yield exporter
    provider.shutdown()


def attributes(span: Any) -> dict[str, Any]:
    return dict(span.attributes or {})


@pytest.mark.django_db
def test_a_request_is_a_span_with_its_statements(
    told: InMemorySpanExporter, project: Any, lead: Any, client_for: Any
) -> None:
    client = client_for(lead)
    told.clear()
    answer = client.get(f"/projects/{project.pk}/items/?q=secret", headers={"traceparent": CALLER})
    *inner, request = told.get_finished_spans()
    assert request.name == "GET items"
    assert request.kind is SpanKind.SERVER
    assert f"{request.context.trace_id:032x}" == CALLER.split("-")[1]
    assert attributes(request) == {
        "http.request.method": "GET",
        "http.route": "items",
        "http.response.status_code": 200,
        "concord.request_id": answer["X-Request-ID"],
    }
    assert inner
    assert {span.name for span in inner} <= {"SELECT", "INSERT", "UPDATE", "SAVEPOINT", "RELEASE"}
    assert {span.parent.span_id for span in inner if span.parent} == {request.context.span_id}
    assert "secret" not in "".join(str(attributes(span)) for span in (request, *inner))


@pytest.mark.django_db
def test_a_task_is_a_span_and_a_failure_is_marked(told: InMemorySpanExporter) -> None:
    @app.task(name="drill.fails")
    def fails() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fails()
    (span,) = told.get_finished_spans()
    assert (span.name, span.kind) == ("drill.fails", SpanKind.CONSUMER)
    assert not span.status.is_ok
    app.tasks.unregister("drill.fails")


@pytest.mark.django_db
def test_statements_of_nobody_are_no_spans(told: InMemorySpanExporter) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    assert told.get_finished_spans() == ()


def test_without_the_setting_nothing_is_told() -> None:
    with tracing.start_span("server", "GET") as span:
        assert isinstance(span, tracing.NullSpan)


def test_a_client_that_is_not_installed_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(ImproperlyConfigured, match=r"requirements-extra\.txt"):
        monitoring_tracing.configure_opentelemetry("1.0")


def test_the_environment_names_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    monkeypatch.setattr(monitoring_tracing, "install_provider", given.append)
    monitoring_tracing.configure_opentelemetry("1.0")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "ours")
    monitoring_tracing.configure_opentelemetry("1.0")
    names = [provider.resource.attributes["service.name"] for provider in given]
    for provider in given:
        provider.shutdown()
    assert names == ["concord", "ours"]
