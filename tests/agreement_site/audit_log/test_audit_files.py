"""The audit log as a file: each entry is a line, and each line has the hash of the one before."""

from __future__ import annotations

import hashlib
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from agreement_site.audit_log import recorder
from agreement_site.models import AuditLogEntry
from core import security_log
from projects.services.projects import change_project

pytestmark = pytest.mark.django_db


@pytest.fixture
def log_file(settings: Any, tmp_path: Path) -> Path:
    path = tmp_path / "audit.jsonl"
    settings.AUDIT_LOG_FILE = str(path)
    return path


@pytest.fixture
def filled_file(
    log_file: Path, project: Any, lead: Any, django_capture_on_commit_callbacks: Any
) -> Path:
    """Return a file of five entries, one of them long and not in ASCII."""
    with django_capture_on_commit_callbacks(execute=True):
        for number in range(4):
            security_log.log_event(
                "view_saved", project_id=project.pk, after={"name": f"v{number}"}
            )
        change_project(project=project, by=lead, description="ä “x”\n" * 1_500)
    return log_file


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def list_problems(path: Path) -> list[tuple[int, str]]:
    with path.open("rb") as lines:
        problems = recorder.iter_file_problems(lines, recorder.WrittenEntries())
        return [(problem.line, problem.description) for problem in problems]


def test_each_entry_is_a_line_of_a_chain(filled_file: Path) -> None:
    lines = read_lines(filled_file)
    assert [line["id"] for line in lines] == sorted(
        AuditLogEntry.objects.values_list("pk", flat=True)
    )
    previous = "0" * 64
    for raw, line in zip(filled_file.read_text().splitlines(), lines, strict=True):
        assert line["previous"] == previous
        previous = line["hash"]
        # What the documentation says: SHA-256 of the line without its own hash.
        content = raw.replace(f', "hash": "{previous}"', "")
        assert hashlib.sha256(content.encode()).hexdigest() == previous
    assert list_problems(filled_file) == []
    assert filled_file.stat().st_mode & 0o077 == 0
    call_command("verify_audit_log", str(filled_file))


@pytest.mark.parametrize("change", ["edit", "remove", "insert", "swap", "forge"])
def test_a_change_of_the_file_is_found(filled_file: Path, change: str) -> None:
    lines = filled_file.read_bytes().splitlines(keepends=True)
    if change == "edit":
        lines[1] = lines[1].replace(b"v1", b"w1")
    elif change == "remove":
        del lines[1]
    elif change == "insert":
        lines.insert(1, lines[2])
    elif change == "swap":
        lines[1], lines[2] = lines[2], lines[1]
    else:  # with a hash that fits the new content
        values = json.loads(lines[1]) | {"actor": "nobody"}
        previous = values.pop("previous")
        del values["hash"]
        lines[1] = recorder.format_line(values, previous)
    filled_file.write_bytes(b"".join(lines))
    assert list_problems(filled_file)[0][0] in (2, 3)
    with pytest.raises(CommandError, match=r"\d problems in \d lines"):
        call_command("verify_audit_log", str(filled_file))


def test_a_change_of_the_database_is_found(filled_file: Path, settings: Any) -> None:
    first, second = AuditLogEntry.objects.order_by("pk")[:2]
    AuditLogEntry.objects.filter(pk=first.pk).update(actor="nobody")
    AuditLogEntry.objects.filter(pk=second.pk)._raw_delete(using="default")
    assert list_problems(filled_file) == [
        (1, f"entry {first.pk} of the database differs from it"),
        (2, f"entry {second.pk} of the database differs from it"),
    ]
    settings.KEEP_AUDIT_LOG_DAYS = 30  # old entries are deleted
    assert [line for line, _description in list_problems(filled_file)] == [1]


def test_an_entry_that_no_file_has_is_found(
    filled_file: Path, project: Any, settings: Any, capsys: Any
) -> None:
    """A failed write leaves the chain whole; two machines have a file each."""
    missing = AuditLogEntry.objects.create(action="view_saved", project_id=project.pk)
    last = AuditLogEntry.objects.create(action="view_saved", project_id=project.pk)
    recorder.append_entry(last)
    assert list_problems(filled_file) == []
    with pytest.raises(CommandError, match="1 problems"):
        call_command("verify_audit_log", str(filled_file))
    assert f"entry {missing.pk} of the database is in none" in capsys.readouterr().out
    other_file = filled_file.with_name("other.jsonl")
    settings.AUDIT_LOG_FILE = str(other_file)
    recorder.append_entry(missing)
    call_command("verify_audit_log", str(filled_file), str(other_file))


def test_nothing_is_written_for_what_is_rolled_back(
    log_file: Path, project: Any, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
        security_log.log_event("view_saved", project_id=project.pk)
        transaction.set_rollback(True)
    assert not log_file.exists()


def test_a_file_that_cannot_be_written_fails_no_request(
    log_file: Path,
    project: Any,
    caplog: pytest.LogCaptureFixture,
    django_capture_on_commit_callbacks: Any,
) -> None:
    for content in ("", "other lines\n"):
        if content:
            log_file.rmdir()
            log_file.write_text(content)
        else:
            log_file.mkdir()
        with django_capture_on_commit_callbacks(execute=True):
            security_log.log_event("view_saved", project_id=project.pk)
        assert "could not be appended" in caplog.text
        caplog.clear()
    assert log_file.read_text() == "other lines\n"
    assert AuditLogEntry.objects.filter(action="view_saved").count() == 2


def test_writers_at_once_make_one_chain(log_file: Path) -> None:
    def append(number: int) -> None:
        for step in range(25):
            entry = AuditLogEntry(pk=number * 100 + step, action="x", details={"t": "x" * step})
            recorder.append_entry(entry)

    threads = [threading.Thread(target=append, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = read_lines(log_file)
    assert len(lines) == 100
    assert [line["previous"] for line in lines[1:]] == [line["hash"] for line in lines[:-1]]


def test_command_names_a_file_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("verify_audit_log", str(tmp_path / "none"))
