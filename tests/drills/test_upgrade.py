"""`make drill-upgrade`: data of the oldest release, upgraded in place to this checkout.

The old code (taken out of the repository's history) creates, fills and counts the tables,
and leaves some ratings uncounted. Then this checkout's migrations run, as after `git pull`.
Every rating and every revision must be as before, all counts exact, and the remaining
ratings counted. Prints how long the site would have been away. DRILL_UPGRADE_FROM names
another commit, DRILL_UPGRADE_RATINGS (20000) the number of ratings.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agreement_site.server.conftest import BASE_DIR
from tests.drills.site import DrillSite, PostgresServer

RATINGS = int(os.environ.get("DRILL_UPGRADE_RATINGS", "20000"))
RATERS = 5
OLDEST_RELEASE = "^release: Declare 0.1.0"  # subject of its commit
N_UNCOUNTED = 60  # ratings that the old release has not counted

pytestmark = [pytest.mark.drill, pytest.mark.timeout(3600)]

# Scripts run by the old code. They use only names that all releases have.
FILL_SCRIPT = f"""
import datetime
from django.utils import timezone
from projects.models import Category, Item, Project, Question, Rater
from ratings.models import Rating, Revision
project = Project.objects.create(name="Old", time_zone="Europe/Berlin")
question = Question.objects.create(project=project, key="q", text="How?", scale="ordinal")
for code, label in enumerate(("none", "minor", "größer", "critical")):
    Category.objects.create(question=question, code=code, label=label, position=code, value=code)
raters = [Rater.objects.create(project=project, key=f"rater {{n}}") for n in range({RATERS})]
count = {RATINGS} // {RATERS}
Item.objects.bulk_create([Item(project=project, key=f"i{{n}}", body={{"text": "x"}}, slots_taken={RATERS})
                          for n in range(count)])
items = list(Item.objects.filter(project=project).order_by("pk"))
begin = timezone.now() - datetime.timedelta(days=120)
rows = []
for n, item in enumerate(items):
    at = begin + datetime.timedelta(seconds=n * 1000)
    day = (at + datetime.timedelta(hours=1)).date()
    for place, rater in enumerate(raters):
        code = (n * 7 + (place if n % 3 else 0)) % 4 if n % 50 else -1
        rows.append(Rating(question=question, item=item, rater=rater, code=code, rated_at=at,
                           changed_at=at, day=(day - datetime.date(1970, 1, 1)).days, comment="„ja“"))
Rating.objects.bulk_create(rows, batch_size=5000)
ids = Rating.objects.filter(question=question).values_list("pk", "code", "rated_at")
Revision.objects.bulk_create([Revision(rating_id=pk, code=code, rated_at=at, recorded_at=at, source="api")
                              for pk, code, at in ids], batch_size=5000)
"""
CHANGE_SCRIPT = f"""
from django.db.models import F
from ratings.models import Rating
some = Rating.objects.filter(code=2).order_by("pk").values_list("pk", flat=True)[:{N_UNCOUNTED}]
Rating.objects.filter(pk__in=list(some)).update(code=3)
"""
DUMP_SCRIPT = """
import json
from ratings.models import Rating, Revision
rows = list(Rating.objects.order_by("pk").values_list("item__key", "rater__key", "code", "comment"))
lines = list(Revision.objects.order_by("pk").values_list("rating_id", "code", "source"))
print("ROWS " + json.dumps([rows, lines]))
"""


def run_git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=BASE_DIR, capture_output=True, check=True).stdout


def find_oldest_release() -> str:
    """Return the commit of the oldest release, or the one that DRILL_UPGRADE_FROM names."""
    requested = os.environ.get("DRILL_UPGRADE_FROM")
    if requested:
        return requested
    try:
        commits = run_git("log", "--grep", OLDEST_RELEASE, "--format=%H").decode().split()
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no history of this checkout here")
    if not commits:
        pytest.skip("the history here does not reach back to the first release")
    return commits[-1]


class UpgradedSite(DrillSite):
    """The same installation, run by the code in the folder ``code``."""

    code = BASE_DIR

    def run_python(self, *arguments: str) -> str:
        result = subprocess.run(
            [sys.executable, *arguments],
            env=self.build_environment(),
            cwd=self.code,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, (
            f"{arguments}: {result.stdout[-3000:]}{result.stderr[-6000:]}"
        )
        return result.stdout

    def read_rows(self) -> Any:
        (line,) = [
            line
            for line in self.run_manage("shell", "-c", DUMP_SCRIPT).splitlines()
            if line.startswith("ROWS ")
        ]
        return json.loads(line.removeprefix("ROWS "))


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[UpgradedSite]:
    folder = tmp_path_factory.mktemp("upgrade")
    for parent in (folder, *list(folder.parents)[:2]):
        with contextlib.suppress(PermissionError):
            parent.chmod(0o711)  # PostgreSQL's own user passes through
    (folder / "data").mkdir(mode=0o700)
    server = None
    if request.param == "PostgreSQL":
        (folder / "postgres").mkdir(mode=0o700)
        server = PostgresServer(folder / "postgres")
        server.start()
    try:
        yield UpgradedSite(folder / "data", postgres=server)
    finally:
        if server is not None:
            server.stop_immediately()


def test_the_oldest_release_is_upgraded(
    site: UpgradedSite, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commit = find_oldest_release()
    with tarfile.open(fileobj=io.BytesIO(run_git("archive", commit))) as archive:
        archive.extractall(tmp_path, filter="data")
    site.code = tmp_path
    site.run_manage("migrate", "--verbosity", "0")
    site.run_manage("shell", "-c", FILL_SCRIPT)
    site.run_manage("recount")
    site.run_manage("audit")
    site.run_manage("shell", "-c", CHANGE_SCRIPT)
    before = site.read_rows()

    site.code = BASE_DIR
    started = time.monotonic()
    site.run_manage("migrate", "--verbosity", "0")
    migration_seconds = time.monotonic() - started

    assert site.read_rows() == before
    assert len(before[0]) == RATINGS // RATERS * RATERS
    site.read_ratings(
        "--sweep", "--counts"
    )  # the remaining ratings are counted, and all counts are exact
    site.run_manage("audit")
    with capsys.disabled():
        print(  # noqa: T201
            f"\n{'PostgreSQL' if site.postgres else 'SQLite':11} {commit[:7]}: "
            f"{len(before[0])} ratings, {len(before[1])} lines of history; "
            f"away for {migration_seconds:.1f} s of migrations"
        )
