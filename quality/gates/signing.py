"""Sign verdicts with Ed25519, so that others can prove what a gate decided.

The private key is a file of this host (setting GATE_SIGNING_KEY_FILE), created at first use for
its owner alone. Its public key is stored in the database, so that one address serves the keys of
all hosts, and those of earlier files. A key's ID is its JWK thumbprint (RFC 7638).
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone

from core import canonical_json
from quality.models import SigningKey

Document = dict[str, Any]  # JSON


@dataclass(frozen=True)
class Signer:
    """The private key of this host and its ID."""

    key: Ed25519PrivateKey
    key_id: str

    def sign(self, document: Document) -> Document:
        """Return the document with `key_id` and with the `signature` of all the rest.

        Signed is the canonical JSON (RFC 8785) of the document with `key_id`.
        """
        unsigned = {**document, "key_id": self.key_id}
        signature = self.key.sign(canonical_json.encode(unsigned))
        return {**unsigned, "signature": encode_base64url(signature)}


def get_signer() -> Signer:
    """Return the signer of this host; create its key if there is none.

    Raises ImproperlyConfigured for a file that is no Ed25519 key or that others may read.
    """
    path = Path(settings.GATE_SIGNING_KEY_FILE)
    if not path.exists():
        # FileExistsError: another process was faster.
        with contextlib.suppress(FileExistsError):
            _write_new_key(path, replace=False)
    key = _read_key(path)
    public_key = _encode_public_key(key)
    key_id = _compute_key_id(public_key)
    SigningKey.objects.get_or_create(
        key_id=key_id, defaults={"public_key": public_key, "created_at": timezone.now()}
    )
    return Signer(key, key_id)


def rotate_key() -> str:
    """Replace the private key of this host by a new one and return its ID.

    Verdicts that the old key signed can still be verified.
    """
    get_signer()  # the public key of the old one is stored
    _write_new_key(Path(settings.GATE_SIGNING_KEY_FILE), replace=True)
    return get_signer().key_id


def list_public_keys() -> list[dict[str, str]]:
    """Return all public keys as JSON Web Keys (RFC 7517, 8037), oldest first."""
    return [
        {
            "kty": "OKP",
            "crv": "Ed25519",
            "x": key.public_key,
            "kid": key.key_id,
            "use": "sig",
            "alg": "EdDSA",
        }
        for key in SigningKey.objects.all()
    ]


def encode_base64url(data: bytes) -> str:
    """Return bytes in base64url without padding, as JSON Web Keys have them."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _write_new_key(path: Path, *, replace: bool) -> None:
    """Write a new private key, readable by its owner alone; the file is complete at once."""
    data = Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            os.fsync(file.fileno())
        if replace:
            temporary.replace(path)
        else:
            path.hardlink_to(temporary)
    finally:
        temporary.unlink(missing_ok=True)


def _read_key(path: Path) -> Ed25519PrivateKey:
    if path.stat().st_mode & 0o077:
        raise ImproperlyConfigured(
            f"{path} can be read by others, so anybody could sign verdicts: chmod 600 {path}"
        )
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except ValueError as error:
        raise ImproperlyConfigured(f"{path} is no private key in PEM form: {error}") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise ImproperlyConfigured(f"{path} is no Ed25519 key")
    return key


def _encode_public_key(key: Ed25519PrivateKey) -> str:
    return encode_base64url(key.public_key().public_bytes_raw())


def _compute_key_id(public_key: str) -> str:
    thumbprint = canonical_json.encode({"crv": "Ed25519", "kty": "OKP", "x": public_key})
    return encode_base64url(hashlib.sha256(thumbprint).digest())
