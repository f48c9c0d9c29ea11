"""Every page of the site opens on PostgreSQL, in a project with content for each of them.

The tests of the texts of pages run on SQLite alone (tests/conftest.py).
"""

from __future__ import annotations

import pytest
from django.test import override_settings

from tests.browser import page_catalogue


@pytest.mark.postgresql_only("on SQLite the test of all tables opens the same pages")
@pytest.mark.django_db(transaction=True)
def test_every_page_opens() -> None:
    with override_settings(**page_catalogue.SITE_SETTINGS):
        world = page_catalogue.create_sample_world()
        assert sum(1 for _opened_page in page_catalogue.iter_visits(world)) > 100
