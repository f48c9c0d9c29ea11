"""The house is in order: tests stand where the rooms stand, and every package is under a
contract."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

BASE_DIR = Path(__file__).resolve().parent.parent
TESTS = BASE_DIR / "tests"
# Tests of no single room: the contract of the whole API, the browser, and what is broken on
# purpose.
BETWEEN_ROOMS = {"api", "browser", "drills", "faults", "quality/api"}
# Lists, of settings and of words.
LISTS = {
    "agreement_site/settings.py",
    "metrics/agreement/glossary.py",
    "metrics/agreement/texts.py",
}
MOST_LINES = 400  # of a module
PACKAGES = sorted(path.parent.name for path in BASE_DIR.glob("*/__init__.py"))


def folders_of_tests() -> list[str]:
    """The folders with a test file, as paths below tests/."""
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    return sorted(str(folder) for folder in folders if folder.parts)


@pytest.mark.parametrize("folder", folders_of_tests())
def test_a_folder_of_tests_mirrors_a_room(folder: str) -> None:
    if {folder, folder.split("/", maxsplit=1)[0]} & BETWEEN_ROOMS:
        return
    room = BASE_DIR / folder
    assert list(room.glob("*.py")), f"tests/{folder}: there is no room {folder}/"


def test_every_package_is_under_the_import_contracts() -> None:
    settings = tomllib.loads((BASE_DIR / "pyproject.toml").read_text())
    assert sorted(settings["tool"]["importlinter"]["root_packages"]) == PACKAGES


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_is_too_long_to_read(package: str) -> None:
    modules = [
        path for path in (BASE_DIR / package).rglob("*.py") if "migrations" not in path.parts
    ]
    lines = {
        str(path.relative_to(BASE_DIR)): len(path.read_text().splitlines()) for path in modules
    }
    too_long = {path: n for path, n in lines.items() if n > MOST_LINES and path not in LISTS}
    assert package == "tests" or too_long == {}
