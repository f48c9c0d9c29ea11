"""Punctuation between translated parts of a page, in English and in Chinese."""

from __future__ import annotations

from typing import Any

import pytest
from django import forms
from django.template import engines
from django.utils import translation

JOINED = """{% load i18n %}\
{{ what }}{% translate ": " %}{{ names|join:_(", ") }}{% translate "." %}{% word_space %}{{ what }}"""


class NameForm(forms.Form):
    name = forms.CharField(label="名称", required=False)


@pytest.mark.parametrize(
    ("language", "text"), [("en", "条目: a, b. 条目"), ("zh-hans", "条目：a、b。条目")]
)
def test_joined_parts_have_the_punctuation_of_the_language(language: str, text: str) -> None:
    template: Any = engines["django"].from_string(JOINED)
    with translation.override(language):
        assert template.render({"what": "条目", "names": ["a", "b"]}) == text


@pytest.mark.parametrize(("language", "label"), [("en", "名称:"), ("zh-hans", "名称：")])
def test_labels_of_forms_end_in_the_colon_of_the_language(language: str, label: str) -> None:
    with translation.override(language):
        assert f">{label}</label>" in str(NameForm())
