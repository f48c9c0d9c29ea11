"""Fixtures of the fault tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.faults.brokers import Broker, run_private_broker


@pytest.fixture
def broker(settings: Any) -> Iterator[Broker]:
    with run_private_broker(settings) as running:
        yield running
