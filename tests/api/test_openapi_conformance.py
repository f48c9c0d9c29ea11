"""Tests with hundreds of requests generated from the OpenAPI schema: it describes every response."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from agreement_site.wsgi import application
from metrics.jobs.question_updates import update_question
from projects.models import Project
from projects.services import tokens
from tests.tools.full_run import choose_number

pytestmark = pytest.mark.sqlite_only("what the schema says does not depend on the database")

RESPONSE_CHECKS = [
    not_a_server_error,
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
]


def run_site(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    """Return the site's response and close the request's body.

    The client writes a form of more than 500 KB to a temporary file and leaves it open.
    """
    with closing(environ["wsgi.input"]), closing(application(environ, start_response)) as response:
        return list(response)


schema = schemathesis.openapi.from_wsgi("/api/v1/schema/", run_site)


@pytest.fixture
def open_connection() -> Iterator[None]:
    """Keep the database connection open, because it holds the test's transaction.

    A request through WSGI ends with closing it.
    """
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def request_context(
    stocked: Project, question: Any, rate: Callable[..., Any], lead: User, open_connection: None
) -> dict[str, Any]:
    """Return the ID of a project with results, and a token for it."""
    for item in ("i1", "i2"):
        rate(question, item, "ann", "minor")
        rate(question, item, "ben", "major")
    update_question(question.pk)
    return {"project_id": stocked.pk, "token": tokens.create_token(user=lead)}


@settings(
    max_examples=choose_number(3, full=20),
    deadline=None,
    database=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.filter_too_much,
    ],
)
def check_responses(case: Any, request_context: dict[str, Any]) -> None:
    if "project_id" in (case.path_parameters or {}):
        case.path_parameters["project_id"] = request_context["project_id"]
    # The client of schemathesis does not decompress.
    headers = {"Authorization": f"Bearer {request_context['token']}", "Accept-Encoding": "identity"}
    response = case.call(headers=headers)
    case.validate_response(response, checks=RESPONSE_CHECKS)


def list_operations() -> list[str]:
    """Return method and path of each operation."""
    operations: Any = schema.get_all_operations()
    return [operation.ok().label for operation in operations]


# A test for each operation: schemathesis gives those of one function the same ID, and of tests with
# the same ID, pytest-xdist runs one.
for label in list_operations():
    name = re.sub(r"\W+", "_", label.lower()).strip("_")
    globals()[f"test_responses_of_{name}"] = schema.include(name=label).parametrize()(
        check_responses
    )


def test_each_operation_has_its_own_test(db: None) -> None:  # beside the others
    names = [name for name in globals() if name.startswith("test_responses_of_")]
    assert len(names) == len(list_operations()) > 70
