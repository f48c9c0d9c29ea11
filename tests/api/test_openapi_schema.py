"""The OpenAPI description: valid, public, and about every operation."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from rest_framework.test import APIClient

from metrics.filtered import filtered_jobs
from metrics.filters import NO_FILTER
from quality.alerts import services
from tests.api.test_access import EXPECTED


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return Client().get("/api/v1/schema/").json()


def test_is_valid_openapi_3_1(schema: dict[str, Any]) -> None:
    out, err = io.StringIO(), io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call_command("spectacular", validate=True, fail_on_warn=True, stdout=out, stderr=err)
    assert err.getvalue() == ""
    assert schema["openapi"].startswith("3.1")


def test_says_of_no_operation_what_its_code_is(schema: dict[str, Any]) -> None:
    operations = [one for path in schema["paths"].values() for one in path.values()]
    assert operations
    assert not [one["summary"] for one in operations if "Base of" in one.get("description", "")]


def test_holds_every_operation_with_its_errors(schema: dict[str, Any]) -> None:
    offered = {
        (route, method)
        for (route, method), callers in EXPECTED.items()
        if route.startswith("api-")
        and route != "api-schema"
        # 400: theirs to call, but what is sent here is refused
        and {callers["lead"], callers["annotator"], callers["admin"]} & {200, 201, 400}
    }
    operations = {
        (path, method.upper()): operation
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    }
    assert len(operations) == len(offered)
    for (_path, method), operation in operations.items():
        assert operation["summary"]
        assert {"400", "401", "403", "404"} <= set(operation["responses"])
        assert operation["security"] == [{"token": []}, {"session": []}]
        if method == "DELETE":
            assert {"409", "503"} <= set(operation["responses"])
        elif method != "GET":
            assert "requestBody" in operation
            assert {"409", "413", "415", "503"} <= set(operation["responses"])
    assert len({operation["operationId"] for operation in operations.values()}) == len(operations)


def test_answers_have_the_described_fields(
    schema: dict[str, Any], api: APIClient, rated_project: str
) -> None:
    """Each field of each answer stands in the description, and each one that is always there is in
    the answer."""
    for tail in (
        "",
        "items/",
        "items/i1/",
        "raters/",
        "raters/ann/",
        "ratings/",
        "ratings/history/?item=i1&rater=ann",
        "agreement/",
        "agreement/categories/",
        "agreement/coefficients/",
        "agreement/disputed/",
        "agreement/pair/?rater_a=ann&rater_b=ben",
        "agreement/pairs/",
        "agreement/raters/",
        "agreement/trend/",
        RATER_TREND,
        "quality/alarms/",
        "quality/alarms/1/",
        "quality/raters/",
    ):
        answer = api.get(rated_project + tail).json()
        path = "/api/v1/projects/{project_id}/" + (
            tail.partition("?")[0]
            .replace("/ann/", "/{rater_key}/")
            .replace("/i1/", "/{item_key}/")
            .replace("/1/", "/{alarm_id}/")
        )
        described = schema["paths"][path]["get"]["responses"]["200"]["content"]["application/json"][
            "schema"
        ]
        compare(schema, described, answer, path)


RATER_TREND = "agreement/raters/ann/trend/"


@pytest.fixture
def rated_project(question: Any, rate: Callable[..., Any], make_alarm: Callable[..., Any]) -> str:
    from metrics.jobs.question_updates import update_question

    for rater, label in (("ann", "minor"), ("ben", "major"), ("cleo", "minor")):
        for item in ("i1", "i2"):
            rate(question, item, rater, label)
    update_question(question.pk)
    every_coefficient(question)
    alarm = make_alarm(question, question.project.raters.get(key="ann"), pk=1)
    services.change_alert_state(alert=alarm, state="looked_at", by=None)
    return f"/api/v1/projects/{question.project_id}/"


def every_coefficient(question: Any) -> None:
    """As if somebody had asked for them and a worker had been at it."""
    filtered_jobs.get_or_request_filtered_result(
        question, filtered_jobs.FilteredRequest("every", NO_FILTER), version=0
    )
    filtered_jobs.FILTERED_RESULT_JOB.sweep()


def compare(schema: dict[str, Any], described: dict[str, Any], answer: Any, place: str) -> None:
    described = resolved(schema, described)
    if isinstance(answer, dict) and "properties" in described:
        known = described["properties"]
        assert set(described.get("required", [])) <= set(answer), place
        assert set(answer) <= set(known), place
        for name in set(answer) & set(known):
            compare(schema, known[name], answer[name], f"{place}.{name}")
    elif isinstance(answer, list):
        assert answer, f"{place} is empty: nothing is compared"
        compare(schema, described["items"], answer[0], f"{place}[0]")


def resolved(schema: dict[str, Any], described: dict[str, Any]) -> dict[str, Any]:
    while True:
        if "$ref" in described:
            described = schema["components"]["schemas"][described["$ref"].rsplit("/", 1)[1]]
        elif "allOf" in described:
            described = described["allOf"][0]
        else:
            return described
