"""Agreement of a million ratings: Concord and other packages side by side, as ratios.

    python benchmarks/bench_agreement.py [--items 200000] [--only pairs,many,alpha,floor,bootstrap,icc,growth]

All start from the same long-form arrays (item, rater, code; 5 ratings per item, 100 raters, 5
categories); the time includes building their own input. Times are the best of --repeat runs, or
of one run that takes over 5 s. Another package's bootstrap is measured on --sample replicates and
extrapolated linearly to 10,000. The last column is the largest difference from Concord's values.
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

K, RATERS, RATINGS_PER_ITEM = 5, 100, 5
REPLICATES = 10_000
Longform = tuple[np.ndarray, np.ndarray, np.ndarray]


def simulate_ratings(n_items: int, seed: int = 1) -> Longform:
    """Return item, rater, code (M,) in the order of items.

    Raters differ within an item; 60 % of the ratings are the true category.
    """
    rng = np.random.default_rng(seed)
    steps = np.cumsum(
        rng.integers(1, RATERS // RATINGS_PER_ITEM, (n_items, RATINGS_PER_ITEM)), axis=1
    )
    rater = (rng.integers(0, RATERS, n_items)[:, None] + steps) % RATERS
    truth = rng.integers(0, K, n_items)
    is_right = rng.random((n_items, RATINGS_PER_ITEM)) < 0.6
    code = np.where(is_right, truth[:, None], rng.integers(0, K, (n_items, RATINGS_PER_ITEM)))
    return np.repeat(np.arange(n_items), RATINGS_PER_ITEM), rater.ravel(), code.ravel()


class BenchmarkTable:
    """The rows of one job, Concord's first, printed as they are measured."""

    def __init__(self, job: str, repeat: int) -> None:
        self.repeat = repeat
        self.concord_seconds: float | None = None
        print(
            f"\n## {job}\n\n| who | seconds | ratio to Concord | differs by at most "
            "|\n|---|---|---|---|"
        )

    def add_row(
        self,
        name: str,
        run: Callable[[], Any],
        *,
        reference: Any = None,
        factor: float = 1.0,
        note: str = "",
    ) -> Any:
        """Measure `run`, print its row, and return its result; None if its package is missing.

        `factor` extrapolates the seconds; `reference`: values that the result is compared with.
        """
        try:
            seconds, result = self._measure_best(run)
        except ImportError as error:
            print(f"| {name} | not installed ({error.name}) | | |")
            return None
        seconds *= factor
        self.concord_seconds = self.concord_seconds or seconds
        difference = (
            "" if reference is None else f"{_compute_max_difference(result, reference):.1e}"
        )
        print(
            f"| {name}{note} | {seconds:.4g} | {seconds / self.concord_seconds:.3g} | {difference} |",
            flush=True,
        )
        return result

    def _measure_best(self, run: Callable[[], Any]) -> tuple[float, Any]:
        best = np.inf
        for _ in range(self.repeat):
            started = time.perf_counter()
            result = run()
            best = min(best, time.perf_counter() - started)
            if best > 5:
                break
        return best, result


def _compute_max_difference(left: Any, right: Any) -> float:
    return float(np.nanmax(np.abs(np.asarray(left, float) - np.asarray(right, float))))


def build_code_matrix(data: Longform) -> np.ndarray:
    """Return the codes (N, RATERS), -1 for missing: the input of most other packages."""
    item, rater, code = data
    codes = np.full((int(item.max()) + 1, RATERS), -1, np.int8)
    codes[item, rater] = code
    return codes


def iter_pairs(data: Longform) -> Any:
    """Yield the codes (n,) of both raters of each pair, on the items that they share."""
    columns = np.ascontiguousarray(build_code_matrix(data).T)
    for a in range(RATERS):
        for b in range(a + 1, RATERS):
            shared = (columns[a] >= 0) & (columns[b] >= 0)
            yield columns[a][shared], columns[b][shared]


# --- all pairs


def run_concord_pairs(data: Longform) -> np.ndarray:
    pairs = tally.count_pair_tables(*data, K)
    estimate = cohen.kappa(pairs.tables, weights.quadratic_weights(K))
    return np.stack([estimate.value, estimate.low, estimate.high])


def run_sklearn_pairs(data: Longform) -> list[float]:
    from sklearn.metrics import cohen_kappa_score

    return [
        cohen_kappa_score(a, b, labels=range(K), weights="quadratic") for a, b in iter_pairs(data)
    ]


