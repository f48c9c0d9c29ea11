"""Verify webhooks by the algorithm of Standard Webhooks 1.0."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any

from ._errors import ConcordError

TOLERANCE_SECONDS = 300


class InvalidSignature(ConcordError):
    """A webhook was not sent by the site, was changed on the way, or is too old."""


def verify_webhook(
    body: bytes,
    headers: Mapping[str, str],
    secret: str,
    *,
    tolerance: float | None = TOLERANCE_SECONDS,
) -> Any:
    """Return the message in ``body`` if one of its signatures is by ``secret`` (``whsec_...``).

    ``tolerance``: seconds by which the time of the message may differ from now, None for any time.
    Raises InvalidSignature.
    """
    values = {name.lower(): value for name, value in headers.items()}
    try:
        message_id, timestamp = values["webhook-id"], values["webhook-timestamp"]
        signatures = values["webhook-signature"].split()
        sent_at = int(timestamp)
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except KeyError as error:
        raise InvalidSignature(f"The header {error} is missing.") from None
    except (ValueError, binascii.Error):
        raise InvalidSignature("The timestamp is no number, or the secret no base64.") from None
    if tolerance is not None and abs(time.time() - sent_at) > tolerance:
        raise InvalidSignature(f"The message is not of the last {tolerance:g} seconds.")
    signed = f"{message_id}.{timestamp}.".encode() + body
    digest = hmac.new(key, signed, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(digest).decode()
    if not any(hmac.compare_digest(expected.encode(), item.encode()) for item in signatures):
        raise InvalidSignature("No signature matches: another secret, or a changed message.")
    return json.loads(body)
