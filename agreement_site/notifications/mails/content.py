"""The content of a mail without its form: both the text and the HTML are rendered from it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """A line of a list; ``note`` is beside it, ``url`` is absolute or empty."""

    text: str
    url: str = ""
    note: str = ""


@dataclass(frozen=True)
class Section:
    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class MailContent:
    """A mail: paragraphs, what a person wrote, lists under headings, and where to go first.

    ``is_first``: the recipient cannot sign in yet.
    """

    subject: str
    paragraphs: tuple[str, ...] = ()
    quote: str = ""
    sections: tuple[Section, ...] = ()
    action: Line | None = None
    is_first: bool = False
