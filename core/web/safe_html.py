"""Sanitize HTML that users wrote, and extract its text.

Nothing in it is executed, and media load only from allowed origins.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
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
MAX_ALL_ATTRIBUTES = 20_000
# A <b> that only the end of its <p> closed is opened again, with its attributes, in each later <p>.
MAX_REPEATED_LENGTH = 2_000_000  # characters of tags that may be opened again, over all tags
MAX_GROWTH = 4  # length of the cleaned HTML, in lengths of its source
_SHORT_LENGTH = 1_000  # characters that HTML may grow by in any case
IMAGE_TYPES = frozenset(f"image/{name}" for name in ("png", "jpeg", "jpg", "gif", "webp", "avif"))
_MARKUP = re.compile(r"<(?:!(?P<comment>--)?|\?|(?P<end>/?)(?P<name>[a-zA-Z][^\t\n\f\r />]*+)?)")
_COMMENT_END = re.compile(r"(?:(?<=<!--)-?|--!?)>")
_ATTRIBUTE = re.compile(
    r"""[\t\n\f\r /]*+=?[^\t\n\f\r />=]*+"""
    r"""(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:"[^"]*+"|'[^']*+'|[^\t\n\f\r >"'][^\t\n\f\r >]*+)?)?"""
)
_FORMATTING_TAGS = frozenset(
    (
        "a",
        "b",
        "big",
        "code",
        "em",
        "font",
        "i",
        "nobr",
        "s",
        "small",
        "strike",
        "strong",
        "tt",
        "u",
    )
)
_MAX_EQUAL_TAGS = 3  # of equal formatting elements, a parser opens the last three again
_ELEMENT_WEIGHT = 20  # characters whose copying takes as long as creating an element
_VOID_TAGS = frozenset(("area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "wbr"))
_EXCERPT_LENGTH = 10_000  # characters of HTML from which a line of a list is taken


def clean_html(text: str) -> str:
    """Return HTML without scripts, styles, forms and frames; images only from allowed origins.

    HTML that `is_cheap_to_parse` rejects, or that becomes several times as long, is returned as
    text.
    """
    if is_cheap_to_parse(text):
        cleaned = clean_generated_html(text)
        if len(cleaned) <= MAX_GROWTH * len(text) + _SHORT_LENGTH:
            return cleaned
    return f"<pre>{html.escape(text)}</pre>"


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

    Each tag becomes a blank, which separates the words of table cells. HTML that would take long to
    parse is returned unchanged.
    """
    if not is_cheap_to_parse(text):
        return text
    return html.unescape(nh3.clean(text.replace("<", " <"), tags=set()))


def extract_excerpt(text: str) -> str:
    """Return the text of the first part of HTML, for an excerpt in a list."""
    return extract_text(text[:_EXCERPT_LENGTH])


def is_cheap_to_parse(text: str) -> bool:
    """Return True if HTML is small enough to parse.

    Limited are its length, depth, tags, attributes, and the formatting elements that a parser
    reopens. The depth is an estimate: an end tag closes the last open element of its name and all
    in it.
    """
    # The end of a CDATA section depends on the element around it, so none is scanned.
    if len(text) > MAX_LENGTH or text.count("<") > MAX_TAGS or "<![CDATA[" in text:
        return False
    open_elements = _OpenElements()
    n_attributes = 0
    for tag in _iter_tags(text):
        n_attributes += tag.n_attributes
        if tag.n_attributes > MAX_ATTRIBUTES or n_attributes > MAX_ALL_ATTRIBUTES:
            return False
        if tag.is_end:
            open_elements.close(tag.name)
        elif tag.name not in _VOID_TAGS:
            open_elements.tags.append(tag)
            open_elements.active_length += tag.weight
        open_elements.repeated_length += open_elements.active_length
        if (
            len(open_elements.tags) > MAX_DEPTH
            or open_elements.repeated_length > MAX_REPEATED_LENGTH
        ):
            return False
    return True


@dataclass(frozen=True, slots=True)
class _Tag:
    """A tag of a text, from its name to its last attribute."""

    name: str
    is_end: bool
    source: str
    n_attributes: int  # at most one more than MAX_ATTRIBUTES

    @property
    def weight(self) -> int:
        """Cost of reopening the element, in characters; 0 if a parser does not reopen it."""
        return len(self.source) + _ELEMENT_WEIGHT if self.name in _FORMATTING_TAGS else 0


@dataclass(slots=True)
class _OpenElements:
    """The open elements, and formatting elements that the end tag of another element closed.

    A parser reopens the latter in what follows. The estimate never counts fewer of them than it
    does.
    """

    tags: list[_Tag] = field(default_factory=list)
    left_tags: dict[str, list[_Tag]] = field(default_factory=dict)
    active_length: int = 0  # of all formatting tags that a parser may open again
    repeated_length: int = 0  # the sum of that over all tags

    def close(self, name: str) -> None:
        """Close the last open element of a name and all in it; do nothing if none is open."""
        if not self.tags:
            return
        if self.tags[-1].name == name:
            self._remove_lightest(self.tags.pop())
        elif any(tag.name == name for tag in self.tags):
            tag = self.tags.pop()
            while tag.name != name:
                self._count_as_reopened(tag)
                tag = self.tags.pop()
            self._count_as_reopened(tag)

    def _count_as_reopened(self, tag: _Tag) -> None:
        """Count a formatting element that another element's end tag closes: a parser reopens it."""
        if not tag.weight:
            return
        left_tags = self.left_tags.setdefault(tag.name, [])
        if sum(left.source == tag.source for left in left_tags) < _MAX_EQUAL_TAGS:
            left_tags.append(tag)
        else:
            self.active_length -= tag.weight

    def _remove_lightest(self, tag: _Tag) -> None:
        """Stop counting one element of the tag's name: the lightest of those that may be open.

        A parser may close any of them, and the estimate must not be lower than the truth.
        """
        left_tags = self.left_tags.get(tag.name)
        if left_tags:
            left_tags.append(tag)
            tag = min(left_tags, key=lambda left: left.weight)
            left_tags.remove(tag)
        self.active_length -= tag.weight


def _iter_tags(text: str) -> Iterator[_Tag]:
    """Yield the start and end tags of HTML; text inside comments and attributes is no tag."""
    position = 0
    while markup := _MARKUP.search(text, position):
        position = markup.end()
        name = markup["name"]
        if name:
            n_attributes, position = _skip_attributes(text, position)
            # A parser makes only ASCII letters small.
            name = name.lower() if name.isascii() else name
            source = text[markup.start("name") : position]
            yield _Tag(name, bool(markup["end"]), source, n_attributes)
        elif markup["comment"]:
            end = _COMMENT_END.search(text, position)
            position = end.end() if end else len(text)
        elif len(markup[0]) > 1:  # "<!doctype>", "<?xml>", "</>"
            end_position = text.find(">", position)
            position = end_position + 1 if end_position >= 0 else len(text)


def _skip_attributes(text: str, position: int) -> tuple[int, int]:
    """Count the attributes that begin at ``position``; return their number and where they end.

    Counting stops at MAX_ATTRIBUTES + 1.
    """
    for number in range(MAX_ATTRIBUTES + 1):
        match = _ATTRIBUTE.match(text, position)
        if match is None or match.end() == position:
            return number, position
        position = match.end()
    return MAX_ATTRIBUTES + 1, position


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
