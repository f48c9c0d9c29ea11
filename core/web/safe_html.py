"""Clean HTML that users wrote.

Nothing in it is executed, and media load only from allowed origins.
"""

from __future__ import annotations

import html
import re
from urllib.parse import urlsplit

import nh3
from django.conf import settings

# Elements of a document, without navigation and forms.
_TAGS = nh3.ALLOWED_TAGS - {"area", "map", "nav"}
_BLANKS = re.compile(r"[\x00-\x20\x7f]+")
_SCHEMES = {"http", "https", "mailto", "data"}


def clean_html(text: str) -> str:
    """Remove scripts, styles, forms and frames; keep images only from allowed origins."""
    return nh3.clean(
        text,
        tags=_TAGS,
        url_schemes=_SCHEMES,
        attribute_filter=_filter_attribute,
        link_rel="noopener noreferrer nofollow",
    )


def extract_text(text: str) -> str:
    """Return the text of HTML without its tags.

    A blank in place of each tag keeps the words of a table separate.
    """
    return html.unescape(nh3.clean(text.replace("<", " <"), tags=set()))


def is_media_allowed(kind: str, address: str) -> bool:
    """Return True if the Content-Security-Policy lets the page load this image, audio or video.

    ``kind`` is image, audio or video.
    """
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return False
    if parts.scheme == "data":
        return kind == "image" and parts.path.startswith("image/")
    if not parts.scheme and not parts.netloc:
        return parts.path.startswith("/") and "\\" not in address
    return f"{parts.scheme}://{parts.netloc}" in settings.ITEM_MEDIA_ORIGINS


def _filter_attribute(tag: str, attribute: str, value: str) -> str | None:
    if attribute == "src":
        return value if tag == "img" and is_media_allowed("image", value) else None
    # Browsers ignore blanks and control characters in a scheme.
    if attribute in ("href", "cite") and _BLANKS.sub("", value).lower().startswith("data:"):
        return None
    return value