def run_statsmodels_pairs(data: Longform) -> list[float]:
    from statsmodels.stats.inter_rater import cohens_kappa

    kappas = []
    for a, b in iter_pairs(data):
        table = np.bincount(a.astype(int) * K + b, minlength=K * K).reshape(K, K)
        result = cohens_kappa(table, wt="quadratic", return_results=True)
        kappas.append(result.kappa)
    return kappas


def run_rater_agreement_pairs(data: Longform) -> list[float]:
    from raters import cohen_kappa

    names = list(range(K))
    return [
        cohen_kappa(a.tolist(), b.tolist(), names, weights="quadratic") for a, b in iter_pairs(data)
    ]


def run_sparse_pairs(data: Longform) -> np.ndarray:
    """Compute the kappas by one product of sparse one-hot matrices, without intervals.

    Not a package: the fastest code that people usually write themselves.
    """
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
    table = BenchmarkTable(
        f"All {RATERS * (RATERS - 1) // 2:,} pairwise quadratic kappas, {data[0].size:,} ratings",
        options.repeat,
    )
    concord = table.add_row("**Concord**, with intervals", lambda: run_concord_pairs(data))[0]
    table.add_row(
        "sparse one-hot product by hand, no intervals",
        lambda: run_sparse_pairs(data),
        reference=concord,
    )
    table.add_row(
        "rater-agreement loop, no intervals",
        lambda: run_rater_agreement_pairs(data),
        reference=concord,
    )
    table.add_row(
        "statsmodels loop, with intervals", lambda: run_statsmodels_pairs(data), reference=concord
    )
    table.add_row(
        "scikit-learn loop, no intervals", lambda: run_sklearn_pairs(data), reference=concord
    )


# --- many raters


def run_concord_coefficients(data: Longform) -> list[float]:
    item, _, code = data
    patterns = tally.count_patterns(item, code, K)
    n_items = patterns.n_items
    estimates = [
        fleiss.fleiss_kappa(patterns.counts, n_items),
        gwet.gwet_ac(patterns.counts, n_items),
    ]
    estimates += [
        krippendorff.krippendorff_alpha(patterns.counts, n_items, metric=metric)
        for metric in ("nominal", "ordinal")
    ]
    return [float(estimate.value) for estimate in estimates]


def build_count_matrix(data: Longform) -> np.ndarray:
    item, _, code = data
    return np.bincount(item * K + code, minlength=(int(item.max()) + 1) * K).reshape(-1, K)


def run_statsmodels_fleiss(data: Longform) -> float:
    from statsmodels.stats.inter_rater import fleiss_kappa

    return fleiss_kappa(build_count_matrix(data))


def run_rater_agreement_fleiss(data: Longform) -> float:
    from raters import fleiss_kappa

    return fleiss_kappa(build_count_matrix(data))


def run_interrater_fleiss(data: Longform) -> float:
    from interrater import NijMatrix
    from interrater.analyzers.agreement_functions.group_agreement import fleiss_kappa

    return float(fleiss_kappa(NijMatrix(build_count_matrix(data))))


def run_krippendorff_alpha(data: Longform, level: Literal["nominal", "ordinal"]) -> float:
    import krippendorff

    return float(
        krippendorff.alpha(
            value_counts=build_count_matrix(data),
            value_domain=list(range(K)),
            level_of_measurement=level,
        )
    )


def run_nltk_alpha(data: Longform) -> float:
    from nltk.metrics.agreement import AnnotationTask

    item, rater, code = (column.tolist() for column in data)
    return float(AnnotationTask(data=list(zip(rater, item, code, strict=True))).alpha())


def run_irrcac(data: Longform, python: str, coefficient: str) -> tuple[float, float]:
    """Return (seconds, value) measured in the interpreter `python`, which has an older NumPy.

    The start of the interpreter is not included.
    """
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
        np.save(path, build_code_matrix(data))
        process = subprocess.run(
            [python, "-W", "ignore", "-c", program, str(path), coefficient],
            check=True,
            capture_output=True,
            text=True,
        )
    seconds, value = json.loads(process.stdout)
    return seconds, value


