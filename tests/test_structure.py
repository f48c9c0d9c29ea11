"""Tests of the repository's structure: tests mirror packages, packages have import contracts."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

BASE_DIR = Path(__file__).resolve().parent.parent
TESTS = BASE_DIR / "tests"
# Tests of no single package: the contract of the whole API, the browser, and injected faults.
CROSS_PACKAGE_FOLDERS = {"api", "browser", "docs", "drills", "faults", "quality/api"}
# Lists of settings and of texts.
LONG_MODULES = {
    "agreement_site/settings.py",
    "metrics/agreement/glossary.py",
    "metrics/agreement/handbook_sections.py",
}
MAX_LINES = 400  # of a module
MAX_MODULES = 686  # of the product; join what is one subject before you raise it
MAX_FUNCTION_LINES = 40
MAX_LONG_FUNCTIONS = 31  # of the product; split one before you add one
# SQL as text: hot statements, locks and the tables of an import (docs/decisions/raw-bulk-sql.md).
SQL_MODULES = {
    "core/db/bulk.py",
    "core/db/transactions.py",
    "metrics/counting/rating_rows.py",
    "projects/permissions.py",
    "quality/review/rating_requests.py",
    "ratings/annotation/assignments/candidates.py",
    "ratings/annotation/assignments/hidden_checks.py",
    "ratings/annotation/assignments/queue.py",
    "ratings/annotation/rater_progress.py",
    "ratings/annotation/remaining_items.py",
    "ratings/annotation/rater_selectors.py",
    "ratings/api/row_lookup.py",
    "ratings/imports/staging/database.py",
    "ratings/imports/staging/queries.py",
    "ratings/services/current_ratings.py",
    "ratings/services/permissions.py",
    "ratings/services/record_sql.py",
    "ratings/services/slots.py",
}
SQL_TEXT = re.compile(
    r"\b(SELECT .+ FROM |SELECT [1{]|INSERT INTO |UPDATE \S+ SET |DELETE FROM |SET (LOCAL|TRANSACTION) )"
)
MAX_CLIENT_LINES = 1_500  # of the Python client without generated modules
LAYER = re.compile(r"\w+")  # a module of a layer in pyproject.toml
PACKAGES = sorted(path.parent.name for path in BASE_DIR.glob("*/__init__.py"))


def list_test_folders() -> list[str]:
    """Return the folders with a test module, as paths below tests/."""
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    return sorted(str(folder) for folder in folders if folder.parts)


@pytest.mark.parametrize("folder", list_test_folders())
def test_test_folder_mirrors_a_package(folder: str) -> None:
    if {folder, folder.split("/", maxsplit=1)[0]} & CROSS_PACKAGE_FOLDERS:
        return
    package = BASE_DIR / folder
    assert list(package.glob("*.py")), f"tests/{folder}: there is no package {folder}/"


def test_every_package_has_import_contracts() -> None:
    settings = tomllib.loads((BASE_DIR / "pyproject.toml").read_text())
    assert sorted(settings["tool"]["importlinter"]["root_packages"]) == PACKAGES


def describe_imports(package: str) -> str:
    """Return what a package may import by the import contracts; empty if no layer names it."""
    container, _dot, name = package.rpartition(".")
    settings = tomllib.loads((BASE_DIR / "pyproject.toml").read_text())
    for contract in settings["tool"]["importlinter"]["contracts"]:
        if contract["type"] != "layers" or contract.get("containers", [""]) != [container]:
            continue
        layers = [LAYER.findall(layer) for layer in contract["layers"]]
        index = next((index for index, layer in enumerate(layers) if name in layer), None)
        if index is None:
            return ""
        if index + 1 == len(layers):
            return f"It imports no other {f'module of {container}' if container else 'package'}."
        beside = "its layer and " if ":" in contract["layers"][index] else ""
        below = f"{container}.{layers[index + 1][0]}".strip(".")
        return f"It may import {beside}the layers from {below} down."
    return ""


def test_every_package_says_what_it_contains_and_imports() -> None:
    missing = []
    for root in set(PACKAGES) - {"tests"}:
        for path in (BASE_DIR / root).rglob("__init__.py"):
            package = ".".join(path.parent.relative_to(BASE_DIR).parts)
            docstring = " ".join((ast.get_docstring(ast.parse(path.read_text())) or "").split())
            imports = describe_imports(package)
            if "migrations" not in path.parts and not (docstring and imports in docstring):
                missing.append(f"{package}: one sentence on its contents. {imports}")
    assert not missing, "Write into the docstring of\n" + "\n".join(sorted(missing))


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_is_too_long(package: str) -> None:
    modules = [
        path for path in (BASE_DIR / package).rglob("*.py") if "migrations" not in path.parts
    ]
    lines = {
        str(path.relative_to(BASE_DIR)): len(path.read_text().splitlines()) for path in modules
    }
    too_long = {path: n for path, n in lines.items() if n > MAX_LINES and path not in LONG_MODULES}
    assert package == "tests" or too_long == {}


def test_product_has_few_modules() -> None:
    modules = [
        path
        for package in PACKAGES
        for path in (BASE_DIR / package).rglob("*.py")
        if package != "tests" and "migrations" not in path.parts
    ]
    assert len(modules) <= MAX_MODULES


def test_functions_are_short() -> None:
    functions = [
        node
        for package in PACKAGES
        for path in (BASE_DIR / package).rglob("*.py")
        if package != "tests" and "migrations" not in path.parts
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    ]
    long = [
        node.name
        for node in functions
        if (node.end_lineno or 0) - node.lineno + 1 > MAX_FUNCTION_LINES
    ]
    assert len(long) <= MAX_LONG_FUNCTIONS, long


def test_sql_stands_in_few_modules() -> None:
    modules = {
        str(path.relative_to(BASE_DIR))
        for package in PACKAGES
        for path in (BASE_DIR / package).rglob("*.py")
        if package != "tests" and "migrations" not in path.parts
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant | ast.JoinedStr)
        and SQL_TEXT.search(re.sub(r"(\\n)?\s+", " ", ast.unparse(node)))
    }
    assert modules == SQL_MODULES


def test_no_module_of_the_client_is_too_long() -> None:
    modules = (BASE_DIR / "clients/python/src").rglob("*.py")
    lines = {path.name: len(path.read_text().splitlines()) for path in modules}
    assert lines.pop("models.py") > MAX_LINES  # generated
    assert {name: n for name, n in lines.items() if n > MAX_LINES} == {}
    assert sum(n for name, n in lines.items() if name != "_client.py") < MAX_CLIENT_LINES
