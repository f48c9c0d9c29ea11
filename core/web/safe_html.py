"""Sanitize HTML that users wrote, and extract its text.

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

# The parser's time grows with the square of the nesting, and of the attributes of an element.
MAX_LENGTH = 200_000  # characters
MAX_DEPTH = 200  # elements inside each other
MAX_TAGS = 10_000
MAX_ATTRIBUTES = 200  # of one element
IMAGE_TYPES = frozenset(f"image/{name}" for name in ("png", "jpeg", "jpg", "gif", "webp", "avif"))
_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*+)")
_ATTRIBUTE = re.compile(
    r"""[\s/]*+=?[^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>"'][^\s>]*+)?)?"""
)
_VOID_TAGS = frozenset(("area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "wbr"))
_EXCERPT_LENGTH = 10_000  # characters of HTML from which a line of a list is taken


def clean_html(text: str) -> str:
    """Return HTML without scripts, styles, forms and frames; images only from allowed origins.

    HTML that would take long to parse (see ``is_bounded``) is returned as text.
    """
    return clean_generated_html(text) if is_bounded(text) else f"<pre>{html.escape(text)}</pre>"


def clean_generated_html(text: str) -> str:
    """Return sanitized HTML that Markdown or a similar program generated from a user's text."""
    return nh3.clean(
        text,
        tags=_TAGS,
        url_schemes=_SCHEMES,
        attribute_filter=_filter_attribute,
        link_rel="noopener noreferrer nofollow",
    )


def extract_text(text: str) -> str:
    """Return the text of HTML without its tags.

    A blank in place of each tag keeps the words of a table separate. HTML that would take long to
    parse is returned as it is.
    """
    if not is_bounded(text):
        return text
    return html.unescape(nh3.clean(text.replace("<", " <"), tags=set()))


def extract_beginning(text: str) -> str:
    """Return the text of the first part of HTML, for an excerpt in a list."""
    return extract_text(text[:_EXCERPT_LENGTH])


def is_bounded(text: str) -> bool:
    """Return True if HTML is small enough to parse: its length, depth, tags and attributes.

    The depth is an estimate: an end tag closes the last open element of its name and all in it.
    """
    if len(text) > MAX_LENGTH or text.count("<") > MAX_TAGS:
        return False
    open_tags: list[str] = []
    for tag in _TAG.finditer(text):
        name = tag[2].lower()
        if tag[1]:
            if name in open_tags:
                while open_tags.pop() != name:
                    pass
            continue
        if name not in _VOID_TAGS:
            open_tags.append(name)
        if len(open_tags) > MAX_DEPTH or not _has_few_attributes(text, tag.end()):
            return False
    return True


def _has_few_attributes(text: str, start: int) -> bool:
    """Return True if the tag whose name ends at ``start`` has at most MAX_ATTRIBUTES attributes."""
    position = start
    for _number in range(MAX_ATTRIBUTES + 1):
        match = _ATTRIBUTE.match(text, position)
        if match is None or match.end() == position:
            return True
        position = match.end()
    return False


def is_media_allowed(kind: str, address: str) -> bool:
    """Return True if the Content-Security-Policy lets the page load this image, audio or video.

    ``kind`` is image, audio or video.
    """
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return False
    if parts.scheme == "data":
        # An SVG is a document, which may contain links and styles.
        media_type = parts.path.lower().partition(",")[0].partition(";")[0].strip()
        return kind == "image" and media_type in IMAGE_TYPES
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
