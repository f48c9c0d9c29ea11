"""The cast of all tests, and plain makers."""

from __future__ import annotations

import copy
import datetime
import functools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

if TYPE_CHECKING:
    from tests.cast import Cast

# By a mark or a fixture of these names a test asks the database.
DATABASE = {"django_db", "db", "transactional_db"}

# They start processes and wait for them, minutes in all: of the one file, each test for its own.
KILLED = "tests/faults/test_kill_and_recover.py"
# Minutes in all, too, and each way of looking makes its own world.
WALKED = "tests/browser/pages/test_every_page.py"
SERVICES = (KILLED, "tests/agreement_site/server/")


@pytest.hookimpl(tryfirst=True)  # before the expression of -m is asked
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What waits comes first: others compute beside it, and nobody is left waiting at the end. It
    starts many processes, which takes its time on a crowded machine."""
    items.sort(key=lambda item: not item.nodeid.startswith((*SERVICES, WALKED)))
    for item in items:
        if DATABASE & {
            *getattr(item, "fixturenames", ()),
            *(mark.name for mark in item.iter_markers()),
        }:
            item.add_marker("database")
        if item.nodeid.startswith(SERVICES):
            item.add_marker(pytest.mark.timeout(300))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file's tests stay in one process, for what it makes once. Where each test makes its own,
    they wait beside each other."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return nodeid if nodeid.startswith((KILLED, WALKED)) else super()._split_scope(nodeid)

    return Scheduling(config, log)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """``sqlite_only`` and ``postgresql_only`` skip a test on the other database, for the reason
    that they give."""
    from django.db import connection

    for vendor in ("sqlite", "postgresql"):
        marker = item.get_closest_marker(f"{vendor}_only")
        if marker is not None and connection.vendor != vendor:
            pytest.skip(marker.args[0])


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_modify_db_settings: None) -> bool:
    """The database of the tests is a copy of one that is migrated already."""
    from django.db import connection

    from tests import database_templates

    test = connection.settings_dict["TEST"]
    if connection.vendor == "postgresql":
        test["TEMPLATE"] = database_templates.template(os.environ["DATABASE_URL"])
        return False
    database_templates.copy_to(Path(test["NAME"]))
    return True


@pytest.fixture(autouse=True)
def no_remembered_numbers() -> None:
    """Ids come again in the next test: what the process remembers of them must not."""
    from django.core.cache import cache

    cache.clear()


@pytest.fixture(scope="module")
def stage(
    django_db_setup: None, django_db_blocker: Any
) -> Iterator[Callable[[Callable[[Cast], None]], Cast]]:
    """``stage(fill)``: a cast, and what ``fill(cast)`` makes with it. All of it stands before each
    test of the module, and each is rolled back to it. Not for a module with tests that commit."""
    from django.db import connection, transaction

    from tests.cast import make_cast

    around = transaction.atomic()
    # As Django's own around each test: a durable one may stand in it.
    around._from_testcase = True  # type: ignore[attr-defined]

    def filled(fill: Callable[[Cast], None]) -> Cast:
        with django_db_blocker.unblock():
            made = make_cast()
            fill(made)
            connection.run_on_commit = []  # as if it had been committed long ago
        return made

    with django_db_blocker.unblock():
        around.__enter__()
    yield filled
    with django_db_blocker.unblock():
        transaction.set_rollback(True)
        around.__exit__(None, None, None)


@pytest.fixture(scope="module")
def made_once() -> Cast | None:
    """A module whose tests begin alike makes what they begin with on the ``stage``."""
    return None


@pytest.fixture
def begun(request: pytest.FixtureRequest, made_once: Cast | None, db: None) -> Cast | None:
    """A test may change what it holds. A ``fresh`` one has a project in which nothing is rated."""
    from tests.cast import enter, make_project

    found = copy.deepcopy(made_once)
    if found and request.node.get_closest_marker("fresh"):
        found.project = make_project("Fresh", created_by=found.lead)
        found.question = found.project.questions.get()
        enter(found.project, found.lead, found.annotator, found.viewer)
    return found


@pytest.fixture
def make_user(db: None) -> Callable[..., User]:
    from tests import cast

    return cast.make_user


@pytest.fixture
def lead(begun: Cast | None, make_user: Callable[..., User]) -> User:
    return begun.lead if begun else make_user("lead")


@pytest.fixture
def annotator(begun: Cast | None, make_user: Callable[..., User]) -> User:
    return begun.annotator if begun else make_user("annotator")


@pytest.fixture
def viewer(begun: Cast | None, make_user: Callable[..., User]) -> User:
    return begun.viewer if begun else make_user("viewer")


@pytest.fixture
def stranger(make_user: Callable[..., User]) -> User:
    return make_user("stranger")


@pytest.fixture
def colleague(stranger: User, lead: User, make_project: Callable[..., Any]) -> User:
    """The stranger, whom the lead knows from another project of theirs."""
    other = make_project("Another of the lead's")
    other.members.create(user=lead, role="lead")
    other.members.create(user=stranger, role="viewer")
    return stranger


@pytest.fixture
def admin(make_user: Callable[..., User]) -> User:
    return make_user("admin", is_staff=True, is_superuser=True)


@pytest.fixture
def make_project(db: None) -> Callable[..., Any]:
    """A project with one question; ``labels`` in declared order; values 0, 1, 2, ..."""
    from tests import cast

    return cast.make_project


@pytest.fixture
def project(
    begun: Cast | None,
    make_project: Callable[..., Any],
    lead: User,
    annotator: User,
    viewer: User,
) -> Any:
    """The project of ``lead``, with ``annotator`` (rater "ann") and ``viewer``; ``stranger`` is
    none of them."""
    from tests.cast import enter

    if begun:
        return begun.project
    made = make_project(created_by=lead)
    enter(made, lead, annotator, viewer)
    return made


@pytest.fixture
def question(begun: Cast | None, project: Any) -> Any:
    return begun.question if begun else project.questions.get()


@pytest.fixture
def rate(db: None) -> Callable[..., Any]:
    """``rate(question, item_key, rater_key, label)``: by the real action, making item and rater
    when needed."""
    from tests import cast

    return cast.rate


@pytest.fixture
def give() -> Callable[..., None]:
    """``give(project, rater_key, item_key, ...)``: as if the desk had put the items before the
    rater."""
    from django.utils import timezone

    from projects.models import Item, Rater
    from ratings.models import Assignment

    def do(project: Any, rater: str, *items: str) -> None:
        until = timezone.now() + datetime.timedelta(minutes=30)
        to = Rater.objects.get(project=project, key=rater)
        for key in items:
            item = Item.objects.get_or_create(project=project, key=key)[0]
            Assignment.objects.create(item=item, rater=to, leased_until=until)

    return do


@pytest.fixture
def make_alarm(db: None) -> Callable[..., Any]:
    """``make_alarm(question, rater, **fields)``: rater drifted down, as far as anybody knows."""
    from django.utils import timezone

    from quality.models import Alarm

    def make(question: Any, rater: Any, **fields: Any) -> Alarm:
        day = datetime.date(2026, 8, 17)
        week = datetime.timedelta(days=7)
        found = {
            "kind": "rater_drift",
            "measure": "bias",
            "since": day,
            "since_earliest": day - week,
            "since_latest": day + week,
            "noticed": day + 2 * week,
            "raised_at": timezone.now(),
            "size": -0.36,
            "low": -0.5,
            "high": -0.22,
            "n": 1060,
            "n_before": 400,
            "evidence": 5500.0,
            "chart": {
                "days": [20681, 20682, 20683],
                "n": [5, 6, 7],
                "means": [0.1, 0.0, -0.4],
                "evidence": [0.0, 3.5, 5500.0],
            },
        }
        return Alarm.objects.create(question=question, rater=rater, **{**found, **fields})

    return make


@pytest.fixture
def small_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two items are a backlog, a share of it is one or two, and no lease lasts: any worker may take
    over."""
    from metrics.counting import backlog, question_counting

    monkeypatch.setattr(question_counting, "ITEMS_AT_ONCE", 1)
    monkeypatch.setattr(backlog, "RATINGS", {"sqlite": 5, "postgresql": 5})
    monkeypatch.setattr(backlog, "ITEMS", 2)
    monkeypatch.setattr(backlog, "PATIENCE", datetime.timedelta(0))


