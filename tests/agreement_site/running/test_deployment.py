"""docs/operations.md and the files of deploy/ name what exists: commands, settings, programs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import get_commands, load_command_class

from tests import deployment
from tests.deployment import BASE_DIR, DEPLOY, UNITS

MANUAL = (BASE_DIR / "docs" / "operations.md").read_text()
# Read by NumPy's libraries and by glibc, not by us.
FOREIGN = {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MALLOC_ARENA_MAX"}


def documented() -> set[str]:
    """The names in the manual's table of settings."""
    table = MANUAL[MANUAL.index("## Settings") :].split("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([A-Z_]+)`", row)}


def read_by_the_code() -> set[str]:
    names = set()
    for path in [
        path for room in ("agreement_site", "metrics") for path in (BASE_DIR / room).rglob("*.py")
    ]:
        text = path.read_text()
        names |= set(
            re.findall(
                r'(?:env_bool|env_int|env_list|whole_number|environ\.get)\(\s*"([A-Z_]+)"', text
            )
        )
    return names


def test_every_setting_is_documented_and_every_documented_one_is_read() -> None:
    assert documented() == read_by_the_code() - {"DJANGO_SETTINGS_MODULE"}


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_units_set_what_is_read(path: Path) -> None:
    unit = deployment.unit(path)
    assert set(unit.environment) <= documented() | FOREIGN
    assert unit.settings["EnvironmentFile"] == "/etc/concord/environment"
    assert unit.settings["Restart"] == "always"
    assert unit.settings["User"] == "concord"
    data = deployment.environment()["DATA_DIR"]
    # the one folder that may be written
    assert data == f"/var/lib/{unit.settings['StateDirectory']}"


def test_environment_sets_what_is_read() -> None:
    assert set(deployment.environment()) <= documented()


def test_environment_is_good_for_a_public_site(tmp_path: Path) -> None:
    given = {**deployment.environment(), "DATA_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        env={"PATH": os.environ["PATH"], **given},
        cwd=BASE_DIR,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def verified(folder: Path, *units: Path) -> str:
    """What systemd has to say about units; the paths of an installation are those of this
    checkout."""
    for unit in units:
        text = unit.read_text().replace("/opt/concord/.venv/bin/python", sys.executable)
        (folder / unit.name).write_text(text.replace("/opt/concord", str(BASE_DIR)))
    command = [
        "systemd-analyze",
        "verify",
        "--man=no",
        *(str(folder / unit.name) for unit in units),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def test_systemd_understands_the_units(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd here")
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "trial.service").write_text(f"[Service]\nExecStart={sys.executable}\n")
    if verified(tmp_path, plain / "trial.service"):
        pytest.skip("systemd-analyze does not work here")
    assert verified(tmp_path, *UNITS) == ""
    broken = plain / "concord.service"
    broken.write_text(UNITS[0].read_text().replace("Restart=always", "Restart=allways"))
    assert "allways" in verified(tmp_path, broken)  # the check can see something


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return found


def test_compose_file_names_what_exists() -> None:
    services = compose()["services"]
    assert set(services) == {"concord", "worker", "postgres", "valkey"}
    for name in ("concord", "worker"):
        assert set(services[name]["environment"]) <= documented() | FOREIGN
        assert (
            DEPLOY / services[name]["build"]["context"] / services[name]["build"]["dockerfile"]
        ).is_file()
        assert set(services[name]["depends_on"]) <= set(services)
        assert services[name]["restart"] == "unless-stopped"
    volumes = [
        volume.split(":")[0]
        for service in services.values()
        for volume in service.get("volumes", ())
    ]
    assert set(volumes) == set(compose()["volumes"])
    assert services["concord"]["healthcheck"]["test"][3] in get_commands()


def test_all_web_servers_are_started_alike() -> None:
    """By the supervisor and by the unit."""
    from agreement_site.running.services import Installation, web

    embedded = web(Installation.from_environment(), {})
    unit = deployment.unit(DEPLOY / "systemd" / "concord-web.service")
    assert unit.command[1:] == embedded.command[1:]


def test_all_workers_are_started_alike() -> None:
    """By the supervisor, by the unit and by the compose file: what one needs, the others need
    too."""
    from agreement_site.running.services import Installation, worker

    embedded = worker(Installation(BASE_DIR, "", 0, "", 2, 4, 1, 2), {}, 1)
    unit = deployment.unit(DEPLOY / "systemd" / "concord-worker@.service")
    container = compose()["services"]["worker"]

    def options(command: Any) -> list[str]:
        words = list(command)[1:]
        if "--hostname" in words:  # each has its own way to number workers
            del words[words.index("--hostname") : words.index("--hostname") + 2]
        return words

    assert options(embedded.command) == options(unit.command) == options(container["command"])
    assert (
        unit.environment["BROKER_SOCKET_TIMEOUT"] == embedded.environment["BROKER_SOCKET_TIMEOUT"]
    )
    assert (
        container["environment"]["BROKER_SOCKET_TIMEOUT"]
        == embedded.environment["BROKER_SOCKET_TIMEOUT"]
    )


def test_dockerfile_starts_what_exists() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    assert re.findall(r"make (\S+)", text)[-1] in targets()
    command = re.findall(r'"manage.py", "(\w+)"', text)
    assert command == ["services"]


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (BASE_DIR / "Makefile").read_text(), re.MULTILINE))


def test_manual_names_targets_that_exist() -> None:
    named = set(re.findall(r"(?:^|`|    )(?:[A-Z_]+=\S+ )*make ([a-z-]+)", MANUAL, re.MULTILINE))
    assert named
    assert named <= targets()


def test_manual_names_commands_and_options_that_exist() -> None:
    lines = re.findall(r"(?:python|bin/python) manage\.py (\w+)([^\n`#]*)", MANUAL)
    assert {name for name, _rest in lines} >= {
        "status",
        "audit",
        "recount",
        "backup",
        "services",
        "check",
    }
    known = get_commands()
    for name, rest in lines:
        if name == "services":  # answered by manage.py itself
            continue
        assert name in known, name
        app = known[name]
        command = load_command_class(app, name) if isinstance(app, str) else app
        accepted = command.create_parser("manage.py", name)._option_string_actions
        assert set(re.findall(r"--[a-z-]+", rest)) <= set(accepted), f"{name}{rest}"


def test_manual_names_files_that_exist() -> None:
    named = re.findall(r"`((?:deploy|tests|benchmarks|docs)/[^`\s]+)`", MANUAL)
    assert named
    for name in named:
        assert (BASE_DIR / name).exists(), name
