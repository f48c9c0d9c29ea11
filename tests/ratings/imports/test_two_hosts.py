"""Imports on two hosts that share the database but no folder."""

from __future__ import annotations

import datetime
import logging
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from projects.models import Project, Question
from ratings import tasks
from ratings.files import shared_folders
from ratings.models import DataFolder, ImportFilePart
from tests.ratings.imports.test_zip_archives import VALID_ARCHIVE, build_zip
from tests.ratings.imports.wizard_client import (
    WizardClient,
    get_labels,
    list_stored_files,
)

pytestmark = pytest.mark.django_db

ROWS = b"item,rater,label,second\na,ann,minor,major\na,ben,major,major\nb,ann,minor,minor\n"
UseHost = Callable[[str], None]


@pytest.fixture
def use_host(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> UseHost:
    """Return a function that makes this process one of a host, with a folder of its own."""

    def use(name: str) -> None:
        settings.DATA_DIR = tmp_path / name
        settings.DATA_DIR.mkdir(exist_ok=True)
        monkeypatch.setattr(socket, "gethostname", lambda: name)

    for name in ("web-host", "worker-host"):
        use(name)
        shared_folders.record_folders()
    return use


@pytest.fixture
def wizard(project: Project, lead: Any, client_for: Any) -> WizardClient:
    return WizardClient(client_for(lead), project)


def test_worker_of_another_host_imports_the_file(
    wizard: WizardClient, question: Question, use_host: UseHost
) -> None:
    use_host("web-host")
    assert wizard.upload(ROWS).status_code == 302
    assert wizard.choose_columns(label="2").status_code == 302

    use_host("worker-host")
    assert wizard.run_worker().state == "checked"

    use_host("web-host")
    assert wizard.get_page().status_code == 200
    assert wizard.start_import().status_code == 302

    use_host("worker-host")
    run = wizard.run_worker()
    assert run.state == "done", run.summary
    assert list_stored_files() == set()
    assert not ImportFilePart.objects.exists()
    assert get_labels(question) == {
        ("a", "ann"): "minor",
        ("a", "ben"): "major",
        ("b", "ann"): "minor",
    }


def test_newest_check_is_written_whichever_host_made_it(
    wizard: WizardClient, question: Question, use_host: UseHost
) -> None:
    use_host("web-host")
    wizard.upload(ROWS)
    wizard.choose_columns(label="2")
    use_host("worker-host")
    assert wizard.run_worker().state == "checked", (
        wizard.run.problems
    )  # its rows stay in this host's folder

    use_host("web-host")
    wizard.client.post(wizard.run_url, {"action": "reopen"})
    assert wizard.choose_columns(label="3").status_code == 302
    assert wizard.run_worker().state == "checked"
    assert wizard.start_import().status_code == 302

    use_host("worker-host")
    assert wizard.run_worker().state == "done"
    assert get_labels(question)["a", "ann"] == "major"


def test_host_without_the_file_leaves_an_archive_to_the_other(
    wizard: WizardClient, use_host: UseHost
) -> None:
    use_host("web-host")
    wizard.upload(build_zip(VALID_ARCHIVE))
    wizard.choose_columns()

    use_host("worker-host")
    assert wizard.run_worker().state == "checking"
    assert tasks.resume_stalled() == 0
    use_host("web-host")
    assert tasks.resume_stalled() == 1
    assert wizard.run.state == "checked"


def test_run_of_a_host_that_is_gone_is_not_left_waiting(
    wizard: WizardClient, use_host: UseHost
) -> None:
    """For example after a restore on another machine: the import ends with a message."""
    DataFolder.objects.filter(host="worker-host").delete()
    use_host("web-host")
    wizard.upload(ROWS)
    assert not wizard.run.in_database  # no other host needed it
    wizard.choose_columns()
    old = timezone.now() - datetime.timedelta(days=3)
    DataFolder.objects.filter(host="web-host").update(seen_at=old)

    use_host("worker-host")
    assert wizard.run_worker().state == "invalid"


def test_start_says_which_hosts_do_not_share_a_folder(
    use_host: UseHost, caplog: pytest.LogCaptureFixture, settings: Any, tmp_path: Path
) -> None:
    use_host("web-host")
    with caplog.at_level(logging.WARNING):
        shared_folders.record_folders_at_start()
    exports, imports, media = (record.getMessage() for record in caplog.records)
    assert exports.startswith("web-host does not share DATA_DIR/exports with worker-host: ")
    assert imports.startswith("web-host does not share DATA_DIR/imports with worker-host: ")
    assert "DATA_DIR/media" in media
    assert "Mount the same folder" in media


def test_hosts_that_share_the_folder_hear_nothing(
    use_host: UseHost, caplog: pytest.LogCaptureFixture, settings: Any, tmp_path: Path
) -> None:
    DataFolder.objects.all().delete()
    for name in ("web-host", "worker-host"):
        use_host(name)
        settings.DATA_DIR = tmp_path / "web-host"
        with caplog.at_level(logging.WARNING):
            shared_folders.record_folders_at_start()
    assert not caplog.records
