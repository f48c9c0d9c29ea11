"""Consensus labels: speed compared with crowd-kit's DawidSkene, and errors against gold answers.

    python benchmarks/bench_consensus.py [--gold FOLDER] [--repeat 3]

Speed: both run plain maximum likelihood on the same ratings for the same number of rounds; the
last column is the largest difference of a posterior probability. Then Concord's default, with
pseudo-counts, until nothing changes by 1e-6.

Errors: FOLDER has checkouts of public repositories with gold answers; missing ones are skipped:
orchidproject/active-crowd-toolkit, ipeirotis/Get-Another-Label and welinder/cubam.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from metrics.agreement import consensus

try:  # imported before anything is measured
    import pandas
    from crowdkit.aggregation import DawidSkene
except ImportError as error:
    MISSING: str | None = error.name
else:
    MISSING = None

ROUNDS = 8
CERTAIN = 0.95
GOLD_SIZES = (40, 100)  # gold items drawn at random, whose answers calibrate the rest
DRAWS = 40
SIZES = (  # items, raters, ratings an item, categories
    (22_500, 300, 4, 4),
    (200_000, 1_000, 5, 5),
)
NEVER_CONVERGE = -1e300  # crowd-kit stops when its bound rises by less, so never
Longform = tuple[np.ndarray, np.ndarray, np.ndarray]


def simulate_ratings(n_items: int, n_raters: int, ratings_per_item: int, k: int) -> Longform:
    """Return item, rater, code (M,); raters differ within an item and are right 4 to 9 times in 10."""
    rng = np.random.default_rng(1)
    steps = np.cumsum(
        rng.integers(1, n_raters // ratings_per_item, (n_items, ratings_per_item)), axis=1
    )
    rater = ((rng.integers(0, n_raters, n_items)[:, None] + steps) % n_raters).ravel()
    item = np.repeat(np.arange(n_items), ratings_per_item)
    truth = rng.integers(0, k, n_items)
    is_right = rng.random(item.size) < rng.uniform(0.4, 0.9, n_raters)[rater]
    return item, rater, np.where(is_right, truth[item], rng.integers(0, k, item.size))


def measure_best(run: Callable[[], Any], repeat: int) -> tuple[float, Any]:
    """Return the seconds of the fastest run, and its result; a run over 5 s is not repeated."""
    fastest = np.inf
    for _ in range(repeat):
        started = time.perf_counter()
        result = run()
        fastest = min(fastest, time.perf_counter() - started)
        if fastest > 5:
            break
    return fastest, result


def run_crowdkit(data: Longform, k: int) -> np.ndarray:
    """Return crowd-kit's posterior (N, k) after ROUNDS; building its table is included."""
    frame = pandas.DataFrame(dict(zip(("task", "worker", "label"), data, strict=True)))
    posterior = DawidSkene(n_iter=ROUNDS, tol=NEVER_CONVERGE).fit_predict_proba(frame)
    return posterior.reindex(columns=range(k), fill_value=0.0).sort_index().to_numpy()


def bench_speed(repeat: int) -> None:
    print(f"\n## Maximum likelihood, {ROUNDS} rounds\n")
    print("| ratings | raters | k | who | seconds | ratio to Concord | differs by at most |")
    print("|---|---|---|---|---|---|---|")
    for size in SIZES:
        data, k = simulate_ratings(*size), size[3]
        row_start = f"| {data[0].size:,} | {size[1]:,} | {k} |"
        concord_seconds, fit = measure_best(
            partial(consensus.fit_dawid_skene_ml, *data, k, rounds=ROUNDS, tolerance=0), repeat
        )
        print(f"{row_start} **Concord** | {concord_seconds:.3f} | 1 | |", flush=True)
        if MISSING:
            print(f"{row_start} crowd-kit | not installed ({MISSING}) | | |")
            continue
        seconds, crowdkit_posterior = measure_best(partial(run_crowdkit, data, k), repeat)
        difference = float(np.abs(crowdkit_posterior - fit.posterior).max())
        print(
            f"{row_start} crowd-kit | {seconds:.3f} | {seconds / concord_seconds:.3g} | {difference:.1e} |"
        )


