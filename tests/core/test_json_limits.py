"""Tests that the parts and the depth of JSON texts are counted outside of strings."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.json_limits import has_more_parts, is_nested_deeper

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
