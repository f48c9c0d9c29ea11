"""One shape for every refusal, whatever comes in."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.db import DataError, IntegrityError, OperationalError
from django.test import Client
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from core.api.parsers import _build_unique_dict
from core.api.strict_fields import MAX_REPORTED_FIELDS
from projects.api.views import MAX_SETTINGS_BYTES
from projects.models import Project

Address = Callable[..., str]
PATH = "/api/v1/projects/"

BAD_JSON = [
    (b"", "questions"),
    (b"{", "not valid JSON"),
    (b'{"name": NaN}', "NaN is not a JSON number"),
    (b'{"name": -Infinity}', "-Infinity is not a JSON number"),
    (b'{"name": 1e400}', "too large"),
    (b'{"overlap": ' + b"9" * 5000 + b"}", "not valid JSON"),
    (b'{"name": "a", "name": "b"}', "the key 'name' stands twice"),
    (b'{"name": "a\\u0000"}', "NUL characters are not allowed"),
    (b'{"name": "a\x00"}', "not valid JSON"),
    (b'{"name": "\\ud800"}', "a lone surrogate is not a character"),
    (b'{"name": "\xff"}', "must be UTF-8; byte 10 is not"),
    (b"[" * 100_000, "nested too deeply"),
    (b"\xef\xbb\xbf{}", "BOM"),
    (b"{'name': 1}", "not valid JSON"),
    (b"null", "name"),
    (b'"text"', "name"),
    (b"[]", "name"),
]


def error_of(answer: Any, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.content
    assert answer.headers["Content-Type"] == "application/json"
    found = answer.json()
    assert list(found) == ["error"]
    assert list(found["error"]) == ["code", "message", "fields"]
    assert found["error"]["message"]
    return found["error"]


@pytest.mark.parametrize(("data", "words"), BAD_JSON)
def test_bad_json(api: APIClient, data: bytes, words: str) -> None:
    error = error_of(api.post(PATH, data, content_type="application/json"), 400)
    assert words in str(error) or words == "name"
    assert Project.objects.count() == 0


def test_an_escaped_backslash_is_no_nul(api: APIClient, address: Address) -> None:
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
def test_other_media_types(api: APIClient, media_type: str, headers: dict[str, str]) -> None:
    answer = api.post(PATH, b'{"name": "x"}', content_type=media_type, headers=headers)
    assert error_of(answer, 415)["code"] == "unsupported_media_type"


def test_a_doubled_key_is_looked_for_once(api: APIClient) -> None:
    """Not once for each of the others: of 60,000 that took an hour."""
    looked = 0

    class Key(str):
        def __eq__(self, other: object) -> bool:
            nonlocal looked
            looked += 1
            return super().__eq__(other)

        __hash__ = str.__hash__

    pairs = [(Key(f"k{number}"), 1) for number in range(1000)]
    with pytest.raises(ValueError, match="the key 'k999' stands twice"):
        _build_unique_dict([*pairs, (Key("k999"), 1)])
    assert looked < 20


@pytest.mark.parametrize(
    ("lists", "place"),
    [
        ({"questions": [{}] * 60_000}, ["questions"]),
        ({"questions": [{"categories": [{}] * 60_000}]}, ["questions", "0", "categories"]),
        ({"questions": [{"weight_matrix": [[]] * 60_000}]}, ["questions", "0", "weight_matrix"]),
        ({"questions": [{"weight_matrix": [["x"] * 60_000]}]}, ["questions", "0", "weight_matrix"]),
    ],
)
def test_lists_are_counted_before_they_are_looked_at(
    api: APIClient, lists: Any, place: list[str]
) -> None:
    answer = api.post(PATH, {"name": "n", **lists}, format="json")
    said = error_of(answer, 400)["fields"]
    for part in place:
        said = said[part]
    assert "no more than 50 elements" in str(said)
    assert len(answer.content) < 2_000


def test_unknown_fields_without_end_are_not_all_named(api: APIClient) -> None:
    answer = api.post(PATH, {f"f{number}": 1 for number in range(5_000)}, format="json")
    assert len(error_of(answer, 400)["fields"]) == MAX_REPORTED_FIELDS


def test_a_project_is_described_in_few_bytes(api: APIClient) -> None:
    body = json.dumps({"name": "x" * MAX_SETTINGS_BYTES}).encode()
    error = error_of(api.post(PATH, body, content_type="application/json"), 413)
    assert error["message"].startswith(f"A request body may have {MAX_SETTINGS_BYTES} bytes")


def test_too_large_a_body(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "DATA_UPLOAD_MAX_MEMORY_SIZE", 1000)
    body = json.dumps({"name": "x" * 2000}).encode()
    assert (
        error_of(api.post(PATH, body, content_type="application/json"), 413)["code"] == "too_large"
    )


@pytest.mark.parametrize(
    "path", ["/api/", "/api/v1/", "/api/v2/projects/", "/api/v1/projects/x/", "/api/v1/project/"]
)
def test_unknown_address(api: APIClient, path: str) -> None:
    assert error_of(api.get(path), 404)["code"] == "not_found"


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_forgotten_slash_is_named(api: APIClient, method: str) -> None:
    assert "end with a slash" in error_of(getattr(api, method)("/api/v1/projects"), 404)["message"]


def test_wrong_method(api: APIClient, address: Address) -> None:
    answer = api.delete(address())
    assert error_of(answer, 405)["code"] == "method_not_allowed"
    assert answer.headers["Allow"] == "GET, HEAD, PATCH"


def test_no_token(db: None) -> None:
    answer = APIClient().get(PATH)
    assert error_of(answer, 401)["code"] == "not_authenticated"
    assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "header", ["Bearer", "Bearer a b", "Bearer ccd_unknown", "Bearer \xff", "bearer " + "x" * 5000]
)
def test_bad_token(db: None, header: str) -> None:
    assert (
        error_of(APIClient().get(PATH, headers={"Authorization": header}), 401)["code"]
        == "not_authenticated"
    )


@pytest.mark.parametrize("header", ["Basic bGVhZDphIGxvbmcgcGFzc3dvcmQ=", "Token x"])
def test_other_ways_in_are_closed(lead: Any, header: str) -> None:
    error_of(APIClient().get(PATH, headers={"Authorization": header}), 401)


def test_a_token_in_the_address_is_none(db: None) -> None:
    error_of(APIClient().get(f"{PATH}?token=x"), 401)


@pytest.mark.parametrize(
    ("raised", "status", "code"),
    [
        (OperationalError("database or disk is full"), 503, "unavailable"),
        (IntegrityError("FOREIGN KEY constraint failed"), 409, "conflict"),
        (DataError("numeric field overflow"), 400, "invalid"),
        (ZeroDivisionError(), 500, "server_error"),
    ],
)
def test_failures_behind_the_api(
    api: APIClient,
    address: Address,
    monkeypatch: pytest.MonkeyPatch,
    raised: Exception,
    status: int,
    code: str,
) -> None:
    def fail(**_arguments: Any) -> None:
        raise raised

    monkeypatch.setattr("ratings.api.item_views.upsert_items", fail)
    api.raise_request_exception = False
    answer = api.post(address("items/"), {"key": "a", "body": {}}, format="json")
    assert error_of(answer, status)["code"] == code
    assert "FOREIGN" not in answer.content.decode()
    assert answer.headers.get("Retry-After") == ("2" if status == 503 else None)


def test_answers_are_kept_by_nobody(api: APIClient, address: Address) -> None:
    for answer in (
        api.get(address()),
        api.get("/api/nothing"),
        APIClient().get(PATH),
        Client().get("/api/v1/schema/"),
    ):
        assert answer.headers["Cache-Control"] == "no-store, private"
        assert {"Authorization", "Cookie"} <= {
            name.strip() for name in answer.headers["Vary"].split(",")
        }


def test_other_origins_get_no_permission(api: APIClient, address: Address) -> None:
    answer = api.get(address(), headers={"Origin": "https://evil.example"})
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]


KEYS = [
    "name", "questions", "key", "text", "scale", "weights", "weight_matrix", "categories", "label", "value", "hotkey",
    "body", "attributes", "username", "kind", "item", "rater", "question", "rated_at", "comment", "overlap",
    "time_zone",
]  # fmt: skip
GOOD = [
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
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(GOOD)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6)
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
def test_no_body_breaks_the_api(api: APIClient, stocked: Project, method: str, tail: str) -> None:
    path = PATH + tail.format(id=stocked.pk)
    api.raise_request_exception = False

    @given(VALUES)
    @hypothesis_settings(
        max_examples=60,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
        database=None,
    )
    def check(body: Any) -> None:
        answer = api.generic(method, path, json.dumps(body), content_type="application/json")
        assert answer.status_code in (200, 201, 400), (body, answer.content)
        if answer.status_code == 400:
            error_of(answer, 400)

    check()


PARAMETERS = [
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
def test_no_query_breaks_the_api(api: APIClient, stocked: Project, tail: str) -> None:
    path = PATH + tail.format(id=stocked.pk)
    api.raise_request_exception = False

    @given(
        st.dictionaries(
            st.sampled_from(PARAMETERS), st.sampled_from(GOOD) | st.text(max_size=30), max_size=3
        )
    )
    @hypothesis_settings(
        max_examples=30,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
        database=None,
    )
    def check(query: dict[str, str]) -> None:
        try:
            answer = api.get(path, query)
        except UnicodeEncodeError:
            return  # not a text that a client could send
        assert answer.status_code in (200, 400), (query, answer.content)

    check()
