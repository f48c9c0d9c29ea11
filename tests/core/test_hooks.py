"""The registry of hooks: what is declared, registered and documented."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from core.hooks import Hook

ARCHITECTURE = Path(__file__).parents[2] / "docs" / "architecture.md"


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Hook[object]:
    monkeypatch.setattr(Hook, "BY_NAME", {})
    return Hook("test")


def test_entries_keep_their_order_and_are_registered_once(hook: Hook[object]) -> None:
    for entry in ("b", "a", "b"):
        hook.register(entry)
    assert list(hook) == ["b", "a"]
    hook.register([1], "list")
    hook.register([2], "list")
    assert hook["list"] == [1]
    assert "list" in hook and "other" not in hook


def test_functions_are_called_in_order_and_errors_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Hook, "BY_NAME", {})
    hook: Hook[Callable[[int], float]] = Hook("test")
    hook.register(lambda value: value + 1)
    hook.register(lambda value: value * 2)
    assert hook.call(5) == [6, 10]
    hook.register(lambda value: value / 0)
    with pytest.raises(ZeroDivisionError):
        hook.call(5)


def test_every_hook_is_documented_and_has_an_entry() -> None:
    text = ARCHITECTURE.read_text()
    declared = Hook.BY_NAME
    assert len(declared) > 15
    assert [name for name in declared if f"`{name}`" not in text] == []
    assert {name for name, hook in declared.items() if not list(hook)} == set()
