"""Tests that the documents name only things that exist.

They read README.md, CHANGELOG.md and docs/**/*.md: links and anchors, paths, routes, `make` targets,
manage.py commands, dotted module names, and attributes of models.
"""

from __future__ import annotations

import importlib
import re
import subprocess
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from django.apps import apps
from django.core.management import get_commands
from django.urls import URLPattern, URLResolver, get_resolver

BASE_DIR = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted(
    [BASE_DIR / "README.md", BASE_DIR / "CHANGELOG.md", *(BASE_DIR / "docs").rglob("*.md")]
)
PACKAGES = "agreement_site|core|events|metrics|projects|quality|ratings"
FILE_TYPES = "conf|css|csv|html|js|json|lock|md|po|py|toml|txt|yaml|yml"

FENCED_BLOCK = re.compile(r"^( *)```[^\n]*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
INDENTED_LINE = re.compile(r"^ {4}(.*)$", re.MULTILINE)
CODE_SPAN = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
SOURCE_PATH = re.compile(rf"[\w.-]*\w\.(?:{FILE_TYPES})")
PATH = re.compile(r"\w[\w.-]*(?:/[\w.-]+)*/?")
PATH_IN_TEXT = re.compile(
    rf"(?<![\w./<{{-])((?:{PACKAGES}|benchmarks|deploy|docs|locale|static|templates|tests)/"
    r"[\w./-]*\w\.[a-z]+)(?![\w/])"
)
MAKE = re.compile(r"^(?:[A-Z_]+=\S+ +)*make +([a-z][a-z-]*)")
COMMAND = re.compile(r"manage\.py +([a-z]\w+)")
MODULE = re.compile(rf"(?<![\w./-])((?:{PACKAGES}|tests)(?:\.[A-Za-z_]\w*)+)(?![\w/-]|\.\w)")
MODEL_ATTRIBUTE = re.compile(r"([A-Z][A-Za-z]+)\.([a-z_]\w*)(?:\(\))?")

# Paths that are not part of the checkout, and why documents name them.
ALLOWED_PATHS = {
    "build/": "created by make",
    "build/pages": "created by `make pages`",
    "var/": "created by `make run`",
    "imports/": "a folder of DATA_DIR",
    "uploads/": "a folder of DATA_DIR",
    "sign-in.txt": "a file of DATA_DIR with the first password",
    "pg_hba.conf": "a file of PostgreSQL",
}
MAX_CHANGELOG_BYTES = 8_000  # it lists features; the documents describe them
COMMANDS_OF_MANAGE = {"services"}  # handled by manage.py itself


def name_document(path: Path) -> str:
    return str(path.relative_to(BASE_DIR))


each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=name_document)


