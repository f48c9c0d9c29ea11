"""Addresses that the server may call: public ones, unless a setting allows private networks.

A name is resolved once for each request. Every address that it resolves to must be allowed, and
the request connects to one of these, whatever the name resolves to afterwards.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext as _

MAX_URL_LENGTH = 500
URL_CHARACTERS = re.compile(r"[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+")
# Global unicast addresses (RFC 4291). Outside are the mapped, compatible and translated forms of
# IPv4 addresses; inside are two further ones, 6to4 and Teredo.
GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")


class InvalidUrl(ValueError):
    """The URL is not acceptable; the message says why."""


class AddressNotFound(Exception):
    """The host's name has no address."""


class AddressNotAllowed(Exception):
    """The host is, or may be, in a private network."""


@dataclass(frozen=True)
class Target:
    """Parts of a URL: ``path`` includes the query, ``host_header`` a port that is not usual."""

    is_https: bool
    host: str
    port: int
    path: str
    host_header: str


def parse_url(url: str, *, allows_private: bool | None = None) -> Target:
    """Return the parts of a URL that the server may be asked to call. Raises InvalidUrl.

    ``allows_private``: whether private networks and http:// are allowed; None for what the setting
    of webhooks says.
    """
    if len(url) > MAX_URL_LENGTH or not URL_CHARACTERS.fullmatch(url):
        raise InvalidUrl(
            _("Use at most %(n)s characters, without spaces or accents.") % {"n": MAX_URL_LENGTH}
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise InvalidUrl(_("Enter a valid address.")) from None
    schemes = ("https", "http") if _resolve_permission(allows_private) else ("https",)
    host = (parts.hostname or "").rstrip(".")
    if parts.scheme not in schemes or not host or port == 0:
        raise InvalidUrl(_("Start the address with https:// and a host."))
    if "@" in parts.netloc or parts.fragment:
        raise InvalidUrl(_("Remove the username, password or fragment (#) from the address."))
    is_https = parts.scheme == "https"
    query = f"?{parts.query}" if parts.query else ""
    return Target(
        is_https=is_https,
        host=host,
        port=port or (443 if is_https else 80),
        path=f"{parts.path or '/'}{query}",
        host_header=parts.netloc,
    )


def resolve_host(target: Target, *, allows_private: bool | None = None) -> str:
    """Return an allowed IP address of the host. Raises AddressNotFound or AddressNotAllowed."""
    try:
        rows = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise AddressNotFound(target.host) from None
    addresses = [str(row[4][0]) for row in rows]
    if not _resolve_permission(allows_private):
        for address in addresses:
            if not is_public(address):
                raise AddressNotAllowed(address)
    return addresses[0]


def _resolve_permission(allows_private: bool | None) -> bool:
    return settings.WEBHOOKS_TO_PRIVATE_NETWORKS if allows_private is None else allows_private


def is_public(address: str) -> bool:
    """Return whether an IP address is a public unicast address that embeds no IPv4 address."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address) and (
        ip not in GLOBAL_UNICAST or ip.sixtofour or ip.teredo
    ):
        return False
    return ip.is_global and not ip.is_multicast


def validate_url(url: str) -> None:
    """Raise InvalidUrl for a URL that may not be called.

    A name that has no address at the moment is accepted: each request resolves it again.
    """
    target = parse_url(url)
    try:
        resolve_host(target)
    except AddressNotAllowed as error:
        raise InvalidUrl(
            _("%(host)s is in a private network (%(address)s), which webhooks can't call.")
            % {"host": target.host, "address": error}
        ) from None
    except AddressNotFound:
        return
