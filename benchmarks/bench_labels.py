"""Cost of computing the final labels of a large question: time, processor time, memory.

    python benchmarks/bench_labels.py [--ratings 100000,1000000] [--raters 1000]

It uses the database of DATABASE_URL, else that of DATA_DIR, else a temporary SQLite file; under
`python tests/tools/with_services.py --postgres` it has a PostgreSQL of its own. *First* creates
all labels; *again* recomputes them after one more rating and writes what changed. For comparison,
the formula alone is fitted to the same ratings in memory.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from typing import Any

import large_project


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ratings", default="100000,1000000")
    parser.add_argument("--raters", type=int, default=1_000)
    options = parser.parse_args()
    print("| ratings | items | first, s | again, s | CPU of again, s | formula alone, s | MB |")
    print("|---|---|---|---|---|---|---|")
    for n_ratings in options.ratings.split(","):
        with large_project.open_database():
            size = {"ratings": int(n_ratings), "raters": options.raters, "days": 730}
            project = large_project.get_or_create_project(**size, report=print_progress)
            print(measure_row(project), flush=True)


def print_progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def measure_row(project: Any) -> str:
    from metrics.agreement import consensus
    from metrics.question_scale import QuestionScale
    from quality.consensus import fit, recomputation
    from quality.models import Consensus, ItemLabel
    from ratings.models import Rating

    question = project.questions.get()
    Consensus.objects.filter(question=question).delete()
    ItemLabel.objects.filter(question=question).delete()
    first_seconds, _cpu = measure_time(
        lambda: recomputation.recompute_question(question.pk, at_once=True)
    )
    rating = Rating.objects.filter(question=question).order_by("pk")[0]
    Rating.objects.filter(pk=rating.pk).update(code=(rating.code + 1) % 3)
    again_seconds, again_cpu = measure_time(
        lambda: recomputation.recompute_question(question.pk, at_once=True)
    )
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    scale = QuestionScale.for_question(question)
    ratings = fit.load_votes(question, with_models=False)
    formula_seconds, _cpu = measure_time(
        lambda: consensus.fit_dawid_skene(
            ratings["item"], ratings["rater"], ratings["code"], scale.k
        )
    )
    state = Consensus.objects.get(question=question)
    return (
        f"| {state.n_ratings:,} | {state.n_items:,} | {first_seconds:.1f} | {again_seconds:.1f} | {again_cpu:.1f} |"
        f" {formula_seconds:.1f} | {memory} |"
    )


def measure_time(work: Any) -> tuple[float, float]:
    """Return the seconds and processor seconds of the work."""
    started, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - started, time.process_time() - cpu


if __name__ == "__main__":
    main()
