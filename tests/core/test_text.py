"""Which signs keys and labels may not hold."""

from __future__ import annotations

import pytest

from core.text import classify_key_problem, fold_lookalikes, has_mixed_scripts


@pytest.mark.parametrize(
    "key",
    ["an\u200bn", "\u202eann", "ann\u2066", "\ufeffann", "an\u00adn\u2060", "an\nn", "an\x00n"],
)
def test_a_key_shows_all_of_itself(key: str) -> None:
    assert classify_key_problem(key, max_length=50) == "control"


@pytest.mark.parametrize("key", ["Zoë", "می‌خواهم", "👩‍💻", "क्‍ष", "标注者", "e\u0301"])
def test_letters_of_any_script_are_welcome(key: str) -> None:
    assert classify_key_problem(key, max_length=50) == ""


@pytest.mark.parametrize(
    ("one", "other"),
    [("caf\u00e9", "cafe\u0301"), ("pass", "p\u0430ss"), ("AB", "\u0391\u0412"), ("no", "n\u03bf")],
)
def test_what_is_drawn_alike_is_told(one: str, other: str) -> None:
    assert fold_lookalikes(one) == fold_lookalikes(other)


@pytest.mark.parametrize(
    ("one", "other"), [("Yes", "yes"), ("m2", "m\u00b2"), ("\u0434\u0430", "da"), ("1", "l")]
)
def test_what_can_be_told_apart_is_left(one: str, other: str) -> None:
    assert fold_lookalikes(one) != fold_lookalikes(other)


def test_letters_of_two_alphabets_are_found() -> None:
    assert has_mixed_scripts("le\u0430d")
    assert has_mixed_scripts("\u03b1nn")
    for name in ("lead", "\u0430\u043d\u043d\u0430", "zo\u00eb", "\u6807\u6ce8-2", "\u00b5"):
        assert not has_mixed_scripts(name)
