"""requirements.lock: what `make` installs, by hashes, is what was tested and what the ranges allow."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.markers import Marker, default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

BASE_DIR = Path(__file__).resolve().parent.parent
LOCK = (BASE_DIR / "requirements.lock").read_text(encoding="utf-8")
# Name, version, marker, and the lines of its hashes.
PINNED = re.compile(
    r"^(?P<name>[\w.-]+)==(?P<version>[\w.]+)(?: ; (?P<marker>[^\\\n]+?))?"
    r"(?P<hashes>(?: \\\n    --hash=sha256:[0-9a-f]{64})+)$",
    re.MULTILINE,
)
PYTHONS = {"3.11": "3.11.9", "3.12": "3.12.9", "3.13": "3.13.2"}


def locked(python: str) -> dict[str, str]:
    """Name -> version on Linux with this Python."""
    here = default_environment() | {"platform_system": "Linux", "sys_platform": "linux"}
    here |= {"python_version": python, "python_full_version": PYTHONS[python]}
    return {
        str(canonicalize_name(found["name"])): found["version"]
        for found in PINNED.finditer(LOCK)
        if not found["marker"]
        or Marker(found["marker"]).evaluate({k: str(v) for k, v in here.items()})
    }


def requirements() -> list[Requirement]:
    lines = (BASE_DIR / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return [Requirement(line.partition("#")[0]) for line in lines if line.partition("#")[0].strip()]


def test_every_line_has_hashes_and_names_no_place() -> None:
    rest = PINNED.sub("", LOCK)
    assert [line for line in rest.splitlines() if line and not line.startswith("#")] == []
    assert "://" not in LOCK


@pytest.mark.parametrize("python", PYTHONS)
def test_the_ranges_allow_what_is_locked(python: str) -> None:
    found = locked(python)
    for wanted in requirements():
        assert wanted.specifier.contains(found[canonicalize_name(wanted.name)]), wanted


@pytest.mark.parametrize("python", PYTHONS)
def test_what_is_locked_is_what_was_tested(python: str) -> None:
    lines = (BASE_DIR / "constraints" / f"{python}.txt").read_text(encoding="utf-8").splitlines()
    tested = dict(line.split("==") for line in lines if "==" in line)
    tested = {str(canonicalize_name(name)): version for name, version in tested.items()}
    assert locked(python).items() <= tested.items()


def test_what_is_installed_is_checked() -> None:
    """Where others reach the site, nothing else is taken instead."""
    makefile = (BASE_DIR / "Makefile").read_text(encoding="utf-8")
    assert "--require-hashes -r requirements.lock" in makefile
    dockerfile = (BASE_DIR / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    assert re.findall(r"^RUN make (.*)$", dockerfile, re.MULTILINE) == [
        "setup PYTHON=python3 LOCKED=1"
    ]
