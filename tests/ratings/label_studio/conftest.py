"""Fixtures of a Label Studio and of a connection with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ratings.models import LabelStudioConnection

from .fake_server import FakeLabelStudio, start_label_studio
from .steps import connect


@pytest.fixture
def fake(settings: Any) -> Iterator[FakeLabelStudio]:
    settings.CONNECTIONS_TO_PRIVATE_NETWORKS = True
    with start_label_studio() as started:
        yield started


@pytest.fixture
def connection(fake: FakeLabelStudio, project: Any, lead: Any) -> LabelStudioConnection:
    """A confirmed connection with two tasks, rated by two people and a model."""
    return connect(fake, project, lead)
