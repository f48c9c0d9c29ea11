"""`make drill`: every block of docs/operations.md, typed by machine into a clean Debian.

First as a small installation (SQLite, a broker of its own), then moved to PostgreSQL and Redis behind
nginx, as the manual tells it. Only what a reader is told to fill in is filled in (passwords, the
name of the backup of a day). Blocks of containers are not run: NOT_RUN says why. A block that no step
takes fails the drill. It takes ten minutes; see tests/drills/machine.py for what it needs.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator

import pytest

from tests.agreement_site.server.conftest import BASE_DIR
from tests.drills.machine import REPOSITORY, Machine, clean_machine

pytestmark = [pytest.mark.drill, pytest.mark.timeout(3600)]

MANUAL = (BASE_DIR / "docs" / "operations.md").read_text(encoding="utf-8")
ENVIRONMENT = "/etc/concord/environment"
RESTORED = "concord-2026-03-01"
NOT_RUN = {
    "docker compose": "needs a container engine; tests/agreement_site/server/test_deployment.py "
    "looks at the file",
    "make drill": "is what runs here",
}


class Manual:
    """Its blocks in the order of the text, each taken once, by words that stand in it alone."""

    def __init__(self) -> None:
        found = re.findall(r"((?:^    [^\n]*\n)+)|^```(\w+)\n(.*?)^```", MANUAL, re.M | re.S)
        self.blocks = [
            textwrap.dedent(typed) or f"{language}\n{fenced}" for typed, language, fenced in found
        ]

    def take(self, words: str) -> str:
        (block,) = [block for block in self.blocks if words in block]
        self.blocks.remove(block)
        return re.sub(r"\A(sql|redis|json)\n", "", block)

    def left(self) -> list[str]:
        return [block for block in self.blocks if not any(words in block for words in NOT_RUN)]


class Reader:
    """Somebody who does what the manual says, and what it leaves to them."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.manual = Manual()
        self.python = ""  # what the manual says that `python manage.py` stands for

    def types(self, words: str, **filled_in: str) -> str:
        block = self.manual.take(words)
        for name, value in filled_in.items():
            block = block.replace(name, value)
        return self.run(block)

    def run(self, commands: str) -> str:
        return self.machine.run(f'cd /opt/concord\npython() {{ {self.python} "$@"; }}\n{commands}')

    def sets(self, pattern: str) -> None:
        """Edit the environment, as told, by a command of sed."""
        self.machine.run(f"sed -i -E '{pattern}' {ENVIRONMENT}")

    def ratings(self) -> int:
        """All ratings, as the site counts them."""
        code = "from ratings.models import Rating; print('ratings', Rating.objects.count())"
        said = self.run(f'python manage.py shell -c "{code}"')
        return int(said.split()[-1])

    def is_up(self) -> None:
        self.run(
            "curl --silent --fail --retry 300 --retry-delay 1 --retry-connrefused "
            "http://127.0.0.1:8000/livez"
        )


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    with clean_machine() as machine:
        yield Reader(machine)


def test_the_manual_works_word_for_word(reader: Reader) -> None:
    """One story, in the order in which its steps can be taken."""
    a_small_installation_is_made(reader)
    sqlite_is_saved_and_restored(reader)
    logs_are_read(reader)
    it_is_moved_to_postgresql(reader)
    the_proxy_answers(reader)
    postgresql_is_saved_and_restored(reader)
    it_is_upgraded(reader)
    workers_are_added(reader)
    assert reader.manual.left() == []


def a_small_installation_is_made(reader: Reader) -> None:
    block = reader.manual.take("apt install").replace("<this repository>", REPOSITORY)
    reader.machine.install(f"apt-get -qq update\nexport DEBIAN_FRONTEND=noninteractive\n{block}")
    reader.machine.boot()
    reader.sets("/^(DATABASE|REDIS)_URL/d")
    password = reader.types("enable --now concord concord-backup.timer").split()[-1]
    assert password == reader.machine.run("cat /var/lib/concord/sign-in.txt").strip()
    journal = reader.machine.run("journalctl --unit concord --output cat")
    assert password not in journal
    assert '"level": "ERROR"' not in journal
    command = reader.manual.take("systemd-run").strip()
    reader.python = command.removesuffix(" manage.py status")
    # Whoever types is slower than the first sweep.
    reader.run("for _ in $(seq 60); do python manage.py status && exit 0; sleep 1; done; exit 1")
    reader.run("python manage.py load_example")
    assert reader.ratings() > 100
    reader.run("systemctl start concord-backup && ls /var/lib/concord/backups/concord-*.sqlite3")
    assert "concord-backup.timer" in reader.run("systemctl list-timers --no-pager")


