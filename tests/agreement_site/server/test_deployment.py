"""docs/operations.md and the files of deploy/ name what exists: commands, settings, programs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
import redis
import yaml
from django.conf import settings
from django.core.management import get_commands, load_command_class
from django.urls import resolve

from agreement_site.server import embedded_broker
from tests import database_templates, deployment
from tests.agreement_site.server.conftest import wait_for
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
                r'(?:env_bool|env_int|env_list|needed|whole_number|environ\.get)\(\s*"([A-Z_]+)"',
                text,
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
    # nothing that a request could want; HEAD of a checkout names the release
    hidden = unit.settings["InaccessiblePaths"].split()
    needless = (".git/objects", ".git/logs", ".git/config", "tests", "benchmarks")
    assert hidden == [f"-/opt/concord/{name}" for name in needless]
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().split()
    assert {".git", "tests", "benchmarks"} <= set(ignored)
    data = deployment.environment()["DATA_DIR"]
    # the one folder that may be written
    assert data == f"/var/lib/{unit.settings['StateDirectory']}"


def test_the_proxy_speaks_no_old_tls_and_takes_files_on_their_pages_alone() -> None:
    tls, plain = re.findall(
        r"^server \{\n(.*?)^\}", (DEPLOY / "nginx.conf").read_text(), re.M | re.S
    )
    assert re.findall(r"ssl_protocols (.*);", tls) == ["TLSv1.2 TLSv1.3"]
    locations = dict(re.findall(r"location ([^{]+) \{(.*?)\}", tls, re.S))
    files = "~ ^/projects/(\\d+/data|import)/"
    assert set(locations) == {"/", files}
    bound = "client_max_body_size "
    assert tls.count(bound) == 2
    assert tls.split("location")[0].count(f"{bound}20m;") == 1
    assert f"{bound}520m;" in locations[files]
    assert max(settings.IMPORT_MAX_BYTES, settings.MEDIA_MAX_BYTES) <= 520 << 20
    for page in ("/projects/7/data/import/", "/projects/7/data/media/", "/projects/import/"):
        assert re.match(files[2:], page)
        assert resolve(page).func.bounds_itself  # type: ignore[attr-defined]
    for header, value in (("Proto", "$scheme"), ("For", "$remote_addr")):
        assert f"proxy_set_header X-Forwarded-{header} {value};" in tls
    assert re.findall(r"location (\S+) \{ return (\d+)", plain) == [("/", "301"), ("/api/", "403")]


def test_containers_start_with_no_password_that_we_chose() -> None:
    services = compose()["services"]
    assert services["valkey"]["command"][-2:] == ["--requirepass", "${BROKER_PASSWORD:?choose one}"]
    given = [services["concord"]["environment"][name] for name in ("DATABASE_URL", "REDIS_URL")]
    given.append(services["postgres"]["environment"]["POSTGRES_PASSWORD"])
    for text in given:
        assert re.search(r"\$\{(DB|BROKER)_PASSWORD:\?", text)
    assert [service.get("ports") for service in services.values() if service.get("ports")] == [
        ["127.0.0.1:8000:8000"]
    ]


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
    probe = services["concord"]["healthcheck"]["test"][3]
    assert resolve(re.findall(r":8000(/\w+)", probe)[0]).url_name == "livez"


def test_all_web_servers_are_started_alike() -> None:
    """By the supervisor and by the unit."""
    from agreement_site.server.launcher import Installation, build_web_server

    embedded = build_web_server(Installation.from_environment(), {})
    unit = deployment.unit(DEPLOY / "systemd" / "concord-web.service")
    assert unit.command[1:] == embedded.command[1:]


def test_all_workers_are_started_alike() -> None:
    """By the supervisor, by the unit and by the compose file: what one needs, the others need
    too."""
    from agreement_site.server.launcher import Installation, build_worker

    embedded = build_worker(Installation(BASE_DIR, "", 0, "", 2, 4, 1, 2), {}, 1)
    unit = deployment.unit(DEPLOY / "systemd" / "concord-worker@.service")
    container = compose()["services"]["worker"]

    def options(command: Any) -> list[str]:
        threads = unit.environment["WORKER_THREADS"]
        words = [word.replace("${WORKER_THREADS}", threads) for word in list(command)[1:]]
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
        app: Any = known[name]  # its name, or the command itself
        command = load_command_class(app, name) if isinstance(app, str) else app
        accepted = command.create_parser("manage.py", name)._option_string_actions
        assert set(re.findall(r"--[a-z-]+", rest)) <= set(accepted), f"{name}{rest}"


def test_manual_names_files_that_exist() -> None:
    named = re.findall(r"`((?:deploy|tests|benchmarks|docs)/[^`\s]+)`", MANUAL)
    assert named
    for name in named:
        assert (BASE_DIR / name).exists(), name


# --- the manual's blocks, run as they stand


def blocks(language: str) -> list[str]:
    """The fenced blocks of this language."""
    return re.findall(rf"```{language}\n(.*?)```", MANUAL, re.DOTALL)


def commands() -> list[str]:
    """The indented blocks: what is typed into a shell."""
    return re.findall(r"(?:^    .*\n)+", MANUAL, re.MULTILINE)


@pytest.mark.parametrize("block", commands())
def test_a_shell_understands_what_is_to_be_typed(block: str) -> None:
    text = textwrap.dedent(block).replace("<this repository>", "repository")
    done = subprocess.run(["sh", "-n"], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.services
def test_the_broker_starts_with_the_manuals_lines(tmp_path: Path) -> None:
    """And the client signs in with the password of deploy/environment."""
    (lines,) = blocks("redis")
    path = tmp_path / "redis.conf"
    listens = f"port 0\nunixsocket {tmp_path}/socket\ndir {tmp_path}\n"
    path.write_text(listens + lines)
    server = subprocess.Popen(
        [embedded_broker.find_broker_program(), str(path)], stdout=subprocess.PIPE
    )
    try:
        wait_for((tmp_path / "socket").exists, "the broker")
        password = urlsplit(deployment.environment()["REDIS_URL"]).password
        client = redis.Redis(unix_socket_path=str(tmp_path / "socket"), password=password)
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        client.close()
        with pytest.raises(redis.AuthenticationError):
            redis.Redis(unix_socket_path=str(tmp_path / "socket")).ping()
    finally:
        server.kill()
        server.communicate()


@pytest.mark.services
def test_the_database_is_made_by_the_manuals_lines() -> None:
    """Under other names, beside whatever stands there."""
    server = os.environ.get("TEST_POSTGRES_URL")
    if not server:
        pytest.skip("no PostgreSQL: `make test` starts one")
    making, looking = blocks("sql")
    rename = lambda text: re.sub(r"\bconcord\b", "manual", text)  # noqa: E731
    with psycopg.connect(server, autocommit=True) as connection:
        try:
            for statement in rename(making).split(";"):
                if statement.strip():
                    connection.execute(statement)
            own = re.sub(r"/postgres\?", "/manual?", server)
            with psycopg.connect(own, user="manual") as ours:
                shown = ours.execute("SHOW statement_timeout").fetchone()
                ours.execute("CREATE TABLE may_make (tables int)")
            assert shown == ("10min",)
            connection.execute(rename(looking))
        finally:
            connection.execute("DROP DATABASE IF EXISTS manual WITH (FORCE)")
            connection.execute("DROP ROLE IF EXISTS manual")


@pytest.mark.services
@pytest.mark.parametrize("days", [0, 20])
def test_the_nightly_backup_of_sqlite(tmp_path: Path, days: int) -> None:
    data, kept = tmp_path / "data", tmp_path / "kept"
    for folder in (data / "media" / "1", kept):
        folder.mkdir(mode=0o700, parents=True)
    data.chmod(0o700)
    (data / "media" / "1" / "a.png").write_text("a")
    old = kept / "concord-2026-01-01.sqlite3"
    old.write_text("x")
    os.utime(old, (time.time() - days * 86_400,) * 2)
    given = {"DATA_DIR": str(data), "BACKUP_DIR": str(kept), "PYTHON": sys.executable}
    environment = {"PATH": os.environ["PATH"], **given}
    database_templates.copy_to(data / "concord.sqlite3")
    subprocess.run([DEPLOY / "backup"], env=environment, check=True, capture_output=True)
    names = {path.name for path in kept.iterdir()} - {old.name}
    assert names == {f"concord-{time.strftime('%F')}.sqlite3", "media", "secret_key"}
    assert (kept / "media" / "1" / "a.png").read_text() == "a"
    assert old.exists() == (days < 14)
