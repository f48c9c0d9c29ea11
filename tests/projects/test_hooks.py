"""Whoever listens to changes of a project's set-up is asked and told, whoever else listens."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from django.apps import apps

from projects import hooks
from ratings.services import project_listeners


@pytest.fixture(autouse=True)
def _nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_counters", "_zone_listeners", "_scale_listeners"):
        monkeypatch.setattr(hooks, name, [])


class Room:
    """One who listens to everything, and says that it uses each category ``uses`` times."""

    def __init__(self, uses: int) -> None:
        self.uses = uses
        self.zones: list[int] = []
        self.scales: list[int] = []

    def listen(self) -> None:
        hooks.register(
            count_in_use=self.count_in_use,
            zone_changed=self.zone_changed,
            scale_changed=self.scale_changed,
        )

    def count_in_use(self, question_id: int, codes: Iterable[int]) -> dict[int, int]:
        return {code: self.uses for code in codes if code < question_id}

    def zone_changed(self, project_id: int) -> None:
        self.zones.append(project_id)

    def scale_changed(self, question_id: int) -> None:
        self.scales.append(question_id)


def test_two_listeners_both_hear_and_their_uses_add_up() -> None:
    one, other = Room(uses=2), Room(uses=5)
    one.listen()
    other.listen()
    hooks.notify_time_zone_changed(3)
    hooks.notify_scale_changed(4)
    assert one.zones == other.zones == [3]
    assert one.scales == other.scales == [4]
    # an iterator can be read once, and both read it
    assert hooks.count_uses(2, iter([0, 1, 2])) == {0: 7, 1: 7}


def test_a_listener_that_is_registered_twice_hears_once() -> None:
    room = Room(uses=2)
    room.listen()
    room.listen()
    hooks.notify_time_zone_changed(3)
    hooks.notify_scale_changed(4)
    assert room.zones == [3]
    assert room.scales == [4]
    assert hooks.count_uses(1, [0]) == {0: 2}


def test_a_listener_may_want_one_hook_alone() -> None:
    heard: list[int] = []
    hooks.register(scale_changed=heard.append)
    hooks.notify_time_zone_changed(3)
    hooks.notify_scale_changed(4)
    assert heard == [4]
    assert hooks.count_uses(1, [0]) == {}


def test_starting_the_site_again_registers_nothing_twice() -> None:
    for _again in range(2):
        apps.get_app_config("ratings").ready()
    assert hooks._counters == [project_listeners.count_ratings_by_code]
    assert hooks._zone_listeners == [project_listeners.handle_zone_change]
    assert hooks._scale_listeners == [project_listeners.handle_scale_change]
