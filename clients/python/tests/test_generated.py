"""Tests of the generated modules: they are those of today's schema and client."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from django.test import Client

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src/concord_client"
MESSAGE = "run: python clients/python/tools/generate.py"


def load_generator() -> Any:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "tools/generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_models_are_those_of_the_schema() -> None:
    schema = Client().get("/api/v1/schema/").json()
    text = (PACKAGE / "models.py").read_text(encoding="utf-8")
    assert load_generator().generate_models(schema) == text, MESSAGE


def test_client_is_the_asynchronous_one_without_await() -> None:
    source = (PACKAGE / "_async_client.py").read_text(encoding="utf-8")
    text = (PACKAGE / "_client.py").read_text(encoding="utf-8")
    assert load_generator().generate_client(source) == text, MESSAGE


def test_client_imports_nothing_of_the_site() -> None:
    names = ("django", "rest_framework", "core", "projects", "ratings", "metrics", "quality")
    for path in PACKAGE.glob("*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            assert not line.strip().startswith(
                tuple(f"{word} {name}" for word in ("import", "from") for name in names)
            ), f"{path.name}: {line}"
