"""A SQLite database with every migration applied, made once for all test processes.

Django renders the state of all models at each of some hundred operations: ten seconds of a processor
for each new database. Copying one costs nothing.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent
BUILD = BASE_DIR / "build"


def copy_to(target: Path) -> None:
    """What is kept is of the migrations as they stand. Who copies it migrates once more, which
    adds what depends on the models alone: content types and permissions."""
    BUILD.mkdir(exist_ok=True)
    kept = BUILD / f"migrated-{_digest()}.sqlite3"
    with (BUILD / "migrated.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            for old in BUILD.glob("migrated-*.sqlite3"):
                old.unlink()
            _make(kept)
        shutil.copyfile(kept, target)


def _digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(BASE_DIR.glob("[a-z]*/migrations/*.py")):
        digest.update(path.read_bytes())
    digest.update((BASE_DIR / "requirements.txt").read_bytes())
    return digest.hexdigest()[:16]


def _make(path: Path) -> None:
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in {"DATABASE_URL", "DJANGO_SETTINGS_MODULE"}
    }
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        subprocess.run(
            [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
            env={**environment, "DATA_DIR": folder},
            cwd=BASE_DIR,
            check=True,
        )
        (Path(folder) / "concord.sqlite3").rename(path)
