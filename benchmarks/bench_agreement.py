"""Agreement of a million ratings: Concord and its rivals side by side, in one run, as ratios.

    python benchmarks/bench_agreement.py [--items 200000] [--only pairs,many,bootstrap,icc,growth]

Everybody starts from the same long-form arrays (item, rater, code; 5 ratings an item, 100 raters, 5
categories) and pays for making their own input from them. Times are the best of --repeat runs, of
one run where that takes over 5 s. A rival's bootstrap is measured on --sample replicates and
extrapolated to 10,000, a straight line by its making. The last column is the largest difference of
a rival's values from Concord's.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from metrics.agreement import bootstrap as agreement_bootstrap
from metrics.agreement import weights
from metrics.agreement.coefficients import cohen, fleiss, gwet, krippendorff
from metrics.agreement.coefficients.intraclass import icc
from metrics.agreement.counts import tally

K, RATERS, PER_ITEM = 5, 100, 5
REPLICATES = 10_000
Longform = tuple[np.ndarray, np.ndarray, np.ndarray]


def ratings(n_items: int, seed: int = 1) -> Longform:
    """item, rater, code (M,) in the order of items; raters differ within an item, 60 % of the
    ratings are the truth."""
    rng = np.random.default_rng(seed)
    steps = np.cumsum(rng.integers(1, RATERS // PER_ITEM, (n_items, PER_ITEM)), axis=1)
    rater = (rng.integers(0, RATERS, n_items)[:, None] + steps) % RATERS
    truth = rng.integers(0, K, n_items)
    right = rng.random((n_items, PER_ITEM)) < 0.6
    code = np.where(right, truth[:, None], rng.integers(0, K, (n_items, PER_ITEM)))
    return np.repeat(np.arange(n_items), PER_ITEM), rater.ravel(), code.ravel()


class Table:
    """Rows of one job, Concord first: printed as they come."""

    def __init__(self, job: str, repeat: int) -> None:
        self.repeat = repeat
        self.ours: float | None = None
        print(
            f"\n## {job}\n\n| who | seconds | ratio to Concord | differs by at most "
            "|\n|---|---|---|---|"
        )

    def row(
        self,
        who: str,
        run: Callable[[], Any],
        *,
        like: Any = None,
        times: float = 1.0,
        note: str = "",
    ) -> Any:
        """Measure `run`; `times` extrapolates its cost. Returns what it returned."""
        try:
            seconds, result = self._best(run)
        except ImportError as missing:
            print(f"| {who} | not installed ({missing.name}) | | |")
            return None
        seconds *= times
        self.ours = self.ours or seconds
        differs = "" if like is None else f"{_difference(result, like):.1e}"
        print(
            f"| {who}{note} | {seconds:.4g} | {seconds / self.ours:.3g} | {differs} |", flush=True
        )
        return result

    def _best(self, run: Callable[[], Any]) -> tuple[float, Any]:
        best = np.inf
        for _ in range(self.repeat):
            start = time.perf_counter()
            result = run()
            best = min(best, time.perf_counter() - start)
            if best > 5:
                break
        return best, result


def _difference(one: Any, other: Any) -> float:
    return float(np.nanmax(np.abs(np.asarray(one, float) - np.asarray(other, float))))


def matrix(data: Longform) -> np.ndarray:
    """codes (items x raters), -1 for missing: what rivals loop over."""
    item, rater, code = data
    codes = np.full((int(item.max()) + 1, RATERS), -1, np.int8)
    codes[item, rater] = code
    return codes


def each_pair(data: Longform) -> Any:
    """(a's codes, b's codes) on their shared items, pair by pair."""
    columns = np.ascontiguousarray(matrix(data).T)
    for a in range(RATERS):
        for b in range(a + 1, RATERS):
            both = (columns[a] >= 0) & (columns[b] >= 0)
            yield columns[a][both], columns[b][both]


# --- all pairs


def concord_pairs(data: Longform) -> np.ndarray:
    pairs = tally.pair_tables(*data, K)
    estimate = cohen.kappa(pairs.tables, weights.quadratic(K))
    return np.stack([estimate.value, estimate.low, estimate.high])


def sklearn_pairs(data: Longform) -> list[float]:
    from sklearn.metrics import cohen_kappa_score

    return [
        cohen_kappa_score(a, b, labels=range(K), weights="quadratic") for a, b in each_pair(data)
    ]


def statsmodels_pairs(data: Longform) -> list[float]:
    from statsmodels.stats.inter_rater import cohens_kappa

    found = []
    for a, b in each_pair(data):
        table = np.bincount(a.astype(int) * K + b, minlength=K * K).reshape(K, K)
        result = cohens_kappa(table, wt="quadratic", return_results=True)
        found.append(result.kappa)
    return found


def rater_agreement_pairs(data: Longform) -> list[float]:
    from raters import cohen_kappa

    names = list(range(K))
    return [
        cohen_kappa(a.tolist(), b.tolist(), names, weights="quadratic") for a, b in each_pair(data)
    ]


def by_hand_pairs(data: Longform) -> np.ndarray:
    """Not a package: one product of sparse one-hot matrices, the best that is usually written by
    hand; no intervals."""
    from scipy import sparse

    item, rater, code = data
    ones = np.ones(item.size, np.int64)
    one_hot = sparse.csr_array(
        (ones, (item, rater * K + code)), shape=(int(item.max()) + 1, RATERS * K)
    )
    product = (one_hot.T @ one_hot).toarray().reshape(RATERS, K, RATERS, K).transpose(0, 2, 1, 3)
    t = product[np.triu_indices(RATERS, 1)].astype(float)
    w = (np.arange(K)[:, None] - np.arange(K)) ** 2
    chance = np.einsum("pj,jl,pl->p", t.sum(axis=2), w, t.sum(axis=1)) / t.sum(axis=(1, 2))
    return 1 - (t * w).sum(axis=(1, 2)) / chance


def bench_pairs(data: Longform, options: argparse.Namespace) -> None:
    table = Table(
        f"All {RATERS * (RATERS - 1) // 2:,} pairwise quadratic kappas, {data[0].size:,} ratings",
        options.repeat,
    )
    ours = table.row("**Concord**, with intervals", lambda: concord_pairs(data))[0]
    table.row(
        "sparse one-hot product by hand, no intervals", lambda: by_hand_pairs(data), like=ours
    )
    table.row("rater-agreement loop, no intervals", lambda: rater_agreement_pairs(data), like=ours)
    table.row("statsmodels loop, with intervals", lambda: statsmodels_pairs(data), like=ours)
    table.row("scikit-learn loop, no intervals", lambda: sklearn_pairs(data), like=ours)


# --- many raters


def concord_many(data: Longform) -> list[float]:
    item, _, code = data
    patterns = tally.patterns(item, code, K)
    n_items = patterns.n_items
    found = [fleiss.fleiss_kappa(patterns.counts, n_items), gwet.gwet_ac(patterns.counts, n_items)]
    found += [
        krippendorff.krippendorff_alpha(patterns.counts, n_items, metric=metric)
        for metric in ("nominal", "ordinal")
    ]
    return [float(one.value) for one in found]


def count_matrix(data: Longform) -> np.ndarray:
    item, _, code = data
    return np.bincount(item * K + code, minlength=(int(item.max()) + 1) * K).reshape(-1, K)


def statsmodels_fleiss(data: Longform) -> float:
    from statsmodels.stats.inter_rater import fleiss_kappa

    return fleiss_kappa(count_matrix(data))


def rater_agreement_fleiss(data: Longform) -> float:
    from raters import fleiss_kappa

    return fleiss_kappa(count_matrix(data))


def interrater_fleiss(data: Longform) -> float:
    from interrater import NijMatrix
    from interrater.analyzers.agreement_functions.group_agreement import fleiss_kappa

    return float(fleiss_kappa(NijMatrix(count_matrix(data))))


def krippendorff_alpha(data: Longform, level: Literal["nominal", "ordinal"]) -> float:
    import krippendorff as rival

    return float(
        rival.alpha(
            value_counts=count_matrix(data), value_domain=list(range(K)), level_of_measurement=level
        )
    )


def nltk_alpha(data: Longform) -> float:
    from nltk.metrics.agreement import AnnotationTask

    item, rater, code = (part.tolist() for part in data)
    return float(AnnotationTask(data=list(zip(rater, item, code, strict=True))).alpha())


def irrcac(data: Longform, python: str, coefficient: str) -> tuple[float, float]:
    """(seconds, value) in the interpreter `python`, whose NumPy is older; starting it is not
    counted."""
    program = (
        "import sys, time, json, numpy as np, pandas as pd\n"
        "from irrCAC.raw import CAC\n"
        "codes = np.load(sys.argv[1])\n"
        "start = time.perf_counter()\n"
        "frame = pd.DataFrame(np.where(codes < 0, np.nan, codes + 1.0))\n"
        "found = getattr(CAC(frame, digits=12), sys.argv[2])()['est']['coefficient_value']\n"
        "print(json.dumps([time.perf_counter() - start, float(found)]))\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "codes.npy"
        np.save(path, matrix(data))
        done = subprocess.run(
            [python, "-W", "ignore", "-c", program, str(path), coefficient],
            check=True,
            capture_output=True,
            text=True,
        )
    seconds, value = json.loads(done.stdout)
    return seconds, value


def bench_many(data: Longform, options: argparse.Namespace) -> None:
    table = Table(
        "Fleiss, AC1, alpha nominal and ordinal together (Concord, with intervals) against single "
        "coefficients, "
        f"{data[0].size:,} ratings",
        options.repeat,
    )
    kappa, ac1, nominal, ordinal = table.row("**Concord**, all four", lambda: concord_many(data))
    table.row("rater-agreement Fleiss", lambda: rater_agreement_fleiss(data), like=kappa)
    table.row("statsmodels Fleiss", lambda: statsmodels_fleiss(data), like=kappa)
    table.row("interrater Fleiss", lambda: interrater_fleiss(data), like=kappa)
    table.row(
        "krippendorff alpha nominal", lambda: krippendorff_alpha(data, "nominal"), like=nominal
    )
    table.row(
        "krippendorff alpha ordinal", lambda: krippendorff_alpha(data, "ordinal"), like=ordinal
    )
    table.row("NLTK alpha nominal", lambda: nltk_alpha(data), like=nominal)
    if options.irrcac:
        for name, like in (("fleiss", kappa), ("gwet", ac1), ("krippendorff", nominal)):
            seconds, value = irrcac(data, options.irrcac, name)
            assert table.ours  # measured above
            print(
                f"| irrCAC {name} | {seconds:.4g} | {seconds / table.ours:.3g} | "
                f"{abs(value - like):.1e} |",
                flush=True,
            )


# --- bootstrap


def concord_bootstrap(data: Longform) -> np.ndarray:
    item, _, code = data
    patterns = tally.patterns(item, code, K)
    statistics = {
        "fleiss": lambda n: fleiss.fleiss_kappa(patterns.counts, n, interval=False),
        "alpha": lambda n: krippendorff.krippendorff_alpha(patterns.counts, n, interval=False),
    }
    found = agreement_bootstrap.bootstrap_patterns(
        patterns.n_items, statistics, replicates=REPLICATES, seed=1
    )
    return np.array([[one.low, one.high] for one in found.values()], float)


def scipy_bootstrap(data: Longform, replicates: int) -> list[float]:
    from scipy.stats import bootstrap
    from statsmodels.stats.inter_rater import fleiss_kappa

    counts = count_matrix(data)
    places = (np.arange(len(counts)),)
    found = bootstrap(
        places, lambda chosen: fleiss_kappa(counts[chosen]), n_resamples=replicates, vectorized=False,
        method="percentile",
        rng=np.random.default_rng(1),
    )  # fmt: skip
    return list(found.confidence_interval)


def rater_agreement_bootstrap(data: Longform, replicates: int) -> list[float]:
    from raters import bootstrap_ci, fleiss_kappa

    counts = count_matrix(data)
    return list(
        bootstrap_ci(lambda chosen: fleiss_kappa(counts[chosen]), len(counts), n_boot=replicates)
    )


def krippendorff_bootstrap(data: Longform, replicates: int) -> None:
    import krippendorff as rival

    counts, rng = count_matrix(data), np.random.default_rng(1)
    for _ in range(replicates):
        chosen = counts[rng.integers(0, len(counts), len(counts))]
        rival.alpha(
            value_counts=chosen, value_domain=list(range(K)), level_of_measurement="nominal"
        )


def bench_bootstrap(data: Longform, options: argparse.Namespace) -> None:
    n_items = data[0].size // PER_ITEM
    table = Table(f"Bootstrap with {REPLICATES:,} replicates, {n_items:,} items", options.repeat)
    table.row("**Concord**, Fleiss and alpha", lambda: concord_bootstrap(data))
    note = f", Fleiss or alpha, from {options.sample} replicates"
    for who, rival in (
        ("rater-agreement", rater_agreement_bootstrap),
        ("scipy.stats.bootstrap with statsmodels", scipy_bootstrap),
        ("krippendorff, resampled by hand", krippendorff_bootstrap),
    ):
        times = REPLICATES / options.sample
        table.row(who, partial(rival, data, options.sample), times=times, note=note)
    print("\n| items | seconds for the same bootstrap in Concord, once counted |\n|---|---|")
    for exponent in range(4, 8):
        patterns = tally.patterns(*ratings(10**exponent)[::2], K)
        start = time.perf_counter()
        agreement_bootstrap.bootstrap_patterns(
            patterns.n_items,
            {"fleiss": partial(fleiss.fleiss_kappa, patterns.counts, interval=False)},
            replicates=REPLICATES,
        )
        print(f"| {10**exponent:,} | {time.perf_counter() - start:.3f} |", flush=True)


# --- intraclass correlations


def pingouin_icc(values: np.ndarray) -> list[float]:
    import pandas
    import pingouin

    n, raters = values.shape
    frame = pandas.DataFrame(
        {
            "item": np.repeat(np.arange(n), raters),
            "rater": np.tile(np.arange(raters), n),
            "value": values.ravel(),
        }
    )
    found = pingouin.intraclass_corr(
        frame, targets="item", raters="rater", ratings="value"
    ).set_index("Type")["ICC"]
    return [
        found[name]
        for name in ("ICC(1,1)", "ICC(A,1)", "ICC(C,1)", "ICC(1,k)", "ICC(A,k)", "ICC(C,k)")
    ]


def _icc_values(values: np.ndarray) -> list[float | None]:
    found = icc.icc(values)
    return [found[name].value for name in icc.NAMES]


def bench_icc(data: Longform, options: argparse.Namespace) -> None:
    values = data[2][: 20_000 * PER_ITEM].reshape(-1, PER_ITEM).astype(float)
    table = Table(
        f"Six intraclass correlations with F and intervals, {len(values):,} items x {PER_ITEM} "
        "raters",
        options.repeat,
    )
    ours = table.row("**Concord**", lambda: _icc_values(values))
    table.row("pingouin", lambda: pingouin_icc(values), like=ours)


# --- growth and memory


def peak(job: Callable[[Longform], Any], data: Longform) -> int:
    """Bytes allocated at the peak beyond what was there before."""
    tracemalloc.start()
    job(data)
    _, highest = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return highest


def bench_growth(_: Longform, options: argparse.Namespace) -> None:
    print(
        "\n## Growth and memory (peak beyond the input, as a multiple of the three input "
        "arrays)\n\n"
        "| ratings | pairs, s | pairs, memory | four coefficients, s | their memory | peers by "
        "day, s | memory |\n"
        "|---|---|---|---|---|---|---|"
    )
    for n_items in (20_000, 200_000, 2_000_000):
        data = ratings(n_items)
        size = sum(part.nbytes for part in data)
        cells = [f"{data[0].size:,}"]
        for job in (concord_pairs, concord_many, concord_peers):
            seconds = min(_seconds(job, data) for _ in range(options.repeat))
            cells += [f"{seconds:.3f}", f"{peak(job, data) / size:.1f}"]
        print(f"| {' | '.join(cells)} |", flush=True)


def concord_peers(data: Longform) -> tally.PeerTables:
    """Each rater against peers on each day of a year."""
    return tally.peer_tables(*data, K, day=data[0] % 365)


def _seconds(job: Callable[[Longform], Any], data: Longform) -> float:
    start = time.perf_counter()
    job(data)
    return time.perf_counter() - start


JOBS = {
    "pairs": bench_pairs,
    "many": bench_many,
    "bootstrap": bench_bootstrap,
    "icc": bench_icc,
    "growth": bench_growth,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=200_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument(
        "--sample", type=int, default=20, help="bootstrap replicates measured of each rival"
    )
    parser.add_argument("--only", default=",".join(JOBS), help="jobs, separated by commas")
    parser.add_argument("--irrcac", help="a Python interpreter that has irrCAC")
    options = parser.parse_args()
    unknown = set(options.only.split(",")) - JOBS.keys()
    if unknown:
        parser.error(f"unknown job {', '.join(sorted(unknown))}; one of {', '.join(JOBS)}")
    warnings.simplefilter("ignore")
    data = ratings(options.items)
    for name in options.only.split(","):
        JOBS[name](data, options)


if __name__ == "__main__":
    main()