@cache
def list_tracked_files() -> frozenset[str]:
    """Return the files of the checkout that git knows or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    output = subprocess.run(command, cwd=BASE_DIR, check=True, capture_output=True, text=True)
    return frozenset(output.stdout.splitlines())


@cache
def list_file_names() -> frozenset[str]:
    return frozenset(PurePosixPath(path).name for path in list_tracked_files())


@cache
def list_folders() -> frozenset[str]:
    """Return all folders with files of the checkout, without a slash at the end."""
    return frozenset(
        str(parent) for path in list_tracked_files() for parent in PurePosixPath(path).parents
    )


@cache
def list_routes() -> frozenset[str]:
    """Return the routes of pages and API; each parameter is "{}"."""
    return frozenset(re.sub(r"<[^>]+>", "{}", route) for route in iter_routes(get_resolver()))


def iter_routes(resolver: URLResolver, prefix: str = "") -> Iterator[str]:
    for entry in resolver.url_patterns:
        route = prefix + str(entry.pattern)
        if isinstance(entry, URLPattern):
            yield route
        else:
            yield from iter_routes(entry, route)


def read_code_blocks(text: str) -> list[str]:
    """Return the lines of all fenced and indented code blocks."""
    lines = [line for match in FENCED_BLOCK.finditer(text) for line in match[2].splitlines()]
    return lines + INDENTED_LINE.findall(FENCED_BLOCK.sub("", text))


def read_code_spans(text: str) -> list[str]:
    return [" ".join(span.split()) for span in CODE_SPAN.findall(FENCED_BLOCK.sub("", text))]


def build_anchor(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    text = LINK.sub("]", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def list_anchors(document: Path) -> set[str]:
    text = FENCED_BLOCK.sub("", document.read_text(encoding="utf-8"))
    return {build_anchor(heading) for heading in HEADING.findall(text)}


@each_document
def test_links_lead_to_files_and_headings(document: Path) -> None:
    broken = []
    for target in LINK.findall(FENCED_BLOCK.sub("", document.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _hash, anchor = target.partition("#")
        linked = (document.parent / path).resolve() if path else document
        if not linked.exists() or (
            anchor and linked.suffix == ".md" and anchor not in list_anchors(linked)
        ):
            broken.append(target)
    assert broken == []


def is_existing_path(path: str, document: Path) -> bool:
    """Return True for a file or folder.

    It is named from the checkout, from templates/ (as in includes) or from the document.
    """
    name = path.rstrip("/")
    tracked_paths = list_folders() if path.endswith("/") else list_tracked_files() | list_folders()
    return bool({name, f"templates/{name}"} & tracked_paths) or (document.parent / name).exists()


def is_existing_route(path: str) -> bool:
    """Return True if a route contains the path from the beginning of one of its segments."""
    route = re.sub(r"\{[^}]+\}", "{}", path).lstrip("/")
    return any(f"/{route}" in f"/{site_route}" for site_route in list_routes())


def find_unknown_path(span: str, document: Path) -> str | None:
    """Return the path of a code span if it names nothing, else None."""
    if not PATH.fullmatch(span) or span in ALLOWED_PATHS:
        return None
    if "/" not in span:
        is_file = SOURCE_PATH.fullmatch(span) and not MODULE.fullmatch(span)
        return span if is_file and span not in list_file_names() else None
    if not (span.endswith("/") or SOURCE_PATH.fullmatch(span.rsplit("/", 1)[-1])):
        return None  # words with a slash, or a content type
    is_known = is_existing_path(span, document) or is_existing_route(span)
    return None if is_known else span


@each_document
def test_paths_exist(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    unknown = {find_unknown_path(span, document) for span in read_code_spans(text)} - {None}
    unknown |= {path for path in PATH_IN_TEXT.findall(text) if not is_existing_path(path, document)}
    assert unknown == set()


def list_make_targets() -> set[str]:
    makefile = (BASE_DIR / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))


@each_document
def test_make_targets_exist(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    lines = [line.strip() for line in read_code_blocks(text) + read_code_spans(text)]
    targets = {match[1] for line in lines if (match := MAKE.match(line))}
    assert targets <= list_make_targets()


@each_document
def test_management_commands_exist(document: Path) -> None:
    commands = set(COMMAND.findall(document.read_text(encoding="utf-8")))
    assert commands - COMMANDS_OF_MANAGE <= set(get_commands())


def is_existing_object(dotted_name: str) -> bool:
    """Return True for a module, or for an attribute of one."""
    parts = dotted_name.split(".")
    n_module_parts = 0
    for index in range(1, len(parts) + 1):
        try:
            if find_spec(".".join(parts[:index])) is None:
                break
        except (ImportError, AttributeError):
            break
        n_module_parts = index
    if n_module_parts in (0, len(parts)):
        return bool(n_module_parts)
    target: Any = importlib.import_module(".".join(parts[:n_module_parts]))
    for name in parts[n_module_parts:]:
        if not hasattr(target, name):
            return False
        target = getattr(target, name)
    return True


@each_document
def test_dotted_names_exist(document: Path) -> None:
    names = {
        name
        for name in MODULE.findall(document.read_text(encoding="utf-8"))
        if name.rsplit(".", 1)[-1] not in FILE_TYPES.split("|")
    }
    assert {name for name in names if not is_existing_object(name)} == set()


@each_document
def test_attributes_of_models_exist(document: Path) -> None:
    models = {model.__name__: model for model in apps.get_models()}
    spans = read_code_spans(document.read_text(encoding="utf-8"))
    matches = [match for span in spans if (match := MODEL_ATTRIBUTE.fullmatch(span))]
    unknown = {
        match[0]
        for match in matches
        if match[1] in models and not hasattr(models[match[1]], match[2])
    }
    assert unknown == set()


def test_architecture_shows_the_import_contracts() -> None:
    settings = tomllib.loads((BASE_DIR / "pyproject.toml").read_text(encoding="utf-8"))
    page = " ".join((BASE_DIR / "docs" / "architecture.md").read_text(encoding="utf-8").split())
    contracts = [
        contract
        for contract in settings["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
    ]
    assert contracts
    for contract in contracts:
        assert f"```text {' > '.join(contract['layers'])} ```" in page, contract["name"]


def test_patterns_find_what_they_look_for() -> None:
    """A pattern that matches nothing would let every document pass."""
    text = "\n".join(document.read_text(encoding="utf-8") for document in DOCUMENTS)
    assert len(LINK.findall(text)) > 50
    assert {"run", "test"} <= {
        match[1] for line in read_code_blocks(text) if (match := MAKE.match(line.strip()))
    }
    assert {"audit", "import_file"} <= set(COMMAND.findall(text))
    assert "metrics.agreement" in MODULE.findall(text)
    assert "ratings/services/record.py" in read_code_spans(text)
    assert find_unknown_path("ratings/recording/writing.py", BASE_DIR / "README.md")
    assert find_unknown_path("groundwork/rest/", BASE_DIR / "README.md")
    assert find_unknown_path("nowhere.py", BASE_DIR / "README.md")
    assert not is_existing_object("metrics.readings.first")


def test_changelog_is_short() -> None:
    assert len((BASE_DIR / "CHANGELOG.md").read_bytes()) <= MAX_CHANGELOG_BYTES
