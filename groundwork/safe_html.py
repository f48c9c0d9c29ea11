"""What people typed, as HTML that can do nothing: cleaned, and loading only from where the page may
load."""

from __future__ import annotations

from urllib.parse import urlsplit

import nh3
from django.conf import settings

# What a document needs; nothing that navigates, nothing that asks for input.
_TAGS = nh3.ALLOWED_TAGS - {"area", "map", "nav"}
_SCHEMES = {"http", "https", "mailto", "data"}


def clean_html(text: str) -> str:
    """HTML without scripts, styles, forms and frames; images only from where the page may load
    them."""
    return nh3.clean(
        text,
        tags=_TAGS,
        url_schemes=_SCHEMES,
        attribute_filter=_keep_attribute,
        link_rel="noopener noreferrer nofollow",
    )


def can_show(kind: str, address: str) -> bool:
    """Whether the Content-Security-Policy lets the page load this image, sound or film."""
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return False
    if parts.scheme == "data":
        return kind == "image" and parts.path.startswith("image/")
    if not parts.scheme and not parts.netloc:
        return parts.path.startswith("/") and "\\" not in address
    return f"{parts.scheme}://{parts.netloc}" in settings.ITEM_MEDIA_ORIGINS


def _keep_attribute(tag: str, attribute: str, value: str) -> str | None:
    if attribute == "src":
        return value if tag == "img" and can_show("image", value) else None
    if attribute in ("href", "cite") and value.strip().lower().startswith("data:"):
        return None
    return value