def bench_default(repeat: int) -> None:
    print("\n## Concord's default, until nothing moves by 1e-6\n")
    print("| ratings | raters | k | seconds | rounds | peak memory, MB |")
    print("|---|---|---|---|---|---|")
    for size in SIZES:
        data, k = simulate_ratings(*size), size[3]
        seconds, fit = measure_best(partial(consensus.fit_dawid_skene, *data, k), repeat)
        tracemalloc.start()
        consensus.fit_dawid_skene(*data, k, rounds=3)
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        memory = f"{peak_bytes / 1e6:.0f}"
        print(
            f"| {data[0].size:,} | {size[1]:,} | {k} | {seconds:.2f} | {fit.rounds} | {memory} |",
            flush=True,
        )


# --- errors against gold


class GoldSet(NamedTuple):
    """A data set: name, rows of (item, rater, label), and gold labels by item."""

    name: str
    rows: list[tuple[str, str, str]]
    gold: dict[str, str]


def load_toolkit_sets(folder: Path) -> Iterator[GoldSet]:
    """Yield the sets of active-crowd-toolkit: files of worker, task, label, gold[, seconds]."""
    data = folder / "active-crowd-toolkit" / "Data"
    for name in ("CF", "CF_amt", "MS", "SP", "SP_amt", "ZenCrowd_all"):
        path = data / f"{name}.csv"
        if not path.exists():
            continue
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = [line for line in csv.reader(file) if len(line) >= 4]
        rows = [(item, rater, label) for rater, item, label, *_ in lines]
        yield GoldSet(name, rows, {item: gold for _, item, _, gold, *_ in lines})


def load_adult_set(folder: Path) -> Iterator[GoldSet]:
    data = folder / "Get-Another-Label" / "data" / "AdultContent2"
    if data.exists():
        lines = (data / "labels.txt").read_text(encoding="utf-8").splitlines()
        rows = [(item, rater, label) for rater, item, label in map(str.split, lines)]
        gold = dict(map(str.split, (data / "gold.txt").read_text(encoding="utf-8").splitlines()))
        yield GoldSet("AdultContent2", rows, gold)


def load_ducks_set(folder: Path) -> Iterator[GoldSet]:
    """Yield the set "Is it a duck?"; two of the five species are ducks."""
    data = folder / "cubam" / "demo" / "ducks"
    if data.exists():
        lines = (data / "labels.txt").read_text(encoding="utf-8").splitlines()[1:]
        rows = [(item, rater, label) for item, rater, label in map(str.split, lines)]
        text = (data / "classes.yaml").read_text(encoding="utf-8")
        labels, species = text.split("species:")
        kinds = {name.strip(): kind for name, kind in re.findall(r"([A-Z][\w -]+): (\d)", species)}
        duck_kinds = {kinds["American Black Duck"], kinds["Mallard"]}
        gold = {
            item: str(int(kind in duck_kinds)) for item, kind in re.findall(r"(\d+): (\d)", labels)
        }
        yield GoldSet("ducks", rows, gold)


def encode_names(values: list[str]) -> tuple[list[str], np.ndarray]:
    names, codes = np.unique(np.array(values), return_inverse=True)
    return names.tolist(), codes


class EncodedSet(NamedTuple):
    """Ratings (M,) as integers, names of items, raters and labels, and gold items and codes (G,)."""

    item: np.ndarray
    rater: np.ndarray
    code: np.ndarray
    names: tuple[list[str], list[str], list[str]]
    gold: tuple[np.ndarray, np.ndarray]


