"""Template tags of annotation: links in messages, sides of a conversation, question preview."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from django import template
from django.forms import BaseFormSet
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from projects.models import Category
from ratings.annotation.rate_page import build_preview_context
from ratings.items import content

register = template.Library()

Turn = tuple[str, content.ContentBlock]

# Only addresses with a scheme: "it.so" is not meant as a link. Punctuation that ends a sentence is
# not part of the address.
_URL_PATTERN = re.compile(r"""(https?://[^\s<>"']*[^\s<>"'.,;:!?)\]}、。，；：！？）】」])""")
_LINK_TEMPLATE = '<a href="{}" target="_blank" rel="noopener noreferrer nofollow">{}</a>'


@register.filter
def with_links(text: str) -> SafeString:
    """Return the escaped text with its http(s) addresses as links."""
    parts = _URL_PATTERN.split(text)
    return format_html_join(
        "",
        "{}",
        (
            (format_html(_LINK_TEMPLATE, part, part) if index % 2 else part,)
            for index, part in enumerate(parts)
        ),
    )


@register.filter
def with_sides(turns: Iterable[Turn]) -> Iterator[tuple[str, content.ContentBlock, str]]:
    """Return the turns of a conversation, each with the side of the page on which it is shown."""
    return content.iter_turns_with_sides(turns)


@register.inclusion_tag("ratings/_question_preview.html")
def question_preview(text: str | None, categories: BaseFormSet) -> dict[str, object]:
    """Render the question preview from the page's forms; later changes are fetched by the page.

    ``text`` is None in a form that is not filled in.
    """
    rows = [(form["label"].value() or "", form["hotkey"].value() or "") for form in categories]
    return build_preview_context(
        text or "",
        [
            Category(code=code, label=label, hotkey=hotkey)
            for code, (label, hotkey) in enumerate(rows)
            if label
        ],
    )
