"""Tests of API errors: one format for every rejected request."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import DataError, IntegrityError, OperationalError
from django.test import Client
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from core.api.parsers import _build_unique_dict
from core.api.strict_fields import MAX_REPORTED_FIELDS
from projects.api.views import MAX_SETTINGS_BYTES
from projects.models import Project, Rater
from ratings.api.annotation_views import MAX_ANSWERS_BYTES
from tests.tools.full_run import choose_number

Address = Callable[..., str]
PATH = "/api/v1/projects/"

BAD_JSON = [
    (b"", "questions"),
    (b"{", "not valid JSON"),
    (b'{"name": NaN}', "NaN is not a JSON number"),
    (b'{"name": -Infinity}', "-Infinity is not a JSON number"),
    (b'{"name": 1e400}', "too large"),
    (b'{"overlap": ' + b"9" * 5000 + b"}", "not valid JSON"),
    (b'{"name": "a", "name": "b"}', "the key 'name' occurs twice in one object"),
    (b'{"name": "a\\u0000"}', "NUL characters are not allowed"),
    (b'{"name": "a\x00"}', "not valid JSON"),
    (b'{"name": "\\ud800"}', "a lone surrogate is not a character"),
    (b'{"name": "\xff"}', "must be UTF-8; byte 10 is not"),
    (b"[" * 100_000, "nested too deeply"),
    (b'{"x":' * 101 + b"1" + b"}" * 101, "nested too deeply: at most 100 levels"),
    (b"\xef\xbb\xbf{}", "BOM"),
    (b"{'name': 1}", "not valid JSON"),
    (b"null", "name"),
    (b'"text"', "name"),
    (b"[]", "name"),
]


def get_error(response: Any, status: int) -> dict[str, Any]:
    """Assert the status and the error format, and return the error."""
    assert response.status_code == status, response.content
    assert response.headers["Content-Type"] == "application/problem+json"
    content = response.json()
    assert list(content)[:6] == ["type", "title", "status", "detail", "errors", "error"]
    assert list(content["error"]) == ["code", "message", "fields"]
    assert content["error"]["message"] == content["detail"]
    assert content["type"] == f"urn:concord:problem:{content['error']['code']}"
    assert content["status"] == status
    return content["error"]


@pytest.mark.parametrize(("data", "words"), BAD_JSON)
def test_invalid_json_is_rejected(api: APIClient, data: bytes, words: str) -> None:
    error = get_error(api.post(PATH, data, content_type="application/json"), 400)
    assert words in str(error) or words == "name"
    assert Project.objects.count() == 0


def test_escaped_backslash_is_not_a_nul(api: APIClient, address: Address) -> None:
    body = b'{"key": "a", "body": {"text": "C:\\\\u0000"}}'
    assert api.post(address("items/"), body, content_type="application/json").status_code == 200


@pytest.mark.parametrize(
    ("media_type", "headers"),
    [
        ("application/xml", {}),
        ("text/plain", {}),
        ("application/x-www-form-urlencoded", {}),
        ("multipart/form-data; boundary=x", {}),
        ("application/json", {"Content-Encoding": "gzip"}),
    ],
)
def test_other_media_types_are_rejected(
    api: APIClient, media_type: str, headers: dict[str, str]
) -> None:
    response = api.post(PATH, b'{"name": "x"}', content_type=media_type, headers=headers)
    assert get_error(response, 415)["code"] == "unsupported_media_type"


def test_duplicate_key_is_found_in_linear_time(api: APIClient) -> None:
    """Comparing each key with all others took an hour for 60,000 keys."""
    n_comparisons = 0

    class Key(str):
        def __eq__(self, other: object) -> bool:
            nonlocal n_comparisons
            n_comparisons += 1
            return super().__eq__(other)

        __hash__ = str.__hash__

    pairs = [(Key(f"k{number}"), 1) for number in range(1000)]
    with pytest.raises(ValueError, match="the key 'k999' occurs twice in one object"):
        _build_unique_dict([*pairs, (Key("k999"), 1)])
    assert n_comparisons < 20


@pytest.mark.parametrize(
    ("lists", "error_path"),
    [
        ({"questions": [{}] * 60_000}, ["questions"]),
        ({"questions": [{"categories": [{}] * 60_000}]}, ["questions", "0", "categories"]),
        ({"questions": [{"weight_matrix": [[]] * 60_000}]}, ["questions", "0", "weight_matrix"]),
        ({"questions": [{"weight_matrix": [["x"] * 60_000]}]}, ["questions", "0", "weight_matrix"]),
    ],
)
def test_list_length_is_checked_before_its_elements(
    api: APIClient, lists: Any, error_path: list[str]
) -> None:
    response = api.post(PATH, {"name": "n", **lists}, format="json")
    errors = get_error(response, 400)["fields"]
    for part in error_path:
        errors = errors[part]
    assert "no more than 50 elements" in str(errors)
    assert len(response.content) < 2_000


def test_number_of_reported_unknown_fields_is_limited(api: APIClient) -> None:
    response = api.post(PATH, {f"f{number}": 1 for number in range(5_000)}, format="json")
    assert len(get_error(response, 400)["fields"]) == MAX_REPORTED_FIELDS


def test_too_large_project_description_is_rejected(api: APIClient) -> None:
    body = json.dumps({"name": "x" * MAX_SETTINGS_BYTES}).encode()
    error = get_error(api.post(PATH, body, content_type="application/json"), 413)
    assert error["message"].startswith(f"A request body may have {MAX_SETTINGS_BYTES} bytes")


@pytest.mark.parametrize("part", [b"[],", b"1,", b'{"":{}},'])
def test_body_of_many_values_is_never_parsed(
    api: APIClient, address: Address, monkeypatch: pytest.MonkeyPatch, part: bytes
) -> None:
    monkeypatch.setattr("core.api.parsers.json", None)
    body = b'{"ratings": [' + part * 1_000_000 + b"0]}"
    response = api.post(address("ratings/"), body, content_type="application/json")
    assert "1000000 values" in get_error(response, 413)["message"]


def test_answers_to_the_next_item_are_small(
    api: APIClient, address: Address, project: Project, lead: User
) -> None:
    Rater.objects.create(project=project, key="lead", user=lead)
    body = b'{"comment": "' + b"x" * MAX_ANSWERS_BYTES + b'"}'
    response = api.post(address("next/"), body, content_type="application/json")
    assert f"{MAX_ANSWERS_BYTES} bytes" in get_error(response, 413)["message"]


def test_too_large_body_is_rejected(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "DATA_UPLOAD_MAX_MEMORY_SIZE", 1000)
    body = json.dumps({"name": "x" * 2000}).encode()
    assert (
        get_error(api.post(PATH, body, content_type="application/json"), 413)["code"] == "too_large"
    )


@pytest.mark.parametrize(
    "path", ["/api/", "/api/v2/projects/", "/api/v1/projects/x/", "/api/v1/project/"]
)
def test_unknown_address_is_not_found(api: APIClient, path: str) -> None:
    assert get_error(api.get(path), 404)["code"] == "not_found"


@pytest.mark.parametrize("method", ["get", "post"])
def test_missing_trailing_slash_is_reported(api: APIClient, method: str) -> None:
    assert "end with a slash" in get_error(getattr(api, method)("/api/v1/projects"), 404)["message"]


def test_wrong_method_is_rejected(api: APIClient, address: Address) -> None:
    response = api.delete(address("questions/"))
    assert get_error(response, 405)["code"] == "method_not_allowed"
    assert response.headers["Allow"] == "GET, HEAD, POST"


def test_request_without_token_is_rejected(db: None) -> None:
    response = APIClient().get(PATH)
    assert get_error(response, 401)["code"] == "not_authenticated"
    assert response.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "header", ["Bearer", "Bearer a b", "Bearer ccd_unknown", "Bearer \xff", "bearer " + "x" * 5000]
)
def test_invalid_token_is_rejected(db: None, header: str) -> None:
    assert (
        get_error(APIClient().get(PATH, headers={"Authorization": header}), 401)["code"]
        == "not_authenticated"
    )


@pytest.mark.parametrize("header", ["Basic bGVhZDphIGxvbmcgcGFzc3dvcmQ=", "Token x"])
def test_other_authentication_schemes_are_rejected(lead: Any, header: str) -> None:
    get_error(APIClient().get(PATH, headers={"Authorization": header}), 401)


def test_token_in_the_query_is_ignored(db: None) -> None:
    get_error(APIClient().get(f"{PATH}?token=x"), 401)


@pytest.mark.parametrize(
    ("exception", "status", "code"),
    [
        (OperationalError("database or disk is full"), 503, "unavailable"),
        (IntegrityError("FOREIGN KEY constraint failed"), 409, "conflict"),
        (DataError("numeric field overflow"), 400, "invalid"),
        (ZeroDivisionError(), 500, "server_error"),
    ],
)
def test_internal_failures_have_an_error_code(
    api: APIClient,
    address: Address,
    monkeypatch: pytest.MonkeyPatch,
    exception: Exception,
    status: int,
    code: str,
) -> None:
    def raise_exception(**_arguments: Any) -> None:
        raise exception

    monkeypatch.setattr("ratings.api.item_views.upsert_items", raise_exception)
    api.raise_request_exception = False
    response = api.post(address("items/"), {"key": "a", "body": {}}, format="json")
    assert get_error(response, status)["code"] == code
    assert "FOREIGN" not in response.content.decode()
    assert response.headers.get("Retry-After") == ("2" if status == 503 else None)


def test_responses_are_not_cached(api: APIClient, address: Address) -> None:
    for response in (
        api.get(address()),
        api.get("/api/nothing"),
        APIClient().get(PATH),
        Client().get("/api/v1/schema/"),
    ):
        assert response.headers["Cache-Control"] == "no-store, private"
        assert {"Authorization", "Cookie"} <= {
            name.strip() for name in response.headers["Vary"].split(",")
        }


def test_other_origins_get_no_cors_headers(api: APIClient, address: Address) -> None:
    response = api.get(address(), headers={"Origin": "https://evil.example"})
    assert not [name for name in response.headers if name.lower().startswith("access-control")]


BODY_KEYS = [
    "name", "questions", "key", "text", "scale", "weights", "weight_matrix", "categories", "label", "value", "hotkey",
    "body", "attributes", "username", "kind", "item", "rater", "question", "rated_at", "comment", "overlap",
    "time_zone",
]  # fmt: skip
VALID_VALUES = [
    "i1",
    "ann",
    "severity",
    "minor",
    "ordinal",
    "custom",
    "UTC",
    "human",
    "lead",
    "2026-03-01T10:00:00Z",
]
SCALAR_STRATEGY = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(VALID_VALUES)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
)
BODY_STRATEGY = st.recursive(
    SCALAR_STRATEGY,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(BODY_KEYS), inner, max_size=6)
    ),
    max_leaves=25,
)


@pytest.mark.parametrize(
    ("method", "tail"),
    [
        ("POST", ""),
        ("PATCH", "{id}/"),
        *(("POST", f"{{id}}/{tail}/") for tail in ("items", "raters", "ratings")),
    ],
)
def test_no_request_body_causes_a_server_error(
    api: APIClient, stocked: Project, method: str, tail: str
) -> None:
    path = PATH + tail.format(id=stocked.pk)
    api.raise_request_exception = False

    @given(BODY_STRATEGY)
    @hypothesis_settings(
        max_examples=choose_number(25, full=60),
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
        database=None,
    )
    def check(body: Any) -> None:
        response = api.generic(method, path, json.dumps(body), content_type="application/json")
        assert response.status_code in (200, 201, 400), (body, response.content)
        if response.status_code == 400:
            get_error(response, 400)

    check()


QUERY_PARAMETERS = [
    "cursor",
    "page_size",
    "question",
    "item",
    "rater",
    "since",
    "withdrawn",
    "weights",
    "period",
    "coefficient",
]


@pytest.mark.parametrize(
    "tail",
    [
        "",
        "{id}/",
        "{id}/ratings/",
        *(
            f"{{id}}/agreement/{part}"
            for part in ("", "pairs/", "raters/", "trend/", "raters/ann/trend/")
        ),
    ],
)
def test_no_query_causes_a_server_error(api: APIClient, stocked: Project, tail: str) -> None:
    path = PATH + tail.format(id=stocked.pk)
    api.raise_request_exception = False

    @given(
        st.dictionaries(
            st.sampled_from(QUERY_PARAMETERS),
            st.sampled_from(VALID_VALUES) | st.text(max_size=30),
            max_size=3,
        )
    )
    @hypothesis_settings(
        max_examples=choose_number(15, full=30),
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
        database=None,
    )
    def check(query: dict[str, str]) -> None:
        try:
            response = api.get(path, query)
        except UnicodeEncodeError:
            return  # no client can send such a text
        assert response.status_code in (200, 400), (query, response.content)

    check()


def test_each_invalid_row_has_codes(api: APIClient, address: Address, stocked: Project) -> None:
    good = {"item": "i1", "rater": "ben", "label": "major"}
    rows = [
        good,
        good | {"item": "nosuch", "rater": "nobody"},
        good | {"item": "i2", "label": "mjor"},
        {"item": "i2", "colour": "red", "label": 3, "rater": ""},
        good,
        "text",
        good | {"item": "i3", "rated_at": "yesterday"},
        good | {"item": "i4", "question": "nosuch"},
    ]
    response = api.post(address("ratings/"), rows, format="json")
    get_error(response, 400)
    errors = response.json()["errors"]
    assert [(error["row"], error["field"], error["code"]) for error in errors] == [
        (1, "item", "unknown_item"),
        (1, "rater", "unknown_rater"),
        (2, "label", "unknown_label"),
        (3, "colour", "unknown_field"),
        (3, "label", "invalid"),
        (3, "rater", "invalid"),
        (4, "item", "duplicate"),
        (5, None, "not_an_object"),
        (6, "rated_at", "invalid_time"),
        (7, "question", "unknown_question"),
    ]
    assert all(error["detail"] for error in errors)
    response = api.post(address("raters/"), [{"key": "a", "model": "x"}, {}], format="json")
    assert [(error["row"], error["code"]) for error in response.json()["errors"]] == [
        (1, "required")
    ]
    response = api.post(PATH, {"name": 3, "questions": [{"key": "a"}]}, format="json")
    fields = {error["field"]: error["code"] for error in response.json()["errors"]}
    assert fields["name"] == "invalid"
    assert fields["questions/0/scale"] == "required"