def bench_coefficients(data: Longform, options: argparse.Namespace) -> None:
    table = BenchmarkTable(
        "Fleiss, AC1, alpha nominal and ordinal together (Concord, with intervals) against single "
        "coefficients, "
        f"{data[0].size:,} ratings",
        options.repeat,
    )
    kappa, ac1, nominal, ordinal = table.add_row(
        "**Concord**, all four", lambda: run_concord_coefficients(data)
    )
    table.add_row(
        "rater-agreement Fleiss", lambda: run_rater_agreement_fleiss(data), reference=kappa
    )
    table.add_row("statsmodels Fleiss", lambda: run_statsmodels_fleiss(data), reference=kappa)
    table.add_row("interrater Fleiss", lambda: run_interrater_fleiss(data), reference=kappa)
    table.add_row(
        "krippendorff alpha nominal",
        lambda: run_krippendorff_alpha(data, "nominal"),
        reference=nominal,
    )
    table.add_row(
        "krippendorff alpha ordinal",
        lambda: run_krippendorff_alpha(data, "ordinal"),
        reference=ordinal,
    )
    table.add_row("NLTK alpha nominal", lambda: run_nltk_alpha(data), reference=nominal)
    if options.irrcac:
        for name, reference in (("fleiss", kappa), ("gwet", ac1), ("krippendorff", nominal)):
            seconds, value = run_irrcac(data, options.irrcac, name)
            assert table.concord_seconds  # measured above
            print(
                f"| irrCAC {name} | {seconds:.4g} | {seconds / table.concord_seconds:.3g} | "
                f"{abs(value - reference):.1e} |",
                flush=True,
            )


def bench_alpha(data: Longform, options: argparse.Namespace) -> None:
    """Measure the value of one coefficient, without an interval, as other packages compute it."""
    table = BenchmarkTable(f"Ordinal alpha alone, {data[0].size:,} ratings", options.repeat)
    alpha = table.add_row("**Concord**, ordinal alpha", lambda: run_concord_alpha(data))
    table.add_row(
        "krippendorff, ordinal alpha",
        lambda: run_krippendorff_alpha(data, "ordinal"),
        reference=alpha,
    )


def run_concord_alpha(data: Longform) -> float:
    item, _, code = data
    patterns = tally.count_patterns(item, code, K)
    estimate = krippendorff.krippendorff_alpha(
        patterns.counts, patterns.n_items, metric="ordinal", interval=False
    )
    return float(estimate.value)


def bench_floor(data: Longform, options: argparse.Namespace) -> None:
    """Measure Fleiss' kappa beside a single reading of its arrays, the least that it could take."""
    table = BenchmarkTable(f"Fleiss' kappa alone, {data[0].size:,} ratings", options.repeat)
    table.add_row("**Concord**, Fleiss' kappa", lambda: run_concord_fleiss(data))
    table.add_row("reading items and codes once", lambda: (data[0].max(), data[2].max()))


def run_concord_fleiss(data: Longform) -> float:
    item, _, code = data
    patterns = tally.count_patterns(item, code, K)
    return float(fleiss.fleiss_kappa(patterns.counts, patterns.n_items, interval=False).value)


# --- bootstrap


def run_concord_bootstrap(data: Longform) -> np.ndarray:
    item, _, code = data
    patterns = tally.count_patterns(item, code, K)
    statistics = {
        "fleiss": lambda n: fleiss.fleiss_kappa(patterns.counts, n, interval=False),
        "alpha": lambda n: krippendorff.krippendorff_alpha(patterns.counts, n, interval=False),
    }
    bootstrap_intervals = agreement_bootstrap.bootstrap_patterns(
        patterns.n_items, statistics, replicates=REPLICATES, seed=1
    )
    return np.array(
        [[interval.low, interval.high] for interval in bootstrap_intervals.values()], float
    )


def run_scipy_bootstrap(data: Longform, replicates: int) -> list[float]:
    from scipy.stats import bootstrap
    from statsmodels.stats.inter_rater import fleiss_kappa

    counts = build_count_matrix(data)
    indices = (np.arange(len(counts)),)
    result = bootstrap(
        indices, lambda sample: fleiss_kappa(counts[sample]), n_resamples=replicates, vectorized=False,
        method="percentile",
        rng=np.random.default_rng(1),
    )  # fmt: skip
    return list(result.confidence_interval)


def run_rater_agreement_bootstrap(data: Longform, replicates: int) -> list[float]:
    from raters import bootstrap_ci, fleiss_kappa

    counts = build_count_matrix(data)
    return list(
        bootstrap_ci(lambda sample: fleiss_kappa(counts[sample]), len(counts), n_boot=replicates)
    )


def run_krippendorff_bootstrap(data: Longform, replicates: int) -> None:
    import krippendorff

    counts, rng = build_count_matrix(data), np.random.default_rng(1)
    for _ in range(replicates):
        sample = counts[rng.integers(0, len(counts), len(counts))]
        krippendorff.alpha(
            value_counts=sample, value_domain=list(range(K)), level_of_measurement="nominal"
        )


