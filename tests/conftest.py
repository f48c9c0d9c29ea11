"""Fixtures and pytest hooks of all tests."""

from __future__ import annotations

import copy
import datetime
import functools
import gc
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
    from tests.faults.brokers import Broker

# A test with a marker or a fixture of one of these names uses the database.
DATABASE_FIXTURES = {"django_db", "db", "transactional_db"}

# These tests start processes and wait for them, minutes in all. In this file, each test starts its
# own.
KILL_TESTS = "tests/faults/test_kill_and_recover.py"
SERVICE_TESTS = (KILL_TESTS, "tests/agreement_site/server/")
# Also half a minute to minutes in all, and each test creates its own data.
LONG_TESTS = (
    "tests/browser/pages/test_every_page.py",
    "tests/ratings/imports/test_published_datasets.py",
    "tests/ratings/annotation/test_rate_blindness.py",
    "tests/api/test_openapi_conformance.py",
    "tests/faults/test_crashes.py",
)
# A test of half a minute.
LONGEST_TESTS = (
    "tests/agreement_site/middleware/test_table_export.py",
    "tests/metrics/counting/test_state_machine.py",
)

# Tests of these folders and files run on SQLite alone, because the database plays no role in what
# they prove. Tests of SQL, locks, transactions, constraints, counts and jobs never belong here.
# tests/agreement_site/navigation/test_every_page.py opens every page on PostgreSQL.
TEXT_OF_PAGES = "the text of a page does not depend on the database"
CONTENT_OF_FILES = "what a file says does not depend on the database"
REQUESTS = "what the site does with a request does not depend on the database"
RUN_ON_SQLITE_ALONE = {
    TEXT_OF_PAGES: (
        "tests/agreement_site/accounts/preferences/",
        "tests/agreement_site/accounts/test_landing_page.py",
        "tests/agreement_site/navigation/",
        "tests/agreement_site/test_error_pages.py",
        "tests/agreement_site/test_invalid_forms.py",
        "tests/agreement_site/test_pages_in_chinese.py",
        "tests/events/test_views.py",
        "tests/metrics/views/changes/",
        "tests/metrics/views/charts/",
        "tests/metrics/views/common/",
        "tests/metrics/views/dashboard/",
        "tests/metrics/views/items/test_item_texts.py",
        "tests/metrics/views/pairs/",
        "tests/metrics/views/questions/",
        "tests/metrics/views/reports/",
        "tests/metrics/views/test_coefficients.py",
        "tests/metrics/views/test_headline_settings.py",
        "tests/metrics/views/test_model_versions.py",
        "tests/metrics/views/test_no_computation_in_views.py",
        "tests/metrics/views/test_pages.py",
        "tests/metrics/views/test_population.py",
        "tests/metrics/views/test_recommendation.py",
        "tests/metrics/views/test_saved_views.py",
        "tests/projects/templatetags/",
        "tests/projects/test_guidelines.py",
        "tests/projects/views/",
        "tests/quality/alerts/test_views.py",
        "tests/quality/review/test_views.py",
        "tests/quality/labels/test_views.py",
        "tests/quality/planning/test_sample_size.py",
        "tests/quality/rater_status/test_same_numbers.py",
        "tests/quality/rater_status/test_views.py",
    ),
    CONTENT_OF_FILES: (
        "tests/ratings/files/",
        "tests/ratings/imports/mapping/",
        "tests/ratings/imports/readers/",
        "tests/ratings/imports/test_file_habits.py",
        "tests/ratings/imports/test_label_files.py",
        "tests/ratings/imports/test_zip_archives.py",
        "tests/ratings/imports/staging/",
        "tests/ratings/imports/wizard/",
    ),
    REQUESTS: (
        "tests/agreement_site/accounts/test_account_mail.py",
        "tests/agreement_site/accounts/test_oidc.py",
        "tests/agreement_site/accounts/test_provider_access.py",
        "tests/agreement_site/accounts/test_saml.py",
        "tests/agreement_site/accounts/test_second_factor.py",
        "tests/agreement_site/audit_log/test_actions.py",
        "tests/agreement_site/audit_log/test_stream.py",
        "tests/agreement_site/audit_log/test_syslog.py",
        "tests/agreement_site/middleware/",
        "tests/agreement_site/monitoring/test_logs.py",
        "tests/agreement_site/monitoring/test_tracing.py",
        "tests/agreement_site/test_admin.py",
        "tests/api/test_openapi_conformance.py",
        "tests/projects/test_permissions.py",
        "tests/quality/labels/test_bad_input.py",
        "tests/quality/review/test_adjudicator_role.py",
        "tests/ratings/annotation/test_rate_blindness.py",
        "tests/ratings/api/test_hidden_checks.py",
        "tests/ratings/label_studio/test_views.py",
    ),
}


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect the tests without searching for garbage, and never search what they consist of.

    A process that collects all tests has a million objects, which live as long as it does. Each
    search of them takes most of a second.
    """
    gc.disable()
    yield
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)  # instead of 700: requests create many objects, and few cycles
    gc.enable()


@pytest.hookimpl(tryfirst=True)  # before -m selects tests
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run tests that wait for processes first, then long ones, and mark tests that use the database.

    Other test processes compute while these wait, so nothing is left waiting at the end. They start
    many processes, which is slow on a loaded machine.
    """
    first = (SERVICE_TESTS, LONG_TESTS, LONGEST_TESTS)
    items.sort(key=lambda item: [not item.nodeid.startswith(paths) for paths in first])
    for item in items:
        if DATABASE_FIXTURES & {
            *getattr(item, "fixturenames", ()),
            *(mark.name for mark in item.iter_markers()),
        }:
            item.add_marker("database")
            mark_for_sqlite_alone(item)
        if item.nodeid.startswith(SERVICE_TESTS):
            item.add_marker(pytest.mark.timeout(300))


