"""Tests that the worst input of every field of every call takes a bounded time and memory."""

from __future__ import annotations

import copy
import gc
import json
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from projects.models import Project
from tests.api.test_access import BODIES, EXPECTED_STATUSES, build_path
from tests.tools.full_run import choose_number
from tests.tools.worst_inputs import limit_memory, limit_time, list_worst_texts

pytestmark = pytest.mark.sqlite_only("the parsers do not depend on the database")

LONGEST = 260_000  # characters: of an item's body
WORST_BODIES = {
    "deep lists": b"[" * 1_000_000,
    "deep objects": b'{"a":' * 200_000,
    "deep and closed": b"[" * 99 + b"]" * 99,
    "too many lists": b"[" + b"[]," * 5_000_000 + b"[]]",
    "many objects": b"[" + b'{"a":1},' * 490_000 + b"{}]",
    "many keys": b"{%s}" % b",".join(b'"k%d":1' % number for number in range(490_000)),
    "long string": b'{"key":"' + b"x" * (15 << 20) + b'"}',
    "escapes": b'{"key":"' + b'\\"' * (7 << 20) + b'"}',
    "unfinished strings": b'"\\' * 1_000_000,
    "long number": b"[" + b"9" * 1_000_000 + b"]",
    "large number": b"[1e400]",
    "blanks": b" " * (15 << 20),
}
WRITES = sorted(
    (route, method)
    for (route, method), statuses in EXPECTED_STATUSES.items()
    if method in ("POST", "PUT", "PATCH") and {200, 201, 202, 400} & set(statuses.values())
)
assert set(BODIES) <= set(WRITES)


@pytest.fixture
def client(admin: User, api_for: Any, route_objects: None) -> APIClient:
    return api_for(admin)


def get_properties(schema: dict[str, Any], route: str, method: str) -> dict[str, Any]:
    """Return the fields of the body of a call by name."""
    path = build_path(route, 1).partition("?")[0]
    for template, operations in schema["paths"].items():
        if is_same_path(template, path) and method.lower() in operations:
            content = operations[method.lower()].get("requestBody", {}).get("content", {})
            return find_properties(schema, content.get("application/json", {}).get("schema", {}))
    raise AssertionError(f"{route} is not in the schema")


def is_same_path(template: str, path: str) -> bool:
    parts, path_parts = template.split("/"), path.split("/")
    return len(parts) == len(path_parts) and all(
        part.startswith("{") or part == path_part
        for part, path_part in zip(parts, path_parts, strict=True)
    )


def find_properties(schema: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """Return the properties of a schema, of its alternatives, and of the elements of its list."""
    if "$ref" in part:
        part = schema["components"]["schemas"][part["$ref"].rpartition("/")[2]]
    properties = dict(part.get("properties", {}))
    for inner in [*part.get("oneOf", []), *part.get("anyOf", []), part.get("items", {})]:
        if inner:
            properties |= find_properties(schema, inner)
    return properties


def iter_bodies(route: str, method: str, properties: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the name of a field, and a body in which it has a worst value of its allowed length."""
    base = BODIES.get((route, method), {})
    rows = base if isinstance(base, list) else [base]
    for name, field in properties.items():
        length = min(field.get("maxLength", LONGEST), LONGEST)
        for kind, text in list_worst_texts(length).items():
            for value in (text, {"html": text, "text": text}) if name == "body" else (text,):
                body = copy.deepcopy(rows[0])
                body[name] = value
                yield f"{name}: {kind}", [body] if isinstance(base, list) else body
        odd_value: Any
        for odd_value in ([], [[]] * 1_000, {"a" * 1_000: {}}, 10**400, -1, 1e300, None, True):
            yield f"{name}: {odd_value!r:.20}", {**rows[0], name: odd_value}


def test_every_field_of_every_call_is_bounded(client: APIClient, project: Project) -> None:
    schema = Client().get("/api/v1/schema/").json()
    n_requests = 0
    with limit_memory():
        for route, method in WRITES:
            path = build_path(route, project.pk)
            properties = get_properties(schema, route, method)
            for place, body in iter_bodies(route, method, properties):
                data = json.dumps(body)
                with limit_time(f"{method} {path} {place}"):
                    response = client.generic(method, path, data, content_type="application/json")
                assert response.status_code < 500, f"{method} {path} {place}"
                n_requests += 1
    assert n_requests > 1_000


@pytest.fixture
def skip_loaded_objects() -> Iterator[None]:
    """Let the garbage collector skip what is loaded already, so that each collection is short."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("skip_loaded_objects")
@pytest.mark.parametrize("kind", WORST_BODIES)
def test_worst_bodies_are_bounded(kind: str, client: Any, project: Project) -> None:
    # A normal run sends a third of the bodies to each call, a full run all.
    step = choose_number(3, full=1)
    with limit_memory():
        for route, method in WRITES[list(WORST_BODIES).index(kind) % step :: step]:
            path = build_path(route, project.pk)
            gc.collect()  # the test client's own copies of the body
            with limit_time(f"{method} {path} {kind}"):
                response = client.generic(
                    method, path, WORST_BODIES[kind], content_type="application/json"
                )
            assert response.status_code < 500, f"{method} {path} {kind}"


class _Body(dict[str, Any]):
    """A parsed body, to which a weak reference is possible."""


def test_parsed_body_does_not_wait_for_garbage_collection(
    client: APIClient, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    references = []

    def parse(*_arguments: Any, **_options: Any) -> Any:
        body = _Body(key="")
        references.append(weakref.ref(body))
        return body

    monkeypatch.setattr("core.api.parsers.StrictJSONParser.parse", parse)
    gc.disable()
    try:
        path = build_path("api-items", project.pk)
        assert client.post(path, {}, format="json").status_code == 400
        assert [reference() for reference in references] == [None]
    finally:
        gc.enable()
