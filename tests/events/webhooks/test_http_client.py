"""One request: what may go wrong on the other side, and what it may cost."""

from __future__ import annotations

import datetime
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from events.webhooks import http_client
from tests.events.webhooks.receivers import Receiver, answer, start_receiver


def test_redirect_is_not_followed(receiver: Receiver) -> None:
    receiver.respond = lambda handler, _body: answer(handler, 302, Location=receiver.url)
    result = http_client.post(receiver.url, b"{}", {})
    assert (result.status, result.is_success, len(receiver.headers)) == (302, False, 1)


def test_long_answer_is_cut(receiver: Receiver) -> None:
    receiver.respond = lambda handler, _body: answer(handler, 200, b"x" * 1_000_000)
    assert len(http_client.post(receiver.url, b"{}", {}).text) == 64 * 1024


def test_bytes_that_no_database_takes_are_replaced(receiver: Receiver) -> None:
    receiver.respond = lambda handler, _body: answer(handler, 200, b"a\0\xff")
    assert http_client.post(receiver.url, b"{}", {}).text == "a\ufffd\ufffd"


@pytest.mark.parametrize("part", ["status", "headers", "body"])
def test_slow_server_is_left(
    part: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each byte comes soon after the one before, but the request takes too long in all."""
    monkeypatch.setattr(http_client, "TIMEOUT_SECONDS", 0.5)

    def drip(handler: Any, _body: bytes) -> None:
        begin = {
            "status": b"HTTP/1.1 2",
            "headers": b"HTTP/1.1 200 OK\r\n",
            "body": b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n",
        }
        handler.wfile.write(begin[part])
        for _byte in range(300):
            handler.wfile.write(b"0")
            time.sleep(0.05)

    receiver.respond = drip
    assert http_client.post(receiver.url, b"{}", {}).error == "timeout"


def test_nobody_listens(settings: Any) -> None:
    settings.WEBHOOKS_TO_PRIVATE_NETWORKS = True
    assert http_client.post("http://127.0.0.1:1/", b"{}", {}).error == "connection"


def test_garbage_is_no_answer(receiver: Receiver) -> None:
    receiver.respond = lambda handler, _body: handler.wfile.write(b"hello\r\n\r\n")
    assert http_client.post(receiver.url, b"{}", {}).error == "connection"


@pytest.fixture
def tls_receiver(tmp_path: Path, settings: Any) -> Iterator[Receiver]:
    """Run a receiver with a certificate of its own for hooks.example.org."""
    settings.WEBHOOKS_TO_PRIVATE_NETWORKS = True
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hooks.example.org")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("hooks.example.org")]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (tmp_path / "certificate.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (tmp_path / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "certificate.pem", tmp_path / "key.pem")
    with start_receiver(wrap_socket=lambda plain: context.wrap_socket(plain, True)) as started:
        yield started


def test_certificate_must_be_trusted_and_of_the_name(
    tls_receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = tls_receiver.url.rsplit(":", 1)[1].split("/")[0]
    monkeypatch.setattr(http_client, "resolve_host", lambda _target: "127.0.0.1")

    def post(host: str) -> http_client.Answer:
        return http_client.post(f"https://{host}:{port}/", b"{}", {})

    assert post("hooks.example.org").error == "certificate", "nobody vouches for it"
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
    assert post("hooks.example.org").status == 200
    assert post("other.example.org").error == "certificate"
    assert len(tls_receiver.headers) == 1
