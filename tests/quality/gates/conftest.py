"""A rated question with a gate, and functions to call its API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from projects.models import Project, Question
from quality.models import Gate
from tests.api.conftest import api, refused, world
from tests.cast import rate_many

__all__ = ["api", "refused", "world"]


@pytest.fixture(autouse=True)
def signing_key(settings: Any, tmp_path: Any) -> None:
    settings.GATE_SIGNING_KEY_FILE = tmp_path / "key.pem"


@pytest.fixture
def gates_url(project: Project) -> str:
    return f"/api/v1/projects/{project.pk}/gates/"


@pytest.fixture
def create_gate(api: Any, gates_url: str) -> Callable[..., dict[str, Any]]:
    """``create_gate(rule, rule, name="release")`` creates a gate through the API."""

    def create(*rules: dict[str, Any], name: str = "release") -> dict[str, Any]:
        response = api.post(gates_url, {"name": name, "rules": list(rules)}, format="json")
        assert response.status_code == 201, response.content
        return response.json()

    return create


@pytest.fixture
def get_rule(
    api: Any, gates_url: str, create_gate: Callable[..., dict[str, Any]]
) -> Callable[..., dict[str, Any]]:
    """``get_rule({...})`` creates a gate with this rule and returns the rule of its verdict."""

    def get(rule: dict[str, Any], **query: str) -> dict[str, Any]:
        name = f"gate {Gate.objects.count()}"
        create_gate(rule, name=name)
        body = api.get(f"{gates_url}{name}/verdict/", query).json()
        assert body["verdict"] == body["rules"][0]["verdict"]
        return body["rules"][0]

    return get


@pytest.fixture
def rate_alike(question: Question) -> Callable[..., None]:
    """``rate_alike(60, errors=5)`` adds 60 items of ann and ben, who differ on 5 of them."""

    def add(n: int, *, errors: int = 0, prefix: str = "i", raters: Any = ("ann", "ben")) -> None:
        labels = ("none", "minor", "major", "critical")
        rows = []
        for number in range(n):
            own = labels[number % 4]
            other = labels[(number + 1) % 4] if number < errors else own
            rows += [(f"{prefix}{number}", raters[0], own), (f"{prefix}{number}", raters[1], other)]
        rate_many(question, rows)

    return add
