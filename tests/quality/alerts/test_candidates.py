"""Test the matching of detected alerts to stored alerts."""

from __future__ import annotations

from quality.alerts.candidates import AlertPeriod, match_periods


def test_detected_alert_matches_stored_alert_with_common_days() -> None:
    stored = [AlertPeriod((1,), 100, 120), AlertPeriod((1,), 160, 180), AlertPeriod((2,), 100, 120)]
    detected = [AlertPeriod((1,), 165, 182), AlertPeriod((1,), 98, 118)]
    assert match_periods(detected, stored).alert_index_of == {0: 1, 1: 0}


def test_other_rater_or_other_time_is_a_new_alert() -> None:
    stored = [AlertPeriod((1,), 100, 120)]
    detected = [AlertPeriod((2,), 100, 120), AlertPeriod((1,), 135, 150)]
    assert match_periods(detected, stored).alert_index_of == {}
    assert match_periods(detected, stored).is_new(1)


def test_adjacent_alert_matches_and_each_alert_matches_once() -> None:
    stored = [AlertPeriod((1,), 100, 120)]
    detected = [AlertPeriod((1,), 130, 140), AlertPeriod((1,), 110, 119)]
    assert match_periods(detected, stored).alert_index_of == {1: 0}
    assert match_periods(detected[:1], stored).alert_index_of == {0: 0}


def test_alert_of_two_raters_matches_either_rater() -> None:
    assert match_periods(
        [AlertPeriod((2,), 100, 120)], [AlertPeriod((1, 2), 100, 120)]
    ).alert_index_of == {0: 0}
