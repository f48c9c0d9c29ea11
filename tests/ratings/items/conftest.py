"""Fixtures of the tests of items."""

from tests.api.conftest import address, api  # noqa: F401 - fixtures
