"""Backups as docs/operations.md describes them: restored counts pass the audit."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection

from metrics.jobs import question_updates
from projects.models import Item
from ratings.models import Rating, Revision
from tests.database_templates import replace_database_name
from tests.drills.site import DrillSite
from tests.tools import with_services

IMAGE_BYTES = b"\x89PNG\r\n\x1a\n" + b"picture" * 9


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    return tmp_path / "backup.sqlite3"


@pytest.fixture
def image_address(project: Any, lead: Any, client_for: Any, settings: Any, tmp_path: Path) -> str:
    """The address of an uploaded image; its file is below ``tmp_path / "data" / "media"``."""
    settings.DATA_DIR = tmp_path / "data"
    file = SimpleUploadedFile("shown.png", IMAGE_BYTES)
    assert (
        client_for(lead).post(f"/projects/{project.pk}/data/media/", {"files": [file]}).status_code
        == 302
    )
    address: str = Item.objects.get(key="shown").body["image"]
    return address


FETCH_SCRIPT = """
import sys, django
django.setup()
from django.contrib.auth.models import User
from django.test import Client
client = Client(headers={"host": "localhost"})
client.force_login(User.objects.get(username="lead"))
answer = client.get(sys.argv[1])
print(answer.status_code, answer.getvalue().hex())
"""


def can_serve_image(site: DrillSite, address: str) -> bool:
    """Return True if the restored site serves the image, byte for byte."""
    return site.run_python("-c", FETCH_SCRIPT, address).split() == ["200", IMAGE_BYTES.hex()]


class RestoredSite(DrillSite):
    """An installation whose database is a backup; none of its processes runs."""

    def __init__(self, folder: Path, backup: Path) -> None:
        super().__init__(folder)
        backup.rename(folder / "concord.sqlite3")


@pytest.mark.django_db(transaction=True)
class TestSqlite:
    pytestmark = pytest.mark.sqlite_only("PostgreSQL is copied by pg_dump")

    def test_restored_counts_are_exact_and_audit_clean(
        self, question: Any, rate: Any, backup: Path, tmp_path: Path, image_address: str
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
        restored_site = RestoredSite(folder, backup)
        assert not can_serve_image(restored_site, image_address)
        shutil.copytree(tmp_path / "data" / "media", folder / "media")
        assert can_serve_image(restored_site, image_address)
        assert "exact" in restored_site.run_manage("audit")
        stored = restored_site.read_ratings("--sweep", "--counts")
        assert len(stored) == Rating.objects.count() - 1
        assert stored["item 0", "rater 0"].label == "critical"
        assert (
            sum(len(rating.history) for rating in stored.values()) == Revision.objects.count() - 1
        )

    def test_copy_made_during_writes_is_consistent(
        self, question: Any, rate: Any, backup: Path
    ) -> None:
        """An uncommitted rating is not in the copy, and the copy does not wait for its commit."""
        rate(question, "a", "r", "minor")
        with sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None) as writer:
            writer.execute("BEGIN IMMEDIATE")
            writer.execute("UPDATE ratings_rating SET code = 3")
            call_command("backup", str(backup))
            writer.execute("ROLLBACK")
        writer.close()
        copy = sqlite3.connect(backup)
        assert copy.execute("SELECT code FROM ratings_rating").fetchall() == [(1,)]
        copy.close()

    def test_copy_is_readable_by_its_owner_only(self, backup: Path) -> None:
        call_command("backup", str(backup))
        assert backup.stat().st_mode & 0o077 == 0
        assert not list(backup.parent.glob("*.part"))

    def test_existing_file_is_kept_without_replace(self, backup: Path) -> None:
        backup.write_text("precious")
        with pytest.raises(CommandError, match="exists; --replace"):
            call_command("backup", str(backup))
        assert backup.read_text() == "precious"
        call_command("backup", str(backup), "--replace")
        assert backup.read_bytes().startswith(b"SQLite format 3")

    def test_missing_folder_is_reported(self, tmp_path: Path) -> None:
        with pytest.raises(CommandError, match="There is no folder"):
            call_command("backup", str(tmp_path / "nowhere" / "file"))


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgresql_only("SQLite is copied by manage.py backup")
class TestPostgresql:
    def test_restored_counts_are_exact_and_audit_clean(
        self, question: Any, rate: Any, tmp_path: Path, image_address: str
    ) -> None:
        programs = with_services.find_postgres_programs()
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
        run_command(
            programs / "pg_dump",
            "--format=custom",
            f"--file={dump}",
            f"--dbname={replace_database_name(server, name)}",
        )
        rate(question, "after", "rater 0", "minor")
        with create_temporary_database(f"{name}_restored") as restored_name:
            run_command(
                programs / "pg_restore",
                "--no-owner",
                "--exit-on-error",
                f"--dbname={replace_database_name(server, restored_name)}",
                dump,
            )
            folder = tmp_path / "restored"
            shutil.copytree(tmp_path / "data" / "media", folder / "media")
            site = DrillSite(folder, DATABASE_URL=replace_database_name(server, restored_name))
            assert can_serve_image(site, image_address)
            assert "exact" in site.run_manage("audit")
            stored = site.read_ratings("--sweep", "--counts")
        assert len(stored) == Rating.objects.count() - 1
        assert stored["item 0", "rater 0"].label == "critical"

    def test_command_for_sqlite_points_to_pg_dump(self, tmp_path: Path) -> None:
        with pytest.raises(CommandError, match="use pg_dump"):
            call_command("backup", str(tmp_path / "file"))
        assert not list(tmp_path.iterdir())


def run_command(*command: Any) -> None:
    result = subprocess.run(
        [str(argument) for argument in command], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


@contextmanager
def create_temporary_database(name: str) -> Iterator[str]:
    """Create an empty database and drop it afterwards."""
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{name}"')
        try:
            yield name
        finally:
            cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
