"""An installed Chromium for the browser tests. Mark them with pytest.mark.browser."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

PATIENCE = 20.0  # seconds; a machine under load may be slow


def becomes(read: Callable[[], Any], value: object) -> None:
    """``read()`` answers ``value`` before long: the desk shows the next item before the answer of
    the last one is stored."""
    deadline = time.monotonic() + PATIENCE
    while (found := read()) != value and time.monotonic() < deadline:
        time.sleep(0.05)
    assert found == value


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of an installed Chromium or Chrome; CHROMIUM names another one."""
    for name in (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"):
        found = name and shutil.which(name)
        if found:
            return found
    pytest.skip("no Chromium here (Debian: apt install chromium; CHROMIUM names another one)")


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    """One browser for all tests; each test opens its own context, so its own cookies."""
    # Playwright's event loop runs in this thread, where Django then refuses database queries.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    expect.set_options(timeout=PATIENCE * 1000)
    # As root, as in containers, Chromium's sandbox does not start.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield started
        started.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]
