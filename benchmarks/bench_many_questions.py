"""One changed rating in each of many small projects: delay until all are final, and cost of each.

    python tests/tools/with_services.py --postgres python benchmarks/bench_many_questions.py
    [--projects 1000] [--workers 2] [--audit]

It uses the database of DATABASE_URL, else a temporary SQLite file. Every project has one question
of five categories with 15 ratings (5 items of 3 raters), counted and with results. Then one
rating of each changes, and independent worker processes sweep until nothing is left. Final means:
nothing uncounted, no stale or deferred results. The processor time is that of the workers, without
the database server. --audit: number of rounds until the automatic audit has checked each project,
and the time of a round.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import json
import resource
import subprocess
import sys
import time
from typing import Any

import large_project
import numpy as np

ITEMS, RATERS, LABELS = 5, 3, 5


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--projects", type=int, default=1_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--audit", action="store_true")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)  # as a worker
    options = parser.parse_args()
    with large_project.open_database():
        if options.work:
            run_worker()
            return
        from django.db import connection

        print(f"{connection.vendor}: {options.projects} projects of {ITEMS * RATERS} ratings")
        questions = create_projects(options.projects)
        print("\n| | workers | all final, s | questions/s | processor of workers, ms a question |")
        print("|---|---|---|---|---|")
        for what, workers in (("from nothing", options.workers), ("one changed", options.workers)):
            if what == "one changed":
                change_one_rating_each(questions)
            measure_workers(what, workers, options.projects)
        if options.audit:
            measure_audits(options.projects)


def measure_workers(label: str, workers: int, projects: int) -> None:
    command, pipe = [sys.executable, __file__, "--work"], subprocess.PIPE
    processes = [
        subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _number in range(workers)
    ]
    for process in processes:
        assert process.stdout
        process.stdout.readline()  # ready
    started = time.perf_counter()
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [json.loads(process.communicate()[0]) for process in processes]
    duration = max(output["ended"] for output in outputs) - started
    milliseconds = sum(output["processor"] for output in outputs) / projects * 1000
    print(
        f"| {label} | {workers} | {duration:.1f} | {projects / duration:.0f} | {milliseconds:.1f} |",
        flush=True,
    )


def measure_audits(projects: int) -> None:
    from metrics.integrity import schedule
    from metrics.models import AuditResult

    audit_interval, schedule.AUDIT_INTERVAL = schedule.AUDIT_INTERVAL, datetime.timedelta(0)
    AuditResult.objects.all().delete()
    durations: list[float] = []
    while AuditResult.objects.count() < projects:
        started = time.perf_counter()
        assert schedule.run_due_audits()
        durations.append(time.perf_counter() - started)
    hours = len(durations) * audit_interval.total_seconds() / 3600
    print(f"\n| {projects} questions audited | rounds | of a round p50, max, s | in hours |")
    print("|---|---|---|---|")
    differing = AuditResult.objects.filter(n_differences__gt=0)
    print(
        f"| {differing.count()} of them differ | {len(durations)} | {np.median(durations):.2f}, {max(durations):.2f} | "
        f"{hours:.1f} |"
    )
    for result in differing:
        print(f"question {result.question_id}: {'; '.join(result.first_differences)}")


def run_worker() -> None:
    """Sweep until nothing is pending, as a worker process."""
    from metrics.jobs import question_updates

    question_updates.list_pending_questions()  # connects, and imports everything
    gc.freeze()  # as a worker of `make run`
    print("ready", flush=True)
    sys.stdin.readline()
    before = get_processor_time()
    while question_updates.list_pending_questions():
        question_updates.update_pending_questions()
    ended = time.perf_counter()  # the machine's clock on Linux: the same for all processes
    print(json.dumps({"ended": ended, "processor": get_processor_time() - before}))


def get_processor_time() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def create_projects(number: int) -> list[Any]:
    """Create that many projects with uncounted ratings; return their questions."""
    from projects.models import Category, Item, Project, Question, Rater

    projects = Project.objects.bulk_create(
        Project(name=f"project {index}") for index in range(number)
    )
    questions = Question.objects.bulk_create(
        Question(project=project, key="q", text="Which?", scale="ordinal") for project in projects
    )
    Category.objects.bulk_create(
        Category(question=question, code=code, label=str(code), position=code, value=code)
        for question in questions
        for code in range(LABELS)
    )
    Item.objects.bulk_create(
        Item(project=project, key=f"i{index}", body={})
        for project in projects
        for index in range(ITEMS)
    )
    Rater.objects.bulk_create(
        Rater(project=project, key=f"r{index}") for project in projects for index in range(RATERS)
    )
    create_ratings(questions, items=ITEMS)
    return questions


def create_ratings(questions: list[Any], *, items: int) -> None:
    """Let each rater of each project rate that many of its items, at random."""
    from projects.models import Item, Rater
    from ratings.services.judgement import Judgement
    from ratings.services.record import record_ratings

    rng = np.random.default_rng(len(questions))
    items_by_project = list_ids_by_project(Item)
    raters_by_project = list_ids_by_project(Rater)
    now = datetime.datetime.now(datetime.UTC)
    for question in questions:
        rows = [
            Judgement(item, rater, int(rng.integers(LABELS)), rated_at=now)
            for item in items_by_project[question.project_id][:items]
            for rater in raters_by_project[question.project_id]
        ]
        record_ratings({question: rows}, by=None, source="import")


def list_ids_by_project(model: Any) -> dict[int, list[int]]:
    ids_by_project: dict[int, list[int]] = {}
    for pk, project in model.objects.order_by("pk").values_list("pk", "project_id"):
        ids_by_project.setdefault(project, []).append(pk)
    return ids_by_project


def change_one_rating_each(questions: list[Any]) -> None:
    """Change one rating of each project to another category."""
    from ratings.models import Rating
    from ratings.services.judgement import Judgement
    from ratings.services.record import record_ratings

    by_question = {rating.question_id: rating for rating in Rating.objects.order_by("-pk")}
    for question in questions:
        rating = by_question[question.pk]
        judgement = Judgement(rating.item_id, rating.rater_id, (rating.code + 1) % LABELS)
        record_ratings({question: [judgement]}, by=None, source="api")


if __name__ == "__main__":
    main()