def mark_for_sqlite_alone(item: pytest.Item) -> None:
    """Mark a test of the folders above, unless it is a test of PostgreSQL itself."""
    if item.get_closest_marker("postgresql_only") is None:
        for reason, paths in RUN_ON_SQLITE_ALONE.items():
            if item.nodeid.startswith(paths):
                item.add_marker(pytest.mark.sqlite_only(reason))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the tests of a file in one process, because modules share data that is created once.

    Tests of a file where each test creates its own data run in parallel.
    """
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        """Schedule by file, except for the files whose tests share nothing."""

        def _split_scope(self, nodeid: str) -> str:
            return (
                nodeid
                if nodeid.startswith((KILL_TESTS, *LONG_TESTS))
                else super()._split_scope(nodeid)
            )

    return Scheduling(config, log)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests marked ``sqlite_only`` or ``postgresql_only`` on the other database.

    The marker's argument is the reason.
    """
    from django.db import connection

    for vendor in ("sqlite", "postgresql"):
        marker = item.get_closest_marker(f"{vendor}_only")
        if marker is not None and connection.vendor != vendor:
            pytest.skip(marker.args[0])


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_modify_db_settings: None) -> bool:
    """Copy the test database from one that is already migrated."""
    from django.db import connection

    from tests import database_templates

    test = connection.settings_dict["TEST"]
    if connection.vendor == "postgresql":
        test["TEMPLATE"] = database_templates.get_postgres_template(os.environ["DATABASE_URL"])
        return False
    database_templates.copy_sqlite_template(Path(test["NAME"]))
    return True


@pytest.fixture(scope="session", autouse=True)
def empty_tables_after_commits() -> Iterator[None]:
    """Let tests that commit leave an empty database in less time than Django takes."""
    from django.test import TransactionTestCase

    from tests.database_cleanup import empty_tables

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda test_case: empty_tables())
        yield


@pytest.fixture(autouse=True)
def clear_cache() -> None:
    """Clear the cache: IDs repeat in the next test, and cached data must not match them."""
    from django.core.cache import cache

    cache.clear()


