"""Files of deploy/ as data, for the tests that check them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent
DEPLOY = BASE_DIR / "deploy"
SYSTEMD = DEPLOY / "systemd"
UNITS = sorted(set(SYSTEMD.glob("*.service")) - {SYSTEMD / "concord-backup.service"})


@dataclass
class SystemdUnit:
    """Commands, environment and settings of a systemd unit."""

    environment: dict[str, str] = field(default_factory=dict)
    start_pre_commands: list[list[str]] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)


def read_unit(path: Path) -> SystemdUnit:
    """Parse a systemd unit file."""
    unit = SystemdUnit()
    for line in path.read_text().splitlines():
        name, equals, value = line.partition("=")
        if not equals or line.startswith("#"):
            continue
        if name == "Environment":
            for pair in shlex.split(value):
                variable, variable_value = pair.split("=", 1)
                unit.environment[variable] = variable_value
        elif name == "ExecStartPre":
            unit.start_pre_commands.append(shlex.split(value))
        elif name == "ExecStart":
            unit.command = shlex.split(value)
        else:
            unit.settings[name] = value
    return unit


def read_environment() -> dict[str, str]:
    """Return the settings of deploy/environment, as systemd reads them."""
    lines = (DEPLOY / "environment").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
