"""Simulated streams follow their plan, and `manage.py simulate` writes them."""

import csv
import datetime
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from metrics.agreement import drift
from metrics.example import streams

BIASED = streams.StreamPlan(days=100, drifts=(streams.SimulatedDrift(3, "bias", -0.4, 40),))
NOMINAL = streams.StreamPlan(days=100, ordered=False, prevalence=(0.4, 0.3, 0.2, 0.1), noise=0.2)


def remove_drifts_and_cheats(plan):
    return replace(plan, drifts=(), cheats=())


def select_answers(stream, rater, since):
    return (stream.rater == rater) & (stream.day >= since)


def test_bias_shifts_mean_from_its_day_on():
    drifted, steady = (
        streams.simulate_stream(plan, 5) for plan in (BIASED, remove_drifts_and_cheats(BIASED))
    )
    # Only the drifter's answers since the drift differ: the mean moves against the same items.
    shared = np.intersect1d(get_item_rater_keys(drifted), get_item_rater_keys(steady))
    since, before = compute_shifts(drifted, steady, shared, 40)
    assert since == pytest.approx(-0.4, abs=0.06)
    assert before == 0


def get_item_rater_keys(stream):
    return stream.item * 1000 + stream.rater


def compute_shifts(drifted, steady, shared, since):
    """Return the shift of rater 3's answers on the same items, since that day and before it.

    The first is the mean difference, the second the sum of absolute differences.
    """
    codes = drifted.code[np.isin(get_item_rater_keys(drifted), shared)]
    is_shared = np.isin(get_item_rater_keys(steady), shared)
    differences = codes - steady.code[is_shared]
    is_drifter, day = steady.rater[is_shared] == 3, steady.day[is_shared]
    assert not differences[~is_drifter].any()
    return differences[is_drifter & (day >= since)].mean(), abs(
        differences[is_drifter & (day < since)]
    ).sum()


def test_fall_of_kappa_has_planned_size():
    plan = replace(NOMINAL, drifts=(streams.SimulatedDrift(3, "kappa", 0.3, 0),))
    stream = streams.simulate_stream(plan, 6)
    detection = drift.detect_drift(stream.item, stream.rater, stream.code, stream.date, 4, False)
    mean_by_rater = {
        chart.rater: np.average(chart.compute_means("agreement"), weights=chart.n)
        for chart in detection.charts
    }
    others = np.mean([mean_by_rater[rater] for rater in mean_by_rater if rater != 3])
    assert others - mean_by_rater[3] == pytest.approx(0.3, abs=0.05)


def test_only_the_drifting_rater_gets_an_alert():
    stream = streams.simulate_stream(BIASED, 7)
    detection = drift.detect_drift(stream.item, stream.rater, stream.code, stream.date, 5, True)
    (alarm,) = detection.alerts
    assert (alarm.rater, alarm.channel) == (3, "down")
    assert abs(alarm.onset - int(streams.convert_working_days(40))) <= 7