def encode_set(gold_set: GoldSet) -> EncodedSet:
    first_labels: dict[tuple[str, str], str] = {}
    for name, rater_name, label in gold_set.rows:
        first_labels.setdefault((name, rater_name), label)
    items, item = encode_names([key[0] for key in first_labels])
    raters, rater = encode_names([key[1] for key in first_labels])
    labels, code = encode_names(list(first_labels.values()))
    gold_rows = [
        (index, labels.index(gold_set.gold[name]))
        for index, name in enumerate(items)
        if gold_set.gold.get(name) in labels
    ]
    rows, truth = (np.array(column) for column in zip(*gold_rows, strict=True))
    return EncodedSet(item, rater, code, (items, raters, labels), (rows, truth))


def format_error_row(gold_set: GoldSet) -> str:
    """Return one row of the table: shares of the items with gold that get another label."""
    item, rater, code, (items, raters, labels), (rows, truth) = encode_set(gold_set)
    k = len(labels)
    counts = np.zeros((len(items), k))
    np.add.at(counts, (item, code), 1)
    fit = consensus.fit_dawid_skene(item, rater, code, k)
    ml_fit = consensus.fit_dawid_skene_ml(item, rater, code, k)
    tau = consensus.calibrate(item, rater, code, k).tau
    is_leading = counts == counts.max(axis=1, keepdims=True)
    tie_shares = is_leading / is_leading.sum(axis=1, keepdims=True)  # ties are split evenly
    weighted = consensus.weighted_majority_vote(item, rater, code, k).code
    error_rates = [
        1 - tie_shares[rows, truth].mean(),
        (weighted[rows] != truth).mean(),
        (ml_fit.posterior.argmax(axis=1)[rows] != truth).mean(),
        (fit.posterior.argmax(axis=1)[rows] != truth).mean(),
    ]
    expected = [
        (1 - posterior.max(axis=1)[rows]).mean() for posterior in (ml_fit.posterior, fit.posterior)
    ]
    expected.append((1 - consensus.raise_to_power(fit.posterior, tau).max(axis=1)[rows]).mean())
    cells = [gold_set.name, f"{item.size:,}", f"{len(raters):,}", str(k), f"{rows.size:,}"]
    cells += [f"{100 * rate:.1f}" for rate in (*error_rates, *expected)] + [f"{tau:g}"]
    return f"| {' | '.join(cells)} |"


def format_calibration_row(gold_set: GoldSet) -> str:
    """Return one row: certain labels and expected errors of items outside the drawn gold items."""
    item, rater, code, (_items, _raters, labels), (rows, truth) = encode_set(gold_set)
    k = len(labels)
    posterior = consensus.fit_dawid_skene(item, rater, code, k).posterior[rows]
    is_wrong = posterior.argmax(axis=1) != truth
    tau = consensus.calibrate(item, rater, code, k).tau
    without_gold = consensus.raise_to_power(posterior, tau).max(axis=1)
    is_certain = without_gold >= CERTAIN
    cells = [gold_set.name, f"{rows.size:,}", f"{100 * is_wrong.mean():.1f}"]
    cells += [f"{100 * (1 - without_gold).mean():.1f}"]
    cells += [f"{100 * is_certain.mean():.0f}%", f"{100 * (~is_wrong[is_certain]).mean():.1f}%"]
    for n_gold in GOLD_SIZES:
        rng = np.random.default_rng(1)
        expected, n_others, n_certain, n_right, n_false = [], 0, 0, 0, 0
        for _ in range(DRAWS):
            order = rng.permutation(rows.size)
            sampled, remaining = order[:n_gold], order[n_gold:]
            calibration = consensus.calibrate_on_gold(
                item, rater, code, k, gold=(rows[sampled], truth[sampled])
            )
            if calibration is None:  # some of the gold items have a single rating
                continue
            confidence = calibration.apply(posterior[remaining]).max(axis=1)
            expected.append((1 - confidence).mean())
            n_others += remaining.size
            is_right = ~is_wrong[remaining][confidence >= CERTAIN]
            n_certain, n_right = n_certain + is_right.size, n_right + int(is_right.sum())
            n_false += is_right.sum() < CERTAIN * is_right.size
        cells += [f"{100 * np.mean(expected):.1f}", f"{100 * n_certain / max(n_others, 1):.0f}%"]
        cells += [">= 95%", f"{100 * n_right / n_certain:.1f}%" if n_certain else "none certain"]
        cells += ["<= 10%", f"{100 * n_false / DRAWS:.1f}%"]
    return f"| {' | '.join(cells)} |"


