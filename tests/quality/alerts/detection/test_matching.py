"""Which alarm of today is which case."""

from __future__ import annotations

from quality.alerts.detection.matching import AlertPeriod, match_periods


def test_an_alarm_is_the_case_whose_days_it_shares() -> None:
    cases = [AlertPeriod((1,), 100, 120), AlertPeriod((1,), 160, 180), AlertPeriod((2,), 100, 120)]
    found = [AlertPeriod((1,), 165, 182), AlertPeriod((1,), 98, 118)]
    assert match_periods(found, cases).alert_index_of == {0: 1, 1: 0}


def test_another_rater_or_another_time_is_another_case() -> None:
    cases = [AlertPeriod((1,), 100, 120)]
    found = [AlertPeriod((2,), 100, 120), AlertPeriod((1,), 135, 150)]
    assert match_periods(found, cases).alert_index_of == {}
    assert match_periods(found, cases).is_new(1)


def test_next_to_it_is_the_same_cause_and_one_case_takes_one_alarm() -> None:
    cases = [AlertPeriod((1,), 100, 120)]
    found = [AlertPeriod((1,), 130, 140), AlertPeriod((1,), 110, 119)]
    assert match_periods(found, cases).alert_index_of == {1: 0}
    assert match_periods(found[:1], cases).alert_index_of == {0: 0}


def test_a_case_of_two_raters_is_that_of_either() -> None:
    assert match_periods(
        [AlertPeriod((2,), 100, 120)], [AlertPeriod((1, 2), 100, 120)]
    ).alert_index_of == {0: 0}
