"""Punctuation of texts that a template joins from translated parts.

Templates translate it like words: `{% translate ": " %}`, and `", "` and `"; "` between the items
of a list.
"""

from __future__ import annotations

from django import template
from django.utils.translation import gettext_noop

from core.text import get_sentence_separator

register = template.Library()

LABEL_SUFFIX = gettext_noop(":")  # after the labels of forms: Django translates it by our catalogue


@register.simple_tag
def word_space() -> str:
    """Return the space after a translated text that ends in punctuation; empty in Chinese."""
    return get_sentence_separator()
