"""Every page in a browser: no axe findings, no layout shift, no overflow on a phone, a quiet console.

A new page is tested without any change here; page_catalogue.py has what must be known about
it. Half of the pages are in English on a desktop, the others in Chinese on a phone, each in light
and dark; with FULL_TESTS=1 every page is both, and `make pages` checks all eight variants. Each
part of the pages is a test of its own, so that test processes share the work; a process creates
the sample world once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import TransactionTestCase, override_settings
from playwright.sync_api import Browser
from pytest_django.live_server_helper import LiveServer

from tests.browser import page_catalogue
from tests.browser.page_checks import DESKTOP, PHONE, PageVariant, find_page_problems
from tests.database_cleanup import empty_tables
from tests.tools.full_run import IS_FULL_RUN

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(300),
]

VARIANTS = [
    PageVariant("en-GB", ("light", "dark"), DESKTOP),
    PageVariant("zh-CN", ("dark", "light"), PHONE),
]
N_PARTS = 4


@dataclass(frozen=True)
class ServedWorld:
    """The sample world, the visits of all its pages, and the URL of a server of them."""

    world: page_catalogue.SampleWorld
    visits: Sequence[page_catalogue.PageVisit]
    url: str


@pytest.fixture(scope="module")
def served_world(django_db_setup: None, django_db_blocker: Any) -> Iterator[ServedWorld]:
    """Create and serve the sample world once: visits do not change it, so no test empties the tables."""
    with (
        django_db_blocker.unblock(),
        override_settings(**page_catalogue.SITE_SETTINGS),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda test_case: None)
        world = page_catalogue.create_sample_world()
        visits = list(page_catalogue.iter_visits(world))
        server = LiveServer("localhost")
        try:
            yield ServedWorld(world, visits, server.url)
        finally:
            server.stop()
            empty_tables()


@pytest.mark.parametrize("part", range(N_PARTS))
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.locale)
def test_pages_have_no_problems(
    variant: PageVariant, part: int, browser: Browser, served_world: ServedWorld
) -> None:
    assert len(served_world.visits) > 100
    numbered_visits = list(enumerate(served_world.visits))[part::N_PARTS]
    visits = [
        visit
        for number, visit in numbered_visits
        if IS_FULL_RUN or VARIANTS[number // N_PARTS % len(VARIANTS)] is variant
    ]
    problems = list(
        find_page_problems(browser, served_world.url, served_world.world, visits, variant)
    )
    assert problems == [], "\n".join(problems)
