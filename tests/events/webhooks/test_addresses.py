"""No webhook reaches a private network: neither when it is saved nor when it is sent."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.webhooks import http_client
from tests.events.webhooks.receivers import Receiver

# Hosts that lead, or may lead, into a network that is not public.
PRIVATE_HOSTS = [
    "127.0.0.1", "127.1", "127.0.1.3", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1",
    "017700000001", "127.0.0.1.", "localhost", "localhost.", "LOCALHOST", "0.0.0.0", "0",
    "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.254", "192.168.0.1", "192.168.1.254",
    "169.254.169.254", "2852039166", "0xa9fea9fe", "100.64.0.1", "192.0.0.1", "192.0.2.1",
    "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1",
    "255.255.255.255", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:169.254.169.254]",
    "[::ffff:8.8.8.8]", "[::127.0.0.1]", "[fe80::1]", "[fc00::1]", "[fd12:3456::1]",
    "[64:ff9b::127.0.0.1]", "[64:ff9b:1::10.0.0.1]", "[2002:7f00:1::]", "[2001:0:7f00:1::1]",
    "[ff02::1]", "[2001:db8::1]", "[fec0::1]",
]  # fmt: skip
ODD_URLS = [
    "", "https://", "https:///path", "//example.org/", "ftp://example.org/", "file:///etc/passwd",
    "gopher://example.org/", "http://example.org/", "https://user@example.org/",
    "https://user:password@example.org/", "https://example.org/#part", "https://example.org:0/",
    "https://example.org:99999/", "https://example.org:x/", "https://exa mple.org/",
    "https://example.org/\r\nHost: other", "https://example.org\\@127.0.0.1/", "https://[::1",
    "https://exämple.org/", "https://" + "a" * 500, "javascript:alert(1)", "https://a@b@c/",
]  # fmt: skip


def test_there_are_more_than_forty_private_addresses() -> None:
    assert len(set(PRIVATE_HOSTS)) > 40


@pytest.mark.parametrize("host", PRIVATE_HOSTS)
def test_private_address_is_neither_saved_nor_called(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(*_arguments: Any, **_options: Any) -> Any:
        raise AssertionError("connected")

    monkeypatch.setattr(socket.socket, "connect", connect)
    url = f"https://{host}/hook"
    try:
        http_client.resolve_host(http_client.parse_url(url))
    except http_client.AddressNotAllowed:
        with pytest.raises(http_client.InvalidUrl, match="private network"):
            http_client.validate_url(url)
        assert http_client.post(url, b"{}", {}).error == "not_allowed"
    except http_client.AddressNotFound:  # a form that this machine's resolver does not know
        assert http_client.post(url, b"{}", {}).error == "not_found"
    else:
        raise AssertionError("allowed")


@pytest.mark.parametrize("url", ODD_URLS)
def test_odd_url_is_rejected(url: str) -> None:
    with pytest.raises(http_client.InvalidUrl):
        http_client.validate_url(url)
    assert http_client.post(url, b"{}", {}).error == "url"


@given(st.text(max_size=60))
def test_any_text_is_a_target_or_rejected(text: str) -> None:
    for url in (text, f"https://{text}", f"https://example.org{text}"):
        try:
            target = http_client.parse_url(url)
        except http_client.InvalidUrl:
            continue
        assert target.is_https
        assert target.host
        assert target.path.startswith("/")


def test_one_private_address_of_several_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(0, 0, 0, "", ("8.8.8.8", 443)), (0, 0, 0, "", ("10.0.0.1", 443))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_arguments, **_options: rows)
    with pytest.raises(http_client.AddressNotAllowed, match=r"10\.0\.0\.1"):
        http_client.resolve_host(http_client.parse_url("https://example.org/"))


def test_name_is_resolved_once_for_a_request(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second address of a rebinding name is never asked for."""
    port = int(receiver.url.rsplit(":", 1)[1].split("/")[0])
    calls: list[str] = []
    real = socket.getaddrinfo

    def resolve(host: str, *arguments: Any, **options: Any) -> Any:
        if host != "rebind.example.org":
            return real(host, *arguments, **options)
        calls.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    answer = http_client.post(f"http://rebind.example.org:{port}/hook?x=1", b"{}", {})
    assert (answer.status, calls) == (200, ["rebind.example.org"])
    assert receiver.headers[0]["Host"] == f"rebind.example.org:{port}"


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "151.101.1.1"])
def test_public_addresses_are_public(address: str) -> None:
    assert http_client.is_public(address)
