"""Every page, in a browser: axe finds nothing on it, nothing moves while it comes, it fits a phone,
and the browser complains of nothing. A page that is added is in this test by itself: every_page.py
tells what it must be told.

In English light on a desk and Chinese dark on a phone here; `make pages` looks at all eight."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import override_settings
from playwright.sync_api import Browser

from tests.browser import page_catalogue
from tests.browser.page_checks import DESK, PHONE, Look, look

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(600),
]


LOOKS = [Look("en-GB", ("light",), DESK), Look("zh-CN", ("dark",), PHONE)]


@pytest.mark.parametrize("how", LOOKS, ids=lambda how: how.locale)
def test_every_page(how: Look, browser: Browser, live_server: Any) -> None:
    with override_settings(**page_catalogue.WITH):
        world = page_catalogue.make_world()
        visits = list(page_catalogue.visits(world))
        assert len(visits) > 100
        found = list(look(browser, live_server.url, world, visits, how))
    assert found == []
