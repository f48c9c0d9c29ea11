"""What the tests of faults share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.faults.brokers import Broker, private_broker


@pytest.fixture
def broker(settings: Any) -> Iterator[Broker]:
    with private_broker(settings) as running:
        yield running