def sqlite_is_saved_and_restored(reader: Reader) -> None:
    before = reader.ratings()
    reader.types("install -d -m 700 -o concord /backups")
    reader.run("mkdir -p /backups/media")  # nothing was uploaded
    reader.types("manage.py backup /backups")
    reader.run(f"mv /backups/concord-*.sqlite3 /backups/{RESTORED}.sqlite3")
    reader.types("concord.sqlite3* /var/lib/concord/before")
    reader.is_up()
    assert reader.ratings() == before


def logs_are_read(reader: Reader) -> None:
    shown = json.loads(reader.manual.take('"logger": "concord"'))
    said = reader.run(
        "curl -s http://127.0.0.1:8000/api/v1/projects/ > /dev/null; sleep 1\n"
        'journalctl -u concord -o cat | grep \'"message": "request"\' | tail -1'
    )
    assert set(shown) - {"project_id", "user_id"} <= set(json.loads(said))
    reader.types("jq -cR")


def it_is_moved_to_postgresql(reader: Reader) -> None:
    before = reader.ratings()
    sql = reader.manual.take("CREATE ROLE").replace("the-password", "own-password")
    as_postgres = "runuser -u postgres -- psql --quiet -v ON_ERROR_STOP=1"
    assert as_postgres.split(" --quiet", maxsplit=1)[0] in MANUAL
    reader.run(f"{as_postgres} <<'END'\n{sql}\nEND")
    lines = reader.manual.take("maxmemory-policy").replace("the-other-password", "own-other")
    reader.run(
        f"cat >> /etc/redis/redis.conf <<'END'\n{lines}\nEND\nsystemctl restart redis-server"
    )
    reader.types("dumpdata")
    own = [
        line
        for line in (BASE_DIR / "deploy" / "environment").read_text().splitlines()
        if line.startswith(("DATABASE_URL", "REDIS_URL"))
    ]
    filled = (
        "\n".join(own)
        .replace("the-password", "own-password")
        .replace("the-other-password", "own-other")
    )
    reader.run(f"cat >> {ENVIRONMENT} <<'END'\n{filled}\nEND")
    reader.types("loaddata")
    reader.is_up()
    assert reader.ratings() == before
    sql = reader.manual.take("pg_blocking_pids")
    assert "concord w" in reader.run(
        f"{as_postgres} <<'END'\n{sql.replace(chr(39) + 'idle' + chr(39), chr(39) * 2)}\nEND"
    )


def the_proxy_answers(reader: Reader) -> None:
    name = "concord.example.org"
    reader.run(
        f"mkdir -p /etc/letsencrypt/live/{name} && cd /etc/letsencrypt/live/{name}\n"
        f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={name} "
        "-keyout privkey.pem -out fullchain.pem 2> /dev/null"
    )
    reader.types("/etc/nginx/sites-available/concord")
    said = reader.run(f"curl -sk --resolve {name}:443:127.0.0.1 https://{name}/sign-in/")
    assert "csrfmiddlewaretoken" in said


def postgresql_is_saved_and_restored(reader: Reader) -> None:
    before = reader.ratings()
    reader.types("pg_dump --format=custom concord >")
    reader.run(f"mv /backups/concord-*.dump /backups/{RESTORED}.dump")
    reader.types("createdb")
    reader.sets("s#^(DATABASE_URL=.*)/concord$#\\1/concord_restored#")
    (end,) = [
        block for block in reader.manual.blocks if block.startswith("systemctl start concord\n")
    ]
    reader.manual.blocks.remove(end)
    reader.run(end)
    reader.is_up()
    assert reader.ratings() == before
    assert "concord_restored" in reader.run(f"grep DATABASE_URL {ENVIRONMENT}")
    reader.run("systemctl start concord-backup && ls /var/lib/concord/backups/concord-*.dump")


def it_is_upgraded(reader: Reader) -> None:
    reader.run("git config --system --add safe.directory '*'")  # its repository is root's
    said = reader.types("git -C /opt/concord pull")
    assert "alive" in said


def workers_are_added(reader: Reader) -> None:
    command = "systemctl enable --now concord-worker@1 concord-worker@2"
    assert f"`{command}`" in MANUAL
    reader.run(f"{command}; sleep 15")
    said = reader.run(
        "systemctl is-active concord-worker@1 concord-worker@2; python manage.py status"
    )
    assert said.count(" swept ") >= 2
