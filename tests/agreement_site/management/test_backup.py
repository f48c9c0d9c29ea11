"""What docs/operations.md says about backups, done by machine: restored counts audit clean."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection

from metrics.jobs import question_updates
from projects.models import Item
from ratings.models import Rating, Revision
from tests.drills.site import Site
from tests.tools import with_services

PICTURE = b"\x89PNG\r\n\x1a\n" + b"picture" * 9


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    return tmp_path / "backup.sqlite3"


@pytest.fixture
def picture(project: Any, lead: Any, client_for: Any, settings: Any, tmp_path: Path) -> str:
    """The address of an uploaded picture; its file lies below ``tmp_path / "data" / "media"``."""
    settings.DATA_DIR = tmp_path / "data"
    file = SimpleUploadedFile("shown.png", PICTURE)
    assert (
        client_for(lead).post(f"/projects/{project.pk}/data/media/", {"files": [file]}).status_code
        == 302
    )
    address: str = Item.objects.get(key="shown").body["image"]
    return address


SHOW = """
import sys, django
django.setup()
from django.contrib.auth.models import User
from django.test import Client
client = Client(headers={"host": "localhost"})
client.force_login(User.objects.get(username="lead"))
answer = client.get(sys.argv[1])
print(answer.status_code, answer.getvalue().hex())
"""


def shows(site: Site, address: str) -> bool:
    """Whether the restored site hands out the picture, byte for byte."""
    return site.python("-c", SHOW, address).split() == ["200", PICTURE.hex()]


class Restored(Site):
    """An installation whose database is a backup; nothing of it runs."""

    def __init__(self, folder: Path, backup: Path) -> None:
        super().__init__(folder)
        backup.rename(folder / "concord.sqlite3")


@pytest.mark.django_db(transaction=True)
class TestSqlite:
    pytestmark = pytest.mark.sqlite_only("PostgreSQL is copied by pg_dump")

    def test_restored_counts_are_exact_and_audit_clean(
        self, question: Any, rate: Any, backup: Path, tmp_path: Path, picture: str
    ) -> None:
        for number in range(40):
            rate(
                question,
                f"item {number % 9}",
                f"rater {number % 5}",
                ("none", "minor", "major")[number % 3],
            )
        question_updates.sweep_questions()
        rate(question, "item 0", "rater 0", "critical")  # not counted yet
        call_command("backup", str(backup))
        rate(question, "after", "rater 0", "minor")

        folder = tmp_path / "restored"
        folder.mkdir()
        restored = Restored(folder, backup)
        assert not shows(restored, picture)
        shutil.copytree(tmp_path / "data" / "media", folder / "media")
        assert shows(restored, picture)
        assert "exact" in restored.manage("audit")
        stored = restored.stored("--sweep", "--counts")
        assert len(stored) == Rating.objects.count() - 1
        assert stored["item 0", "rater 0"].label == "critical"
        assert (
            sum(len(rating.history) for rating in stored.values()) == Revision.objects.count() - 1
        )

    def test_a_copy_made_while_ratings_come_is_one_moment(
        self, question: Any, rate: Any, backup: Path
    ) -> None:
        """An uncommitted rating is not in it, and the copy does not wait for its end."""
        rate(question, "a", "r", "minor")
        with sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            other.execute("UPDATE ratings_rating SET code = 3")
            call_command("backup", str(backup))
            other.execute("ROLLBACK")
        other.close()
        copy = sqlite3.connect(backup)
        assert copy.execute("SELECT code FROM ratings_rating").fetchall() == [(1,)]
        copy.close()

    def test_the_copy_is_for_its_owner_alone(self, backup: Path) -> None:
        call_command("backup", str(backup))
        assert backup.stat().st_mode & 0o077 == 0
        assert not list(backup.parent.glob("*.part"))

    def test_a_file_that_exists_is_kept(self, backup: Path) -> None:
        backup.write_text("precious")
        with pytest.raises(CommandError, match="exists; --replace"):
            call_command("backup", str(backup))
        assert backup.read_text() == "precious"
        call_command("backup", str(backup), "--replace")
        assert backup.read_bytes().startswith(b"SQLite format 3")

    def test_a_folder_that_is_missing_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(CommandError, match="There is no folder"):
            call_command("backup", str(tmp_path / "nowhere" / "file"))


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgresql_only("SQLite is copied by manage.py backup")
class TestPostgresql:
    def test_restored_counts_are_exact_and_audit_clean(
        self, question: Any, rate: Any, tmp_path: Path, picture: str
    ) -> None:
        programs = with_services.postgres_programs()
        if programs is None or not (programs / "pg_restore").exists():
            pytest.skip("no pg_dump and pg_restore here")
        for number in range(40):
            rate(
                question,
                f"item {number % 9}",
                f"rater {number % 5}",
                ("none", "minor", "major")[number % 3],
            )
        question_updates.sweep_questions()
        rate(question, "item 0", "rater 0", "critical")  # not counted yet
        name = connection.settings_dict["NAME"]
        server = os.environ["DATABASE_URL"]
        dump = tmp_path / "concord.dump"
        run(
            programs / "pg_dump",
            "--format=custom",
            f"--file={dump}",
            f"--dbname={database(server, name)}",
        )
        rate(question, "after", "rater 0", "minor")
        with restored_into(f"{name}_restored") as restored:
            run(
                programs / "pg_restore",
                "--no-owner",
                "--exit-on-error",
                f"--dbname={database(server, restored)}",
                dump,
            )
            folder = tmp_path / "restored"
            shutil.copytree(tmp_path / "data" / "media", folder / "media")
            site = Site(folder, DATABASE_URL=database(server, restored))
            assert shows(site, picture)
            assert "exact" in site.manage("audit")
            stored = site.stored("--sweep", "--counts")
        assert len(stored) == Rating.objects.count() - 1
        assert stored["item 0", "rater 0"].label == "critical"

    def test_the_command_for_sqlite_says_what_to_use(self, tmp_path: Path) -> None:
        with pytest.raises(CommandError, match="use pg_dump"):
            call_command("backup", str(tmp_path / "file"))
        assert not list(tmp_path.iterdir())


def run(*command: Any) -> None:
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def database(url: str, name: str) -> str:
    """The URL with another database."""
    return urlsplit(url)._replace(path=f"/{name}").geturl()


@contextmanager
def restored_into(name: str) -> Iterator[str]:
    """An empty database, gone afterwards."""
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{name}"')
        try:
            yield name
        finally:
            cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
