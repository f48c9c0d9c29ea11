"""`make pages`: every page in both languages and colours, at both widths: what is wrong with it, and
a picture of each in build/pages. No test of the suite: it is run by its name alone."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings
from playwright.sync_api import Browser

from tests.browser import page_catalogue
from tests.browser.page_checks import DESK, PHONE, Look, look

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(1800),
]

FOLDER = Path(__file__).parents[2] / "build" / "pages"
LOOKS = [
    Look(locale, ("light", "dark"), size, FOLDER)
    for locale in ("en-GB", "zh-CN")
    for size in (DESK, PHONE)
]


def test_pages_in_every_way(browser: Browser, live_server: Any) -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    with override_settings(**page_catalogue.WITH):
        world = page_catalogue.make_world()
        visits = list(page_catalogue.visits(world))
        found = [
            trouble
            for how in LOOKS
            for trouble in look(browser, live_server.url, world, visits, how)
        ]
    assert found == []