def bench_bootstrap(data: Longform, options: argparse.Namespace) -> None:
    n_items = data[0].size // RATINGS_PER_ITEM
    table = BenchmarkTable(
        f"Bootstrap with {REPLICATES:,} replicates, {n_items:,} items", options.repeat
    )
    table.add_row("**Concord**, Fleiss and alpha", lambda: run_concord_bootstrap(data))
    note = f", Fleiss or alpha, from {options.sample} replicates"
    for name, run_bootstrap in (
        ("rater-agreement", run_rater_agreement_bootstrap),
        ("scipy.stats.bootstrap with statsmodels", run_scipy_bootstrap),
        ("krippendorff, resampled by hand", run_krippendorff_bootstrap),
    ):
        factor = REPLICATES / options.sample
        table.add_row(name, partial(run_bootstrap, data, options.sample), factor=factor, note=note)
    print("\n| items | seconds for the same bootstrap in Concord, once counted |\n|---|---|")
    for exponent in range(4, 8):
        patterns = tally.count_patterns(*simulate_ratings(10**exponent)[::2], K)
        started = time.perf_counter()
        agreement_bootstrap.bootstrap_patterns(
            patterns.n_items,
            {"fleiss": partial(fleiss.fleiss_kappa, patterns.counts, interval=False)},
            replicates=REPLICATES,
        )
        print(f"| {10**exponent:,} | {time.perf_counter() - started:.3f} |", flush=True)


# --- intraclass correlations


def run_pingouin_icc(values: np.ndarray) -> list[float]:
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
    values_by_type = pingouin.intraclass_corr(
        frame, targets="item", raters="rater", ratings="value"
    ).set_index("Type")["ICC"]
    return [
        values_by_type[name]
        for name in ("ICC(1,1)", "ICC(A,1)", "ICC(C,1)", "ICC(1,k)", "ICC(A,k)", "ICC(C,k)")
    ]


def _compute_icc_values(values: np.ndarray) -> list[float | None]:
    estimates = icc.icc(values)
    return [estimates[name].value for name in icc.ICC_NAMES]


def bench_icc(data: Longform, options: argparse.Namespace) -> None:
    values = data[2][: 20_000 * RATINGS_PER_ITEM].reshape(-1, RATINGS_PER_ITEM).astype(float)
    table = BenchmarkTable(
        f"Six intraclass correlations with F and intervals, {len(values):,} items x {RATINGS_PER_ITEM} "
        "raters",
        options.repeat,
    )
    concord = table.add_row("**Concord**", lambda: _compute_icc_values(values))
    table.add_row("pingouin", lambda: run_pingouin_icc(values), reference=concord)


# --- growth and memory


def measure_peak(job: Callable[[Longform], Any], data: Longform) -> int:
    """Return the peak of allocated bytes beyond what was allocated before."""
    tracemalloc.start()
    job(data)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak_bytes


def bench_growth(_: Longform, options: argparse.Namespace) -> None:
    print(
        "\n## Growth and memory (peak beyond the input, as a multiple of the three input "
        "arrays)\n\n"
        "| ratings | pairs, s | pairs, memory | four coefficients, s | their memory | peers by "
        "day, s | memory |\n"
        "|---|---|---|---|---|---|---|"
    )
    for n_items in (20_000, 200_000, 2_000_000):
        data = simulate_ratings(n_items)
        size = sum(column.nbytes for column in data)
        cells = [f"{data[0].size:,}"]
        for job in (run_concord_pairs, run_concord_coefficients, run_concord_peers):
            seconds = min(_measure_seconds(job, data) for _ in range(options.repeat))
            cells += [f"{seconds:.3f}", f"{measure_peak(job, data) / size:.1f}"]
        print(f"| {' | '.join(cells)} |", flush=True)


def run_concord_peers(data: Longform) -> tally.PeerTables:
    """Tally each rater against peers for each day of a year."""
    return tally.count_peer_tables(*data, K, day=data[0] % 365)


def _measure_seconds(job: Callable[[Longform], Any], data: Longform) -> float:
    started = time.perf_counter()
    job(data)
    return time.perf_counter() - started


JOBS = {
    "pairs": bench_pairs,
    "many": bench_coefficients,
    "alpha": bench_alpha,
    "floor": bench_floor,
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
    data = simulate_ratings(options.items)
    for name in options.only.split(","):
        JOBS[name](data, options)


if __name__ == "__main__":
    main()
