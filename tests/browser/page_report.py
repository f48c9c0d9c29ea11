"""`make pages`: every page in both languages and colour schemes, at both widths.

It reports the problems of each page and saves a picture of it in build/pages. Not a test of
the suite: run it by its name.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings
from playwright.sync_api import Browser

from tests.browser import page_catalogue
from tests.browser.page_checks import DESKTOP, PHONE, PageVariant, find_page_problems

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(1800),
]

FOLDER = Path(__file__).parents[2] / "build" / "pages"
VARIANTS = [
    PageVariant(locale, ("light", "dark"), size, FOLDER)
    for locale in ("en-GB", "zh-CN")
    for size in (DESKTOP, PHONE)
]


def test_pages_have_no_problems_in_any_variant(browser: Browser, live_server: Any) -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    with override_settings(**page_catalogue.SITE_SETTINGS):
        world = page_catalogue.create_sample_world()
        visits = list(page_catalogue.iter_visits(world))
        problems = [
            problem
            for variant in VARIANTS
            for problem in find_page_problems(browser, live_server.url, world, visits, variant)
        ]
    assert problems == []
