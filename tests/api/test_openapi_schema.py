"""Tests of the OpenAPI schema: it is valid, public, and describes every operation."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it has no types of its own
import pytest
from django.core.management import call_command
from django.test import Client
from rest_framework.test import APIClient

from metrics.filtered import filtered_jobs
from metrics.filters import NO_FILTER
from projects.models import Project
from quality.alerts import services
from tests.api.test_access import EXPECTED_STATUSES


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    """Return the OpenAPI schema as the site serves it."""
    return Client().get("/api/v1/schema/").json()


OPERATIONS_WITHOUT_BODY = {
    f"{verb}{scope}Webhook{noun}"
    for scope in ("", "Site")
    for verb, noun in (("rotate", "Secret"), ("test", ""), ("retry", "Delivery"))
} | {"pullConnection", "restartConnection"}


def test_schema_is_valid_openapi_3_1(schema: dict[str, Any]) -> None:
    out, err = io.StringIO(), io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call_command("spectacular", validate=True, fail_on_warn=True, stdout=out, stderr=err)
    assert err.getvalue() == ""
    assert schema["openapi"].startswith("3.1")


def test_descriptions_do_not_come_from_base_classes(schema: dict[str, Any]) -> None:
    operations = [operation for path in schema["paths"].values() for operation in path.values()]
    assert operations
    assert not [
        operation["summary"]
        for operation in operations
        if "Base of" in operation.get("description", "")
    ]


def test_schema_contains_every_operation_with_its_errors(schema: dict[str, Any]) -> None:
    available = {
        (route, method)
        for (route, method), callers in EXPECTED_STATUSES.items()
        if route.startswith("api-")
        and route not in ("api-index", "api-schema")
        # 400 and 415: allowed to call it, but the body of this test is invalid, or no form
        and {callers["lead"], callers["annotator"], callers["admin"]} & {200, 201, 202, 400, 415}
    }
    operations = {
        (path, method.upper()): operation
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    }
    assert len(operations) == len(available)
    for (_path, method), operation in operations.items():
        assert operation["summary"]
        assert {"400", "401", "403", "404"} <= set(operation["responses"])
        # Files are sent with a token alone: the CSRF check of a session would read them.
        is_upload = operation["operationId"] in ("importFile", "uploadMedia")
        assert operation["security"] == [{"token": []}, *([] if is_upload else [{"session": []}])]
        if method == "DELETE":
            assert {"409", "503"} <= set(operation["responses"])
        elif method != "GET":
            has_no_body = operation["operationId"] in OPERATIONS_WITHOUT_BODY
            assert ("requestBody" in operation) != has_no_body
            assert {"409", "413", "415", "503"} <= set(operation["responses"])
        parameters = [parameter["name"] for parameter in operation.get("parameters", [])]
        assert ("Idempotency-Key" in parameters) == (method == "POST")
        assert ("422" in operation["responses"]) == (method == "POST")
        assert "Retry-After" in operation["responses"]["429"]["headers"]
        problem = operation["responses"]["404"]["content"]
        assert list(problem) == ["application/problem+json"]
    assert len({operation["operationId"] for operation in operations.values()}) == len(operations)


def test_responses_have_the_described_fields(
    schema: dict[str, Any], api: APIClient, rated_project_path: str
) -> None:
    """Each field of each response is in the schema, and each required field is in the response."""
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
        "alerts/",
        "alerts/1/",
        "raters/status/",
    ):
        response_data = api.get(rated_project_path + tail).json()
        path = "/api/v1/projects/{project_id}/" + (
            tail.partition("?")[0]
            .replace("/ann/", "/{rater_key}/")
            .replace("/i1/", "/{item_key}/")
            .replace("/1/", "/{alert_id}/")
        )
        response_schema = schema["paths"][path]["get"]["responses"]["200"]["content"][
            "application/json"
        ]["schema"]
        assert_matches_schema(schema, response_schema, response_data, path)


RATER_TREND = "agreement/raters/ann/trend/"


@pytest.fixture
def rated_project_path(
    question: Any, rate: Callable[..., Any], make_alert: Callable[..., Any]
) -> str:
    """Return the path of a project with tags, ratings, results and an alert."""
    from metrics.jobs.question_updates import update_question

    Project.objects.filter(pk=question.project_id).update(tags="medical, round 2")
    for rater, label in (("ann", "minor"), ("ben", "major"), ("cleo", "minor")):
        for item in ("i1", "i2"):
            rate(question, item, rater, label)
    update_question(question.pk)
    compute_all_coefficients(question)
    alert = make_alert(question, question.project.raters.get(key="ann"), pk=1)
    services.change_alert_state(alert=alert, state="acknowledged", by=None)
    return f"/api/v1/projects/{question.project_id}/"


def compute_all_coefficients(question: Any) -> None:
    """Request all coefficients, and compute them as a worker does."""
    filtered_jobs.get_or_request_filtered_result(
        question, filtered_jobs.FilteredRequest("coefficients", NO_FILTER), version=0
    )
    filtered_jobs.FILTERED_RESULT_JOB.sweep()


def assert_matches_schema(
    schema: dict[str, Any], node_schema: dict[str, Any], value: Any, path: str
) -> None:
    """Assert that the fields of a response and of its nested objects are those of the schema."""
    node_schema = resolve_references(schema, node_schema)
    if isinstance(value, dict) and "properties" in node_schema:
        properties = node_schema["properties"]
        assert set(node_schema.get("required", [])) <= set(value), path
        assert set(value) <= set(properties), path
        for name in set(value) & set(properties):
            assert_matches_schema(schema, properties[name], value[name], f"{path}.{name}")
    elif isinstance(value, list):
        assert value, f"{path} is empty: nothing is compared"
        assert_matches_schema(schema, node_schema["items"], value[0], f"{path}[0]")


def resolve_references(schema: dict[str, Any], node_schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema that a `$ref` or `allOf` points to."""
    while True:
        if "$ref" in node_schema:
            node_schema = schema["components"]["schemas"][node_schema["$ref"].rsplit("/", 1)[1]]
        elif "allOf" in node_schema:
            node_schema = node_schema["allOf"][0]
        else:
            return node_schema


def test_every_body_has_an_example_that_it_accepts(schema: dict[str, Any]) -> None:
    operations = [row for path in schema["paths"].values() for row in path.values()]
    for operation in operations:
        for content in operation.get("requestBody", {}).get("content", {}).values():
            examples = [row["value"] for row in content.get("examples", {}).values()]
            examples += [content["example"]] if "example" in content else []
            assert examples, operation["operationId"]
            body_schema = {**content["schema"], "components": schema["components"]}
            for example in examples:
                jsonschema.Draft202012Validator(body_schema).validate(example)


def test_areas_are_described(schema: dict[str, Any]) -> None:
    used = {
        tag for path in schema["paths"].values() for row in path.values() for tag in row["tags"]
    }
    assert [tag["name"] for tag in schema["tags"]] == sorted(used)
    assert all(tag["description"] for tag in schema["tags"])


def test_bodies_of_changes_require_nothing(schema: dict[str, Any]) -> None:
    for path in schema["paths"].values():
        if "patch" in path:
            content = path["patch"]["requestBody"]["content"]["application/json"]
            assert "required" not in resolve_references(schema, content["schema"])


def test_components_have_plain_names(schema: dict[str, Any]) -> None:
    names = set(schema["components"]["schemas"])
    assert not [name for name in names if name.startswith("Patched") or name.endswith("Schema")]
