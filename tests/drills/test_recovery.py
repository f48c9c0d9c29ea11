"""How long a site is away whose machine is lost: from last night's backup to the first page.

`deploy/backup` runs, the data folder and the database are thrown away, and the steps of the manual
restore both. Every rating and revision must be as before, and the audit exact. Prints the
durations for docs/operations.md, Restore. DRILL_UPGRADE_RATINGS is the number of ratings.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.agreement_site.server.conftest import BASE_DIR
from tests.drills.test_upgrade import FILL_SCRIPT, UpgradedSite, site

__all__ = ["site"]
pytestmark = [pytest.mark.drill, pytest.mark.timeout(3600)]


def run(site: UpgradedSite, *command: str | Path, **environment: str) -> None:
    programs = f"{site.postgres.programs}:" if site.postgres else ""
    result = subprocess.run(
        [str(word) for word in command],
        env={
            **site.build_environment(),
            "PATH": f"{programs}{os.environ['PATH']}",
            "PYTHON": sys.executable,
            **environment,
        },
        cwd=BASE_DIR,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, f"{command}: {result.stdout}{result.stderr}"


def test_a_lost_machine_is_restored(
    site: UpgradedSite, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site.run_manage("migrate", "--verbosity", "0")
    site.run_manage("shell", "-c", FILL_SCRIPT)
    site.run_manage("recount")
    (site.data_dir / "media").mkdir(exist_ok=True)
    (site.data_dir / "media" / "image").write_bytes(b"image")
    before, key = site.read_rows(), (site.data_dir / "secret_key").read_text()
    backups = tmp_path / "backups"
    started = time.monotonic()
    run(site, BASE_DIR / "deploy" / "backup", BACKUP_DIR=str(backups))
    backup_seconds = time.monotonic() - started
    size = sum(path.stat().st_size for path in backups.rglob("*") if path.is_file())

    shutil.rmtree(site.data_dir)  # the machine is lost
    started = time.monotonic()
    site.data_dir.mkdir(mode=0o700)
    (backup,) = backups.glob("concord-*")
    if site.postgres:
        restored = site.postgres.url.replace("/postgres?", "/concord_restored?")
        run(site, "createdb", f"--maintenance-db={site.postgres.url}", "concord_restored")
        run(site, "pg_restore", "--no-owner", "--exit-on-error", f"--dbname={restored}", backup)
        site.extra_environment["DATABASE_URL"] = restored
    else:
        shutil.copy(backup, site.data_dir / "concord.sqlite3")
    shutil.copytree(backups / "media", site.data_dir / "media")
    shutil.copy(backups / "secret_key", site.data_dir / "secret_key")
    site.start()
    try:
        recovery_seconds = time.monotonic() - started
        assert site.read_rows() == before
        assert (site.data_dir / "media" / "image").read_bytes() == b"image"
        assert (site.data_dir / "secret_key").read_text() == key  # sessions and links stay valid
        site.run_manage("audit")
        audit_seconds = time.monotonic() - started - recovery_seconds
    finally:
        site.kill_all()
    with capsys.disabled():
        print(  # noqa: T201
            f"\n{'PostgreSQL' if site.postgres else 'SQLite':11} {len(before[0])} ratings: backup "
            f"{backup_seconds:.1f} s, {size / 1e6:.1f} MB; back after {recovery_seconds:.1f} s, "
            f"audit {audit_seconds:.1f} s"
        )
