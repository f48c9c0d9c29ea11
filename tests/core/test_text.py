"""Characters that keys and labels must not contain, and limits of JSON texts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.utils import translation
from django.utils.translation import gettext_lazy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core import text
from core.text import (
    classify_key_problem,
    fold_lookalikes,
    get_initials,
    has_mixed_scripts,
    has_more_parts,
    is_nested_deeper,
)


@pytest.mark.parametrize(
    "key",
    ["an\u200bn", "\u202eann", "ann\u2066", "\ufeffann", "an\u00adn\u2060", "an\nn", "an\x00n"],
)
def test_invisible_characters_in_a_key_are_rejected(key: str) -> None:
    assert classify_key_problem(key, max_length=50) == "control"


@pytest.mark.parametrize("key", ["Zoë", "می‌خواهم", "👩‍💻", "क्‍ष", "标注者", "e\u0301"])
def test_letters_of_any_script_are_accepted(key: str) -> None:
    assert classify_key_problem(key, max_length=50) == ""


@pytest.mark.parametrize(
    ("first", "second"),
    [("caf\u00e9", "cafe\u0301"), ("pass", "p\u0430ss"), ("AB", "\u0391\u0412"), ("no", "n\u03bf")],
)
def test_lookalikes_are_equal(first: str, second: str) -> None:
    assert fold_lookalikes(first) == fold_lookalikes(second)


@pytest.mark.parametrize(
    ("first", "second"), [("Yes", "yes"), ("m2", "m\u00b2"), ("\u0434\u0430", "da"), ("1", "l")]
)
def test_distinguishable_texts_differ(first: str, second: str) -> None:
    assert fold_lookalikes(first) != fold_lookalikes(second)


def test_mixed_alphabets_are_detected() -> None:
    assert has_mixed_scripts("le\u0430d")
    assert has_mixed_scripts("\u03b1nn")
    for name in ("lead", "\u0430\u043d\u043d\u0430", "zo\u00eb", "\u6807\u6ce8-2", "\u00b5"):
        assert not has_mixed_scripts(name)


@pytest.mark.parametrize(
    ("subject", "language", "expected"),
    [
        ("Webhook", "zh-hans", "创建 Webhook"),
        ("Project", "zh-hans", "创建项目"),
        ("Webhook", "en", "Webhook created"),
    ],
)
def test_action_separates_chinese_from_latin_letters(
    subject: str, language: str, expected: str
) -> None:
    description = text.describe_action(gettext_lazy(subject), text.CREATED)
    with translation.override(language):
        assert str(description) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("w0559", "59"),
        ("w0039", "39"),
        ("rater-07", "07"),
        ("w2", "W2"),
        ("7", "7"),
        ("Ada Lovelace", "AL"),
        ("ann", "A"),
        ("", "?"),
    ],
)
def test_initials_distinguish_numbered_raters(name: str, expected: str) -> None:
    assert get_initials(name) == expected


VALUES = st.recursive(
    st.none() | st.integers() | st.text('[]{},"\\a'),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('[{,"\\'), inner),
    max_leaves=20,
)


def count_parts(value: Any) -> int:
    """Return the objects, lists and commas of a value."""
    if not isinstance(value, list | dict):
        return 0
    inner_values = value if isinstance(value, list) else list(value.values())
    return 1 + max(0, len(inner_values) - 1) + sum(map(count_parts, inner_values))


def measure_depth(value: Any) -> int:
    if not isinstance(value, list | dict):
        return 0
    inner_values = value if isinstance(value, list) else list(value.values())
    return 1 + max(map(measure_depth, inner_values), default=0)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(VALUES)
def test_limits_are_exact(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    n_parts, depth = count_parts(value), measure_depth(value)
    assert not has_more_parts(text, n_parts) and has_more_parts(text, n_parts - 1)
    assert not is_nested_deeper(text, depth) and is_nested_deeper(text, depth - 1)


@pytest.mark.parametrize("text", ["", '"', '"[[[', '"\\', "]]]", '"a\\"[[["'])
def test_broken_text_has_no_parts(text: str) -> None:
    assert not has_more_parts(text, 0)
    assert not is_nested_deeper(text, 0)
