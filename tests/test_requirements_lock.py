"""Tests of requirements.lock: `make` installs by hashes what was tested and what ranges allow."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.markers import Marker, default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

BASE_DIR = Path(__file__).resolve().parent.parent
# requirements-build.lock: the packages of `make setup` that stay out of .venv.
NAMES = ("requirements", "requirements-build")
LOCK = "\n".join((BASE_DIR / f"{name}.lock").read_text(encoding="utf-8") for name in NAMES)
# Name, version, marker, and the lines with its hashes.
PINNED_REQUIREMENT = re.compile(
    r"^(?P<name>[\w.-]+)==(?P<version>[\w.]+)(?: ; (?P<marker>[^\\\n]+?))?"
    r"(?P<hashes>(?: \\\n    --hash=sha256:[0-9a-f]{64})+)$",
    re.MULTILINE,
)
PYTHON_VERSIONS = {"3.11": "3.11.9", "3.12": "3.12.9", "3.13": "3.13.2"}


def read_locked_versions(python: str) -> dict[str, str]:
    """Return name -> version on Linux with this Python."""
    environment = default_environment() | {"platform_system": "Linux", "sys_platform": "linux"}
    environment |= {"python_version": python, "python_full_version": PYTHON_VERSIONS[python]}
    return {
        str(canonicalize_name(match["name"])): match["version"]
        for match in PINNED_REQUIREMENT.finditer(LOCK)
        if not match["marker"]
        or Marker(match["marker"]).evaluate({k: str(v) for k, v in environment.items()})
    }


def read_requirements() -> list[Requirement]:
    """Return the requirements of an installation, and of its set-up."""
    text = "\n".join((BASE_DIR / f"{name}.txt").read_text(encoding="utf-8") for name in NAMES)
    lines = text.splitlines()
    return [Requirement(line.partition("#")[0]) for line in lines if line.partition("#")[0].strip()]


def test_every_locked_line_has_hashes_and_no_url() -> None:
    remaining_text = PINNED_REQUIREMENT.sub("", LOCK)
    assert [line for line in remaining_text.splitlines() if line and not line.startswith("#")] == []
    assert "://" not in LOCK


@pytest.mark.parametrize("python", PYTHON_VERSIONS)
def test_requirement_ranges_allow_locked_versions(python: str) -> None:
    locked_versions = read_locked_versions(python)
    for requirement in read_requirements():
        assert requirement.specifier.contains(
            locked_versions[canonicalize_name(requirement.name)]
        ), requirement


@pytest.mark.parametrize("python", PYTHON_VERSIONS)
def test_locked_versions_are_the_tested_ones(python: str) -> None:
    lines = (BASE_DIR / "constraints" / f"{python}.txt").read_text(encoding="utf-8").splitlines()
    tested = dict(line.split("==") for line in lines if "==" in line)
    tested = {str(canonicalize_name(name)): version for name, version in tested.items()}
    assert read_locked_versions(python).items() <= tested.items()


def test_installation_requires_hashes() -> None:
    """Except on a developer's machine, only packages with the locked hashes are installed."""
    makefile = (BASE_DIR / "Makefile").read_text(encoding="utf-8")
    for name in NAMES:
        assert f"--require-hashes -r {name}.lock" in makefile
    dockerfile = (BASE_DIR / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    assert re.findall(r"^RUN PIP_NO_CACHE_DIR=1 make (.*)$", dockerfile, re.MULTILINE) == [
        "setup PYTHON=python3 LOCKED=1"
    ]
