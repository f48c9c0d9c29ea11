"""Which alarm of today is which case."""

from __future__ import annotations

from quality.alerts.detection.matching import Stretch, match


def test_an_alarm_is_the_case_whose_days_it_shares() -> None:
    cases = [Stretch((1,), 100, 120), Stretch((1,), 160, 180), Stretch((2,), 100, 120)]
    found = [Stretch((1,), 165, 182), Stretch((1,), 98, 118)]
    assert match(found, cases).case_of == {0: 1, 1: 0}


def test_another_rater_or_another_time_is_another_case() -> None:
    cases = [Stretch((1,), 100, 120)]
    found = [Stretch((2,), 100, 120), Stretch((1,), 135, 150)]
    assert match(found, cases).case_of == {}
    assert match(found, cases).is_new(1)


def test_next_to_it_is_the_same_cause_and_one_case_takes_one_alarm() -> None:
    cases = [Stretch((1,), 100, 120)]
    found = [Stretch((1,), 130, 140), Stretch((1,), 110, 119)]
    assert match(found, cases).case_of == {1: 0}
    assert match(found[:1], cases).case_of == {0: 0}


def test_a_case_of_two_raters_is_that_of_either() -> None:
    assert match([Stretch((2,), 100, 120)], [Stretch((1, 2), 100, 120)]).case_of == {0: 0}
