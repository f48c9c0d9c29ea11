"""What people typed, as HTML that can do nothing: cleaned, and loading only from where the page may
load."""

from __future__ import annotations

import html
import re
from urllib.parse import urlsplit

import nh3
from django.conf import settings

# What a document needs; nothing that navigates, nothing that asks for input.
_TAGS = nh3.ALLOWED_TAGS - {"area", "map", "nav"}
_BLANKS = re.compile(r"[\x00-\x20\x7f]+")
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


def words(text: str) -> str:
    """What HTML says without its tags; a blank where one stood keeps the words of a table apart."""
    return html.unescape(nh3.clean(text.replace("<", " <"), tags=set()))


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
    # Browsers take blanks and control signs out of a scheme.
    if attribute in ("href", "cite") and _BLANKS.sub("", value).lower().startswith("data:"):
        return None
    return value
