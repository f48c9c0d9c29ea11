"""Labels from several raters: speed beside crowd-kit's DawidSkene, and errors against gold.

    python benchmarks/bench_consensus.py [--gold FOLDER] [--repeat 3]

Speed: both make plain maximum likelihood of the same ratings and the same number of rounds; the
last column is the largest difference of a posterior probability. Then Concord's default, with
pseudo-counts, until nothing moves by 1e-6.

Errors: FOLDER holds checkouts of public repositories with gold answers, those that it lacks are
passed over: orchidproject/active-crowd-toolkit, ipeirotis/Get-Another-Label and welinder/cubam.
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

try:  # before the clock runs
    import pandas
    from crowdkit.aggregation import DawidSkene
except ImportError as error:
    MISSING: str | None = error.name
else:
    MISSING = None

ROUNDS = 8
SIZES = (  # items, raters, ratings an item, categories
    (22_500, 300, 4, 4),
    (200_000, 1_000, 5, 5),
)
NO_MOVE = -1e300  # crowd-kit stops when its bound rises by less: never
Longform = tuple[np.ndarray, np.ndarray, np.ndarray]


def made(n_items: int, n_raters: int, each: int, k: int) -> Longform:
    """item, rater, code (M,): raters differ within an item, and are right 4 to 9 times in 10."""
    rng = np.random.default_rng(1)
    steps = np.cumsum(rng.integers(1, n_raters // each, (n_items, each)), axis=1)
    rater = ((rng.integers(0, n_raters, n_items)[:, None] + steps) % n_raters).ravel()
    item = np.repeat(np.arange(n_items), each)
    truth = rng.integers(0, k, n_items)
    right = rng.random(item.size) < rng.uniform(0.4, 0.9, n_raters)[rater]
    return item, rater, np.where(right, truth[item], rng.integers(0, k, item.size))


def best(run: Callable[[], Any], repeat: int) -> tuple[float, Any]:
    """Seconds of the fastest run, of one run where that takes over 5 s, and what it returned."""
    fastest = np.inf
    for _ in range(repeat):
        start = time.perf_counter()
        result = run()
        fastest = min(fastest, time.perf_counter() - start)
        if fastest > 5:
            break
    return fastest, result


def crowdkit_rounds(data: Longform, k: int) -> np.ndarray:
    """Posterior (N, k) of crowd-kit after ROUNDS, its own table made of the arrays included."""
    frame = pandas.DataFrame(dict(zip(("task", "worker", "label"), data, strict=True)))
    found = DawidSkene(n_iter=ROUNDS, tol=NO_MOVE).fit_predict_proba(frame)
    return found.reindex(columns=range(k), fill_value=0.0).sort_index().to_numpy()


def bench_speed(repeat: int) -> None:
    print(f"\n## Maximum likelihood, {ROUNDS} rounds\n")
    print("| ratings | raters | k | who | seconds | ratio to Concord | differs by at most |")
    print("|---|---|---|---|---|---|---|")
    for size in SIZES:
        data, k = made(*size), size[3]
        place = f"| {data[0].size:,} | {size[1]:,} | {k} |"
        ours, fit = best(
            partial(consensus.dawid_skene_ml, *data, k, rounds=ROUNDS, tolerance=0), repeat
        )
        print(f"{place} **Concord** | {ours:.3f} | 1 | |", flush=True)
        if MISSING:
            print(f"{place} crowd-kit | not installed ({MISSING}) | | |")
            continue
        seconds, theirs = best(partial(crowdkit_rounds, data, k), repeat)
        differs = float(np.abs(theirs - fit.posterior).max())
        print(f"{place} crowd-kit | {seconds:.3f} | {seconds / ours:.3g} | {differs:.1e} |")


def bench_default(repeat: int) -> None:
    print("\n## Concord's default, until nothing moves by 1e-6\n")
    print("| ratings | raters | k | seconds | rounds | peak memory, MB |")
    print("|---|---|---|---|---|---|")
    for size in SIZES:
        data, k = made(*size), size[3]
        seconds, fit = best(partial(consensus.dawid_skene, *data, k), repeat)
        tracemalloc.start()
        consensus.dawid_skene(*data, k, rounds=3)
        _, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        memory = f"{highest / 1e6:.0f}"
        print(
            f"| {data[0].size:,} | {size[1]:,} | {k} | {seconds:.2f} | {fit.rounds} | {memory} |",
            flush=True,
        )


# --- errors against gold


class Gold(NamedTuple):
    """Ratings of a set with gold answers: names of items and raters, labels, gold by item."""

    name: str
    rows: list[tuple[str, str, str]]
    gold: dict[str, str]


def toolkit(folder: Path) -> Iterator[Gold]:
    """Files of worker, task, label, gold[, seconds]."""
    data = folder / "active-crowd-toolkit" / "Data"
    for name in ("CF", "CF_amt", "MS", "SP", "SP_amt", "ZenCrowd_all"):
        path = data / f"{name}.csv"
        if not path.exists():
            continue
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = [line for line in csv.reader(file) if len(line) >= 4]
        rows = [(item, rater, label) for rater, item, label, *_ in lines]
        yield Gold(name, rows, {item: gold for _, item, _, gold, *_ in lines})


def adult(folder: Path) -> Iterator[Gold]:
    data = folder / "Get-Another-Label" / "data" / "AdultContent2"
    if data.exists():
        lines = (data / "labels.txt").read_text(encoding="utf-8").splitlines()
        rows = [(item, rater, label) for rater, item, label in map(str.split, lines)]
        gold = dict(map(str.split, (data / "gold.txt").read_text(encoding="utf-8").splitlines()))
        yield Gold("AdultContent2", rows, gold)


def ducks(folder: Path) -> Iterator[Gold]:
    """Is it a duck? Two of the five kinds of pictures are."""
    data = folder / "cubam" / "demo" / "ducks"
    if data.exists():
        lines = (data / "labels.txt").read_text(encoding="utf-8").splitlines()[1:]
        rows = [(item, rater, label) for item, rater, label in map(str.split, lines)]
        text = (data / "classes.yaml").read_text(encoding="utf-8")
        labels, species = text.split("species:")
        kinds = {name.strip(): kind for name, kind in re.findall(r"([A-Z][\w -]+): (\d)", species)}
        yes = {kinds["American Black Duck"], kinds["Mallard"]}
        gold = {item: str(int(kind in yes)) for item, kind in re.findall(r"(\d+): (\d)", labels)}
        yield Gold("ducks", rows, gold)


def coded(values: list[str]) -> tuple[list[str], np.ndarray]:
    names, codes = np.unique(np.array(values), return_inverse=True)
    return names.tolist(), codes


def share_wrong(given: Gold) -> str:
    """One row of the table: shares of the items with gold that get another label."""
    first: dict[tuple[str, str], str] = {}
    for name, who, label in given.rows:
        first.setdefault((name, who), label)
    items, item = coded([key[0] for key in first])
    raters, rater = coded([key[1] for key in first])
    labels, code = coded(list(first.values()))
    k = len(labels)
    known = [
        (place, labels.index(given.gold[name]))
        for place, name in enumerate(items)
        if given.gold.get(name) in labels
    ]
    rows, truth = (np.array(column) for column in zip(*known, strict=True))
    counts = np.zeros((len(items), k))
    np.add.at(counts, (item, code), 1)
    fit = consensus.dawid_skene(item, rater, code, k)
    plain = consensus.dawid_skene_ml(item, rater, code, k)
    tau = consensus.calibrate(item, rater, code, k).tau
    leading = counts == counts.max(axis=1, keepdims=True)
    drawn = leading / leading.sum(axis=1, keepdims=True)  # ties are drawn
    weighted = consensus.weighted_majority(item, rater, code, k).code
    wrong = [
        1 - drawn[rows, truth].mean(),
        (weighted[rows] != truth).mean(),
        (plain.posterior.argmax(axis=1)[rows] != truth).mean(),
        (fit.posterior.argmax(axis=1)[rows] != truth).mean(),
    ]
    expected = [(1 - some.max(axis=1)[rows]).mean() for some in (plain.posterior, fit.posterior)]
    expected.append((1 - consensus.tempered(fit.posterior, tau).max(axis=1)[rows]).mean())
    cells = [given.name, f"{item.size:,}", f"{len(raters):,}", str(k), f"{rows.size:,}"]
    cells += [f"{100 * one:.1f}" for one in (*wrong, *expected)] + [f"{tau:g}"]
    return f"| {' | '.join(cells)} |"


def bench_gold(folder: Path | None) -> None:
    if folder is None:
        return
    print("\n## Wrong labels in % of the items with gold, and how many the models expected\n")
    print(
        "| set | ratings | raters | k | items | majority | weighted | maximum likelihood "
        "| Dawid-Skene | expected: ML | Dawid-Skene | T^tau | tau |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    for source in (toolkit, adult, ducks):
        for given in source(folder):
            print(share_wrong(given), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--gold", type=Path, help="folder with checkouts of sets with gold")
    options = parser.parse_args()
    bench_speed(options.repeat)
    bench_default(options.repeat)
    bench_gold(options.gold)


if __name__ == "__main__":
    main()
