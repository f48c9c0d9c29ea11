"""The files of deploy/ as data, for the tests that prove them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent
DEPLOY = BASE_DIR / "deploy"
SYSTEMD = DEPLOY / "systemd"
UNITS = sorted(set(SYSTEMD.glob("*.service")) - {SYSTEMD / "concord-backup.service"})


@dataclass
class Unit:
    """What a systemd unit runs, and with which environment of its own."""

    environment: dict[str, str] = field(default_factory=dict)
    before: list[list[str]] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)


def unit(path: Path) -> Unit:
    found = Unit()
    for line in path.read_text().splitlines():
        name, equals, value = line.partition("=")
        if not equals or line.startswith("#"):
            continue
        if name == "Environment":
            for pair in shlex.split(value):
                variable, given = pair.split("=", 1)
                found.environment[variable] = given
        elif name == "ExecStartPre":
            found.before.append(shlex.split(value))
        elif name == "ExecStart":
            found.command = shlex.split(value)
        else:
            found.settings[name] = value
    return found


def environment() -> dict[str, str]:
    """The settings of deploy/environment, as systemd reads them."""
    lines = (DEPLOY / "environment").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