@pytest.fixture(scope="module")
def cast_factory(
    django_db_setup: None, django_db_blocker: Any
) -> Iterator[Callable[[Callable[[Cast], None]], Cast]]:
    """Return ``cast_factory(fill)``: create a cast and the data that ``fill(cast)`` adds.

    The data exists before each test of the module, and each test is rolled back to it. Not for a
    module with tests that commit.
    """
    from django.db import connection, transaction

    from tests.cast import make_cast

    outer_transaction = transaction.atomic()
    # As Django's own transaction around each test: a durable block may be nested in it.
    outer_transaction._from_testcase = True  # type: ignore[attr-defined]

    def build_cast(fill: Callable[[Cast], None]) -> Cast:
        with django_db_blocker.unblock():
            new_cast = make_cast()
            fill(new_cast)
            connection.run_on_commit = []  # as if it had been committed long ago
        return new_cast

    with django_db_blocker.unblock():
        outer_transaction.__enter__()
    yield build_cast
    with django_db_blocker.unblock():
        transaction.set_rollback(True)
        outer_transaction.__exit__(None, None, None)


@pytest.fixture(scope="module")
def module_cast() -> Cast | None:
    """Return the cast that the tests of a module share, or None.

    A module overrides this fixture and creates its cast with ``cast_factory``.
    """
    return None


@pytest.fixture
def cast_copy(request: pytest.FixtureRequest, module_cast: Cast | None, db: None) -> Cast | None:
    """Return the test's own copy of the module's cast, which it may change.

    A test marked ``fresh`` gets another project in which nothing is rated.
    """
    from tests.cast import add_members, make_project

    own_cast = copy.deepcopy(module_cast)
    if own_cast and request.node.get_closest_marker("fresh"):
        own_cast.project = make_project("Fresh", created_by=own_cast.lead)
        own_cast.question = own_cast.project.questions.get()
        add_members(own_cast.project, own_cast.lead, own_cast.annotator, own_cast.viewer)
    return own_cast


@pytest.fixture
def make_user(db: None) -> Callable[..., User]:
    """Return the function that creates a user with the password of the tests."""
    from tests import cast

    return cast.make_user


@pytest.fixture
def lead(cast_copy: Cast | None, make_user: Callable[..., User]) -> User:
    return cast_copy.lead if cast_copy else make_user("lead")


@pytest.fixture
def annotator(cast_copy: Cast | None, make_user: Callable[..., User]) -> User:
    return cast_copy.annotator if cast_copy else make_user("annotator")


@pytest.fixture
def viewer(cast_copy: Cast | None, make_user: Callable[..., User]) -> User:
    return cast_copy.viewer if cast_copy else make_user("viewer")


@pytest.fixture
def stranger(make_user: Callable[..., User]) -> User:
    return make_user("stranger")


@pytest.fixture
def colleague(stranger: User, lead: User, make_project: Callable[..., Any]) -> User:
    """Return the stranger as a user whom the lead knows from another of their projects."""
    other_project = make_project("Another of the lead's")
    other_project.members.create(user=lead, role="lead")
    other_project.members.create(user=stranger, role="viewer")
    return stranger


@pytest.fixture
def admin(make_user: Callable[..., User]) -> User:
    return make_user("admin", is_staff=True, is_superuser=True)


@pytest.fixture
def make_project(db: None) -> Callable[..., Any]:
    """Return the function that creates a project with one question.

    ``labels`` are in declared order; their values are 0, 1, 2, ...
    """
    from tests import cast

    return cast.make_project


@pytest.fixture
def project(
    cast_copy: Cast | None,
    make_project: Callable[..., Any],
    lead: User,
    annotator: User,
    viewer: User,
) -> Any:
    """Return the project of ``lead``, with ``annotator`` (rater "ann") and ``viewer``.

    ``stranger`` is not a member.
    """
    from tests.cast import add_members

    if cast_copy:
        return cast_copy.project
    new_project = make_project(created_by=lead)
    add_members(new_project, lead, annotator, viewer)
    return new_project


@pytest.fixture
def question(cast_copy: Cast | None, project: Any) -> Any:
    return cast_copy.question if cast_copy else project.questions.get()


@pytest.fixture
def rate(db: None) -> Callable[..., Any]:
    """Return ``rate(question, item_key, rater_key, label)``.

    It records a rating with the real service and creates the item and the rater when needed.
    """
    from tests import cast

    return cast.rate


