"""Carry out a POST with an Idempotency-Key once: repeated requests get the first response.

The key is stored in the transaction of the request. So either both are committed or none is, and a
repeated request waits for a running one. Only successful requests are stored: others changed
nothing and may be sent again.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import transaction
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.authentication import get_authorization_header
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from core.api.errors import BadRequest, Conflict, KeyReused
from core.api.parsers import RequestTooLarge
from projects.models import IdempotentResponse

HEADER = "HTTP_IDEMPOTENCY_KEY"
MAX_KEY_LENGTH = 255
KEPT_FOR = datetime.timedelta(hours=24)
MAX_RESPONSES = 10_000  # of a user; the newest ones are kept
MAX_CONTENT_BYTES = 1 << 20
KEPT_HEADERS = ("Location", "Retry-After")


def run_once(handler: Callable[..., Any], request: Request, *args: Any, **kwargs: Any) -> Any:
    """Return the response of ``handler``, or the stored one to an earlier request with this key.

    ``handler`` is called with the request and the further arguments. Raises BadRequest for an
    invalid key, KeyReused for a key of another request, and Conflict if the response was too large
    to store.
    """
    key = request.META[HEADER]
    if not (1 <= len(key) <= MAX_KEY_LENGTH and key.isascii() and key.isprintable()):
        raise BadRequest(
            "Invalid Idempotency-Key.",
            fields={"Idempotency-Key": f"1 to {MAX_KEY_LENGTH} printable ASCII characters"},
        )
    caller: Any = request.auth or request.user
    digest = _compute_digest(type(caller).__name__.encode(), str(caller.pk).encode(), key.encode())
    request_digest = _compute_request_digest(request)
    with transaction.atomic():
        claim = IdempotentResponse(
            user_id=request.user.pk, digest=digest, request_digest=request_digest
        )
        # Waits for a running request with this key, until it is committed or rolled back.
        IdempotentResponse.objects.bulk_create([claim], ignore_conflicts=True)
        stored = IdempotentResponse.objects.get(digest=digest)
        if stored.is_complete:
            return _build_stored_response(request, stored, request_digest, key)
        response = handler(request, *args, **kwargs)
        if response.status_code >= 300:
            transaction.set_rollback(True)
            return response
        content = _serialize_response(response)
        stored.is_complete = True
        if len(content) <= MAX_CONTENT_BYTES:
            stored.content = _build_cipher(request, key).encrypt(content)
        stored.save(update_fields=["is_complete", "content"])
        _delete_excess_responses(request.user)
    return response


def delete_old_responses() -> int:
    """Delete responses older than a day; return how many."""
    oldest_kept = timezone.now() - KEPT_FOR
    return IdempotentResponse.objects.filter(created_at__lt=oldest_kept).delete()[0]


def _delete_excess_responses(user: Any) -> None:
    """Delete all but the newest MAX_RESPONSES of a user, so that nobody fills the database."""
    responses = IdempotentResponse.objects.filter(user=user)
    newest = responses.order_by("-created_at").values_list("created_at", flat=True)
    for excess in newest[MAX_RESPONSES : MAX_RESPONSES + 1]:
        responses.filter(created_at__lte=excess).delete()


def _compute_request_digest(request: Request) -> str:
    """Return a digest of the request's address and body, to recognize a repeated request.

    A form's random boundary does not count. Raises RequestTooLarge for a body over the limit.
    """
    try:
        body = request._request.body
    except RequestDataTooBig:
        raise RequestTooLarge(f"{settings.DATA_UPLOAD_MAX_MEMORY_SIZE} bytes") from None
    _type, _separator, boundary = request.META.get("CONTENT_TYPE", "").partition("boundary=")
    if boundary:
        body = body.replace(boundary.strip('"').encode(), b"")
    return _compute_digest(request.get_full_path().encode(), body)


def _compute_digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\n".join(parts)).hexdigest()


def _build_cipher(request: Request, key: str) -> Any:
    from cryptography.fernet import Fernet

    token = get_authorization_header(request).split()[-1:]
    secret = hashlib.sha256(b"\n".join([*token, key.encode()])).digest()
    return Fernet(base64.urlsafe_b64encode(secret))


def _serialize_response(response: Any) -> bytes:
    body = JSONRenderer().render(response.data)
    headers = {name: response[name] for name in KEPT_HEADERS if response.has_header(name)}
    head = json.dumps({"status": response.status_code, "headers": headers})
    return head.encode() + b"\n" + body


def _build_stored_response(
    request: Request, stored: IdempotentResponse, digest: str, key: str
) -> HttpResponse:
    """Return the stored response to an earlier call of the same request.

    Raises KeyReused if the key was used for another request, and Conflict if the response was too
    large to store.
    """
    if stored.request_digest != digest:
        raise KeyReused()
    if stored.content is None:
        raise Conflict("This request was carried out; its response was too large to store.")
    content = _build_cipher(request, key).decrypt(bytes(stored.content))
    head, body = content.split(b"\n", 1)
    attributes = json.loads(head)
    return HttpResponse(
        body,
        status=attributes["status"],
        content_type="application/json",
        headers={**attributes["headers"], "Idempotent-Replayed": "true"},
    )
