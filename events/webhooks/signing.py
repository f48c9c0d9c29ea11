"""Secrets of webhooks, and signatures by Standard Webhooks 1.0.

No secret is stored. It is derived from SECRET_KEY and the webhook's nonce, so that a copy of the
database signs nothing. After a new SECRET_KEY the signatures by SECRET_KEY_FALLBACKS are sent too.
"""

from __future__ import annotations

import base64
import datetime
import secrets

from django.conf import settings
from django.utils.crypto import salted_hmac
from standardwebhooks import Webhook as Signer

from events.models import Webhook

# After a rotation, requests have a signature by the previous secret as well for this long.
ROTATION_OVERLAP = datetime.timedelta(hours=24)


def generate_nonce() -> str:
    return secrets.token_hex(16)


def derive_secret(nonce: str, *, key: str | None = None) -> str:
    """Return the secret ("whsec_" and 32 bytes in base64) that belongs to a nonce.

    ``key``: the SECRET_KEY that it is derived from, the current one if None.
    """
    digest = salted_hmac(
        "events.webhooks", nonce, secret=key or settings.SECRET_KEY, algorithm="sha256"
    ).digest()
    return f"whsec_{base64.b64encode(digest).decode()}"


def build_headers(
    webhook: Webhook, message_id: str, body: str, *, now: datetime.datetime
) -> dict[str, str]:
    """Return the headers of a request, with one signature for each secret that is valid now."""
    nonces = [webhook.nonce]
    if webhook.rotated_at is not None and now < webhook.rotated_at + ROTATION_OVERLAP:
        nonces.append(webhook.previous_nonce)
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    signatures = [
        Signer(derive_secret(nonce, key=key)).sign(message_id, now, body)
        for nonce in nonces
        for key in keys
    ]
    return {
        "Content-Type": "application/json",
        "User-Agent": "Concord-Webhooks",
        "webhook-id": message_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
