"""Fixtures of the API tests."""

from tests.api.conftest import address, api, refused, world  # noqa: F401 - fixtures