@pytest.fixture
def client_for() -> Callable[[User], Client]:
    def make(user: User) -> Client:
        client = Client()
        client.force_login(user)
        return client

    return make


@pytest.fixture
def api_for() -> Callable[..., APIClient]:
    """A client of the API with a fresh token of the user."""
    from projects import authentication

    def make(user: User, **fields: Any) -> APIClient:
        client = APIClient()
        client.credentials(
            HTTP_AUTHORIZATION=f"Bearer {authentication.create_token(user=user, **fields)}"
        )
        return client

    return make


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets, beside the checkout; tests that need it are skipped where it is
    not."""
    folder = Path(
        os.environ.get("CONCORD_SHARED_DATA") or Path(__file__).parents[2] / "shared" / "data"
    )
    if not folder.is_dir():
        pytest.skip("no real data sets here (CONCORD_SHARED_DATA names their folder)")
    return folder


@pytest.fixture
def utc() -> Callable[..., datetime.datetime]:
    return functools.partial(datetime.datetime, tzinfo=datetime.UTC)


@pytest.fixture(scope="session")
def broker_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Valkey or Redis: REDIS_URL's (`make test` starts one), else one of this test process
    alone."""
    from agreement_site.server.embedded_broker import BrokerNotInstalled
    from tests.tools import with_services

    if given := os.environ.get("REDIS_URL"):
        yield given
        return
    try:
        with with_services.valkey(tmp_path_factory.mktemp("valkey")) as url:
            yield url
    except BrokerNotInstalled as reason:
        pytest.skip(str(reason))
