"""`make drill`: every block of docs/operations.md, typed by machine into a clean Debian.

First as a small installation (SQLite, a broker of its own), then moved to PostgreSQL and
Redis behind nginx, as the manual describes it. Only what a reader must fill in is filled in
(passwords, the name of a day's backup). Blocks of containers are not run: NOT_RUN gives the
reasons. A block that no step takes fails the drill. It takes ten minutes; see
tests/drills/machine.py for its requirements.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator

import pytest

from tests.agreement_site.server.conftest import BASE_DIR
from tests.drills.machine import REPOSITORY, DebianMachine, create_clean_machine

pytestmark = [pytest.mark.drill, pytest.mark.timeout(3600)]

MANUAL = (BASE_DIR / "docs" / "operations.md").read_text(encoding="utf-8")
ENVIRONMENT = "/etc/concord/environment"
RESTORED = "concord-2026-03-01"
NOT_RUN = {
    "docker compose": "needs a container engine; tests/agreement_site/server/test_deployment.py "
    "looks at the file",
    "make drill": "is what runs here",
}


class OperationsManual:
    """Its blocks in the order of the text, each taken once, by words that only it contains."""

    def __init__(self) -> None:
        matches = re.findall(r"((?:^    [^\n]*\n)+)|^```(\w+)\n(.*?)^```", MANUAL, re.M | re.S)
        self.blocks = [
            textwrap.dedent(indented) or f"{language}\n{fenced}"
            for indented, language, fenced in matches
        ]

    def take_block(self, words: str) -> str:
        (block,) = [block for block in self.blocks if words in block]
        self.blocks.remove(block)
        return re.sub(r"\A(sql|redis|json)\n", "", block)

    def list_unused_blocks(self) -> list[str]:
        return [block for block in self.blocks if not any(words in block for words in NOT_RUN)]


class ManualReader:
    """A reader who does what the manual says, and fills in what it leaves open."""

    def __init__(self, machine: DebianMachine) -> None:
        self.machine = machine
        self.manual = OperationsManual()
        self.python_command = ""  # the command that `python` means in the manual

    def run_block(self, words: str, **filled_in: str) -> str:
        block = self.manual.take_block(words)
        for name, value in filled_in.items():
            block = block.replace(name, value)
        return self.run(block)

    def run(self, commands: str) -> str:
        return self.machine.run(
            f'cd /opt/concord\npython() {{ {self.python_command} "$@"; }}\n{commands}'
        )

    def edit_environment(self, pattern: str) -> None:
        """Edit the environment file by a command of sed, as the manual says."""
        self.machine.run(f"sed -i -E '{pattern}' {ENVIRONMENT}")

    def count_ratings(self) -> int:
        """Return the number of ratings, as the site counts them."""
        code = "from ratings.models import Rating; print('ratings', Rating.objects.count())"
        output = self.run(f'python manage.py shell -c "{code}"')
        return int(output.split()[-1])

    def wait_until_up(self) -> None:
        self.run(
            "curl --silent --fail --retry 300 --retry-delay 1 --retry-connrefused "
            "http://127.0.0.1:8000/livez"
        )


@pytest.fixture(scope="module")
def reader() -> Iterator[ManualReader]:
    with create_clean_machine() as machine:
        yield ManualReader(machine)


def test_the_manual_works_word_for_word(reader: ManualReader) -> None:
    """Take all steps in the only order in which they can be taken."""
    install_small_site(reader)
    back_up_and_restore_sqlite(reader)
    read_logs(reader)
    move_to_postgresql(reader)
    set_up_proxy(reader)
    back_up_and_restore_postgresql(reader)
    upgrade_site(reader)
    add_workers(reader)
    assert reader.manual.list_unused_blocks() == []


def install_small_site(reader: ManualReader) -> None:
    block = reader.manual.take_block("apt install").replace("<this repository>", REPOSITORY)
    reader.machine.install(f"apt-get -qq update\nexport DEBIAN_FRONTEND=noninteractive\n{block}")
    reader.machine.boot()
    reader.edit_environment("/^(DATABASE|REDIS)_URL/d")
    password = reader.run_block("enable --now concord concord-backup.timer").split()[-1]
    assert password == reader.machine.run("cat /var/lib/concord/sign-in.txt").strip()
    journal = reader.machine.run("journalctl --unit concord --output cat")
    assert password not in journal
    assert '"level": "ERROR"' not in journal
    command = reader.manual.take_block("systemd-run").strip()
    reader.python_command = command.removesuffix(" manage.py status")
    # A human is slower than the first sweep.
    reader.run("for _ in $(seq 60); do python manage.py status && exit 0; sleep 1; done; exit 1")
    reader.run("python manage.py load_example")
    assert reader.count_ratings() > 100
    reader.run("systemctl start concord-backup && ls /var/lib/concord/backups/concord-*.sqlite3")
    assert "concord-backup.timer" in reader.run("systemctl list-timers --no-pager")


def back_up_and_restore_sqlite(reader: ManualReader) -> None:
    before = reader.count_ratings()
    reader.run_block("install -d -m 700 -o concord /backups")
    reader.run("mkdir -p /backups/media")  # nothing was uploaded
    reader.run_block("manage.py backup /backups")
    reader.run(f"mv /backups/concord-*.sqlite3 /backups/{RESTORED}.sqlite3")
    reader.run_block("concord.sqlite3* /var/lib/concord/before")
    reader.wait_until_up()
    assert reader.count_ratings() == before


def read_logs(reader: ManualReader) -> None:
    example = json.loads(reader.manual.take_block('"logger": "concord"'))
    logged = reader.run(
        "curl -s http://127.0.0.1:8000/api/v1/projects/ > /dev/null; sleep 1\n"
        'journalctl -u concord -o cat | grep \'"message": "request"\' | tail -1'
    )
    assert set(example) - {"project_id", "user_id"} <= set(json.loads(logged))
    reader.run_block("jq -cR")


def move_to_postgresql(reader: ManualReader) -> None:
    before = reader.count_ratings()
    sql = reader.manual.take_block("CREATE ROLE").replace("the-password", "own-password")
    as_postgres = "runuser -u postgres -- psql --quiet -v ON_ERROR_STOP=1"
    assert as_postgres.split(" --quiet", maxsplit=1)[0] in MANUAL
    reader.run(f"{as_postgres} <<'END'\n{sql}\nEND")
    redis_settings = reader.manual.take_block("maxmemory-policy").replace(
        "the-other-password", "own-other"
    )
    reader.run(
        f"cat >> /etc/redis/redis.conf <<'END'\n{redis_settings}\nEND\nsystemctl restart redis-server"
    )
    reader.run_block("dumpdata")
    environment_lines = [
        line
        for line in (BASE_DIR / "deploy" / "environment").read_text().splitlines()
        if line.startswith(("DATABASE_URL", "REDIS_URL"))
    ]
    environment = (
        "\n".join(environment_lines)
        .replace("the-password", "own-password")
        .replace("the-other-password", "own-other")
    )
    reader.run(f"cat >> {ENVIRONMENT} <<'END'\n{environment}\nEND")
    reader.run_block("loaddata")
    reader.wait_until_up()
    assert reader.count_ratings() == before
    sql = reader.manual.take_block("pg_blocking_pids")
    assert "concord w" in reader.run(
        f"{as_postgres} <<'END'\n{sql.replace(chr(39) + 'idle' + chr(39), chr(39) * 2)}\nEND"
    )


def set_up_proxy(reader: ManualReader) -> None:
    name = "concord.example.org"
    reader.run(
        f"mkdir -p /etc/letsencrypt/live/{name} && cd /etc/letsencrypt/live/{name}\n"
        f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={name} "
        "-keyout privkey.pem -out fullchain.pem 2> /dev/null"
    )
    reader.run_block("/etc/nginx/sites-available/concord")
    page = reader.run(f"curl -sk --resolve {name}:443:127.0.0.1 https://{name}/sign-in/")
    assert "csrfmiddlewaretoken" in page


def back_up_and_restore_postgresql(reader: ManualReader) -> None:
    before = reader.count_ratings()
    reader.run_block("pg_dump --format=custom concord >")
    reader.run(f"mv /backups/concord-*.dump /backups/{RESTORED}.dump")
    reader.run_block("createdb")
    reader.edit_environment("s#^(DATABASE_URL=.*)/concord$#\\1/concord_restored#")
    (last_block,) = [
        block for block in reader.manual.blocks if block.startswith("systemctl start concord\n")
    ]
    reader.manual.blocks.remove(last_block)
    reader.run(last_block)
    reader.wait_until_up()
    assert reader.count_ratings() == before
    assert "concord_restored" in reader.run(f"grep DATABASE_URL {ENVIRONMENT}")
    reader.run("systemctl start concord-backup && ls /var/lib/concord/backups/concord-*.dump")


def upgrade_site(reader: ManualReader) -> None:
    reader.run("git config --system --add safe.directory '*'")  # its repository belongs to root
    output = reader.run_block("git -C /opt/concord pull")
    assert "alive" in output


def add_workers(reader: ManualReader) -> None:
    command = "systemctl enable --now concord-worker@1 concord-worker@2"
    assert f"`{command}`" in MANUAL
    reader.run(f"{command}; sleep 15")
    output = reader.run(
        "systemctl is-active concord-worker@1 concord-worker@2; python manage.py status"
    )
    assert output.count(" swept ") >= 2
