"""Simulated streams have what their plan says, and `manage.py simulate` writes them."""

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


def clean(plan):
    return replace(plan, drifts=(), cheats=())


def own(stream, rater, since):
    return (stream.rater == rater) & (stream.day >= since)


def test_bias_moves_the_mean_by_its_size_from_its_day_on():
    drifted, steady = (streams.simulate_stream(plan, 5) for plan in (BIASED, clean(BIASED)))
    # Only the drifter's answers since the drift differ: the mean moves against the same items.
    shared = np.intersect1d(key(drifted), key(steady))
    since, before = both(drifted, steady, shared, 40)
    assert since == pytest.approx(-0.4, abs=0.06)
    assert before == 0


def key(stream):
    return stream.item * 1000 + stream.rater


def both(drifted, steady, shared, since):
    """Mean difference of rater 3's answers on the same items, since that day and before."""
    one = drifted.code[np.isin(key(drifted), shared)]
    chosen = np.isin(key(steady), shared)
    moved = one - steady.code[chosen]
    mine, day = steady.rater[chosen] == 3, steady.day[chosen]
    assert not moved[~mine].any()
    return moved[mine & (day >= since)].mean(), abs(moved[mine & (day < since)]).sum()


def test_a_fall_of_kappa_has_its_size():
    plan = replace(NOMINAL, drifts=(streams.SimulatedDrift(3, "kappa", 0.3, 0),))
    stream = streams.simulate_stream(plan, 6)
    found = drift.detect_drift(stream.item, stream.rater, stream.code, stream.date, 4, False)
    level = {
        chart.rater: np.average(chart.compute_means("agreement"), weights=chart.n)
        for chart in found.charts
    }
    others = np.mean([level[rater] for rater in level if rater != 3])
    assert others - level[3] == pytest.approx(0.3, abs=0.05)


def test_the_drifter_is_alarmed_and_nobody_else():
    stream = streams.simulate_stream(BIASED, 7)
    found = drift.detect_drift(stream.item, stream.rater, stream.code, stream.date, 5, True)
    (alarm,) = found.alerts
    assert (alarm.rater, alarm.channel) == (3, "down")
    assert abs(alarm.onset - int(streams.compute_dates(40))) <= 7


def test_a_ramp_grows():
    plan = replace(BIASED, drifts=(streams.SimulatedDrift(3, "bias", 0.6, 20, 60),))
    stream, steady = streams.simulate_stream(plan, 8), streams.simulate_stream(clean(plan), 8)
    means = []
    for one in (stream, steady):
        mine = one.rater == 3
        means.append(
            np.bincount(one.day[mine] // 20, one.code[mine]) / np.bincount(one.day[mine] // 20)
        )
    moved = means[0] - means[1]
    assert moved[0] == pytest.approx(0, abs=0.05)
    assert moved[1] < moved[2] < moved[3]
    assert moved[4] == pytest.approx(0.6, abs=0.12)


def test_a_cheat_always_says_the_same_or_guesses():
    cheats = (streams.SimulatedCheat(1, "constant", 10), streams.SimulatedCheat(2, "guess"))
    stream = streams.simulate_stream(streams.StreamPlan(cheats=cheats), 9)
    assert set(stream.code[own(stream, 1, 10)]) == {0}
    assert len(set(stream.code[(stream.rater == 1) & (stream.day < 10)])) > 1
    guessed = np.bincount(stream.code[stream.rater == 2], minlength=5)
    assert guessed.min() > 0.8 * guessed.mean()


def test_gold_missing_ratings_and_raters_who_come_and_go():
    plan = streams.StreamPlan(gold=0.2, wrong_gold=0.1, missing=0.1, come_and_go=0.5)
    stream = streams.simulate_stream(plan, 9)
    assert (stream.gold >= 0).mean() == pytest.approx(0.2, abs=0.02)
    assert stream.wrong_gold.sum() == pytest.approx(0.1 * (stream.gold >= 0).sum(), rel=0.3)
    per_item = np.bincount(np.bincount(stream.item))
    assert per_item[1:3].sum() > 0
    last = [stream.day[stream.rater == rater].max() for rater in range(20)]
    assert min(last) < 55


def test_alike_items_come_together_to_the_same_raters():
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
        ({"drifts": (streams.SimulatedDrift(1, "bias", 3, 0),)}, "more than can be"),
        (
            {"ordered": False, "drifts": (streams.SimulatedDrift(1, "bias", 1, 0),)},
            "no bias on a nominal",
        ),
        ({"cheats": (streams.SimulatedCheat(1, "sleep"),)}, "one of constant, guess, not 'sleep'"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(plan, message):
    with pytest.raises(ValueError, match=message):
        streams.simulate_stream(streams.StreamPlan(**plan), 1)


# --- the command


def run(capsys, *arguments):
    call_command("simulate", "--raters", "6", "--days", "10", "--a-day", "8", *arguments)
    return capsys.readouterr().out


def test_the_command_writes_a_file_and_what_is_true(capsys, tmp_path):
    output, truth = tmp_path / "stream.csv", tmp_path / "truth.json"
    planted = [
        "--drift",
        "5:bias:-0.3:5:2",
        "--cheat",
        "2:guess",
        "--gold",
        "0.5",
        "--wrong-gold",
        "0.5",
    ]
    printed = run(capsys, *planted, "--truth", str(truth))
    run(capsys, *planted, "--output", str(output))
    assert output.read_text() == printed
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert list(rows[0]) == ["item", "rater", "label", "rated_at", "gold"]
    times = [datetime.datetime.fromisoformat(row["rated_at"]) for row in rows]
    assert times == sorted(times)
    assert {time.weekday() for time in times} == {0, 1, 2, 3, 4}
    assert {row["label"] for row in rows} == {"1", "2", "3", "4", "5"}
    told = json.loads(truth.read_text())
    assert told["drifts"] == [
        {
            "rater": "rater05",
            "kind": "bias",
            "size": -0.3,
            "since": "2024-01-08",
            "over_working_days": 2,
        }
    ]
    assert told["cheats"] == [{"rater": "rater02", "kind": "guess", "since": "2024-01-01"}]
    gold = {row["item"]: row["gold"] for row in rows}
    assert all(gold.get(item, "1") for item in told["wrong_gold"])


def test_a_seed_gives_its_own_stream_and_no_gold_no_column(capsys):
    first, again, other = (run(capsys, "--seed", seed) for seed in ("1", "1", "2"))
    assert first == again
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
def test_what_cannot_be_is_named(capsys, arguments, message):
    with pytest.raises(CommandError, match=message):
        run(capsys, *arguments)
