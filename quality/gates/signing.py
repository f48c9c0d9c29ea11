"""Sign verdicts with Ed25519, so that others can prove what a gate decided.

The private key is a file of this host (setting GATE_SIGNING_KEY_FILE), created at first use for
its owner alone. Its public key is stored in the database, so that one address serves the keys of
all hosts, and those of earlier files. A key's ID is its JWK thumbprint (RFC 7638).
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import math
import os
import secrets
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone

from quality.models import SigningKey

MAX_EXACT_INTEGER = 2**53  # larger integers are not exact as numbers of JavaScript
MAX_PLAIN_DIGITS = 21  # digits before the point up to which ECMAScript writes no exponent
MIN_PLAIN_EXPONENT = -6


def encode_canonical_json(value: Any) -> bytes:
    """Return a JSON value in canonical form (RFC 8785).

    Raises ValueError for numbers that are not finite or not exact, and for keys that are no texts.
    """
    return _encode_json(value).encode("utf-8")


def _encode_json(value: Any) -> str:
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise ValueError("keys of JSON objects are texts")
        members = sorted(value.items(), key=lambda member: member[0].encode("utf-16-be"))
        return (
            "{"
            + ",".join(f"{_encode_json(key)}:{_encode_json(part)}" for key, part in members)
            + "}"
        )
    if isinstance(value, list | tuple):
        return "[" + ",".join(_encode_json(part) for part in value) + "]"
    if isinstance(value, float):
        return _format_number(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > MAX_EXACT_INTEGER:
        raise ValueError(f"{value} is too large to be exact in JSON")
    return json.dumps(value, ensure_ascii=False)


def _format_number(value: float) -> str:
    """Return a number as ECMAScript writes it: the shortest digits that give the same number.

    Raises ValueError for NaN and infinity.
    """
    if not math.isfinite(value):
        raise ValueError(f"{value} is no number of JSON")
    if value == 0:
        return "0"
    _sign, digit_list, power = Decimal(repr(value)).normalize().as_tuple()
    digits, sign = "".join(map(str, digit_list)), "-" if value < 0 else ""
    n_before_point = len(digits) + int(power)
    if MIN_PLAIN_EXPONENT < n_before_point <= 0:
        return f"{sign}0.{'0' * -n_before_point}{digits}"
    if 0 < n_before_point <= MAX_PLAIN_DIGITS:
        integer_part = digits[:n_before_point].ljust(n_before_point, "0")
        return sign + integer_part + (f".{rest}" if (rest := digits[n_before_point:]) else "")
    exponent = n_before_point - 1
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{'+' if exponent > 0 else ''}{exponent}"


Document = dict[str, Any]  # JSON


@dataclass(frozen=True)
class Signer:
    """The private key of this host, and the ID of the key."""

    key: Ed25519PrivateKey
    key_id: str

    def sign(self, document: Document) -> Document:
        """Return the document with `key_id` and `signature`.

        The signature is of the canonical JSON (RFC 8785) of the document with `key_id`.
        """
        unsigned = {**document, "key_id": self.key_id}
        signature = self.key.sign(encode_canonical_json(unsigned))
        return {**unsigned, "signature": encode_base64url(signature)}


def get_or_create_signer() -> Signer:
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
    get_or_create_signer()  # the public key of the old one is stored
    _write_new_key(Path(settings.GATE_SIGNING_KEY_FILE), replace=True)
    return get_or_create_signer().key_id


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
    """Return the bytes in base64url without padding, as JSON Web Keys need them."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _write_new_key(path: Path, *, replace: bool) -> None:
    """Write a new private key, readable by its owner alone; no partial file is ever at ``path``.

    Raises FileExistsError if there is a file already, unless ``replace`` is True.
    """
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
    thumbprint = encode_canonical_json({"crv": "Ed25519", "kty": "OKP", "x": public_key})
    return encode_base64url(hashlib.sha256(thumbprint).digest())