def bench_calibration(folder: Path | None) -> None:
    if folder is None:
        return
    print(f"\n## Labels that are certain to {CERTAIN}, calibrated on gold answers\n")
    columns = ["set", "items", "wrong, %", "expected", "certain", "right of these"]
    for n_gold in GOLD_SIZES:
        columns += [f"{n_gold} gold: expected", "certain", "goal", "right of these"]
        columns += ["goal", "draws with fewer right"]
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for load_sets in (load_toolkit_sets, load_adult_set, load_ducks_set):
        for gold_set in load_sets(folder):
            print(format_calibration_row(gold_set), flush=True)


def simulate_good_study(misleading: float, rng: np.random.Generator) -> tuple[Longform, np.ndarray]:
    """Return ratings and truth of 120 items: four raters, right in 85%, and misleading items."""
    truth = rng.integers(0, 5, 120)
    perceived = np.where(rng.random(120) < misleading, (truth + 1) % 5, truth)
    accuracy = np.clip(rng.normal(0.85, 0.05, 4), 0.5, 0.98)
    errors = (rng.random((120, 4)) > accuracy) * rng.integers(1, 5, (120, 4))
    item, rater = (index.ravel() for index in np.indices(errors.shape))
    return (item, rater, ((perceived[:, None] + errors) % 5).ravel()), truth


def bench_good_data(studies: int = 80) -> None:
    """Print how certain the labels of good data are when 40 of 120 items have gold answers."""
    print("\n## Labels of good data, calibrated on 40 gold answers\n")
    columns = ["misleading items", "wrong", "expected"]
    for level in (0.9, CERTAIN):
        columns += [f"from {level}", "right", "goal", "no label"]
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for misleading in (0.0, 0.02, 0.04):
        rng = np.random.default_rng(5)
        confidences, outcomes = [], []
        for _study in range(studies):
            ratings, truth = simulate_good_study(misleading, rng)
            gold = np.arange(40), truth[:40]
            calibration = consensus.calibrate_on_gold(*ratings, 5, gold=gold)
            assert calibration is not None
            posterior = consensus.fit_dawid_skene(*ratings, 5, fixed=gold).posterior[40:]
            calibrated = calibration.apply(posterior)
            confidences.append(calibrated.max(axis=1))
            outcomes.append(calibrated.argmax(axis=1) == truth[40:])
        confidence, is_right = np.array(confidences), np.array(outcomes)
        cells = [f"{misleading:.0%}", f"{1 - is_right.mean():.1%}", f"{1 - confidence.mean():.1%}"]
        for level in (0.9, CERTAIN):
            certain = confidence >= level
            cells += [f"{certain.mean():.0%}", f"{is_right[certain].mean():.1%}"]
            cells += [f">= {level:.0%}", f"{(certain.mean(axis=1) < 0.1).mean():.0%}"]
        print(f"| {' | '.join(cells)} |")


def bench_gold(folder: Path | None) -> None:
    if folder is None:
        return
    print("\n## Wrong labels in % of the items with gold, and how many the models expected\n")
    print(
        "| set | ratings | raters | k | items | majority | weighted | maximum likelihood "
        "| Dawid-Skene | expected: ML | Dawid-Skene | T^tau | tau |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    for load_sets in (load_toolkit_sets, load_adult_set, load_ducks_set):
        for gold_set in load_sets(folder):
            print(format_error_row(gold_set), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--gold", type=Path, help="folder with checkouts of sets with gold")
    options = parser.parse_args()
    bench_speed(options.repeat)
    bench_default(options.repeat)
    bench_good_data()
    bench_gold(options.gold)
    bench_calibration(options.gold)


if __name__ == "__main__":
    main()
