"""Absolute URLs of this site's pages, for texts that leave it: mails and chat messages."""

from __future__ import annotations

from django.conf import settings


def build_absolute_url(path: str) -> str:
    """Return the URL of a path of this site by SITE_URL, which no request can change."""
    return f"{settings.SITE_URL}{path}"
