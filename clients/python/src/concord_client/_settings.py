"""Address and token of a site: arguments, environment, or the file of `concord login`."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from ._errors import ConcordError


@dataclass(frozen=True, slots=True)
class Settings:
    """The address of a site without /api/v1/, and a token."""

    url: str
    token: str = field(repr=False)


def get_credentials_path() -> Path:
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder) / "concord" / "credentials.json"


def find_settings(url: str | None = None, token: str | None = None) -> Settings:
    """Return the settings: arguments first, then CONCORD_URL and CONCORD_TOKEN, then the file.

    An argument of None is looked up. Raises ConcordError if the address or the token is missing, or
    the address is none. The token of the file is sent to the address of the file only.
    """
    url = url or os.environ.get("CONCORD_URL")
    token = token or os.environ.get("CONCORD_TOKEN")
    if not url or not token:
        saved = load_settings()
        if saved is not None and (not url or normalize_url(url) == saved.url):
            url, token = saved.url, token or saved.token
    if not url:
        raise ConcordError("Set CONCORD_URL and CONCORD_TOKEN, or run: concord login URL")
    if not token:
        raise ConcordError(f"No token for {url}. Set CONCORD_TOKEN, or run: concord login {url}")
    return Settings(normalize_url(url), token)


def normalize_url(url: str) -> str:
    """Return the address of the site without /api/v1/ and slashes at the end.

    Raises ConcordError for a text that is no address of a site.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
        raise ConcordError(f"{url!r} is no address such as https://concord.example.org")
    return url.rstrip("/").removesuffix("/api/v1").rstrip("/")


def load_settings() -> Settings | None:
    """Return the settings that `concord login` saved, or None if there is no such file.

    Raises ConcordError for a file that cannot be read.
    """
    path = get_credentials_path()
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
        return Settings(saved["url"], saved["token"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConcordError(f"{path} cannot be read: {error}") from None


def save_settings(settings: Settings) -> Path:
    """Save address and token for the owner of the file alone (mode 0600); return its path."""
    path = get_credentials_path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_suffix(".new")
    temporary.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with os.fdopen(os.open(temporary, flags, 0o600), "w", encoding="utf-8") as file:
        json.dump({"url": settings.url, "token": settings.token}, file)
    temporary.replace(path)
    return path
