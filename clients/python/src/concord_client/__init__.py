"""Client of Concord's REST API: `Client`, and `AsyncClient` with the same methods."""

from . import models
from ._async_client import AsyncClient, AsyncPages, AsyncProjectClient
from ._client import Client, Pages, ProjectClient
from ._core import AgreementFilters
from ._errors import ApiError, ConcordError, ConnectionFailed, RowError, StillComputing
from ._settings import Settings, find_settings
from ._webhooks import InvalidSignature, verify_webhook

__all__ = [
    "AgreementFilters",
    "ApiError",
    "AsyncClient",
    "AsyncPages",
    "AsyncProjectClient",
    "Client",
    "ConcordError",
    "ConnectionFailed",
    "InvalidSignature",
    "Pages",
    "ProjectClient",
    "RowError",
    "Settings",
    "StillComputing",
    "find_settings",
    "models",
    "verify_webhook",
]
