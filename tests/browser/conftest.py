"""An installed Chromium for the browser tests, and other fixtures that several of them use.

Mark these tests with pytest.mark.browser.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Page, expect, sync_playwright

from metrics.filtered import filtered_jobs
from metrics.filters import NO_FILTER
from metrics.jobs.question_updates import update_question
from projects.models import Item, Rater
from ratings.services.judgement import Judgement
from ratings.services.record import record_ratings

# The headless shell of Chromium has no windows and menus: it needs a quarter of the processor time.
CHROMIUM_PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
TIMEOUT_SECONDS = 20.0  # a machine under load may be slow


def wait_for_value(read: Callable[[], Any], value: object) -> None:
    """Wait until ``read()`` returns ``value``.

    The annotation page shows the next item before the last answer is stored.
    """
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while (current := read()) != value and time.monotonic() < deadline:
        time.sleep(0.05)
    assert current == value


@pytest.fixture(scope="session")
def chromium() -> str:
    """Return the path of an installed Chromium or Chrome; CHROMIUM names another one."""
    for name in (os.environ.get("CHROMIUM"), *CHROMIUM_PROGRAMS):
        path = name and shutil.which(name)
        if path:
            return path
    pytest.skip(f"no Chromium here (Debian: apt install {CHROMIUM_PROGRAMS[0]}, or set CHROMIUM)")


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    """Yield one browser for all tests; each test opens its own context, so its own cookies."""
    # Playwright's event loop runs in this thread, where Django then refuses database queries.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    expect.set_options(timeout=TIMEOUT_SECONDS * 1000)
    # As root, as in containers, Chromium's sandbox does not start.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        instance = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield instance
        instance.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


def wait_for_charts(page: Page) -> None:
    """Open all folds, and wait until every chart and the API reference are drawn."""
    folds = page.locator("details.fold:not([open]) > summary")
    while folds.count():
        folds.first.click()
    for chart in page.locator(".chart, #api-reference").all():
        expect(chart).to_have_attribute("data-state", "drawn")


def check_accessibility(page: Page, selector: str | None = None) -> None:
    """Check with axe that the page, or its part with this selector, has no violations.

    A click that leads to another page returns before that page is there: wait for it.
    """
    page.wait_for_load_state()
    results = Axe().run(page, context=selector)
    assert results.violations_count == 0, f"{page.url}\n{results.generate_report()}"


# Layout shifts without user input, recorded by the page itself: how far, and which elements.
LAYOUT_SHIFT_SCRIPT = """
    window.moved = [];
    window.movers = [];
    const named = (node) => (node?.outerHTML ?? node?.textContent ?? "gone").slice(0, 80);
    new PerformanceObserver((list) => {
        for (const entry of list.getEntries().filter((entry) => !entry.hadRecentInput)) {
            window.moved.push(entry.value);
            window.movers.push(...entry.sources.map((source) => named(source.node)));
        }
    }).observe({ type: "layout-shift", buffered: true });
"""


@pytest.fixture
def open_page(
    browser: Browser, live_server: Any, client_for: Callable[[User], Client], lead: User
) -> Iterator[Any]:
    """Yield ``open_page(address, ...)``, which opens a page as the lead.

    At the end the test fails if the browser's console has shown errors or warnings.
    """
    contexts, complaints = [], []

    def open_address(address: str, **options: Any) -> Page:
        context = browser.new_context(**{"reduced_motion": "reduce", **options})
        contexts.append(context)
        cookie = client_for(lead).cookies["sessionid"]
        context.add_cookies([{"name": "sessionid", "value": cookie.value, "url": live_server.url}])
        context.add_init_script(LAYOUT_SHIFT_SCRIPT)
        page = context.new_page()
        page.on(
            "console",
            lambda message: (
                complaints.append(message.text) if message.type in ("error", "warning") else None
            ),
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{live_server.url}{address}")
        return page

    yield open_address
    for context in contexts:
        context.close()
    assert [text for text in complaints if "404 (Not Found)" not in text] == []


@pytest.fixture
def rated_question(question: Any, utc: Any) -> Any:
    """Return a counted question: 60 items in 20 days, with up to four of five raters each.

    The raters agree in part.
    """
    rng = random.Random(7)
    project = question.project
    items = Item.objects.bulk_create(
        Item(project=project, key=f"i{n}", body={"text": f"Text number {n}"}) for n in range(60)
    )
    raters = Rater.objects.bulk_create(Rater(project=project, key=f"r{n}") for n in range(1, 6))
    ratings = [
        Judgement(
            item.pk,
            rater.pk,
            min(max(n % 4 + rng.choice((-1, 0, 0, 0, 1)), 0), 3),
            rated_at=utc(2026, 3, 1 + n // 3),
        )
        for n, item in enumerate(items)
        for rater in rng.sample(raters, n % 5)
    ]
    record_ratings({question: ratings}, by=None, source="import")
    update_question(question.pk)
    filtered_jobs.get_or_request_filtered_result(
        question, filtered_jobs.FilteredRequest("coefficients", NO_FILTER), version=0
    )
    filtered_jobs.FILTERED_RESULT_JOB.sweep()
    return question
