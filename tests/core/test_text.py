"""Characters that keys and labels must not contain."""

from __future__ import annotations

import pytest
from django.utils import translation
from django.utils.translation import gettext_lazy

from core import text
from core.text import classify_key_problem, fold_lookalikes, get_initials, has_mixed_scripts


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
