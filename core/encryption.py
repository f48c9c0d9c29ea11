"""Encryption of secrets of other systems that the database has to store.

The key is derived from SECRET_KEY, so that a copy of the database reveals nothing. Texts that were
encrypted before SECRET_KEY changed are readable as long as SECRET_KEY_FALLBACKS has the old key.
"""

from __future__ import annotations

import base64

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.utils.crypto import salted_hmac


class UndecryptableError(Exception):
    """The text is not encrypted with a key of the settings."""


def encrypt_text(text: str) -> str:
    """Encrypt a text with a key derived from SECRET_KEY; return it as ASCII text."""
    return _build_cipher().encrypt(text.encode()).decode()


def decrypt_text(encrypted: str) -> str:
    """Return the text that was given to ``encrypt_text``.

    Raises UndecryptableError if the settings no longer have its key, or if it is not an encrypted
    text.
    """
    try:
        return _build_cipher().decrypt(encrypted.encode()).decode()
    except InvalidToken:
        raise UndecryptableError from None


def _build_cipher() -> MultiFernet:
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return MultiFernet([Fernet(_derive_key(key)) for key in keys])


def _derive_key(secret: str) -> bytes:
    digest = salted_hmac("core.encryption", "fernet", secret=secret, algorithm="sha256").digest()
    return base64.urlsafe_b64encode(digest)