@pytest.fixture
def assign_items() -> Callable[..., None]:
    """Return ``assign_items(project, rater_key, item_key, ...)``.

    It assigns the items to the rater, as the annotation page does.
    """
    from django.utils import timezone

    from projects.models import Item, Rater
    from ratings.models import Assignment

    def create_assignments(project: Any, rater: str, *items: str) -> None:
        leased_until = timezone.now() + datetime.timedelta(minutes=30)
        assignee = Rater.objects.get(project=project, key=rater)
        for key in items:
            item = Item.objects.get_or_create(project=project, key=key)[0]
            Assignment.objects.create(item=item, rater=assignee, leased_until=leased_until)

    return create_assignments


@pytest.fixture
def make_alert(db: None) -> Callable[..., Any]:
    """Return ``make_alert(question, rater, **fields)``, which creates a rater drift alert."""
    from django.utils import timezone

    from quality.models import Alert

    def create_alert(question: Any, rater: Any, **fields: Any) -> Alert:
        day = datetime.date(2026, 8, 17)
        week = datetime.timedelta(days=7)
        defaults = {
            "kind": "rater_drift",
            "measure": "bias",
            "since": day,
            "since_earliest": day - week,
            "since_latest": day + week,
            "detected_on": day + 2 * week,
            "created_at": timezone.now(),
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
        alert = Alert(question=question, rater=rater, **{**defaults, **fields})
        alert.impact = alert.compute_own_impact()
        alert.save()
        return alert

    return create_alert


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make two items a backlog with ranges of one or two items, and leases that end at once.

    Any worker may then take over a range.
    """
    from metrics.counting import backlog, question_counting

    monkeypatch.setattr(question_counting, "ITEMS_AT_ONCE", 1)
    monkeypatch.setattr(backlog, "RATINGS_PER_RANGE", {"sqlite": 5, "postgresql": 5})
    monkeypatch.setattr(backlog, "MAX_ITEMS_PER_RANGE", 2)
    monkeypatch.setattr(backlog, "LEASE_DURATION", datetime.timedelta(0))


@pytest.fixture
def client_for() -> Callable[[User], Client]:
    """Return ``client_for(user)``: a browser in which the user is signed in."""

    def create_client(user: User) -> Client:
        client = Client()
        client.force_login(user)
        return client

    return create_client


@pytest.fixture
def api_for() -> Callable[..., APIClient]:
    """Return ``api_for(user)``: an API client with a new token of the user."""
    from projects.services import tokens

    def create_client(user: User, **fields: Any) -> APIClient:
        client = APIClient()
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {tokens.create_token(user=user, **fields)}")
        return client

    return create_client


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real datasets beside the checkout; skip tests where it is missing."""
    folder = Path(
        os.environ.get("CONCORD_SHARED_DATA") or Path(__file__).parents[2] / "shared" / "data"
    )
    if not folder.is_dir():
        pytest.skip("no real data sets here (CONCORD_SHARED_DATA names their folder)")
    return folder


@pytest.fixture
def utc() -> Callable[..., datetime.datetime]:
    """Return ``datetime`` with the UTC time zone filled in."""
    return functools.partial(datetime.datetime, tzinfo=datetime.UTC)


@pytest.fixture(scope="session")
def broker_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of a real Valkey or Redis.

    It is REDIS_URL when set (`make test` starts a broker), else this test process starts its own.
    """
    from agreement_site.server.embedded_broker import BrokerNotInstalled
    from tests.tools import with_services

    if configured_url := os.environ.get("REDIS_URL"):
        yield configured_url
        return
    try:
        with with_services.run_valkey(tmp_path_factory.mktemp("valkey")) as url:
            yield url
    except BrokerNotInstalled as reason:
        pytest.skip(str(reason))


@pytest.fixture
def broker(settings: Any) -> Iterator[Broker]:
    """Return a broker of this test alone, which the settings name."""
    from tests.faults.brokers import run_private_broker

    with run_private_broker(settings) as running:
        yield running
