"""Hooks for changes of a project's setup: every registered listener is called."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from django.apps import apps

from projects import hooks
from ratings.services import project_changes


@pytest.fixture(autouse=True)
def _no_listeners(monkeypatch: pytest.MonkeyPatch) -> None:
    for hook in (hooks.COUNT_IN_USE, hooks.ZONE_CHANGED, hooks.SCALE_CHANGED):
        monkeypatch.setattr(hook, "entries", {})


class FakeHookListener:
    """A listener to all hooks that reports ``uses`` uses of each category."""

    def __init__(self, uses: int) -> None:
        self.uses = uses
        self.zone_changes: list[int] = []
        self.scale_changes: list[int] = []

    def register(self) -> None:
        hooks.COUNT_IN_USE.register(self.count_in_use)
        hooks.ZONE_CHANGED.register(self.zone_changed)
        hooks.SCALE_CHANGED.register(self.scale_changed)

    def count_in_use(self, question_id: int, codes: Iterable[int]) -> dict[int, int]:
        return {code: self.uses for code in codes if code < question_id}

    def zone_changed(self, project_id: int) -> None:
        self.zone_changes.append(project_id)

    def scale_changed(self, question_id: int) -> None:
        self.scale_changes.append(question_id)


def test_both_listeners_are_called_and_their_uses_add_up() -> None:
    first, second = FakeHookListener(uses=2), FakeHookListener(uses=5)
    first.register()
    second.register()
    hooks.ZONE_CHANGED.call(3)
    hooks.SCALE_CHANGED.call(4)
    assert first.zone_changes == second.zone_changes == [3]
    assert first.scale_changes == second.scale_changes == [4]
    # an iterator can be consumed only once, but both listeners need it
    assert hooks.count_category_uses(2, iter([0, 1, 2])) == {0: 7, 1: 7}


def test_listener_registered_twice_is_called_once() -> None:
    listener = FakeHookListener(uses=2)
    listener.register()
    listener.register()
    hooks.ZONE_CHANGED.call(3)
    hooks.SCALE_CHANGED.call(4)
    assert listener.zone_changes == [3]
    assert listener.scale_changes == [4]
    assert hooks.count_category_uses(1, [0]) == {0: 2}


def test_listener_may_register_a_single_hook() -> None:
    calls: list[int] = []
    hooks.SCALE_CHANGED.register(calls.append)
    hooks.ZONE_CHANGED.call(3)
    hooks.SCALE_CHANGED.call(4)
    assert calls == [4]
    assert hooks.count_category_uses(1, [0]) == {}


def test_starting_the_site_again_registers_nothing_twice() -> None:
    for _again in range(2):
        apps.get_app_config("ratings").ready()
    assert list(hooks.COUNT_IN_USE) == [project_changes.count_ratings_by_code]
    assert list(hooks.ZONE_CHANGED) == [project_changes.start_backfill_after_zone_change]
    assert list(hooks.SCALE_CHANGED) == [project_changes.notify_after_scale_change]
