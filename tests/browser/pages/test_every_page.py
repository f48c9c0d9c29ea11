"""Every page in a browser: no axe findings, no layout shift, no overflow on a phone, a quiet console.

A new page is tested without any change here; page_catalogue.py has what must be known about
it. The pages are in English, light, on a desktop and in Chinese, dark, on a phone; `make
pages` checks all eight variants.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.test import override_settings
from playwright.sync_api import Browser

from tests.browser import page_catalogue
from tests.browser.page_checks import DESKTOP, PHONE, PageVariant, find_page_problems

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(600),
]


VARIANTS = [PageVariant("en-GB", ("light",), DESKTOP), PageVariant("zh-CN", ("dark",), PHONE)]


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.locale)
def test_pages_have_no_problems(variant: PageVariant, browser: Browser, live_server: Any) -> None:
    with override_settings(**page_catalogue.SITE_SETTINGS):
        world = page_catalogue.create_sample_world()
        visits = list(page_catalogue.iter_visits(world))
        assert len(visits) > 100
        problems = list(find_page_problems(browser, live_server.url, world, visits, variant))
    assert problems == [], "\n".join(problems)
