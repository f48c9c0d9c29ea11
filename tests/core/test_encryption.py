"""Encryption of secrets with a key derived from SECRET_KEY."""

from __future__ import annotations

from typing import Any

import pytest

from core.encryption import UndecryptableError, decrypt_text, encrypt_text


def test_a_text_survives_a_change_of_the_key_with_the_old_one_as_fallback(settings: Any) -> None:
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "first key", []
    encrypted = encrypt_text("päss")
    assert encrypted.isascii()
    assert encrypted != encrypt_text("päss")
    assert decrypt_text(encrypted) == "päss"
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "second key", ["first key"]
    assert decrypt_text(encrypted) == "päss"
    settings.SECRET_KEY_FALLBACKS = []
    for unreadable in (encrypted, "", "not encrypted"):
        with pytest.raises(UndecryptableError):
            decrypt_text(unreadable)
