"""How long the final labels of a large question take to make: time, processor time, memory.

    python benchmarks/bench_labels.py [--ratings 100000,1000000] [--raters 1000]

Uses the database of DATABASE_URL, else that of DATA_DIR, else a temporary SQLite file. After `python
tests/tools/with_services.py --postgres` it runs on a PostgreSQL of its own. *First* makes all labels,
*again* makes them after one more rating: everything is computed, what moved is written. The rival
is the same table of ratings fitted by the formula alone, in memory.
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
    for text in options.ratings.split(","):
        with large_project.database():
            size = {"ratings": int(text), "raters": options.raters, "days": 730}
            project = large_project.find_or_make(**size, say=tell)
            print(row(project), flush=True)


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def row(project: Any) -> str:
    from metrics.agreement import consensus
    from metrics.scale import QuestionScale
    from quality.consensus import recompute, votes
    from quality.models import Consensus, ItemLabel
    from ratings.models import Rating

    question = project.questions.get()
    Consensus.objects.filter(question=question).delete()
    ItemLabel.objects.filter(question=question).delete()
    first, _cpu = timed(lambda: recompute.renew(question.pk, at_once=True))
    some = Rating.objects.filter(question=question).order_by("pk")[0]
    Rating.objects.filter(pk=some.pk).update(code=(some.code + 1) % 3)
    again, cpu = timed(lambda: recompute.renew(question.pk, at_once=True))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    scale = QuestionScale.of(question)
    said = votes.of_question(question, with_models=False)
    alone, _cpu = timed(
        lambda: consensus.dawid_skene(said["item"], said["rater"], said["code"], scale.k)
    )
    state = Consensus.objects.get(question=question)
    return (
        f"| {state.n_ratings:,} | {state.n_items:,} | {first:.1f} | {again:.1f} | {cpu:.1f} |"
        f" {alone:.1f} | {memory} |"
    )


def timed(work: Any) -> tuple[float, float]:
    started, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - started, time.process_time() - cpu


if __name__ == "__main__":
    main()
