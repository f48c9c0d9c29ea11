"""Fixtures of the tests of results."""

from tests.api.conftest import address, api  # noqa: F401 - fixtures