def test_gradual_drift_grows():
    plan = replace(BIASED, drifts=(streams.SimulatedDrift(3, "bias", 0.6, 20, 60),))
    stream, steady = (
        streams.simulate_stream(plan, 8),
        streams.simulate_stream(remove_drifts_and_cheats(plan), 8),
    )
    means = []
    for current_stream in (stream, steady):
        is_drifter = current_stream.rater == 3
        means.append(
            np.bincount(current_stream.day[is_drifter] // 20, current_stream.code[is_drifter])
            / np.bincount(current_stream.day[is_drifter] // 20)
        )
    shift = means[0] - means[1]
    assert shift[0] == pytest.approx(0, abs=0.05)
    assert shift[1] < shift[2] < shift[3]
    assert shift[4] == pytest.approx(0.6, abs=0.12)


def test_cheat_gives_constant_or_random_answers():
    cheats = (streams.SimulatedCheat(1, "constant", 10), streams.SimulatedCheat(2, "guess"))
    stream = streams.simulate_stream(streams.StreamPlan(cheats=cheats), 9)
    assert set(stream.code[select_answers(stream, 1, 10)]) == {0}
    assert len(set(stream.code[(stream.rater == 1) & (stream.day < 10)])) > 1
    guess_counts = np.bincount(stream.code[stream.rater == 2], minlength=5)
    assert guess_counts.min() > 0.8 * guess_counts.mean()


def test_gold_missing_ratings_and_raters_who_come_and_go():
    plan = streams.StreamPlan(gold=0.2, wrong_gold=0.1, missing=0.1, come_and_go=0.5)
    stream = streams.simulate_stream(plan, 9)
    assert (stream.gold >= 0).mean() == pytest.approx(0.2, abs=0.02)
    assert stream.wrong_gold.sum() == pytest.approx(0.1 * (stream.gold >= 0).sum(), rel=0.3)
    per_item = np.bincount(np.bincount(stream.item))
    assert per_item[1:3].sum() > 0
    last = [stream.day[stream.rater == rater].max() for rater in range(20)]
    assert min(last) < 55


def test_similar_items_go_to_the_same_raters():
    stream = streams.simulate_stream(streams.StreamPlan(missing=0.0), 1)
    teams = stream.rater.reshape(-1, 8, 3)
    assert (teams == teams[:, :1]).all()


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"per_item": 1}, "ratings an item must be 2 to 20, not 1"),
        ({"prevalence": (1.0,)}, "two or more positive numbers"),
        ({"missing": 1.5}, "missing must be a share from 0 to 1"),
        ({"days": 0}, "must be 1 or more"),
        ({"drifts": (streams.SimulatedDrift(20, "bias", 1, 0),)}, "rater 21 from day 0"),
        ({"drifts": (streams.SimulatedDrift(1, "mood", 1, 0),)}, "one of bias, kappa, not 'mood'"),
        ({"drifts": (streams.SimulatedDrift(1, "bias", 3, 0),)}, "is too large"),
        (
            {"ordered": False, "drifts": (streams.SimulatedDrift(1, "bias", 1, 0),)},
            "no bias on a nominal",
        ),
        ({"cheats": (streams.SimulatedCheat(1, "sleep"),)}, "one of constant, guess, not 'sleep'"),
    ],
)
def test_invalid_plan_is_refused(plan, message):
    with pytest.raises(ValueError, match=message):
        streams.simulate_stream(streams.StreamPlan(**plan), 1)


# --- the command


def run_command(capsys, *arguments):
    call_command("simulate", "--raters", "6", "--days", "10", "--a-day", "8", *arguments)
    return capsys.readouterr().out


def test_command_writes_stream_and_truth(capsys, tmp_path):
    output, truth = tmp_path / "stream.csv", tmp_path / "truth.json"
    options = [
        "--drift",
        "5:bias:-0.3:5:2",
        "--cheat",
        "2:guess",
        "--gold",
        "0.5",
        "--wrong-gold",
        "0.5",
    ]
    printed = run_command(capsys, *options, "--truth", str(truth))
    run_command(capsys, *options, "--output", str(output))
    assert output.read_text() == printed
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert list(rows[0]) == ["item", "rater", "label", "rated_at", "gold"]
    times = [datetime.datetime.fromisoformat(row["rated_at"]) for row in rows]
    assert times == sorted(times)
    assert {time.weekday() for time in times} == {0, 1, 2, 3, 4}
    assert {row["label"] for row in rows} == {"1", "2", "3", "4", "5"}
    truth_data = json.loads(truth.read_text())
    assert truth_data["drifts"] == [
        {
            "rater": "rater05",
            "kind": "bias",
            "size": -0.3,
            "since": "2024-01-08",
            "over_working_days": 2,
        }
    ]
    assert truth_data["cheats"] == [{"rater": "rater02", "kind": "guess", "since": "2024-01-01"}]
    gold = {row["item"]: row["gold"] for row in rows}
    assert all(gold.get(item, "1") for item in truth_data["wrong_gold"])


def test_seed_determines_stream_and_gold_column_is_optional(capsys):
    first, repeated, other = (run_command(capsys, "--seed", seed) for seed in ("1", "1", "2"))
    assert first == repeated
    assert first != other
    assert first.startswith("item,rater,label,rated_at\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--drift", "5:bias"], r"--drift must be RATER:KIND:SIZE:DAY.*not '5:bias'"),
        (["--cheat", "x"], "--cheat must be RATER:KIND"),
        (["--prevalence", "a,b"], "--prevalence must be numbers"),
        (["--drift", "9:bias:0.1:1"], "there are raters 1 to 6"),
    ],
)
def test_command_reports_invalid_arguments(capsys, arguments, message):
    with pytest.raises(CommandError, match=message):
        run_command(capsys, *arguments)
