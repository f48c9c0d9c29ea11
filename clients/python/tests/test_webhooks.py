"""Tests of the verification of webhooks, against the reference library."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
import standardwebhooks
from concord_client import InvalidSignature, verify_webhook
from concord_client.cli import main

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER_SECRET = "whsec_AAAA9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = '{"type":"alert.opened","timestamp":"2026-03-02T10:00:00Z","data":{"id":17}}'


def sign(body: str = BODY, *, secret: str = SECRET, age: float = 0) -> dict[str, str]:
    """Return the headers of a message by the reference library."""
    sent_at = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=age)
    signature = standardwebhooks.Webhook(secret).sign("17", sent_at, body)
    return {
        "Webhook-Id": "17",
        "Webhook-Timestamp": str(int(sent_at.timestamp())),
        "Webhook-Signature": signature,
    }


def test_signed_message_is_accepted() -> None:
    assert verify_webhook(BODY.encode(), sign(), SECRET)["data"] == {"id": 17}
    old = sign(age=3600)
    assert verify_webhook(BODY.encode(), old, SECRET, tolerance=None)["data"] == {"id": 17}
    # While a secret is rotated, there is a signature of each.
    both = sign() | {"Webhook-Signature": f"v1,AAAA {sign()['Webhook-Signature']}"}
    assert verify_webhook(BODY.encode(), both, SECRET)["type"] == "alert.opened"


@pytest.mark.parametrize(
    ("options", "changes", "message"),
    [
        ({"body": BODY + " "}, {}, "No signature matches"),
        ({"secret": OTHER_SECRET}, {}, "No signature matches"),
        ({}, {"Webhook-Id": "18"}, "No signature matches"),
        ({}, {"Webhook-Signature": "v1,ü"}, "No signature matches"),
        ({}, {"Webhook-Timestamp": "soon"}, "The timestamp is no number"),
        ({"age": 400}, {}, "not of the last 300 seconds"),
        ({"age": -900}, {}, "not of the last 300 seconds"),
    ],
)
def test_other_message_is_rejected(
    options: dict[str, Any], changes: dict[str, str], message: str
) -> None:
    with pytest.raises(InvalidSignature, match=message):
        verify_webhook(BODY.encode(), sign(**options) | changes, SECRET)


def test_missing_header_is_named() -> None:
    with pytest.raises(InvalidSignature, match="webhook-timestamp' is missing"):
        verify_webhook(BODY.encode(), {"webhook-id": "17"}, SECRET)


def test_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "body.json"
    path.write_text(BODY)
    monkeypatch.setenv("CONCORD_WEBHOOK_SECRET", SECRET)
    headers = [word for name, value in sign().items() for word in ("-H", f"{name}: {value}")]
    assert main(["webhook", "verify", str(path), *headers]) == 0
    assert "Valid: alert.opened" in capsys.readouterr().out
    monkeypatch.setenv("CONCORD_WEBHOOK_SECRET", OTHER_SECRET)
    assert main(["webhook", "verify", str(path), *headers]) == 3
    assert "No signature matches" in capsys.readouterr().err
