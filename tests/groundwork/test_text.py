"""Which signs keys and labels may not hold."""

from __future__ import annotations

import pytest

from groundwork.text import key_trouble


@pytest.mark.parametrize(
    "key",
    ["an\u200bn", "\u202eann", "ann\u2066", "\ufeffann", "an\u00adn\u2060", "an\nn", "an\x00n"],
)
def test_a_key_shows_all_of_itself(key: str) -> None:
    assert key_trouble(key, longest=50) == "control"


@pytest.mark.parametrize("key", ["Zoë", "می‌خواهم", "👩‍💻", "क्‍ष", "标注者", "e\u0301"])
def test_letters_of_any_script_are_welcome(key: str) -> None:
    assert key_trouble(key, longest=50) == ""
