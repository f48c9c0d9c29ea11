"""Fixtures of a receiver and of a webhook that leads to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from events.models import Webhook
from events.webhooks import services

from .receivers import Receiver, start_receiver


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.WEBHOOKS_TO_PRIVATE_NETWORKS = True
    with start_receiver() as started:
        yield started


@pytest.fixture
def webhook(receiver: Receiver, project: Any, lead: Any) -> Webhook:
    created, receiver.secret = services.create_webhook(
        project=project, url=receiver.url, kinds=[], by=lead
    )
    return created
